//! What the SA tells hosts of each other, and whether devices carry it.

use std::collections::BTreeMap;

use fabric_simulator::Simulator;
use sa_answer::{Outcome, answer};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_snapshot::Snapshot;
use sa_wire::{Gid, NodeType, SubnetPrefix, request};

use super::credit::{FROM_HOST, NO_VL, Packet, vl_of};
use super::hops::{Hop, Hops};

/// Ports of hosts that have a LID now.
pub(crate) fn hosts(fabric: &Fabric, simulator: &Simulator) -> Vec<(PortRef, u16, Gid)> {
    let nodes = (0..).map(NodeIx).zip(fabric.nodes());
    let cas = nodes.filter(|(_, node)| node.kind == NodeType::Ca);
    let ports = cas.map(|(node, _)| PortRef { node, port: 1 });
    let with_lid = ports.filter_map(|at| {
        let lid = *simulator.lids(at)?.start();
        let guid = fabric.port(at).guid?;
        Some((at, lid, Gid::unicast(SubnetPrefix::LINK_LOCAL, guid)))
    });
    with_lid.collect()
}

/// What a host is told of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) lid: u16,
    pub(crate) sl: u8,
    pub(crate) pkey: u16,
}

/// Source and destination.
pub(crate) type Pair = (PortRef, PortRef);

/// The SA's word for every pair.
pub(crate) fn all_told(
    fabric: &Fabric,
    simulator: &Simulator,
    snapshot: &Snapshot,
) -> BTreeMap<Pair, Told> {
    let hosts = hosts(fabric, simulator);
    let mut all = BTreeMap::new();
    for (at, lid, source) in &hosts {
        for (to, _, destination) in hosts.iter().filter(|(to, ..)| to != at) {
            let mut slot = request::path_by_gids(*lid, *source, *destination);
            let Outcome::Answered(_) = answer(snapshot, &mut slot) else {
                continue;
            };
            let Ok((0, records)) = request::parse(&slot.mad) else {
                continue;
            };
            // Of another LID than it has: it was told that by an earlier SM, and asks as nobody.
            let record = records.first().filter(|it| it.slid.get() == *lid);
            let told = record.map(|record| Told {
                lid: record.dlid.get(),
                sl: record.qos_class_sl.sl().get(),
                pkey: record.pkey.get(),
            });
            all.extend(told.map(|told| ((*at, *to), told)));
        }
    }
    all
}

/// The packet of a pair behind its first link, where that is Active.
pub(crate) fn first(simulator: &Simulator, (from, _): Pair, told: Told) -> Option<Packet> {
    Some(Packet {
        at: simulator.active_peer(from)?,
        vl: FROM_HOST,
        lid: told.lid,
        sl: told.sl,
    })
}

/// Why a packet does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Its host has no link.
    NoLink,
    Lost(NodeIx),
    Circle,
    /// SL2VL drops it.
    Vl(NodeIx),
    /// It arrives at another port.
    Elsewhere,
    /// A port does not let its P_Key pass.
    Pkey(PortRef),
}

/// Follows one packet to its host, with SL and P_Key.
pub(crate) fn carried(
    hops: &Hops,
    simulator: &Simulator,
    pair: Pair,
    told: Told,
) -> Result<(), Fault> {
    let mut packet = first(simulator, pair, told).ok_or(Fault::NoLink)?;
    for _ in 0..64 {
        let (port, far) = match hops.at(packet.at.node, told.lid) {
            Hop::Lost => return Err(Fault::Lost(packet.at.node)),
            Hop::To(port, far) => (port, Some(far)),
            Hop::Arrives(port) => (port, None),
        };
        let vl = vl_of(simulator, packet.at, port, told.sl);
        if vl == NO_VL {
            return Err(Fault::Vl(packet.at.node));
        }
        let out = PortRef { port, ..packet.at };
        match far {
            Some(far) => packet.at = far,
            None if simulator.active_peer(out) == Some(pair.1) => {
                return passes(simulator, pair, told.pkey);
            }
            None => return Err(Fault::Elsewhere),
        }
    }
    Err(Fault::Circle)
}

/// Whether the ends and the switch ports before them let a P_Key pass. Of two limited members none hears the other; a switch port takes a key
/// that is in its table, in either membership.
pub(crate) fn passes(simulator: &Simulator, (from, to): Pair, pkey: u16) -> Result<(), Fault> {
    let same = |key: &u16| key & 0x7fff == pkey & 0x7fff;
    let own = simulator.pkeys(from).into_iter().filter(same).max();
    // It sends with the key of its own table.
    let sent = own.ok_or(Fault::Pkey(from))?;
    let takes = |at: PortRef| {
        let mut keys = simulator.pkeys(at).into_iter().filter(same);
        keys.any(|key| (key | sent) & 0x8000 != 0)
    };
    if !takes(to) {
        return Err(Fault::Pkey(to));
    }
    for (end, bit) in [(from, INBOUND), (to, OUTBOUND)] {
        let edge = simulator.peer(end).ok_or(Fault::NoLink)?;
        let info = simulator.port_info(edge).unwrap_or_default();
        let mut keys = simulator.pkeys(edge).into_iter();
        let enforces = info.operational_vls_and_enforcement & bit != 0;
        if enforces && !keys.any(|key| same(&key)) {
            return Err(Fault::Pkey(edge));
        }
    }
    Ok(())
}

/// PartitionEnforcementInbound and -Outbound of PortInfo.
const INBOUND: u8 = 1 << 3;
const OUTBOUND: u8 = 1 << 2;
