//! LIDs from an `opensm-subnet.lst`, to be laid over a fabric that came from another file.

use std::collections::HashMap;

use sa_wire::{Guid, Lid};

use super::error::ParseError;
use super::model::Fabric;
use super::subnet::Subnet;
use crate::formats::subnet_lst;

/// LIDs by port GUID.
#[derive(Debug, Clone)]
pub struct LidOverlay {
    lids: HashMap<Guid, Lid>,
    sm: Option<Guid>,
}

impl LidOverlay {
    /// Reads an `opensm-subnet.lst`. Errors: as [`subnet_lst::parse`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        subnet_lst::parse(bytes).map(|fabric| Self::of(&fabric))
    }

    /// The LIDs that a fabric file gives.
    pub fn of(fabric: &Fabric) -> Self {
        let ports = fabric.nodes().iter().flat_map(|node| &node.ports);
        Self {
            lids: ports
                .filter_map(|port| Some((port.guid?, port.lid?)))
                .collect(),
            sm: fabric.sm().and_then(|at| fabric.port(at).guid),
        }
    }

    /// The LIDs of a subnet.
    pub fn of_subnet(subnet: &Subnet) -> Self {
        let ports = subnet.end_ports();
        Self {
            lids: ports.iter().map(|port| (port.guid, port.lid)).collect(),
            sm: ports.get(subnet.sm()).map(|port| port.guid),
        }
    }

    /// The same LIDs, and nobody knows where the SM runs.
    #[must_use]
    pub fn without_sm(self) -> Self {
        Self { sm: None, ..self }
    }

    /// The LID of a port.
    pub fn lid(&self, guid: Guid) -> Option<Lid> {
        self.lids.get(&guid).copied()
    }

    /// The port GUIDs that have a LID, in no order.
    pub fn guids(&self) -> impl Iterator<Item = Guid> {
        self.lids.keys().copied()
    }

    /// How many ports have a LID.
    pub fn len(&self) -> usize {
        self.lids.len()
    }

    /// True when no port has a LID.
    pub fn is_empty(&self) -> bool {
        self.lids.is_empty()
    }

    /// The port that the SM ran on.
    pub const fn sm(&self) -> Option<Guid> {
        self.sm
    }
}
