//! From what people and request files write to ports and switches.
//!
//! ```text
//!  "H1"  H1:2  "host 1"         an id of a net file, with a port, a description
//!  0x100001                     a port GUID, or that of a node with one port
//!  17                           a LID, any of a port's range
//! ```
//!
//! Names go first, because a node may be called `17` or `0x1`. What may mean several things is an
//! error that lists them: an answer about the wrong port would look like any other.

use std::collections::HashMap;

use sa_wire::{Guid, Lid, NodeType};
use thiserror::Error;

use super::Subnet;
use crate::model::{Fabric, Node, NodeIx, PortRef};

/// Why a name leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LookupError {
    /// Nothing is called so.
    #[error("nothing in the fabric is called {0:?} (give a name, a description, 0xGUID or a LID)")]
    Unknown(String),
    /// Several nodes are.
    #[error("{name:?} may be any of {candidates}; give a GUID", candidates = list(.guids))]
    Ambiguous {
        /// The name.
        name: String,
        /// The nodes.
        guids: Vec<Guid>,
    },
    /// A node without a port in the subnet: nothing reaches it.
    #[error("{0} has no port that the SM reaches")]
    NoEndPort(String),
    /// Several ports of a node may be meant: only the name of a switch, or of a CA with one reached
    /// port, is enough.
    #[error("{node} has the ports {ports:?}; say which, as in \"{node}:{first}\"",
        first = .ports.first().copied().unwrap_or_default())]
    SeveralPorts {
        /// The node.
        node: String,
        /// Its ports in the subnet.
        ports: Vec<u8>,
    },
    /// Not a switch.
    #[error("{0} is not a switch")]
    NotASwitch(String),
}

/// GUIDs in one line, for messages.
fn list(guids: &[Guid]) -> String {
    guids
        .iter()
        .map(Guid::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Subnet {
    /// The end port that owns a LID. Shape: index into [`Self::end_ports`].
    pub fn by_lid(&self, lid: Lid) -> Option<usize> {
        let index = self.by_lid.get(lid.index()).copied().flatten()?;
        usize::try_from(index).ok()
    }

    /// The end port with a port GUID. Shape: index into [`Self::end_ports`].
    pub fn by_guid(&self, guid: Guid) -> Option<usize> {
        self.by_guid.get(&guid).copied()
    }

    /// The end port at a port; on a switch every port stands for port 0.
    /// Shape: index into [`Self::end_ports`].
    pub fn by_port(&self, at: PortRef) -> Option<usize> {
        let is_switch = self.fabric.node(at.node).kind == NodeType::Switch;
        let at = if is_switch {
            PortRef { port: 0, ..at }
        } else {
            at
        };
        self.by_port.get(&at).copied()
    }

    /// The end port behind what a person or a request file writes: a node's name (its id in a net
    /// file, else its description), `NAME:PORT`, a port or node GUID as 0x.., or a LID in decimal.
    /// Shape: index into [`Self::end_ports`]. Errors: [`LookupError`].
    ///
    /// Cost: a hash look-up for names; GUIDs of nodes are searched for.
    pub fn find(&self, text: &str) -> Result<usize, LookupError> {
        match self.names.node(&self.fabric, text) {
            Ok(node) => match parse_guid(text).and_then(|guid| self.by_guid(guid)) {
                // A port GUID says which port, although its node has several.
                Some(port) => Ok(port),
                None => self.only_port(node),
            },
            Err(LookupError::Unknown(_)) => self.find_port(text),
            Err(other) => Err(other),
        }
    }

    /// `NAME:PORT` or a LID.
    ///
    /// The last colon parts the port: names may have colons, too.
    fn find_port(&self, text: &str) -> Result<usize, LookupError> {
        let unknown = || LookupError::Unknown(text.to_owned());
        let lid = text.parse().ok().and_then(|lid| Lid::new(lid).ok());
        if let Some(port) = lid.and_then(|lid| self.by_lid(lid)) {
            return Ok(port);
        }
        let (name, port) = text.rsplit_once(':').ok_or_else(unknown)?;
        let port = port.parse().map_err(|_| unknown())?;
        let node = self.names.node(&self.fabric, name).map_err(|_| unknown())?;
        self.by_port
            .get(&PortRef { node, port })
            .copied()
            .ok_or_else(unknown)
    }

    /// The one port of a node that the SM reaches. Errors: none, or several.
    fn only_port(&self, node: NodeIx) -> Result<usize, LookupError> {
        let facts = self.fabric.node(node);
        let in_subnet = |port| {
            self.by_port
                .get(&PortRef { node, port })
                .map(|index| (port, *index))
        };
        let ports: Vec<_> = (0..=facts.port_count()).filter_map(in_subnet).collect();
        let node = facts.name().to_owned();
        match ports.as_slice() {
            [(_, index)] => Ok(*index),
            [] => Err(LookupError::NoEndPort(node)),
            _ => {
                let ports = ports.into_iter().map(|(port, _)| port).collect();
                Err(LookupError::SeveralPorts { node, ports })
            }
        }
    }

    /// The switch behind a name, a description or a GUID as 0x... Errors: [`LookupError`].
    pub fn find_switch(&self, text: &str) -> Result<NodeIx, LookupError> {
        let node = self.names.node(&self.fabric, text)?;
        match self.fabric.node(node).kind {
            NodeType::Switch => Ok(node),
            _ => Err(LookupError::NotASwitch(text.to_owned())),
        }
    }
}

/// Every id and description, with the nodes that have it.
///
/// Unreachable nodes too, so that they are told as such and not as unknown.
#[derive(Debug, Clone)]
pub(super) struct Names(HashMap<String, Vec<NodeIx>>);

impl Names {
    /// Memory: each name once more.
    pub(super) fn new(fabric: &Fabric) -> Self {
        let mut names: HashMap<String, Vec<NodeIx>> = HashMap::new();
        for (ix, node) in (0..).map(NodeIx).zip(fabric.nodes()) {
            for name in node.id.iter().chain([&node.description]) {
                let nodes = names.entry(name.clone()).or_default();
                // Id and description may be the same text.
                if nodes.last() != Some(&ix) {
                    nodes.push(ix);
                }
            }
        }
        Self(names)
    }

    /// The node with this id, else description, else node or port GUID.
    ///
    /// Errors: nobody's name, or a description of several nodes of which none has it as id.
    pub(super) fn node(&self, fabric: &Fabric, text: &str) -> Result<NodeIx, LookupError> {
        match self.0.get(text).map(Vec::as_slice) {
            Some([node]) => Ok(*node),
            Some(nodes) => {
                let by_id = nodes
                    .iter()
                    .find(|ix| fabric.node(**ix).id.as_deref() == Some(text));
                by_id.copied().ok_or_else(|| LookupError::Ambiguous {
                    name: text.to_owned(),
                    guids: nodes.iter().map(|ix| fabric.node(*ix).guid).collect(),
                })
            }
            None => parse_guid(text)
                .and_then(|guid| node_with_guid(fabric, guid))
                .ok_or_else(|| LookupError::Unknown(text.to_owned())),
        }
    }
}

/// The node with this GUID, or with a port that has it. Linear: people ask seldom.
fn node_with_guid(fabric: &Fabric, guid: Guid) -> Option<NodeIx> {
    let has_guid =
        |node: &Node| node.guid == guid || node.ports.iter().any(|port| port.guid == Some(guid));
    fabric.nodes().iter().position(has_guid).map(NodeIx::nth)
}

/// Only with 0x: without it a number is a LID.
fn parse_guid(text: &str) -> Option<Guid> {
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))?;
    Guid::new(u64::from_str_radix(digits, 16).ok()?).ok()
}
