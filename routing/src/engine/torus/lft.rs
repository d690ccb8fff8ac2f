//! Forwarding tables.
//!
//! A table is written destination by destination where cables are parallel, because these take turns in that
//! order, and straight through by LID where none are, which is how most fabrics are cabled and much quicker.
//!
//! ```text
//! parallel cables 3 and 4 to the +x neighbour; destinations in the order of placement
//! destination   A.0  A.1  A.2  B.0  B.1        (switch.port; 0 is the switch itself)
//! port           3    3    4    4    3         hosts take turns 3 4 3, switches 3 4 of their own
//! ```
//!
//! With LMC all LIDs of a port share one turn, as OpenSM counts destinations and not LIDs. Every
//! switch starts its turns anew, hence tables can be made in any order and on all cores.

use super::config::TorusConfig;
use super::incremental;
use super::next_hop::{NO_WAY, Ways};
use crate::engine::Before;
use crate::engine::torus::reason::TorusReason;
use crate::error::SwitchName;
use crate::placement::Coordinate;
use crate::placement::{LOCAL_GROUP, PlacedSwitch, PoolIx, Torus};
use crate::tables::{Lft, NO_PATH};
use crate::topology::{Peer, SwitchIx, Topology, count32};
use crate::watch::Stretch;

/// Tables of all switches; those outside the torus stay empty.
/// Errors: pairs of switches without a route.
/// Any pair without a way refuses the whole: torus-2QoS has all or nothing.
pub(super) fn build(
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
    before: Option<Before<'_>>,
    share: Stretch<'_>,
) -> Result<Lft, TorusReason> {
    let (lft, lost) = match before {
        Some(before) => incremental::build(topology, torus, config, before, share),
        None => build_partly(topology, torus, config, share),
    };
    if lost.is_empty() {
        Ok(lft)
    } else {
        Err(no_routes(topology, torus, &lost))
    }
}

/// [`build`], with the pairs of switches that have no route.
/// For torus-proved, which goes on with what is there.
pub(in crate::engine) fn build_partly(
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
    share: Stretch<'_>,
) -> (Lft, Vec<Lost>) {
    let destinations = destinations(topology, torus, config);
    let done = share.count(topology.switches.len());
    let by_lid = ByLid::new(topology, &destinations);
    let lids = by_lid.destinations.len();
    let (lft, lost) = Lft::filled(topology, topology.max_lid(), |first, rows| {
        let mut filler = Filler::new(torus, &destinations, &by_lid);
        for (index, row) in (first..).zip(rows.chunks_mut(lids)) {
            filler.fill(SwitchIx(count32(index)), row);
            done.add(1);
        }
        filler.lost
    });
    (lft, lost.into_iter().flatten().collect())
}

/// What differs from the ways of torus-2QoS.
/// From torus-proved's plan; applied by [`change`].
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Changes {
    /// Destination, source, and the group that it leaves by. By destination, then by source.
    pub(in crate::engine) rerouted: Vec<(PoolIx, PoolIx, u8)>,
    /// Destination and source without a way. By destination, then by source.
    /// Their entries become "no path"; no pair is in both lists.
    pub(in crate::engine) lost: Vec<(PoolIx, PoolIx)>,
}

impl Changes {
    /// True when nothing differs.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.rerouted.is_empty() && self.lost.is_empty()
    }
}

/// A placed switch and what is to be reached there.
/// The same for every source, so worked out once.
pub(super) struct Destination {
    pub(super) ix: PoolIx,
    at: Coordinate,
    pub(super) ends: Vec<End>,
}

/// LIDs behind a local port of a destination switch.
/// One destination in the sense of taking turns.
pub(super) struct End {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) port: u8,
    /// Switches and hosts are spread over parallel cables apart: 0 for port 0, 1 for a host.
    /// Traffic to port 0 is management and would shift the turns of hosts for nothing.
    kind: usize,
}

/// In the order of placement, ports in the configured order.
/// Both orders are OpenSM's, and visible wherever cables are parallel.
pub(super) fn destinations(
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
) -> Vec<Destination> {
    let order = config.full_port_order();
    let local = |placed: &PlacedSwitch| {
        let ports = order.iter().filter_map(|port| u8::try_from(*port).ok());
        // Ports beyond the group limit are not local: nobody is routed to them.
        let ports = ports.filter(|port| placed.local_ports().contains(port));
        ports
            .filter_map(|port| end(topology, placed.switch, port))
            .collect()
    };
    torus
        .pool_ixs()
        .map(|ix| Destination {
            ix,
            at: torus.get(ix).at,
            ends: local(torus.get(ix)),
        })
        .collect()
}

/// The LIDs behind a local port; none where nothing with LIDs is plugged in.
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

/// The destination of each LID.
/// Two bytes per LID; read once for each switch, so it should stay in a cache.
struct ByLid {
    /// By LID: index of the destination, or their number for LIDs outside the torus.
    destinations: Vec<u16>,
}

impl ByLid {
    /// Looks at every destination once.
    fn new(topology: &Topology, destinations: &[Destination]) -> Self {
        // A switch has a LID, so that there are fewer switches than LIDs.
        let number = |index| u16::try_from(index).unwrap_or(u16::MAX);
        // One more than the last destination: its entry is always "no path".
        let outside = number(destinations.len());
        let mut by_lid = vec![outside; usize::from(topology.max_lid()) + 1];
        for (index, destination) in destinations.iter().enumerate() {
            for end in &destination.ends {
                by_lid[end.first..][..end.count].fill(number(index));
            }
        }
        Self {
            destinations: by_lid,
        }
    }
}

/// Fills one table after the other.
/// One per thread; a table costs no allocation of its own.
struct Filler<'a> {
    torus: &'a Torus,
    destinations: &'a [Destination],
    by_lid: &'a ByLid,
    /// By destination, and one more for LIDs outside the torus: the entry.
    /// A first pass by destination, a second by LID, each in order.
    entries: Vec<u8>,
    lost: Vec<Lost>,
}

/// A pair without a route.
type Lost = (SwitchIx, PoolIx);

impl<'a> Filler<'a> {
    /// Reused from switch to switch.
    fn new(torus: &'a Torus, destinations: &'a [Destination], by_lid: &'a ByLid) -> Self {
        Self {
            torus,
            destinations,
            by_lid,
            entries: vec![NO_PATH; destinations.len() + 1],
            lost: Vec::new(),
        }
    }

    /// Fills the table of a switch. Switches outside the torus have no entries.
    /// Chooses between the quick way and the one that takes turns.
    fn fill(&mut self, switch: SwitchIx, row: &mut [u8]) {
        let placed = self.torus.placed(switch);
        let own = placed.and_then(|placed| self.torus.pool_at(placed.at));
        let (Some(placed), Some(own)) = (placed, own) else {
            row.fill(NO_PATH);
            return;
        };
        let ways = Ways::from(self.torus, own);
        if placed.groups[..LOCAL_GROUP]
            .iter()
            .all(|ports| ports.len() <= 1)
        {
            self.fill_single(placed, own, &ways, row);
        } else {
            row.fill(NO_PATH);
            fill(
                self.torus,
                placed,
                &ways,
                self.destinations,
                row,
                &mut self.lost,
            );
        }
    }

    /// As [`fill`] where no cables are parallel: all LIDs behind a switch have the same entry, and
    /// the table is written once from front to back.
    fn fill_single(&mut self, from: &PlacedSwitch, own: PoolIx, ways: &Ways, row: &mut [u8]) {
        // By group, with "no path" also for `NO_WAY`, so that the loop below has no branch.
        let mut ports = [NO_PATH; 256];
        for (port, group) in ports.iter_mut().zip(&from.groups[..LOCAL_GROUP]) {
            *port = group.first().copied().unwrap_or(NO_PATH);
        }
        let mut is_lost = false;
        for (entry, destination) in self.entries.iter_mut().zip(self.destinations) {
            let group = ways.group_or_none(destination.at);
            is_lost |= group == NO_WAY && destination.ix != own;
            *entry = ports[usize::from(group)];
        }
        for (entry, destination) in row.iter_mut().zip(&self.by_lid.destinations) {
            *entry = self.entries[usize::from(*destination)];
        }
        // Its own LIDs last: they were written as "no way" before.
        for end in &self.destinations[own as usize].ends {
            row[end.first..][..end.count].fill(end.port);
        }
        // Seldom: only then is it worth looking who.
        if is_lost {
            let others = self.destinations.iter().filter(|to| to.ix != own);
            let lost = others.filter(|to| ways.group_or_none(to.at) == NO_WAY);
            self.lost.extend(lost.map(|to| (from.switch, to.ix)));
        }
    }
}

/// One switch's table. Parallel cables take turns, one turn per destination port (not per LID).
pub(super) fn fill(
    torus: &Torus,
    from: &PlacedSwitch,
    ways: &Ways,
    destinations: &[Destination],
    row: &mut [u8],
    lost: &mut Vec<Lost>,
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
        let Some(group) = ways.group_to(destination.at) else {
            lost.push((from.switch, destination.ix));
            continue;
        };
        let ports = &from.groups[usize::from(group)];
        let turns = &mut turns[usize::from(group)];
        for end in &destination.ends {
            let turn = &mut turns[end.kind];
            row[end.first..][..end.count].fill(ports[*turn]);
            // Counted up and reset instead of a division.
            *turn = if *turn + 1 < ports.len() {
                *turn + 1
            } else {
                0
            };
        }
    }
}

/// Changes single entries. Parallel cables are shared out by destination.
/// By destination and not in turns, since single ways come and go while turns would shift all.
pub(in crate::engine) fn change(
    lft: &mut Lft,
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
    changes: &Changes,
) {
    let destinations = destinations(topology, torus, config);
    // Deterministic: the number of placement picks the cable.
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

/// The refusal over pairs without a route, with names for a few of them.
fn no_routes(topology: &Topology, torus: &Torus, lost: &[Lost]) -> TorusReason {
    /// Pairs that a refusal names.
    // A screen of them; the count in the message tells how many more there are.
    const EXAMPLES: usize = 8;
    let name = |switch| SwitchName::new(topology, switch, torus.coordinate(switch));
    let pair = |(from, to): &Lost| (name(*from), name(torus.get(*to).switch));
    TorusReason::NoRoutes {
        count: lost.len() as u64,
        examples: lost.iter().take(EXAMPLES).map(pair).collect(),
    }
}
