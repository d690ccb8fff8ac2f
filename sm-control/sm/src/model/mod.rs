//! What the fabric told: nodes, ports, links, and the tables of each.
//!
//! ```text
//!  Subnet ── Node ── Port ── PortInfo, peer, directed route
//!     │        └── Tables: blocks as the node last acknowledged them
//!     └── Finding: what is wrong, in words for a person
//! ```
//!
//! A node is in the model once, under its node GUID. What another place claims to be the same node is in no list of nodes:
//! it is a [`Finding`]. Everything that a node told is kept in its own layout, so that fields which nobody looks at are
//! written back as they were read. Values that index something (number of ports, port numbers) were checked before they
//! came here: [`Node::new`] is where.
//!
//! Nodes keep their place ([`NodeIx`]) through a sweep, from when it has looked to its end, so tables and routes can be lists by it. From one sweep to
//! the next GUIDs are what stays.
//!
//! # Two kinds of findings
//!
//! | of | stand until |
//! |---|---|
//! | finding: two nodes with one GUID, silence, answers that cannot be | the same is asked again and comes out otherwise |
//! | reading and writing what was planned: refused, not answered, not kept | something is planned again |
//!
//! So a sweep that finds all as it was, and plans nothing, has nothing to say of Sets that were refused before: they still are.
//!
//! # A node that is mute
//!
//! [`Node::is_mute`] says that what is known of it is of an earlier time. It counts for routes and answers like any other: its links are up, so it
//! forwards by the tables that it acknowledged. Who writes leaves it alone; who looks asks it once.

pub mod attributes;
mod finding;
mod m_keys;
mod node;
mod recalled;
mod route;
pub(crate) mod same;
mod tables;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

use sa_fabric::{NodeIx, PortRef};
use sa_wire::Guid;

use crate::sm_info::SmInfo;

pub use self::finding::{Finding, Place};
pub use self::node::{Node, NodeError, Port, PortState};
pub use self::route::Route;
pub(crate) use self::same::told;
pub use self::tables::{Block, Tables};
pub(crate) use self::ways::Parents;

/// A subnet as it was found.
#[derive(Debug, Clone, Default)]
pub struct Subnet {
    nodes: Vec<Node>,
    by_guid: BTreeMap<Guid, NodeIx>,
    sm: Option<PortRef>,
    managers: BTreeMap<PortRef, SmInfo>,
    findings: BTreeSet<Finding>,
    /// Of reading and writing, since something was planned last.
    missed: BTreeSet<Finding>,
    /// What is noted from now on is of reading and writing.
    is_planned: bool,
    is_as_left: bool,
    /// All requests carry one M_Key, whatever ports show.
    fixed_key: Option<u64>,
}

impl Subnet {
    /// All nodes, in the order in which they were found.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All nodes, without what joins them.
    pub fn into_nodes(self) -> impl Iterator<Item = Node> {
        self.nodes.into_iter()
    }

    /// All nodes with their places.
    pub fn places(&self) -> impl Iterator<Item = (NodeIx, &Node)> {
        (0..).map(NodeIx).zip(&self.nodes)
    }

    /// All end ports in the order of nodes: of a switch its port 0, else every port that was found.
    pub fn end_ports(&self) -> impl Iterator<Item = (PortRef, &Port)> {
        self.places().flat_map(|(node, it)| {
            it.end_ports()
                .map(move |(port, found)| (PortRef { node, port }, found))
        })
    }

    /// `None` for a place that no node has.
    pub fn node(&self, ix: NodeIx) -> Option<&Node> {
        self.nodes.get(ix.get())
    }

    /// Like [`Self::node`].
    pub fn node_mut(&mut self, ix: NodeIx) -> Option<&mut Node> {
        self.nodes.get_mut(ix.get())
    }

    /// `None` for a port that the node has not.
    pub fn port(&self, at: PortRef) -> Option<&Port> {
        self.node(at.node)?.port(at.port)
    }

    /// Like [`Self::port`].
    pub fn port_mut(&mut self, at: PortRef) -> Option<&mut Port> {
        self.node_mut(at.node)?.port_mut(at.port)
    }

    /// The place of a node GUID.
    pub fn by_guid(&self, guid: Guid) -> Option<NodeIx> {
        self.by_guid.get(&guid).copied()
    }

    /// The far end of a port's link.
    pub fn peer(&self, at: PortRef) -> Option<PortRef> {
        self.port(at)?.peer
    }

    /// The port by which this SM sends. `None` before the first answer.
    pub const fn sm(&self) -> Option<PortRef> {
        self.sm
    }

    /// This SM sends by that port from now on.
    pub const fn set_sm(&mut self, at: PortRef) {
        self.sm = Some(at);
    }

    /// The way to a port for SMPs about it: a switch answers for all of its ports at the end of one.
    pub fn route(&self, at: PortRef) -> Option<&Route> {
        let node = self.node(at.node)?;
        node.port(node.end_port(at.port))?.route.as_ref()
    }

    /// Takes a node in. Gives the place of the one that is there already under this GUID, which then stays as it is.
    pub fn add(&mut self, node: Node) -> NodeIx {
        let next = NodeIx::nth(self.nodes.len());
        let at = *self.by_guid.entry(node.guid()).or_insert(next);
        if at == next {
            self.nodes.push(node);
        }
        at
    }

    /// Two ports are joined. A port that was joined to another one before leaves that one without a peer. Nothing
    /// happens for ports that are not there.
    pub fn join(&mut self, one: PortRef, other: PortRef) {
        if self.port(one).is_none() || self.port(other).is_none() {
            return;
        }
        for (at, far) in [(one, other), (other, one)] {
            let before = self.port_mut(at).and_then(|port| port.peer.replace(far));
            let left = before.filter(|before| *before != far && *before != at);
            if let Some(port) = left.and_then(|left| self.port_mut(left)) {
                port.peer = None;
            }
        }
    }

    /// True where a sweep found it as the sweep before left it, and no node of it can have forgotten anything: what was
    /// planned then would be planned again.
    pub const fn is_as_left(&self) -> bool {
        self.is_as_left
    }

    pub(crate) const fn set_as_left(&mut self, is_as_left: bool) {
        self.is_as_left = is_as_left;
    }

    /// Other SMs, with the end ports where they are.
    pub fn managers(&self) -> impl Iterator<Item = (PortRef, &SmInfo)> {
        self.managers.iter().map(|(at, info)| (*at, info))
    }

    /// An SM is on that port.
    pub fn note_manager(&mut self, at: PortRef, info: SmInfo) {
        // The last word of a port counts, where it was asked twice.
        self.managers.insert(at, info);
    }

    /// What is wrong with the subnet: as it was found, then as it was written.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(&self.missed)
    }

    /// Notes what is wrong, unless it is noted already.
    pub fn note(&mut self, finding: Finding) {
        match self.is_planned {
            true => self.missed.insert(finding),
            false => self.findings.insert(finding),
        };
    }

    /// It is found anew: what was missed when it was written stands until something is planned again.
    pub(crate) fn begin(&mut self) {
        (self.is_planned, self.is_as_left) = (false, false);
        for node in &mut self.nodes {
            node.forget_came_up();
        }
    }

    /// It was found, and is read and written from now on.
    pub(crate) fn planned(&mut self) {
        self.is_planned = true;
        self.missed.clear();
    }

    /// What was found wrong so far.
    pub(crate) const fn found_wrong(&self) -> &BTreeSet<Finding> {
        &self.findings
    }

    /// What was found wrong and does not pass is wrong no more, or is about to be asked again.
    pub(crate) fn keep_findings(&mut self, keeps: impl FnMut(&Finding) -> bool) {
        self.findings.retain(keeps);
    }

    /// No SM is on that port any more.
    pub(crate) fn forget_manager(&mut self, at: PortRef) -> Option<SmInfo> {
        self.managers.remove(&at)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn switch(guid: u64, ports: u8) -> Node {
        let mut data = [0; 64];
        data[2] = 2;
        data[3] = ports;
        data[12..20].copy_from_slice(&guid.to_be_bytes());
        Node::new(attributes::node_record(&data)).unwrap()
    }

    #[test]
    fn a_guid_is_there_once() {
        let mut subnet = Subnet::default();
        let first = subnet.add(switch(7, 4));
        assert_eq!(subnet.add(switch(7, 8)), first);
        assert_eq!(subnet.nodes().len(), 1);
        assert_eq!(subnet.nodes()[0].port_count(), 4);
        assert_eq!(subnet.by_guid(Guid::new(7).unwrap()), Some(first));
    }

    #[test]
    fn a_new_link_takes_the_old_ones_away() {
        let mut subnet = Subnet::default();
        let nodes = [1, 2, 3].map(|guid| subnet.add(switch(guid, 2)));
        let [a, b, c] = nodes.map(|node| PortRef { node, port: 1 });
        subnet.join(a, b);
        subnet.join(b, c);
        assert_eq!(subnet.peer(a), None);
        assert_eq!((subnet.peer(b), subnet.peer(c)), (Some(c), Some(b)));
        let nowhere = PortRef { port: 3, ..a };
        subnet.join(b, nowhere);
        assert_eq!(subnet.peer(b), Some(c), "a port that is not there");
    }
}
