//! Packets of hosts and groups followed one by one, and circles of what they wait for: shares nothing with the proof.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use routing::tables::{MulticastTable, PortSet};
use routing::{EndPortIx, Peer, Routes, SwitchIx, Topology};
use sa_wire::{Sl, SlVlMask};

/// Switch, port, VL.
type Place = (SwitchIx, u8, u8);
pub(crate) type Waits = HashMap<Place, HashSet<Place>>;

/// The SLs of paths where the engine gives none.
pub(crate) const PATHS: SlVlMask = SlVlMask(0b11);

/// A packet goes from port to port; what it holds last may wait for the next.
fn hop(
    (topology, routes, sl): (&Topology, &Routes, Sl),
    waits: &mut Waits,
    (here, input, held): (SwitchIx, u8, Option<Place>),
    output: u8,
) -> Option<(SwitchIx, u8, Option<Place>)> {
    let Peer::Switch { switch, port } = topology.peer(here, output) else {
        return None;
    };
    let vl = routes.sl2vl(here, input, output).0[usize::from(sl.get())];
    if vl == 15 {
        return None;
    }
    let place = (here, output, vl);
    if let Some(held) = held {
        waits.entry(held).or_default().insert(place);
    }
    Some((switch, port, Some(place)))
}

/// Packets between hosts.
pub(crate) fn follow_unicast(topology: &Topology, routes: &Routes) -> Waits {
    let mut waits = Waits::new();
    let is_host = |end: &EndPortIx| topology.end_port(*end).port_number != 0;
    let hosts: Vec<_> = topology.end_port_ixs().filter(is_host).collect();
    for (from, to) in hosts
        .iter()
        .flat_map(|from| hosts.iter().map(move |to| (*from, *to)))
    {
        let (source, destination) = (topology.end_port(from), topology.end_port(to));
        let (Some(first), Some(last)) = (source.attached, destination.attached) else {
            continue;
        };
        let hints = (0..16).filter(|sl| PATHS.0 >> sl & 1 == 1);
        let sls: BTreeSet<Sl> = hints
            .filter_map(|sl| routes.path_sl(Sl::new(sl).unwrap(), source.lid, destination.lid))
            .collect();
        for sl in sls {
            let mut at = (first.0, first.1, None);
            while at.0 != last.0 {
                let output = routes.output(at.0, destination.lid);
                let next =
                    output.and_then(|output| hop((topology, routes, sl), &mut waits, at, output));
                let Some(next) = next else { break };
                at = next;
            }
        }
    }
    waits
}

/// Packets of a group, from each member.
pub(crate) fn follow_group(
    (topology, routes): (&Topology, &Routes),
    table: &MulticastTable,
    (sls, members): (SlVlMask, &[EndPortIx]),
    waits: &mut Waits,
) {
    let ports: BTreeMap<SwitchIx, PortSet> = table.switches.iter().copied().collect();
    for sl in (0..16).filter(|sl| sls.0 >> sl & 1 == 1) {
        let sl = Sl::new(sl).unwrap();
        for member in members {
            let first = topology.end_port(*member).attached;
            let mut open: Vec<_> = first
                .map(|(at, port)| (at, port, None))
                .into_iter()
                .collect();
            while let Some(at) = open.pop() {
                let out = ports.get(&at.0).copied().unwrap_or_default();
                for port in out.iter().filter(|port| *port != at.1) {
                    open.extend(hop((topology, routes, sl), waits, at, port));
                }
            }
        }
    }
}

/// Takes away what waits for nothing until nothing is left, or only circles.
pub(crate) fn has_circle(waits: &Waits) -> bool {
    let mut left = waits.clone();
    loop {
        let known: HashSet<Place> = left.keys().copied().collect();
        left.values_mut()
            .for_each(|nexts| nexts.retain(|next| known.contains(next)));
        let before = left.len();
        left.retain(|_, nexts| !nexts.is_empty());
        if left.len() == before {
            return !left.is_empty();
        }
    }
}
