//! LIDs from an `opensm-subnet.lst`, to be laid over a fabric that came from another file.
//!
//! The fabric of a net file or of ibnetdiscover has cables but often no LIDs, or old ones; the SM's
//! own list has the LIDs that are in force. Only GUIDs tie the two together: names differ, and the
//! order of ports too. A plain value, without a look at files, so that the subnet can take it and
//! give one out.

use std::collections::HashMap;

use sa_wire::{Guid, Lid};

use crate::model::Fabric;

/// LIDs by port GUID, and which port the SM ran on.
#[derive(Debug, Clone)]
pub struct LidOverlay {
    /// Base LIDs. LMC is not in it: the file has none, and it is inferred with the subnet.
    lids: HashMap<Guid, Lid>,
    /// None where the file marks no port, or on purpose ([`Self::without_sm`]).
    sm: Option<Guid>,
}

impl LidOverlay {
    /// LIDs by port GUID, and the GUID of the port that the SM runs on, where that is known.
    ///
    /// Of a GUID that comes twice the last LID counts; readers refuse such files before.
    pub fn new(lids: impl IntoIterator<Item = (Guid, Lid)>, sm: Option<Guid>) -> Self {
        Self {
            lids: lids.into_iter().collect(),
            sm,
        }
    }

    /// The LIDs that a fabric gives; ports without GUID or LID are left out.
    ///
    /// Of a switch the GUID and LID of port 0.
    pub fn from_fabric(fabric: &Fabric) -> Self {
        let ports = fabric.nodes().iter().flat_map(|node| &node.ports);
        let with_lid = ports.filter_map(|port| Some((port.guid?, port.lid?)));
        let sm = fabric.sm().and_then(|at| fabric.port(at).guid);
        Self::new(with_lid, sm)
    }

    /// The same LIDs without the place of the SM: for a fabric in which that port is cut off.
    #[must_use]
    pub fn without_sm(self) -> Self {
        Self { sm: None, ..self }
    }

    /// The base LID of a port; none for a port that the file does not list.
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

    /// The GUID of the port that the SM ran on; none where the file does not mark one.
    pub const fn sm(&self) -> Option<Guid> {
        self.sm
    }
}
