//! What the policy needs to know about a fabric.

use sa_wire::{Guid, NodeType};

/// An end port as the policy sees it: a CA or router port, or the port 0 of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortFacts {
    /// Port GUID.
    pub guid: Guid,
    /// What the node is.
    pub node_type: NodeType,
    /// NodeDescription.
    pub description: String,
    /// Port number on its node, 0 for a switch.
    pub port_number: u8,
    /// True for the port that the SM runs on.
    pub is_sm: bool,
}
