//! Where LIDs lead.
//!
//! LIDs and not end ports: with LMC above 0 each LID of a port is a destination of its own, and
//! minhop may send them different ways.

use crate::topology::{SwitchIx, Topology};

/// A LID and where it is. Eight bytes, so that a list of all is small beside any table.
pub(crate) struct Destination {
    pub(crate) lid: u16,
    pub(crate) switch: SwitchIx,
    /// The switch's port to it.
    /// 0 for the switch's own LIDs, which count for less where cables are shared out.
    pub(crate) port: u8,
}

/// Every LID that is on a switch, ascending.
/// Ports on no switch have none: no table can lead to them. The order decides which LID gets a
/// cable first.
pub(crate) fn destinations(topology: &Topology) -> Vec<Destination> {
    let ends = topology
        .end_ports
        .iter()
        .filter_map(|end| Some((end, end.attached?)));
    let mut all: Vec<_> = ends
        .flat_map(|(end, (switch, port))| {
            end.lids().map(move |lid| Destination {
                lid: lid.get(),
                switch,
                port,
            })
        })
        .collect();
    all.sort_by_key(|destination| destination.lid);
    all
}
