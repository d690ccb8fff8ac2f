//! Which switches reach which LIDs.
//!
//! To know that each source reaches each LID, numbers will do: if the sum over all sources is the
//! product of sources and LIDs that count at all, no pair is missing.

use sa_wire::Lid;

use crate::paths::survey::Survey;
use crate::topology::{SwitchIx, Topology};

/// Reachability of LIDs from switches, in numbers.
pub(super) struct Reach {
    /// By switch: LIDs it reaches.
    /// Counted by LID, so a port with LMC 2 counts four times; all counts agree on that.
    from: Vec<u32>,
    /// By LID: switches that reach it.
    to: Vec<u32>,
    /// Over LIDs that are still somebody's.
    longest: u16,
}

impl Reach {
    /// Cost: O(LIDs + columns), and O(switches) for each column with losses.
    pub(super) fn from_survey(topology: &Topology, all: &Survey) -> Self {
        let mut reach = Self {
            from: vec![0; topology.switches.len()],
            to: vec![0; all.of_lid.len()],
            longest: 0,
        };
        let mut times = vec![0; all.columns.len()];
        for (to, column) in reach.to.iter_mut().zip(&all.of_lid) {
            if let Some(column) = column {
                times[*column as usize] += 1;
                *to = all.columns[*column as usize].reached.switches;
            }
        }
        // Columns that all reach are counted once for all switches.
        let mut everywhere = 0;
        let columns = all.columns.iter().zip(times);
        for (followed, times) in columns.filter(|(_, times)| *times > 0) {
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

    pub(super) fn is_reached(&self, lid: Lid) -> bool {
        self.to[lid.index()] > 0
    }

    fn add(&mut self, switches: &[u64], times: u32) {
        for (counts, word) in self.from.chunks_mut(64).zip(switches) {
            for (count, bit) in counts.iter_mut().zip(0..) {
                *count += if word >> bit & 1 == 1 { times } else { 0 };
            }
        }
    }
}
