//! Packets of all pairs of hosts, followed through what the devices hold.
//!
//! The source asks for its path, as a program would, and sends with the SL and the LIDs of the
//! answer. At each switch the forwarding table gives the output port and the SL2VL table the lane.
//! What a packet holds while it waits for what comes next is noted; a circle of that is a credit
//! loop. Shares nothing with routing engines, their proof, or the Subnet Manager.

use std::collections::{HashMap, HashSet};

use sa_answer::{Outcome as Answered, answer};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_snapshot::Snapshot;
use sa_wire::path_record::PathRecord;
use sa_wire::request;
use sa_wire::{Gid, NodeType, SubnetPrefix};

use super::Cabled;
use super::devices::Devices;

/// What became of all pairs.
///
/// `pairs` is `unanswered`, `lost`, and those that arrive.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::demo) struct Walked {
    /// Ordered pairs of different hosts.
    pub(super) pairs: u64,
    /// Pairs that the SA gives no path.
    pub(super) unanswered: u64,
    /// Pairs whose packet gets lost on the way, or arrives somewhere else: must be 0.
    pub(super) lost: u64,
    /// Links of all packets.
    ///
    /// Those of lost ones up to where they got lost count too.
    pub(super) links: u64,
    /// Bit n: some packet travels on VL n.
    ///
    /// Torus-2QoS changes lanes at datelines, so that more than one bit is set.
    pub(super) vls: u16,
    /// True where what packets hold and wait for goes in a circle: must never be.
    pub(super) credit_loop: bool,
}

/// Follows them all. Cost: pairs times links.
///
/// Packets are followed one after the other and wait for nothing; what could wait is found
/// afterwards.
pub(super) fn all_pairs(snapshot: &Snapshot, cabled: Cabled<'_>, devices: &Devices) -> Walked {
    let hosts = hosts(cabled.fabric);
    let mut walker = Walker {
        cabled,
        devices,
        waits: HashSet::new(),
        walked: Walked::default(),
    };
    for (at, source) in &hosts {
        // A port without a LID asks as nobody, and is not answered.
        let lid = devices.lid(*at).unwrap_or(0);
        for (_, destination) in hosts.iter().filter(|(other, _)| other != at) {
            walker.walked.pairs += 1;
            match path(snapshot, lid, *source, *destination) {
                None => walker.walked.unanswered += 1,
                Some(path) if walker.arrives(&path).is_none() => walker.walked.lost += 1,
                Some(_) => {}
            }
        }
    }
    // Only now: a circle may be of packets of many pairs.
    Walked {
        credit_loop: has_circle(&walker.waits),
        ..walker.walked
    }
}

/// The hosts' first ports, with their GIDs under the default prefix.
///
/// Only port 1: hosts of the demo have no other.
fn hosts(fabric: &Fabric) -> Vec<(PortRef, Gid)> {
    let nodes = (0..fabric.nodes().len()).map(NodeIx::nth);
    let hosts = nodes.filter(|ix| fabric.node(*ix).kind == NodeType::Ca);
    let ports = hosts.map(|node| PortRef { node, port: 1 });
    let with_gid = ports.filter_map(|at| {
        let guid = fabric.port(at).guid?;
        Some((at, Gid::unicast(SubnetPrefix::LINK_LOCAL, guid)))
    });
    with_gid.collect()
}

/// The PathRecord that a program at the source gets, by the LID that its port holds.
///
/// None where it answers with silence or a status, or with no record.
fn path(snapshot: &Snapshot, lid: u16, source: Gid, destination: Gid) -> Option<PathRecord> {
    let mut slot = request::path_by_gids(lid, source, destination);
    // Asked as a program of that host would ask, through what answers in operation.
    let Answered::Answered(_) = answer(snapshot, &mut slot) else {
        return None;
    };
    let (status, records) = request::parse(&slot.mad).ok()?;
    records.first().filter(|_| status == 0).copied()
}

/// A link in one direction, by the port that sends, and a lane of it.
type Lane = (PortRef, u8);

/// What is known while pairs are followed.
struct Walker<'a> {
    cabled: Cabled<'a>,
    devices: &'a Devices,
    /// Who holds the first of the two may wait for the second.
    ///
    /// Each pair of lanes once, however many packets take it.
    waits: HashSet<(Lane, Lane)>,
    /// Counts so far; `credit_loop` is filled in at the end.
    walked: Walked,
}

impl Walker<'_> {
    /// Follows one packet. `None`: it does not arrive.
    ///
    /// That is: no table for a lane, the drop lane, a port without a cable, a LID that is not
    /// known, or too many links.
    fn arrives(&mut self, path: &PathRecord) -> Option<()> {
        let (sl, lid) = (path.qos_class_sl.sl().get(), path.dlid.get());
        let mut at = self.devices.owner(path.slid.get())?;
        let mut held: Option<Lane> = None;
        // A CA keeps one table under its own port twice, so this finds it.
        let (mut input, mut output) = (at.port, at.port);
        for _ in 0..MOST_LINKS {
            let vl = self.devices.vl(at.node, input, output, sl)?;
            // 15 in a table says that the packet is dropped.
            let lane = (PortRef { port: output, ..at }, vl);
            if vl == 15 {
                return None;
            }
            self.walked.vls |= 1 << vl;
            self.walked.links += 1;
            if let Some(held) = held.replace(lane) {
                self.waits.insert((held, lane));
            }
            at = self.cabled.peer(lane.0)?;
            if self.devices.owner(lid)? == at {
                return Some(());
            }
            input = at.port;
            output = self.devices.output(at.node, lid)?;
        }
        None
    }
}

/// Whether a circle is left when lanes that wait for nothing are taken away, one after the other.
///
/// Kahn's order backwards: lanes are removed once all that they wait for is removed.
fn has_circle(waits: &HashSet<(Lane, Lane)>) -> bool {
    let mut out: HashMap<Lane, usize> = HashMap::new();
    let mut into: HashMap<Lane, Vec<Lane>> = HashMap::new();
    // Waits of a lane as a number, waiters of a lane as a list.
    for (held, wanted) in waits {
        *out.entry(*held).or_default() += 1;
        into.entry(*wanted).or_default().push(*held);
    }
    let mut free: Vec<Lane> = into
        .keys()
        .copied()
        .filter(|lane| !out.contains_key(lane))
        .collect();
    while let Some(lane) = free.pop() {
        for held in into.remove(&lane).unwrap_or_default() {
            let left = out.entry(held).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                out.remove(&held);
                free.push(held);
            }
        }
    }
    !out.is_empty()
}

/// More than any path has: a packet that gets this far goes in circles.
///
/// A shortest path of the largest radix, 14, has 23: seven links along each axis and one at each
/// host.
const MOST_LINKS: usize = 64;
