//! Where the SM runs, and what it finds from there.
//!
//! OpenSM discovers breadth first with directed routes: it asks a node who it is and, if that is a
//! switch, goes on through all its ports. CAs and routers do not forward directed routes, so what
//! lies behind one is not found through it, and a CA with two ports on two separate fabrics joins
//! nothing. Link states are not asked here; `sweep` does, where records say what the SM sees.
//!
//! ```text
//!  SM ── S1 ── S2 ── H2:1      found: S1, S2, H1:1, H2:1
//!        └── H1:1  H1:2 ── S3  not found: S3, H1:2
//! ```

use sa_wire::{Guid, NodeType};

use super::lookup::Names;
use super::{SubnetError, SubnetOptions};
use crate::model::{Fabric, NodeIx, PortRef};
use crate::overlay::LidOverlay;

/// What the SM finds: it passes through switches only, so that a CA or router port counts if a
/// cable leads from a switch (or the SM's own port) to it.
pub(super) struct Reached {
    /// In the order of node GUIDs.
    pub(super) switches: Vec<NodeIx>,
    /// In the order of port GUIDs.
    pub(super) end_ports: Vec<(Guid, PortRef)>,
}

impl Reached {
    /// Goes through the fabric from the SM's port. Cost: once over all ports of reached switches,
    /// and two sorts.
    pub(super) fn from(fabric: &Fabric, sm: PortRef) -> Self {
        let mut seen = vec![false; fabric.nodes().len()];
        let mut switches: Vec<NodeIx> = Vec::new();
        let mut ends = vec![sm];
        // A switch counts once, however many cables lead to it; a CA port has one cable and comes
        // once.
        let mut meet = |at: PortRef, switches: &mut Vec<NodeIx>| {
            let is_switch = fabric.node(at.node).kind == NodeType::Switch;
            if !is_switch {
                ends.push(at);
            } else if seen
                .get_mut(at.node.get())
                .is_some_and(|seen| !core::mem::replace(seen, true))
            {
                switches.push(at.node);
                ends.push(PortRef { port: 0, ..at });
            }
        };
        meet(sm, &mut switches);
        if let Some(peer) = fabric.port(sm).peer {
            meet(peer, &mut switches);
        }
        let mut next = 0;
        while let Some(switch) = switches.get(next) {
            next += 1;
            let ports = &fabric.node(*switch).ports;
            for peer in ports.iter().filter_map(|port| port.peer) {
                meet(peer, &mut switches);
            }
        }
        switches.sort_by_key(|switch| fabric.node(*switch).guid.map_order());
        let guid = |at: PortRef| {
            let own = fabric.port(at).guid;
            own.unwrap_or_else(|| fabric.node(at.node).guid)
        };
        let mut end_ports: Vec<_> = ends.into_iter().map(|at| (guid(at), at)).collect();
        // By place too, for ports without a GUID of their own, which have that of the node.
        end_ports.sort_by_key(|(guid, at)| (guid.map_order(), *at));
        // The SM's port may be met again from its switch.
        end_ports.dedup();
        Self {
            switches,
            end_ports,
        }
    }
}

/// The port that the SM runs on; see [`super::Subnet::new`].
///
/// The order: a node that was named, a GUID that was given, the mark of the LID file, the mark of
/// the fabric file, the first CA that is cabled, then the first router, then a switch. Errors: what
/// was given leads nowhere; no cable at all.
pub(super) fn sm_port(
    fabric: &Fabric,
    names: &Names,
    options: &SubnetOptions<'_>,
) -> Result<PortRef, SubnetError> {
    if let Some(name) = options.sm_node {
        return port_for_sm(fabric, names.node(fabric, name)?);
    }
    let with_guid = |guid| {
        let ports = all_ports(fabric);
        let mut found = ports.filter(|at| fabric.port(*at).guid == Some(guid));
        found.next()
    };
    if let Some(guid) = options.sm_guid {
        return with_guid(guid).ok_or(SubnetError::NoSmPort(guid));
    }
    // A mark that leads nowhere is passed over: the LID file may be older than the fabric.
    let told = options
        .lids
        .and_then(LidOverlay::sm)
        .and_then(with_guid)
        .or_else(|| fabric.sm());
    let default = || {
        [NodeType::Ca, NodeType::Router, NodeType::Switch]
            .into_iter()
            .find_map(|kind| {
                let mut nodes = (0..).map(NodeIx).zip(fabric.nodes());
                nodes.find_map(|(ix, node)| {
                    if node.kind == kind {
                        port_for_sm(fabric, ix).ok()
                    } else {
                        None
                    }
                })
            })
    };
    told.or_else(default).ok_or(SubnetError::NoCable)
}

/// The port that an SM on this node uses: port 0 of a switch, else the first with a cable (the one
/// that the file marks as the SM's, if it is of this node).
///
/// Errors: it has no cable.
fn port_for_sm(fabric: &Fabric, node: NodeIx) -> Result<PortRef, SubnetError> {
    // A node with several cabled ports runs the SM on one of them, and the file knows which.
    if let Some(marked) = fabric.sm().filter(|marked| marked.node == node) {
        return Ok(marked);
    }
    let facts = fabric.node(node);
    let mut cabled = (0..=u8::MAX)
        .zip(&facts.ports)
        .filter(|(_, port)| port.peer.is_some());
    let (first, _) = cabled
        .next()
        .ok_or_else(|| SubnetError::SmNotCabled(facts.name().to_owned()))?;
    let port = if facts.kind == NodeType::Switch {
        0
    } else {
        first
    };
    Ok(PortRef { node, port })
}

/// Every port of every node, port 0 of CAs included, which is never cabled.
fn all_ports(fabric: &Fabric) -> impl Iterator<Item = PortRef> {
    (0..)
        .map(NodeIx)
        .zip(fabric.nodes())
        .flat_map(|(node, facts)| (0..=facts.port_count()).map(move |port| PortRef { node, port }))
}
