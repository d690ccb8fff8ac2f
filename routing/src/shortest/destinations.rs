//! Where LIDs lead.

use crate::topology::{SwitchIx, Topology};

/// A LID and where it is.
pub(crate) struct Destination {
    pub(crate) lid: u16,
    pub(crate) switch: SwitchIx,
    /// The switch's port to it.
    pub(crate) port: u8,
}

/// Every LID that is on a switch, ascending.
pub(crate) fn destinations(topology: &Topology) -> Vec<Destination> {
    let ends = topology
        .end_ports
        .iter()
        .filter_map(|end| Some((end, end.attached?)));
    let mut all: Vec<_> = ends
        .flat_map(|(end, (switch, port))| {
            end.lids().map(move |lid| Destination { lid, switch, port })
        })
        .collect();
    all.sort_by_key(|destination| destination.lid);
    all
}
