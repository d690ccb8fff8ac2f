//! What is not asked again of a subnet that is known and is found anew all the same.
//!
//! | | believed while | else |
//! |---|---|---|
//! | NodeDescription | NodeInfo is as it was | read; a change is told by trap 144 |
//! | P_Key table of a port | its link is Active, and was; LID and LinearFDBTop of the node are as they were | read |
//!
//! Nobody but this Subnet Manager takes a link to Active, so the port has not forgotten what it acknowledged. That somebody else has written
//! to it the audit finds, as with all other tables.

use std::collections::{BTreeMap, BTreeSet};

use sa_fabric::{NodeIx, PortRef};
use sa_wire::Guid;
use sa_wire::records::NodeRecord;
use sa_wire::smp::attribute;

use super::Discovery;
use super::nodes::is_same;
use crate::model::{Block, Node, PortState, Subnet};

/// What the sweep before has left. Empty where nothing is believed.
#[derive(Debug, Default)]
pub(super) struct Believed {
    nodes: BTreeMap<Guid, Known>,
    /// Ports that were not asked, of nodes that may yet turn out to be other than they were.
    spared: BTreeMap<NodeIx, Vec<PortRef>>,
}

#[derive(Debug)]
struct Known {
    record: NodeRecord,
    linear_top: Option<u16>,
    /// By port number.
    lids: BTreeMap<u8, u16>,
    /// Active ports of which some of the P_Key table is known.
    keys: BTreeSet<u8>,
}

impl Believed {
    /// All nodes but those that were mute: these may have been replaced.
    pub(super) fn of(subnet: &Subnet) -> Self {
        let nodes = subnet.nodes().iter().filter(|node| !node.is_mute);
        Self {
            nodes: nodes.map(|node| (node.guid(), Known::of(node))).collect(),
            spared: BTreeMap::new(),
        }
    }
}

impl Known {
    fn of(node: &Node) -> Self {
        let lids = node.end_ports().filter_map(|(number, port)| {
            let info = port.info?;
            Some((number, info.base_lid.get()))
        });
        let is_active = |port: &u8| {
            let state = node.port(*port).and_then(|port| port.state());
            state == Some(PortState::Active)
        };
        let ports = (0..=node.port_count()).filter(is_active);
        Self {
            record: node.record,
            linear_top: node.switch_info.map(|info| info.linear_top.get()),
            lids: lids.collect(),
            keys: ports.filter(|port| has_keys(node, *port)).collect(),
        }
    }
}

/// The first block of the P_Key table of a port is known.
fn has_keys(node: &Node, port: u8) -> bool {
    // Of a switch the port is in the modifier, of others it is the end port.
    let first = Block {
        attribute: attribute::PKEY_TABLE,
        end_port: node.end_port(port),
        modifier: if node.is_switch() {
            u32::from(port) << 16
        } else {
            0
        },
    };
    node.tables.get(first).is_some()
}

impl Discovery {
    /// Nodes of which some P_Key tables were not read.
    pub(crate) fn spared(&mut self) -> BTreeSet<NodeIx> {
        core::mem::take(&mut self.believed.spared)
            .into_keys()
            .collect()
    }

    /// NodeDescription of a node that is new in this sweep is taken over. False where it has to be asked for.
    pub(super) fn describes(&mut self, at: NodeIx) -> bool {
        let Some(node) = self.subnet.node_mut(at) else {
            return false;
        };
        let known = self.believed.nodes.get(&node.guid());
        // Another GUID of the system makes it no other node, but it is rare enough.
        let Some(known) = known.filter(|known| is_same(&known.record, &node.record)) else {
            return false;
        };
        node.record.description = known.record.description;
        true
    }

    /// The P_Key table of this port is believed to be as it was. Where its node is found to be another, it is asked for then.
    pub(super) fn spares_keys(&mut self, at: PortRef) -> bool {
        let Some(node) = self.subnet.node(at.node) else {
            return false;
        };
        let is_active = node.port(at.port).and_then(|port| port.state()) == Some(PortState::Active);
        let known = self.believed.nodes.get(&node.guid());
        let is_known = known.is_some_and(|known| {
            known.keys.contains(&at.port) && is_same(&known.record, &node.record)
        });
        if is_active && is_known && self.is_as_it_was(node) {
            self.believed.spared.entry(at.node).or_default().push(at);
            return true;
        }
        false
    }

    /// SwitchInfo or PortInfo has come: a node with another LID or LinearFDBTop was off, or somebody else has written to it.
    pub(super) fn believes(&mut self, at: NodeIx) {
        let node = self.subnet.node(at);
        if node.is_none_or(|node| self.is_as_it_was(node)) {
            return;
        }
        for port in self.believed.spared.remove(&at).unwrap_or_default() {
            self.ask_keys(port);
        }
    }

    /// As far as it has told by now.
    fn is_as_it_was(&self, node: &Node) -> bool {
        let Some(known) = self.believed.nodes.get(&node.guid()) else {
            return false;
        };
        let top = node.switch_info.map(|info| info.linear_top.get());
        let mut ends = node.end_ports();
        (top.is_none() || top == known.linear_top)
            && ends.all(|(number, port)| {
                let lid = port.info.map(|info| info.base_lid.get());
                lid.is_none() || lid == known.lids.get(&number).copied()
            })
    }
}
