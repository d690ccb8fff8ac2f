//! In which order LIDs get their cables.
//!
//! OpenSM's: ports of the switches with most hosts first, of each by port number; the LIDs of switches last. With an LMC above 0
//! all first LIDs come before all second ones.
//!
//! ```text
//! switch A, 3 hosts, LIDs 9 4 7     switch B, 1 host, LID 2     order  9 4 7 2, then the LIDs of A and B themselves
//! ```
//!
//! Switches with equally many hosts are in the order of [`Topology::switches`].

use crate::topology::{Peer, SwitchIx, Topology, count32};

/// A LID, where it is, and which of its port's LIDs it is.
pub(super) struct Turn {
    pub(super) lid: u16,
    pub(super) switch: SwitchIx,
    /// The switch's port to it; 0 for the switch's own LIDs, which do not count where cables are shared out.
    pub(super) port: u8,
    /// The port that has it: index into [`Topology::end_ports`], where it has several; none where it is the only one.
    pub(super) sibling: Option<u32>,
}

/// Every LID that is on a switch, in its turn.
pub(super) fn turns(topology: &Topology) -> Vec<Turn> {
    let hosts: Vec<u32> = topology
        .switches
        .iter()
        .map(|it| hosts(&it.ports))
        .collect();
    let mut all = Vec::new();
    for (nth, end) in (0_u32..).zip(&topology.end_ports) {
        let Some((switch, port)) = end.attached else {
            continue;
        };
        let rank = match port {
            // After all hosts, and among themselves as the end ports are.
            0 => (u32::MAX, nth, 0),
            _ => (u32::MAX - 1 - hosts[switch.index()], switch.0, port),
        };
        // Most ports have one LID, and then the rounds are the faster way.
        let sibling = (end.lmc.lids() > 1).then_some(nth);
        all.extend(end.lids().zip(0_u16..).map(|(lid, offset)| {
            let turn = Turn {
                lid: lid.get(),
                switch,
                port,
                sibling,
            };
            (offset, rank, turn)
        }));
    }
    // No two are equal, so that the order is the same however they were found.
    all.sort_by_key(|(offset, rank, _)| (*offset, *rank));
    all.into_iter().map(|(.., turn)| turn).collect()
}

/// Ports with a host.
fn hosts(ports: &[crate::topology::SwitchPort]) -> u32 {
    let hosts = ports
        .iter()
        .filter(|port| matches!(port.peer, Peer::EndPort(_)));
    count32(hosts.count())
}
