//! Forwarding tables.

use super::config::TorusConfig;
use super::incremental::{self, Before};
use super::next_hop::Ways;
use super::placement::{PlacedSwitch, PoolIx, Torus};
use super::proved::Changes;
use crate::error::{Reason, SwitchName};
use crate::parallel;
use crate::routes::{Lft, NO_PATH};
use crate::topology::{Peer, SwitchIx, Topology};

/// Tables of all switches; those outside the torus stay empty.
/// Errors: pairs of switches without a route.
pub(super) fn build(
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
    before: Option<Before<'_>>,
) -> Result<Lft, Reason> {
    let (lft, lost) = match before {
        Some(before) => incremental::build(topology, torus, config, before),
        None => build_partly(topology, torus, config),
    };
    if lost.is_empty() {
        Ok(lft)
    } else {
        Err(no_routes(topology, torus, &lost))
    }
}

/// [`build`], with the pairs of switches that have no route.
pub(super) fn build_partly(
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
) -> (Lft, Vec<(SwitchIx, PoolIx)>) {
    let destinations = destinations(topology, torus, config);
    let mut lft = Lft::empty(topology, topology.max_lid());
    let stride = lft.stride();
    let lost = parallel::over_rows(lft.bytes_mut(), stride, |first, rows| {
        let mut lost = Vec::new();
        for (index, row) in (first..).zip(rows.chunks_mut(stride)) {
            let switch = SwitchIx(crate::topology::count32(index));
            let placed = torus.placed(switch);
            let own = placed.and_then(|placed| torus.pool_at(placed.at));
            if let (Some(placed), Some(own)) = (placed, own) {
                let ways = Ways::from(torus, own);
                fill(torus, placed, &ways, &destinations, row, &mut lost);
            }
        }
        lost
    });
    (lft, lost.into_iter().flatten().collect())
}

/// A placed switch and what is to be reached there.
pub(super) struct Destination {
    pub(super) ix: PoolIx,
    pub(super) ends: Vec<End>,
}

/// LIDs behind a local port of a destination switch.
pub(super) struct End {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) port: u8,
    /// Switches and hosts are spread over parallel cables apart: 0 for port 0, 1 for a host.
    kind: usize,
}

/// In the order of placement, ports in the configured order.
pub(super) fn destinations(
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
) -> Vec<Destination> {
    let order = config.full_port_order();
    let local = |placed: &PlacedSwitch| {
        let ports = order.iter().filter_map(|port| u8::try_from(*port).ok());
        let ports = ports.filter(|port| placed.local_ports().contains(port));
        ports
            .filter_map(|port| end(topology, placed.switch, port))
            .collect()
    };
    torus
        .pool_ixs()
        .map(|ix| Destination {
            ix,
            ends: local(torus.get(ix)),
        })
        .collect()
}

fn end(topology: &Topology, switch: SwitchIx, port: u8) -> Option<End> {
    let owner = match (port, topology.peer(switch, port)) {
        (0, _) => topology.switch(switch).port0,
        (_, Peer::EndPort(end)) => end,
        _ => return None,
    };
    let owner = topology.end_port(owner);
    Some(End {
        first: usize::from(owner.lid.get()),
        count: usize::from(owner.lmc.lids()),
        port,
        kind: usize::from(port != 0),
    })
}

/// One switch's table. Parallel cables take turns, one turn per destination port (not per LID).
pub(super) fn fill(
    torus: &Torus,
    from: &PlacedSwitch,
    ways: &Ways,
    destinations: &[Destination],
    row: &mut [u8],
    lost: &mut Vec<(SwitchIx, PoolIx)>,
) {
    let own = torus.pool_at(from.at);
    let mut turns = [[0; 2]; 6];
    for destination in destinations {
        if Some(destination.ix) == own {
            for end in &destination.ends {
                row[end.first..][..end.count].fill(end.port);
            }
            continue;
        }
        let Some(group) = ways.group_to(torus.get(destination.ix).at) else {
            lost.push((from.switch, destination.ix));
            continue;
        };
        let ports = &from.groups[usize::from(group)];
        let turns = &mut turns[usize::from(group)];
        for end in &destination.ends {
            let turn = &mut turns[end.kind];
            row[end.first..][..end.count].fill(ports[*turn]);
            *turn = if *turn + 1 < ports.len() {
                *turn + 1
            } else {
                0
            };
        }
    }
}

/// Changes single entries. Parallel cables are shared out by destination.
pub(super) fn change(
    lft: &mut Lft,
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
    changes: &Changes,
) {
    let destinations = destinations(topology, torus, config);
    let rerouted = changes.rerouted.iter().map(|(to, from, group)| {
        let from = torus.get(*from);
        let ports = &from.groups[usize::from(*group)];
        (*to, from.switch, ports[*to as usize % ports.len()])
    });
    let lost = changes.lost.iter();
    let lost = lost.map(|(to, from)| (*to, torus.get(*from).switch, NO_PATH));
    for (to, from, port) in rerouted.chain(lost) {
        for end in &destinations[to as usize].ends {
            lft.table_mut(from)[end.first..][..end.count].fill(port);
        }
    }
}

fn no_routes(topology: &Topology, torus: &Torus, lost: &[(SwitchIx, PoolIx)]) -> Reason {
    const EXAMPLES: usize = 8;
    let name = |switch| SwitchName::new(topology, switch, torus.coordinate(switch));
    let pair = |(from, to): &(SwitchIx, PoolIx)| (name(*from), name(torus.get(*to).switch));
    Reason::NoRoutes {
        count: lost.len() as u64,
        examples: lost.iter().take(EXAMPLES).map(pair).collect(),
    }
}
