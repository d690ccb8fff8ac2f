//! A question, and the SMP that asks it.
//!
//! | question | attribute | modifier |
//! |---|---|---|
//! | `Node` | NodeInfo | 0 |
//! | `Description` | NodeDescription | 0 |
//! | `Switch` | SwitchInfo | 0 |
//! | `Port` | PortInfo | port number, bit 31 for extended speeds |
//! | `Key` | PortInfo, again with another M_Key | port number |
//! | `Manager` | SMInfo | 0 |
//! | `Keys` | P_KeyTable | block; of switches the port in the upper half |
//!
//! Questions about one node share a window of requests, those about whoever is behind a port have one for each port: nobody knows
//! yet whether two of these lead to the same node.

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::attribute;

use crate::executor::{Device, Request};
use crate::model::{Route, Subnet};

/// What is asked.
///
/// A value that comes back with its outcome: discovery keeps no list of what is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Who is at the end of this route: NodeInfo.
    Node {
        /// The port whose far end it is; `None` for this SM's own node.
        from: Option<PortRef>,
        /// The way there.
        route: Route,
    },
    /// NodeDescription.
    Description {
        /// The end port that is asked.
        at: PortRef,
    },
    /// SwitchInfo.
    Switch {
        /// Whose.
        node: NodeIx,
    },
    /// PortInfo.
    Port {
        /// Whose.
        at: PortRef,
        /// Speeds beyond QDR are wanted too: the device has them.
        extended: bool,
    },
    /// PortInfo again: the port hides its M_Key from who does not have it, and this one was not tried yet.
    Key {
        /// The end port.
        at: PortRef,
        /// What is left to be tried, the next first.
        left: Vec<u64>,
    },
    /// SMInfo: an SM is on this port.
    Manager {
        /// The end port that is asked.
        at: PortRef,
    },
    /// A block of the P_Key table.
    Keys {
        /// Whose.
        at: PortRef,
        /// 32 keys each.
        block: u16,
    },
}

// Everything that is needed to ask is in the question and the subnet: a repeated one goes by the way of now.
impl Question {
    /// Attribute and modifier: of switches the port stands in it, CAs answer for the one that was reached.
    pub(super) fn attribute(&self, is_switch: bool) -> (u16, u32) {
        match *self {
            Self::Node { .. } => (attribute::NODE_INFO, 0),
            Self::Description { .. } => (attribute::NODE_DESCRIPTION, 0),
            Self::Switch { .. } => (attribute::SWITCH_INFO, 0),
            Self::Manager { .. } => (attribute::SM_INFO, 0),
            Self::Key { ref at, .. } => (attribute::PORT_INFO, u32::from(at.port)),
            Self::Port { at, extended } => {
                let speeds = if extended { EXTENDED_SPEEDS } else { 0 };
                (attribute::PORT_INFO, speeds | u32::from(at.port))
            }
            Self::Keys { at, block } => {
                let port = if is_switch {
                    u32::from(at.port) << 16
                } else {
                    0
                };
                (attribute::PKEY_TABLE, port | u32::from(block))
            }
        }
    }

    /// The port that it is about; of a node that is not known yet none.
    ///
    /// For a switch its port 0, as that is who answers.
    pub(super) const fn asked_of(&self) -> Option<PortRef> {
        match *self {
            Self::Node { .. } => None,
            Self::Description { at }
            | Self::Port { at, .. }
            | Self::Key { at, .. }
            | Self::Manager { at }
            | Self::Keys { at, .. } => Some(at),
            Self::Switch { node } => Some(PortRef { node, port: 0 }),
        }
    }

    /// The way to who answers.
    pub(super) fn route(&self, subnet: &Subnet) -> Option<Route> {
        match self {
            // The way to the near end may be another one by now.
            Self::Node {
                from: Some(from), ..
            } => subnet.route(*from)?.then(from.port),
            Self::Node { from: None, route } => Some(route.clone()),
            other => subnet.route(other.asked_of()?).cloned(),
        }
    }

    /// `None` where no way is known, or no key is given. The first key is tried first.
    pub(crate) fn request(&self, subnet: &Subnet, mut keys: Vec<u64>) -> Option<Request> {
        let asked_of = self.asked_of();
        let is_switch = asked_of
            .and_then(|at| subnet.node(at.node))
            .is_some_and(|node| node.is_switch());
        let (attribute, modifier) = self.attribute(is_switch);
        let m_key = *keys.first()?;
        let other_keys = keys.split_off(1);
        Some(Request {
            device: self.device(),
            route: self.route(subnet)?,
            set: None,
            attribute,
            modifier,
            m_key,
            other_keys,
            takes_long: false,
        })
    }

    /// A node that is known, or what is behind a port.
    fn device(&self) -> Device {
        match self {
            Self::Node { from: None, .. } => Device(u64::MAX),
            Self::Node {
                from: Some(from), ..
            } => behind(*from),
            other => device(other.asked_of().map_or(NodeIx(u32::MAX), |at| at.node)),
        }
    }
}

/// A node that is known.
///
/// Numbers of nodes are below 2^32, those behind ports above 2^63: they cannot meet.
pub(crate) fn device(node: NodeIx) -> Device {
    Device(u64::from(node.0))
}

/// Whoever is at the far end of a port.
fn behind(at: PortRef) -> Device {
    Device((1 << 63) | (u64::from(at.node.0) << 8) | u64::from(at.port))
}

/// In the modifier of PortInfo: the SM knows extended speeds.
const EXTENDED_SPEEDS: u32 = 1 << 31;
