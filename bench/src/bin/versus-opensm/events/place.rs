//! Where events happen: the same place for both, and none that would cut the Subnet Manager off.

use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;

/// Names of the simulator's, as its console takes them.
pub(super) struct Place {
    /// A cable between two switches, by one of its ends.
    pub(super) cable: String,
    /// The port of a host.
    pub(super) host: String,
    /// A switch: one without hosts where there is any.
    pub(super) switch: String,
}

impl Place {
    /// In the middle of what there is, apart from the switch of the Subnet Manager's host `sm`.
    /// None where a subnet has no such place.
    pub(super) fn of(fabric: &Fabric, sm: PortRef) -> Option<Self> {
        let cables: Vec<_> = fabric.cabled().collect();
        let is_switch = |node: NodeIx| fabric.node(node).kind == NodeType::Switch;
        let near = |node: NodeIx| {
            let mut of_sm = cables
                .iter()
                .filter(|(one, other)| one.node == sm.node || other.node == sm.node);
            of_sm.any(|(one, other)| one.node == node || other.node == node)
        };
        let is_apart = |(one, other): &&(PortRef, PortRef)| !near(one.node) && !near(other.node);
        let apart: Vec<_> = cables.iter().filter(is_apart).copied().collect();
        let between =
            |(one, other): &&(PortRef, PortRef)| is_switch(one.node) && is_switch(other.node);
        let (cable, _) = middle(apart.iter().filter(between))?;
        let mut ends = apart.iter().flat_map(|(one, other)| [*one, *other]);
        let host = ends.rfind(|at| !is_switch(at.node))?;
        let has_hosts = |node: NodeIx| {
            let mut of = cables
                .iter()
                .filter(|(one, other)| one.node == node || other.node == node);
            of.any(|(one, other)| !is_switch(one.node) || !is_switch(other.node))
        };
        let all = (0..fabric.nodes().len()).map(NodeIx::nth);
        let switches: Vec<_> = all
            .filter(|node| is_switch(*node) && !near(*node))
            .collect();
        let without: Vec<_> = switches.iter().filter(|node| !has_hosts(**node)).collect();
        let switch = middle(without.into_iter()).or_else(|| middle(switches.iter()))?;
        let name = |node: NodeIx| format!("\"{}\"", fabric.node(node).description);
        let port = |at: PortRef| format!("{}[{}]", name(at.node), at.port);
        Some(Self {
            cable: port(cable),
            host: port(host),
            switch: name(switch),
        })
    }
}

fn middle<'a, T: Copy + 'a>(all: impl Iterator<Item = &'a T> + Clone) -> Option<T> {
    let half = all.clone().count() / 2;
    all.copied().nth(half)
}
