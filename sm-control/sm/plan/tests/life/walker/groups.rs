//! Packets of groups: whether one runs in a circle, and who hears whom.

use std::collections::{BTreeSet, HashSet};

use fabric_simulator::Simulator;
use sa_fabric::PortRef;

use super::credit::{FIRST_MLID, FROM_HOST, Packet};
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

/// Switches to which one copies a packet that came by this port, with the port that each leaves by.
pub(crate) fn onward(
    hops: &Hops,
    simulator: &Simulator,
    at: PortRef,
    mlid: u16,
) -> Vec<(u8, PortRef)> {
    let ports = simulator.group_ports(at.node, mlid).into_iter();
    let far = |port| Some((port, simulator.active_peer(PortRef { port, ..at })?));
    let fars = ports.filter(|port| *port != at.port).filter_map(far);
    fars.filter(|(_, far)| hops.is_switch(far.node)).collect()
}

/// What a member sends, on its first link. Groups have SL 0 here.
pub(crate) fn first(simulator: &Simulator, from: PortRef, mlid: u16) -> Option<Packet> {
    Some(Packet {
        at: simulator.active_peer(from)?,
        vl: FROM_HOST,
        lid: FIRST_MLID + mlid,
        sl: 0,
    })
}
