//! Which switches reach which LIDs: every column of the forwarding tables followed once, for all
//! that ask about it.

use crate::columns::{Reached, follow_all};
use crate::routes::Routes;
use crate::topology::{SwitchIx, Topology};

/// What following all columns gave. Of the topology and the routes that it was made of.
#[derive(Debug, Clone)]
pub struct Survey {
    /// By LID: index into `columns`; none for LIDs of nobody and of ports on no switch.
    pub(crate) of_lid: Vec<Option<u32>>,
    /// One per different column, in no order that means anything.
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
        let all = follow_all(topology, routes, |follower, reached| Surveyed {
            switches: (!reached.is_everywhere).then(|| follower.arriving()),
            reached,
        });
        Self {
            of_lid: all.of_lid,
            columns: all.results,
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
