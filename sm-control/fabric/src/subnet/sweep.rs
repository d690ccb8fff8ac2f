//! How the SM's queries go through a subnet.
//!
//! Some records say by which way the SM came: LocalPortNum of a switch is the port where the query
//! entered it. OpenSM sends its queries as it gets answers, so where several shortest ways lead to
//! a switch it is a race; here the first of them in the order of ports counts (deviations, row 34).
//! Routers that the SM sends through are found in the same order (`off_subnet` in the compiler).
//!
//! The look-ups are made on the first question: only records of the fabric ask.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use sa_wire::NodeType;

use super::Subnet;
use crate::model::{LinkState, NodeIx, PortRef};

impl Subnet {
    /// Every node, in the order of node GUIDs, [`sa_wire::Guid::map_order`].
    ///
    /// CAs with two reached ports come once.
    pub fn nodes(&self) -> &[NodeIx] {
        self.nodes.get_or_init(|| {
            let mut nodes: Vec<NodeIx> = self.end_ports.iter().map(|end| end.at.node).collect();
            nodes.sort_by_key(|node| self.fabric.node(*node).guid.map_order());
            nodes.dedup();
            nodes
        })
    }

    /// The port by which the SM comes to a switch first, sweeping outwards; 0 for other nodes.
    pub fn entry_port(&self, node: NodeIx) -> u8 {
        let entries = self.entries.get_or_init(|| self.find_entries());
        entries.get(&node).copied().unwrap_or(0)
    }

    /// True for ports that the SM knows: those of reached switches, and reached ports of other
    /// nodes.
    pub fn knows(&self, at: PortRef) -> bool {
        at.port <= self.fabric.node(at.node).port_count() && self.by_port(at).is_some()
    }

    /// The far end of a port's cable, if the link is up and the SM knows both ends.
    ///
    /// A cable with its link down is one that the SM does not see.
    pub fn peer(&self, at: PortRef) -> Option<PortRef> {
        let port = self.fabric.port(at);
        let peer = port.peer.filter(|_| port.state != LinkState::Down)?;
        (self.knows(at) && self.knows(peer)).then_some(peer)
    }

    /// Breadth first from the SM's port. The SM's own switch is entered by the port that the SM's
    /// cable leads to; by port 0 where the SM runs on it.
    fn find_entries(&self) -> HashMap<NodeIx, u8> {
        let mut entries = HashMap::new();
        let mut queue: Vec<NodeIx> = Vec::new();
        let mut enter = |at: PortRef, queue: &mut Vec<NodeIx>| {
            let is_switch = self.fabric.node(at.node).kind == NodeType::Switch;
            if is_switch && let Entry::Vacant(place) = entries.entry(at.node) {
                place.insert(at.port);
                queue.push(at.node);
            }
        };
        if let Some(sm) = self.end_ports.get(self.sm) {
            enter(sm.at, &mut queue);
            if let Some(peer) = self.peer(sm.at) {
                enter(peer, &mut queue);
            }
        }
        let mut next = 0;
        while let Some(node) = queue.get(next).copied() {
            next += 1;
            let ports = 0..=self.fabric.node(node).port_count();
            for peer in ports.filter_map(|port| self.peer(PortRef { node, port })) {
                enter(peer, &mut queue);
            }
        }
        entries
    }
}
