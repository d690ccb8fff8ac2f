//! Hops between all pairs of switches.
//!
//! Breadth-first search from 64 switches at once: each switch keeps a word in which bit n says that
//! the nth of them reaches it, and one step is an OR over its neighbours. A search then costs a
//! 64th of what one by one costs, and reads memory in order.
//!
//! ```text
//! one hop:  next[s] = (front[a] | front[b] | ...) & !seen[s]     a, b, ... neighbours of s
//! ```

use crate::parallel;
use crate::topology::{SwitchIx, Topology};
use crate::watch::Stretch;

/// Hops between all pairs of switches; the same both ways since cables are.
/// A byte per pair, so that a row of all destinations stays in a cache for fabrics in use.
pub(crate) struct Distances {
    count: usize,
    /// Shape: a row per switch.
    hops: Vec<u8>,
}

/// Also for what is farther than a path can be: an SA walks 64 hops at most.
/// Being the largest value it loses every comparison for fewer hops by itself.
pub(crate) const UNREACHABLE: u8 = u8::MAX;

/// Switches from which is counted at once: a bit each.
const GROUP: usize = 64;

impl Distances {
    /// Cost: O(cables x switches / 64), on all cores.
    pub(crate) fn measure(topology: &Topology) -> Self {
        Self::measure_watched(topology, Stretch::nobody())
    }

    /// [`Self::measure`], which says how much of it is done.
    pub(crate) fn measure_watched(topology: &Topology, share: Stretch<'_>) -> Self {
        Self::between(&neighbours(topology), share)
    }

    /// Each thread takes whole rows and keeps one [`Spread`].
    fn between(neighbours: &[Vec<u32>], share: Stretch<'_>) -> Self {
        let count = neighbours.len();
        let done = share.count(count);
        let mut hops = vec![0; count * count];
        parallel::over_rows(&mut hops, count.max(1), |first, rows| {
            let mut spread = Spread::new(neighbours);
            for (group, rows) in rows.chunks_mut(GROUP * count.max(1)).enumerate() {
                spread.from(first + group * GROUP, rows);
                done.add(rows.len() / count.max(1));
            }
        });
        Self { count, hops }
    }

    /// By switch, from this one or to it.
    pub(crate) fn from(&self, switch: SwitchIx) -> &[u8] {
        &self.hops[switch.index() * self.count..][..self.count]
    }
}

/// By switch: the other switches that are cabled to it, each once.
/// Parallel cables and cables to itself would only repeat a look.
fn neighbours(topology: &Topology) -> Vec<Vec<u32>> {
    let of = |switch| {
        let cables = topology.cables(switch);
        let mut far: Vec<_> = cables.map(|(_, far, _)| far.0).collect();
        far.sort_unstable();
        far.dedup();
        far
    };
    topology.switch_ixs().map(of).collect()
}

/// Breadth first from a group of switches at once.
struct Spread<'a> {
    neighbours: &'a [Vec<u32>],
    /// By switch: the switches of the group that reach it, with the hops counted so far or fewer.
    seen: Vec<u64>,
    /// By switch: those that reach it with just as many hops.
    /// Only these can reach further in the next step.
    front: Vec<u64>,
    next: Vec<u64>,
}

impl<'a> Spread<'a> {
    fn new(neighbours: &'a [Vec<u32>]) -> Self {
        let none = vec![0; neighbours.len()];
        Self {
            neighbours,
            seen: none.clone(),
            front: none.clone(),
            next: none,
        }
    }

    /// Fills the rows of some switches, at most a group, from `first` on.
    fn from(&mut self, first: usize, rows: &mut [u8]) {
        let count = self.neighbours.len();
        rows.fill(UNREACHABLE);
        self.seen.fill(0);
        for (nth, row) in rows.chunks_mut(count).enumerate() {
            self.seen[first + nth] = 1 << nth;
            row[first + nth] = 0;
        }
        self.front.copy_from_slice(&self.seen);
        // Stops one short of the mark for "not at all", which no row may hold as a distance.
        for hops in 1..UNREACHABLE {
            if !self.step(hops, rows) {
                return;
            }
        }
    }

    /// One hop more. False when that reached nothing.
    fn step(&mut self, hops: u8, rows: &mut [u8]) -> bool {
        let (count, front) = (self.neighbours.len(), self.front.as_slice());
        // The last group of a fabric may have fewer than 64 switches.
        let everyone = u64::MAX >> (GROUP - rows.len() / count);
        let mut is_moving = false;
        let switches = self.neighbours.iter().zip(&mut self.seen);
        for ((here, (near, seen)), next) in switches.enumerate().zip(&mut self.next) {
            *next = 0;
            // Nothing can be new here. Near the end of a search that is nearly every switch.
            if *seen == everyone {
                continue;
            }
            let reached = near.iter().fold(0, |sum, far| sum | front[*far as usize]);
            *next = reached & !*seen;
            *seen |= *next;
            is_moving |= *next != 0;
            let mut left = *next;
            while left != 0 {
                rows[left.trailing_zeros() as usize * count + here] = hops;
                left &= left - 1;
            }
        }
        std::mem::swap(&mut self.front, &mut self.next);
        is_moving
    }
}

#[cfg(test)]
mod tests {
    use sa_rig::rng::Rng;

    use super::*;

    /// Breadth first from one switch.
    fn plain(neighbours: &[Vec<u32>], from: usize) -> Vec<u8> {
        let mut row = vec![UNREACHABLE; neighbours.len()];
        let mut front = vec![from];
        for hops in 0..UNREACHABLE {
            front.retain(|here| row[*here] == UNREACHABLE);
            front.iter().for_each(|here| row[*here] = hops);
            let next = front.iter().flat_map(|here| &neighbours[*here]);
            front = next.map(|far| *far as usize).collect();
        }
        row
    }

    fn assert_counted(neighbours: &[Vec<u32>]) {
        let counted = Distances::between(neighbours, Stretch::nobody());
        for from in 0..neighbours.len() {
            let row = counted.from(SwitchIx(u32::try_from(from).unwrap()));
            assert_eq!(row, plain(neighbours, from), "from {from}");
        }
    }

    /// Several groups, several threads, and ends that are too far from each other.
    #[test]
    fn hops_in_a_row_of_switches_are_counted_up_to_the_most_there_can_be() {
        for length in [1_u32, 2, 63, 64, 65, 300, 800] {
            let near = |here: u32| {
                let both = [here.checked_sub(1), Some(here + 1)];
                both.into_iter().flatten().filter(|far| *far < length)
            };
            let neighbours: Vec<Vec<u32>> = (0..length).map(|here| near(here).collect()).collect();
            assert_counted(&neighbours);
        }
    }

    #[test]
    fn hops_in_any_graph_are_those_of_a_plain_search() {
        let mut rng = Rng::new(1);
        for switches in [0_u32, 1, 5, 64, 130, 200] {
            let mut neighbours = vec![Vec::new(); switches as usize];
            for _ in 0..switches * 5 / 4 {
                let (a, b) = (rng.below(switches), rng.below(switches));
                neighbours[a as usize].push(b);
                neighbours[b as usize].push(a);
            }
            assert_counted(&neighbours);
        }
    }
}
