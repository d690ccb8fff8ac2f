//! How many links a packet crosses between any two hosts, by the forwarding tables.
//!
//! By columns: for one destination every switch is asked once, whatever leads to it, so the matrix costs
//! switches times hosts and not hosts squared times the length of paths.

use routing::{EndPortIx, Peer, Routes, SwitchIx, Topology};

/// No path, or tables that run in a circle.
pub(crate) const NONE: u8 = 0xff;

/// Hosts in the order of the topology: CA and router ports that are plugged into a switch.
pub(crate) fn hosts(topology: &Topology) -> Vec<EndPortIx> {
    let is_host = |end: &EndPortIx| {
        let attached = topology.end_port(*end).attached;
        attached.is_some_and(|(_, port)| port != 0)
    };
    topology.end_port_ixs().filter(is_host).collect()
}

/// Links from each host (rows) to each (columns): 2 on one switch, 0 to itself, [`NONE`] without a
/// path.
pub(crate) fn matrix(topology: &Topology, routes: &Routes) -> Vec<u8> {
    let hosts = hosts(topology);
    let mut all = vec![NONE; hosts.len() * hosts.len()];
    for (column, to) in hosts.iter().enumerate() {
        let from_switches = to_one(topology, routes, *to);
        for (row, from) in hosts.iter().enumerate() {
            let links = match topology.end_port(*from).attached {
                _ if from == to => 0,
                // The host's own cable.
                Some((switch, _)) => match from_switches.get(switch.index()) {
                    Some(&Some(links)) => links.saturating_add(1),
                    _ => NONE,
                },
                None => NONE,
            };
            if let Some(place) = all.get_mut(row * hosts.len() + column) {
                *place = links;
            }
        }
    }
    all
}

/// Links from each switch to this port; none where tables lead nowhere.
fn to_one(topology: &Topology, routes: &Routes, to: EndPortIx) -> Vec<Option<u8>> {
    let lid = topology.end_port(to).lid;
    let count = topology.switches.len();
    let mut found: Vec<Option<Option<u8>>> = vec![None; count];
    for start in topology.switch_ixs() {
        let mut way: Vec<SwitchIx> = Vec::new();
        let mut at = start;
        // Links from the switch where the way ends.
        let mut links = loop {
            if let Some(Some(known)) = found.get(at.index()) {
                break *known;
            }
            way.push(at);
            // Longer than there are switches: in a circle.
            if way.len() > count {
                break None;
            }
            match routes.output(at, lid).map(|port| topology.peer(at, port)) {
                Some(Peer::Switch { switch, .. }) => at = switch,
                Some(Peer::EndPort(end)) if end == to => break Some(0),
                _ => break None,
            }
        };
        for switch in way.into_iter().rev() {
            links = links.map(|links: u8| links.saturating_add(1));
            if let Some(known) = found.get_mut(switch.index()) {
                *known = Some(links);
            }
        }
    }
    found.into_iter().map(Option::flatten).collect()
}
