//! Packets of groups: whether one runs in a circle, and who hears whom.

use std::collections::{BTreeSet, HashSet};

use fabric_simulator::Simulator;
use sa_fabric::PortRef;

use super::hops::Hops;

/// What becomes of a packet that a member sends.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    /// End ports that get it.
    pub(crate) heard: BTreeSet<PortRef>,
    /// A switch gets it twice.
    pub(crate) circles: bool,
}

/// Follows a packet from a host. `mlid` counts from the first MLID.
pub(crate) fn flood(hops: &Hops, simulator: &Simulator, from: PortRef, mlid: u16) -> Flood {
    let mut flood = Flood::default();
    let mut seen = HashSet::new();
    let mut open: Vec<PortRef> = simulator.active_peer(from).into_iter().collect();
    while let Some(input) = open.pop() {
        if !seen.insert(input.node) {
            flood.circles = true;
            continue;
        }
        let ports = simulator.group_ports(input.node, mlid);
        for port in ports.into_iter().filter(|port| *port != input.port) {
            match simulator.active_peer(PortRef { port, ..input }) {
                Some(far) if hops.is_switch(far.node) => open.push(far),
                far => flood.heard.extend(far),
            }
        }
    }
    flood
}
