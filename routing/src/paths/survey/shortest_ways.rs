//! LIDs that all switches send a shortest way.
//!
//! Where the entry of every switch but the destination's own leads to a switch with one hop less to
//! go, packets arrive, after as many hops as were counted; no path has to be followed to know it.
//! How hops were counted does not matter: numbers that fit the entries of all switches are right.
//!
//! Made for minhop, which gives each LID of a switch a column of its own, so that nothing is shared
//! by following. Instead each table is read once from front to back and compared with distances; a
//! LID fails as soon as one switch does not come nearer.

use crate::parallel;
use crate::paths::columns::Reached;
use crate::shortest::destinations::{Destination, destinations};
use crate::shortest::distances::{Distances, UNREACHABLE};
use crate::tables::Routes;
use crate::topology::{SwitchIx, Topology, count32};
use crate::watch::Stretch;

/// Which LIDs these are.
/// Lives as long as the survey is made.
pub(super) struct ShortestWays {
    distances: Distances,
    destinations: Vec<Destination>,
    /// By LID: some switch does otherwise.
    /// A byte each and not a bit, so that threads write without reading.
    fails: Vec<bool>,
}

/// Switches whose tables are looked at by one thread before it takes others.
/// Their distances and those of their neighbours stay in a cache that long.
const SWITCHES: usize = 16;

impl ShortestWays {
    /// None where following columns is as quick.
    /// Distances cost O(cables x switches / 64), which pays only where columns differ.
    pub(super) fn find(topology: &Topology, routes: &Routes, share: Stretch<'_>) -> Option<Self> {
        let destinations = destinations(topology);
        if !columns_differ(topology, routes, &destinations) {
            return None;
        }
        let mut ways = Self {
            distances: Distances::measure_watched(topology, share.cut(0..30)),
            destinations,
            fails: vec![false; routes.lfts().stride()],
        };
        // A LID fails if it does in any part.
        for fails in ways.failing(topology, routes, share.cut(30..100)) {
            let both = ways.fails.iter_mut().zip(fails);
            both.for_each(|(all, some)| *all |= some);
        }
        Some(ways)
    }

    /// True when some switch sends this LID another way, or not at all.
    pub(super) fn fail(&self, lid: u16) -> bool {
        self.fails[usize::from(lid)]
    }

    /// The LIDs that all switches send a shortest way, and the switch that each is on.
    pub(super) fn all(&self) -> impl Iterator<Item = (u16, SwitchIx)> + '_ {
        let all = self.destinations.iter();
        let all = all.map(|destination| (destination.lid, destination.switch));
        all.filter(|(lid, _)| !self.fail(*lid))
    }

    /// From where such LIDs on a switch are reached.
    pub(super) fn reached(&self, to: SwitchIx) -> Reached {
        let hops = self.distances.from(to);
        let farthest = (0..).map(SwitchIx).zip(hops).max_by_key(|(_, hops)| **hops);
        let (farthest, hops_to_it) = farthest.map_or((to, 0), |(switch, hops)| (switch, *hops));
        Reached {
            switches: count32(hops.len()),
            is_everywhere: true,
            longest: u16::from(hops_to_it) + 1,
            farthest,
        }
    }

    /// By LID: some switch does otherwise. In parts.
    fn failing(&self, topology: &Topology, routes: &Routes, share: Stretch<'_>) -> Vec<Vec<bool>> {
        let lft = routes.lfts();
        let switches = topology.switches.len();
        let pieces = switches.div_ceil(SWITCHES);
        let done = share.count(pieces);
        parallel::over_queue(pieces, lft.size(), |queue| {
            let mut fails = vec![false; lft.stride()];
            for first in queue.map(|piece| piece * SWITCHES) {
                for switch in (first..switches.min(first + SWITCHES)).map(count32) {
                    self.look_at(topology, SwitchIx(switch), routes, &mut fails);
                }
                done.add(1);
            }
            fails
        })
    }

    fn look_at(&self, topology: &Topology, from: SwitchIx, routes: &Routes, fails: &mut [bool]) {
        // Hops to go, by destination switch. Nothing is one less than 0.
        let hops = self.distances.from(from).iter();
        let own = hops.map(|hops| if *hops == UNREACHABLE { 0 } else { *hops });
        let own: Vec<u8> = own.collect();
        let nowhere = vec![UNREACHABLE; own.len()];
        let mut next = [nowhere.as_slice(); 256];
        for (port, far, _) in topology.cables(from) {
            next[usize::from(port)] = self.distances.from(far);
        }
        let table = routes.lft(from);
        for Destination { lid, switch, port } in &self.destinations {
            let (entry, to) = (table[usize::from(*lid)], switch.index());
            // 16 bits, as one more than "not reached" must stay more than anything.
            let hops = u16::from(next[usize::from(entry)][to]) + 1;
            // At its own switch a LID has to be delivered, which is no hop.
            if hops != u16::from(own[to]) && (*switch, *port) != (from, entry) {
                fails[usize::from(*lid)] = true;
            }
        }
    }
}

/// True where following would have to follow nearly every LID: there are several to a switch, and
/// switches send those of one switch different ways.
fn columns_differ(topology: &Topology, routes: &Routes, all: &[Destination]) -> bool {
    const LIDS_PER_SWITCH: usize = 4;
    // A wrong guess costs time and no result.
    const SAMPLES: usize = 8;
    if all.len() < LIDS_PER_SWITCH * topology.switches.len() {
        return false;
    }
    let mut hosts: Vec<_> = all.iter().filter(|lid| lid.port != 0).collect();
    hosts.sort_by_key(|lid| (lid.switch, lid.lid));
    let pairs = hosts.windows(2).filter_map(|pair| match pair {
        [one, other] if one.switch == other.switch => Some((one, other)),
        _ => None,
    });
    let pairs: Vec<_> = pairs.collect();
    let differ = |one: &Destination, other: &Destination| {
        let others = topology.switch_ixs().filter(|ix| *ix != one.switch);
        let mut tables = others.map(|ix| routes.lft(ix));
        tables.any(|table| table[usize::from(one.lid)] != table[usize::from(other.lid)])
    };
    // Spread over the fabric, since hosts of one corner may be an exception.
    let sample = pairs.iter().step_by(pairs.len().div_ceil(SAMPLES).max(1));
    let different = sample.clone().filter(|(one, other)| differ(one, other));
    2 * different.count() > sample.count()
}
