//! Where nodes of the model are in what the compiler made.
//!
//! The model numbers nodes as they were found, the compiler by its own order, and leaves out what no cable leads to. GUIDs are
//! what both know; the model has each once.

use std::collections::HashMap;

use routing::{EndPortIx, SwitchIx};
use sa_compiler::state::FabricState;
use sa_fabric::{NodeIx, PortRef};
use sa_sm::model::Subnet;
use sa_wire::Guid;

/// By GUID, as the two have orders of their own.
///
/// Made for each step that needs it: three maps over the subnet cost little beside what they are made for.
pub(crate) struct Index {
    /// By node GUID.
    // Hash maps: looked up by GUID alone, and never walked, so their order reaches no table.
    nodes: HashMap<Guid, NodeIx>,
    /// By node GUID. Only those that have routes.
    switches: HashMap<Guid, SwitchIx>,
    /// By port GUID.
    ends: HashMap<Guid, EndPortIx>,
}

impl Index {
    /// `parts` were compiled of `found`: a GUID that only one of them has is looked up in vain, which is no error.
    pub(crate) fn new(found: &Subnet, parts: &FabricState) -> Self {
        let topology = &parts.topology;
        let switches = topology.switch_ixs();
        let ends = topology.end_port_ixs();
        Self {
            nodes: found.places().map(|(at, node)| (node.guid(), at)).collect(),
            switches: switches.map(|ix| (topology.switch(ix).guid, ix)).collect(),
            ends: ends.map(|ix| (topology.end_port(ix).guid, ix)).collect(),
        }
    }

    /// A switch that has routes; `None` for other nodes, and for switches that no cable leads to.
    pub(crate) fn switch(&self, node: Guid) -> Option<SwitchIx> {
        self.switches.get(&node).copied()
    }

    /// `None` for ports that no cable leads to.
    pub(crate) fn end(&self, port: Guid) -> Option<EndPortIx> {
        self.ends.get(&port).copied()
    }

    /// A port of the compiler's fabric as one of the model.
    ///
    /// Port numbers are the same in both; only nodes are numbered anew.
    pub(crate) fn found(&self, parts: &FabricState, at: PortRef) -> Option<PortRef> {
        let node = parts.subnet.fabric().node(at.node).guid;
        // `None` where the node has gone from the model since: the caller leaves it out.
        let node = self.nodes.get(&node).copied()?;
        Some(PortRef { node, ..at })
    }
}
