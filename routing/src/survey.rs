//! Which switches reach which LIDs: every column of the forwarding tables followed once, for all
//! that ask about it, but for those that all switches send a shortest way.

mod shortest_ways;

use std::collections::HashMap;

use self::shortest_ways::ShortestWays;
use crate::columns::{Reached, follow_all};
use crate::routes::Routes;
use crate::topology::{SwitchIx, Topology, count32};

/// What following all columns gave. Of the topology and the routes that it was made of.
#[derive(Debug, Clone)]
pub struct Survey {
    /// By LID: index into `columns`; none for LIDs of nobody and of ports on no switch.
    pub(crate) of_lid: Vec<Option<u32>>,
    /// One per different column that was followed, and one per switch to whose LIDs all ways are
    /// shortest, in no order that means anything.
    pub(crate) columns: Vec<Surveyed>,
}

/// What one column gave.
#[derive(Debug, Clone)]
pub(crate) struct Surveyed {
    pub(crate) reached: Reached,
    /// A bit per switch that reaches the LID; none when all do.
    pub(crate) switches: Option<Vec<u64>>,
}

impl Survey {
    /// Follows all columns.
    pub fn of(topology: &Topology, routes: &Routes) -> Self {
        let shortest = ShortestWays::of(topology, routes);
        let is_known = |lid| shortest.as_ref().is_some_and(|ways| !ways.fail(lid));
        let all = follow_all(topology, routes, is_known, |follower, reached| Surveyed {
            switches: (!reached.is_everywhere).then(|| follower.arriving()),
            reached,
        });
        let mut survey = Self {
            of_lid: all.of_lid,
            columns: all.results,
        };
        if let Some(ways) = shortest {
            survey.add(&ways);
        }
        survey
    }

    fn add(&mut self, ways: &ShortestWays) {
        let mut numbers = HashMap::new();
        for (lid, to) in ways.all() {
            let number = *numbers.entry(to).or_insert_with(|| {
                let reached = ways.reached(to);
                let switches = None;
                self.columns.push(Surveyed { reached, switches });
                count32(self.columns.len() - 1)
            });
            self.of_lid[usize::from(lid)] = Some(number);
        }
    }
}

impl Surveyed {
    /// True when packets from this switch arrive.
    pub(crate) fn arrives(&self, switch: SwitchIx) -> bool {
        let (word, bit) = (switch.index() / 64, switch.index() % 64);
        let bits = self.switches.as_ref();
        bits.is_none_or(|bits| bits[word] >> bit & 1 == 1)
    }
}
