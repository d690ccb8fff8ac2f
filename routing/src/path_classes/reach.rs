//! Which switches reach which LIDs.

use crate::columns::{Follower, Reached, follow_all};
use crate::routes::Routes;
use crate::topology::{SwitchIx, Topology};

/// Reachability of LIDs from switches, in numbers.
pub(super) struct Reach {
    /// By switch: LIDs it reaches.
    from: Vec<u32>,
    /// By LID: switches that reach it.
    to: Vec<u32>,
    longest: u16,
}

impl Reach {
    pub(super) fn of(topology: &Topology, routes: &Routes) -> Self {
        let all = follow_all(topology, routes, Followed::new);
        let mut reach = Self {
            from: vec![0; topology.switches.len()],
            to: vec![0; routes.lfts().stride()],
            longest: 0,
        };
        let mut times = vec![0; all.results.len()];
        for (to, column) in reach.to.iter_mut().zip(all.of_lid) {
            if let Some(column) = column {
                times[column as usize] += 1;
                *to = all.results[column as usize].reached.switches;
            }
        }
        let mut everywhere = 0;
        for (followed, times) in all.results.iter().zip(times) {
            reach.longest = reach.longest.max(followed.reached.longest);
            match &followed.switches {
                Some(switches) => reach.add(switches, times),
                None => everywhere += times,
            }
        }
        reach.from.iter_mut().for_each(|count| *count += everywhere);
        reach
    }

    /// True when every switch that reaches anything reaches everything that is reached at all.
    pub(super) fn is_complete(&self) -> bool {
        let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        let some = |counts: &[u32]| counts.iter().filter(|count| **count > 0).count() as u64;
        sum(&self.from) == some(&self.from) * some(&self.to)
    }

    /// Most switches on a path.
    pub(super) const fn longest(&self) -> u16 {
        self.longest
    }

    pub(super) fn reaches_something(&self, switch: SwitchIx) -> bool {
        self.from[switch.index()] > 0
    }

    pub(super) fn is_reached(&self, lid: u16) -> bool {
        self.to[usize::from(lid)] > 0
    }

    fn add(&mut self, switches: &[u64], times: u32) {
        for (counts, word) in self.from.chunks_mut(64).zip(switches) {
            for (count, bit) in counts.iter_mut().zip(0..) {
                *count += if word >> bit & 1 == 1 { times } else { 0 };
            }
        }
    }
}

/// What one column gave.
struct Followed {
    reached: Reached,
    /// A bit per switch that reaches the LID; none when all do.
    switches: Option<Vec<u64>>,
}

impl Followed {
    fn new(follower: &Follower<'_>, reached: Reached) -> Self {
        let switches = (!reached.is_everywhere).then(|| follower.arriving());
        Self { reached, switches }
    }
}
