//! A fabric without some of its parts: what would be if they failed.
//!
//! Only cables go. Nodes and ports stay where they are, so that indices, references and LIDs of the
//! healthy fabric still mean the same, and two states can be compared port by port. Which ports the
//! SM still reaches shows when a [`Subnet`](crate::Subnet) is made of what is left.
//!
//! The way of `--fail S3`, `--fail S3:7` and `--fail 1,2,3`: the compiler finds the part behind the
//! name (`pipeline::read::failures`), this takes its cables away, and everything after it runs as
//! for any fabric. So a failure that is tried is answered by the same code as one that happens.

use super::model::{Fabric, NodeIx, PortRef};

/// A part that fails, as `--fail` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failed {
    /// A node with all its cables.
    Node(NodeIx),
    /// The cable at a port.
    ///
    /// Either end names it; the other end loses it as well.
    Cable(PortRef),
}

impl Fabric {
    /// Takes the cables of failed parts away. Nodes stay, so that references hold; without a cable
    /// nobody reaches them. A part that is named twice, or a cable of a node that has failed as
    /// well, is no problem. Cost: the ports of the parts.
    pub fn fail(&mut self, parts: &[Failed]) {
        for part in parts {
            match *part {
                Failed::Cable(at) => self.unplug(at),
                Failed::Node(node) => {
                    // From 1: port 0 has no cable, and does not work without the others.
                    let last = self.node(node).port_count();
                    (1..=last).for_each(|port| self.unplug(PortRef { node, port }));
                }
            }
        }
    }

    /// The state of the ports stays as the file has it: what counts from here on is the cable.
    fn unplug(&mut self, at: PortRef) {
        let peer = self.port(at).peer;
        // From both ends, or the fabric would have a cable that one end does not know.
        for end in peer.into_iter().chain([at]) {
            let ports = self
                .nodes
                .get_mut(end.node.get())
                .map(|node| &mut node.ports);
            // Both were references of this fabric, so nothing is ever passed over here.
            if let Some(port) = ports.and_then(|ports| ports.get_mut(usize::from(end.port))) {
                port.peer = None;
            }
        }
    }
}
