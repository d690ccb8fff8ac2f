//! A fabric without some of its parts: what would be if they failed.
//!
//! Only cables go. Nodes and ports stay where they are, so that indices, references and LIDs of the
//! healthy fabric still mean the same, and two states can be compared port by port. Which ports the
//! SM still reaches shows when a [`Subnet`](crate::Subnet) is made of what is left.

use super::model::{Fabric, NodeIx, PortRef};

/// A part that fails, as `--fail` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failed {
    /// A node with all its cables.
    Node(NodeIx),
    /// The cable at a port.
    Cable(PortRef),
}

impl Fabric {
    /// Takes the cables of failed parts away. Nodes stay, so that references hold; without a cable
    /// nobody reaches them.
    pub fn fail(&mut self, parts: &[Failed]) {
        for part in parts {
            match *part {
                Failed::Cable(at) => self.unplug(at),
                Failed::Node(node) => {
                    let last = self.node(node).port_count();
                    (1..=last).for_each(|port| self.unplug(PortRef { node, port }));
                }
            }
        }
    }

    fn unplug(&mut self, at: PortRef) {
        let peer = self.port(at).peer;
        // From both ends, or the fabric would have a cable that one end does not know.
        for end in peer.into_iter().chain([at]) {
            let ports = self
                .nodes
                .get_mut(end.node.get())
                .map(|node| &mut node.ports);
            if let Some(port) = ports.and_then(|ports| ports.get_mut(usize::from(end.port))) {
                port.peer = None;
            }
        }
    }
}
