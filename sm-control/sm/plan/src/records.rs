//! A subnet as records: for the compiler as it will be when all that is wanted is written ([`of`]), and for the SA's clients as
//! devices have acknowledged it ([`held`]).
//!
//! Links that have trained count as up, as they come up once tables are there. A node that has not told enough to be
//! routed is left out with its links: a switch without SwitchInfo, a port without PortInfo.
//!
//! Why records: they are how the compiler takes a subnet that is no file, checked for contradictions on the way in, and they
//! compare cheaply with those of the sweep before. Forwarding tables are not among them, as they are what is to be made.

use sa_fabric::sa_records::Records;
use sa_fabric::{NodeIx, PortRef};
use sa_sm::lids::Plan;
use sa_sm::model::{Block, Node, PortState, Subnet};
use sa_sm::wanted::pkeys;
use sa_sm::writing::Wanted;
use sa_wire::records::{
    LinkRecord, MulticastForwardingTableRecord, NodeRecord, PKeyTableRecord, PortInfoRecord,
    SwitchInfoRecord,
};
use sa_wire::smp::attribute;

/// Records without tables. Shape: `wanted` and `lids` are of the same subnet.
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
    records.sort();
    records
}

/// What the devices of a subnet hold, as they acknowledged it: NodeInfo, SwitchInfo, PortInfo and P_Key tables. Links and other tables
/// are left out. Shape: of ports that have a LID, and of all ports of their switches; sorted.
pub fn held(after: &Subnet) -> Records {
    let mut records = Records {
        pkeys: Some(Vec::new()),
        ..Records::default()
    };
    for node in after.nodes() {
        for (port, end) in node.end_ports() {
            let info = end.info.as_ref().filter(|info| info.base_lid.get() != 0);
            if let Some((guid, info)) = end.guid.zip(info) {
                held_end(node, port, guid.get(), info.base_lid.get(), &mut records);
            }
        }
    }
    records.sort();
    records
}

/// An end port, and of a switch all of it.
fn held_end(node: &Node, port: u8, guid: u64, lid: u16, records: &mut Records) {
    records.nodes.push(node_record(node, port, guid, lid));
    let switch = node.switch_info.map(|info| SwitchInfoRecord {
        lid: lid.into(),
        ..info
    });
    records.switches.extend(switch);
    let is_own = |number: u8| node.is_switch() || number == port;
    for (number, port) in node.ports().filter(|(number, _)| is_own(*number)) {
        let record = port.info.map(|info| PortInfoRecord {
            lid: lid.into(),
            port_num: number,
            m_key: 0.into(),
            // ClientReregister is an order and no field that is kept.
            subnet_timeout: info.subnet_timeout & 0x1f,
            ..info
        });
        records.ports.extend(record);
    }
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
pub fn held_multicast(after: &Subnet) -> Vec<MulticastForwardingTableRecord> {
    let mut records = Vec::new();
    for node in after.nodes().iter().filter(|node| node.is_switch()) {
        let lid = node.port(0).and_then(|port| port.info);
        let lid = lid.map_or(0, |info| info.base_lid.get());
        let used = node.tables.multicast();
        let last = used
            .map(|(block, _)| low_half(block.modifier) & MLID_BLOCK)
            .max();
        let Some(last) = last.filter(|_| lid != 0) else {
            continue;
        };
        for block in 0..=last {
            for position in 0..=node.port_count() / 16 {
                records.push(multicast_record(node, lid, block, position));
            }
        }
    }
    records
}

/// One block; empty where it is not known.
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
const MLID_BLOCK: u16 = 0x1ff;

/// What a record is made from.
struct View<'a> {
    found: &'a Subnet,
    wanted: &'a Wanted,
    lids: &'a Plan,
}

impl View<'_> {
    fn node(&self, at: NodeIx, node: &Node, records: &mut Records) {
        let ends = node.end_ports().filter_map(|(port, end)| {
            let at = PortRef { node: at, port };
            let lid = self.lid(at)?;
            Some((at, end.guid?.get(), lid))
        });
        for (at, guid, lid) in ends {
            records.nodes.push(node_record(node, at.port, guid, lid));
            if let Some(info) = self.wanted.switches.get(&at.node) {
                let info = SwitchInfoRecord {
                    lid: lid.into(),
                    ..*info
                };
                records.switches.push(info);
            }
        }
        for (port, _) in node.ports() {
            let at = PortRef { node: at, port };
            let Some((lid, info)) = self.port(at) else {
                continue;
            };
            records
                .ports
                .push(port_record(at, lid, info, self.is_up(at)));
            records.links.extend(self.link(at, lid));
        }
    }

    /// The LID by which a port is known: its own, or that of its switch. `None` where the node cannot be routed.
    fn lid(&self, at: PortRef) -> Option<u16> {
        let node = self.found.node(at.node)?;
        if node.is_switch() && !self.wanted.switches.contains_key(&at.node) {
            return None;
        }
        let port = node.end_port(at.port);
        let end = PortRef { port, ..at };
        // A port without PortInfo takes no LID.
        self.wanted.ports.get(&end)?;
        Some(self.lids.ports.get(&end)?.lid.get())
    }

    /// The LID and PortInfo of a port; none where it was not read.
    fn port(&self, at: PortRef) -> Option<(u16, &PortInfoRecord)> {
        Some((self.lid(at)?, self.wanted.ports.get(&at)?))
    }

    /// It has a link that has trained. Port 0 of a switch always has.
    fn is_up(&self, at: PortRef) -> bool {
        let port = self.found.port(at);
        let trained = |port: &sa_sm::model::Port| port.state() >= Some(PortState::Init);
        let is_port0 = at.port == 0;
        port.is_some_and(|port| is_port0 || (port.peer.is_some() && trained(port)))
    }

    /// The link from a port; none without a far end.
    fn link(&self, at: PortRef, lid: u16) -> Option<LinkRecord> {
        let peer = self.found.peer(at)?;
        let (far, _) = self.port(peer)?;
        let is_up = self.is_up(at) && self.is_up(peer);
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
        speed_supported_and_state: info.speed_supported_and_state & 0xf0 | state as u8,
        ..*info
    }
}
