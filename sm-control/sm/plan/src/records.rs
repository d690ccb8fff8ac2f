//! A subnet as records: for the compiler as it will be when all that is wanted is written ([`of`]), and for the SA's clients as
//! devices have acknowledged it ([`held`]).
//!
//! Links that have trained count as up, as they come up once tables are there. A node that has not told enough to be
//! routed is left out with its links: a switch without SwitchInfo, a port without PortInfo.
//!
//! Why records: they are how the compiler takes a subnet that is no file, checked for contradictions on the way in, and they
//! compare cheaply with those of the sweep before. Forwarding tables are not among them, as they are what is to be made.
//!
//! What is read-only stays as the device told it, so a lint of the compiler sees the fabric that is there and not the one that is meant.

use sa_fabric::sa_records::Records;
use sa_fabric::{NodeIx, PortRef};
use sa_sm::lids::Plan;
use sa_sm::model::{Block, Node, PortState, Subnet, attributes};
use sa_sm::wanted::pkeys;
use sa_sm::writing::Wanted;
use sa_wire::records::{
    LinkRecord, MulticastForwardingTableRecord, NodeRecord, PKeyTableRecord, PortInfoRecord,
    SwitchInfoRecord,
};
use sa_wire::smp::attribute;

/// Records without tables. Shape: `wanted` and `lids` are of the same subnet.
///
/// Ordered, so that two sweeps of an unchanged subnet give equal records, which is what "nothing is new" is judged by.
pub(crate) fn of(found: &Subnet, wanted: &Wanted, lids: &Plan) -> Records {
    let view = View {
        found,
        wanted,
        lids,
    };
    let mut records = Records::default();
    for (at, node) in found.places() {
        view.node(at, node, &mut records);
    }
    // Nodes come in the order in which they were found; that may be another one next time.
    records.sort();
    records
}

/// What the devices of a subnet hold, as they acknowledged it: NodeInfo, SwitchInfo, PortInfo and P_Key tables. Links and other tables
/// are left out. Shape: of ports that have a LID, and of all ports of their switches; sorted.
///
/// M_Keys are left out whatever they are: clients of the SA are to see them nowhere.
pub fn held(after: &Subnet) -> Records {
    let mut records = Records {
        // Some and empty, not none: "there are no keys" differs from "nobody read them".
        pkeys: Some(Vec::new()),
        ..Records::default()
    };
    for node in after.nodes() {
        for (port, end) in node.end_ports() {
            // LID 0: not acknowledged yet, and an SA has no name for such a port.
            let info = end.info.as_ref().filter(|info| info.base_lid.get() != 0);
            if let Some((guid, info)) = end.guid.zip(info) {
                held_end(node, port, guid.get(), info.base_lid.get(), &mut records);
            }
        }
    }
    records.sort();
    records
}

/// What counts of PortInfo. Of a switch port that is Down its states alone, as in OpenSM's records: whatever else it tells is of no meaning.
/// Source: IBA vol. 1, 14.2.5.6.
fn valid(info: PortInfoRecord, is_external: bool) -> PortInfoRecord {
    if !is_external || PortState::of(&info) != Some(PortState::Down) {
        return info;
    }
    PortInfoRecord {
        speed_supported_and_state: info.speed_supported_and_state & 0xf,
        physical_state_and_down_default: info.physical_state_and_down_default & 0xf0,
        ..attributes::port_info(&[0; 64])
    }
}

/// An end port, and of a switch all of it.
///
/// A CA with two ports is two nodes of one GUID here, each with its own port: that is how NodeRecords are.
fn held_end(node: &Node, port: u8, guid: u64, lid: u16, records: &mut Records) {
    records.nodes.push(node_record(node, port, guid, lid));
    // The record's LID is the key of the table, which SwitchInfo on the wire does not have.
    let switch = node.switch_info.map(|info| SwitchInfoRecord {
        lid: lid.into(),
        ..info
    });
    records.switches.extend(switch);
    // A CA's record of one port must not carry the other, which has a LID of its own.
    let is_own = |number: u8| node.is_switch() || number == port;
    for (number, port) in node.ports().filter(|(number, _)| is_own(*number)) {
        let record = port.info.map(|info| PortInfoRecord {
            lid: lid.into(),
            port_num: number,
            // A secret of the subnet, and no client's.
            m_key: 0.into(),
            // ClientReregister is an order and no field that is kept.
            subnet_timeout: info.subnet_timeout & 0x1f,
            ..valid(info, node.is_switch() && number != 0)
        });
        records.ports.extend(record);
    }
    // Unread tables give no records, rather than empty ones.
    let room = node.record.partition_cap.get();
    let keys = pkeys::known(&node.tables, room, port, 0).unwrap_or_default();
    for (block, keys) in (0_u16..).zip(keys.chunks(32)) {
        let mut record = PKeyTableRecord {
            lid: lid.into(),
            block: block.into(),
            port,
            reserved: [0; 3],
            pkeys: [0.into(); 32],
        };
        for (place, key) in record.pkeys.iter_mut().zip(keys) {
            *place = (*key).into();
        }
        records.pkeys.get_or_insert_default().push(record);
    }
}

/// Multicast forwarding tables of all switches, as they acknowledged them: up to the last block that a switch uses, all positions of its
/// ports. Shape: a switch without entries has none.
///
/// Without the last used block RMPP tables would end in the middle of a switch's entries.
pub fn held_multicast(after: &Subnet) -> Vec<MulticastForwardingTableRecord> {
    let mut records = Vec::new();
    for node in after.nodes().iter().filter(|node| node.is_switch()) {
        // Keyed by the switch's LID, which is that of its port 0.
        let lid = node.port(0).and_then(|port| port.info);
        let lid = lid.map_or(0, |info| info.base_lid.get());
        let used = node.tables.multicast();
        let last = used
            .map(|(block, _)| low_half(block.modifier) & MLID_BLOCK)
            // From block 0 to there all are told: a hole in between is a block of zeros.
            .max();
        let Some(last) = last.filter(|_| lid != 0) else {
            continue;
        };
        for block in 0..=last {
            // Sixteen ports a position: a switch of 36 ports has three.
            for position in 0..=node.port_count() / 16 {
                records.push(multicast_record(node, lid, block, position));
            }
        }
    }
    records
}

/// One block; empty where it is not known.
///
/// Shape: 32 masks of 16 ports, big-endian on both sides.
fn multicast_record(
    node: &Node,
    lid: u16,
    block: u16,
    position: u8,
) -> MulticastForwardingTableRecord {
    let mut record = MulticastForwardingTableRecord::empty(lid, block, position);
    let held = node.tables.get(Block {
        attribute: attribute::MULTICAST_TABLE,
        end_port: 0,
        modifier: u32::from(position) << 28 | u32::from(block),
    });
    let masks = held.into_iter().flat_map(|data| data.chunks_exact(2));
    for (place, mask) in record.masks.iter_mut().zip(masks) {
        if let [high, low] = mask {
            *place = u16::from_be_bytes([*high, *low]).into();
        }
    }
    record
}

/// The lower 16 bits, which are the number of a block.
const fn low_half(modifier: u32) -> u16 {
    let [_, _, high, low] = modifier.to_be_bytes();
    u16::from_be_bytes([high, low])
}

/// In the modifier of a multicast table: the number of the block of 32 MLIDs.
///
/// Nine bits: 512 blocks are all MLIDs that there can be.
const MLID_BLOCK: u16 = 0x1ff;

/// What a record is made from.
struct View<'a> {
    found: &'a Subnet,
    wanted: &'a Wanted,
    lids: &'a Plan,
}

impl View<'_> {
    /// One NodeRecord for each end port that has a LID, then PortInfo and links of all ports that belong to one.
    fn node(&self, at: NodeIx, node: &Node, records: &mut Records) {
        // `lid` is none for what cannot be routed, so such a node makes no records at all.
        let ends = node.end_ports().filter_map(|(port, end)| {
            let at = PortRef { node: at, port };
            let lid = self.lid(at)?;
            Some((at, end.guid?.get(), lid))
        });
        for (at, guid, lid) in ends {
            records.nodes.push(node_record(node, at.port, guid, lid));
            // Only switches have one wanted.
            if let Some(info) = self.wanted.switches.get(&at.node) {
                let info = SwitchInfoRecord {
                    lid: lid.into(),
                    ..*info
                };
                records.switches.push(info);
            }
        }
        // All ports, not only end ports: the compiler reads links and MTU at the external ones.
        for (port, _) in node.ports() {
            let at = PortRef { node: at, port };
            let Some((lid, info)) = self.port(at) else {
                continue;
            };
            records
                .ports
                // A link that has trained is Active for the compiler: the writing brings it up before anybody is answered.
                .push(port_record(at, lid, info, self.is_up(at)));
            records.links.extend(self.link(at, lid));
        }
    }

    /// The LID by which a port is known: its own, or that of its switch. `None` where the node cannot be routed.
    ///
    /// A node that cannot be routed is left out here once, and with it all that hangs on it.
    fn lid(&self, at: PortRef) -> Option<u16> {
        let node = self.found.node(at.node)?;
        if node.is_switch() && !self.wanted.switches.contains_key(&at.node) {
            // No SwitchInfo: neither the size of its table nor its top is known.
            return None;
        }
        let port = node.end_port(at.port);
        let end = PortRef { port, ..at };
        // A port without PortInfo takes no LID.
        // Nothing wanted of the port means nothing read of it.
        self.wanted.ports.get(&end)?;
        Some(self.lids.ports.get(&end)?.lid.get())
    }

    /// The LID and PortInfo of a port; none where it was not read.
    fn port(&self, at: PortRef) -> Option<(u16, &PortInfoRecord)> {
        Some((self.lid(at)?, self.wanted.ports.get(&at)?))
    }

    /// It has a link that has trained. Port 0 of a switch always has.
    ///
    /// A far end counts too: a port that trains with nobody has no link.
    fn is_up(&self, at: PortRef) -> bool {
        let port = self.found.port(at);
        // PortState has an order: Down, Init, Armed, Active.
        let trained = |port: &sa_sm::model::Port| port.state() >= Some(PortState::Init);
        let is_port0 = at.port == 0;
        port.is_some_and(|port| is_port0 || (port.peer.is_some() && trained(port)))
            && !self.stays_down(at)
    }

    /// Its far end is mute and nobody can make it Active: what is behind it was rebooted, or another cable was plugged in.
    fn stays_down(&self, at: PortRef) -> bool {
        let is_mute = |node| self.found.node(node).is_some_and(|node| node.is_mute);
        let far = self.found.peer(at).filter(|far| is_mute(far.node));
        let state = self.found.port(at).and_then(|port| port.state());
        far.is_some() && !is_mute(at.node) && state != Some(PortState::Active)
    }

    /// The link from a port; none without a far end.
    ///
    /// Each cable is told from both ends, and only where both can be routed and have trained.
    fn link(&self, at: PortRef, lid: u16) -> Option<LinkRecord> {
        let peer = self.found.peer(at)?;
        let (far, _) = self.port(peer)?;
        let is_up = self.is_up(at) && self.is_up(peer);
        // One end in Init and the other Down is a link on its way: it is not there yet.
        is_up.then(|| LinkRecord {
            from_lid: lid.into(),
            from_port: at.port,
            to_port: peer.port,
            to_lid: far.into(),
            padding: 0.into(),
        })
    }
}

/// The node as one of its ports tells it.
// LocalPortNum is of the port that answered; records are per port, so it is put in for each.
fn node_record(node: &Node, port: u8, guid: u64, lid: u16) -> NodeRecord {
    let vendor = node.record.port_and_vendor.get() & 0x00ff_ffff;
    NodeRecord {
        lid: lid.into(),
        port_guid: guid.into(),
        port_and_vendor: (u32::from(port) << 24 | vendor).into(),
        ..node.record
    }
}

/// Without keys and counters.
///
/// Keys are of no use to a compiler and must not get into files of it.
fn port_record(at: PortRef, lid: u16, info: &PortInfoRecord, is_up: bool) -> PortInfoRecord {
    let state = if is_up {
        PortState::Active
    } else {
        PortState::Down
    };
    PortInfoRecord {
        lid: lid.into(),
        port_num: at.port,
        m_key: 0.into(),
        local_port_num: at.port,
        // Upper half is speeds, which stay.
        speed_supported_and_state: info.speed_supported_and_state & 0xf0 | state as u8,
        ..*info
    }
}
