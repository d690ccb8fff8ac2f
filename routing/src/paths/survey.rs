//! Which switches reach which LIDs: every column of the forwarding tables followed once, for all
//! that ask about it, but for those that all switches send a shortest way.
//!
//! Two questions are answered from it: which pairs are lost ([`crate::proof::reachability`]), and
//! whether one class of paths will do for all pairs ([`super::classes`]). A proof that goes on from
//! an earlier one corrects the survey column by column and follows only those that it must
//! ([`crate::proof::Proven`]).

mod shortest_ways;

use std::collections::HashMap;

use self::shortest_ways::ShortestWays;
use crate::paths::columns::{Followed, Reached, follow_all};
use crate::tables::Routes;
use crate::topology::{SwitchIx, Topology, count32};
use crate::watch::Stretch;

/// What following all columns gave. Of the topology and the routes that it was made of.
/// Small where the fabric is whole: columns that all switches reach have no bits of their own.
#[derive(Debug, Clone)]
pub struct Survey {
    /// By LID: index into `columns`; none for LIDs of nobody and of ports on no switch.
    pub(crate) of_lid: Vec<Option<u32>>,
    /// One per different column that was followed, and one per switch to whose LIDs all ways are
    /// shortest, in no order that means anything. Some may be of no LID any more.
    pub(crate) columns: Vec<Surveyed>,
}

/// What became of some LIDs of a survey.
/// A LID is in one of the two, or unchanged.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// LIDs that are reached from everywhere, as before.
    pub(crate) reached: Vec<(u16, Reached)>,
    /// LIDs whose columns have to be followed.
    pub(crate) unknown: Vec<u16>,
}

impl News {
    /// From several threads, in any order: each LID was looked at by one.
    pub(crate) fn append(&mut self, mut more: Self) {
        self.reached.append(&mut more.reached);
        self.unknown.append(&mut more.unknown);
    }
}

/// What one column gave.
/// Shared by all LIDs with the same column.
#[derive(Debug, Clone)]
pub(crate) struct Surveyed {
    pub(crate) reached: Reached,
    /// A bit per switch that reaches the LID; none when all do.
    /// 512 bytes for 4,096 switches, kept only for columns with losses.
    pub(crate) switches: Option<Vec<u64>>,
}

impl Survey {
    /// Follows the columns of all LIDs, but for those to which all ways are shortest.
    /// Cost: O(switches) for each different column, on all cores.
    pub fn from_routes(topology: &Topology, routes: &Routes) -> Self {
        Self::from_routes_watched(topology, routes, Stretch::nobody())
    }

    /// [`Self::from_routes`], which says how much of it is done.
    pub fn from_routes_watched(topology: &Topology, routes: &Routes, share: Stretch<'_>) -> Self {
        let shortest = ShortestWays::find(topology, routes, share.cut(0..40));
        // Those are settled without following anything.
        let is_known = |lid| shortest.as_ref().is_some_and(|ways| !ways.fail(lid));
        // Where there are no such ways, that took no time.
        let share = match shortest {
            Some(_) => share.cut(40..100),
            None => share,
        };
        let all = follow_columns(topology, routes, is_known, share);
        let mut survey = Self {
            of_lid: all.of_lid,
            columns: all.results,
        };
        if let Some(ways) = shortest {
            survey.add(&ways);
        }
        survey
    }

    /// From where a LID is reached; none as in `of_lid`.
    pub(crate) fn reached(&self, lid: u16) -> Option<Reached> {
        let column = self.of_lid.get(usize::from(lid)).copied().flatten()?;
        Some(self.columns[column as usize].reached)
    }

    /// The survey of other tables: of those LIDs that still are in a place what this one says, but for
    /// what is new.
    /// Columns that no LID has any more stay in the list, as numbers must not move.
    pub(crate) fn after(
        &self,
        topology: &Topology,
        routes: &Routes,
        places: &[Option<(SwitchIx, u8)>],
        news: News,
    ) -> Self {
        let mut survey = self.clone();
        survey.of_lid.resize(places.len(), None);
        for (column, place) in survey.of_lid.iter_mut().zip(places) {
            *column = column.filter(|_| place.is_some());
        }
        for (lid, reached) in news.reached {
            survey.of_lid[usize::from(lid)] = Some(count32(survey.columns.len()));
            let switches = None;
            survey.columns.push(Surveyed { reached, switches });
        }
        if !news.unknown.is_empty() {
            survey.follow(topology, routes, &news.unknown);
        }
        survey
    }

    /// Follows the columns of some LIDs.
    fn follow(&mut self, topology: &Topology, routes: &Routes, lids: &[u16]) {
        let mut is_known = vec![true; self.of_lid.len()];
        lids.iter()
            .for_each(|lid| is_known[usize::from(*lid)] = false);
        let is_known = |lid| is_known[usize::from(lid)];
        // Whole blocks are read for a few LIDs: entries of neighbours lie in the same cache lines
        // anyway.
        let followed = follow_columns(topology, routes, is_known, Stretch::nobody());
        let first = count32(self.columns.len());
        for lid in lids {
            let column = followed.of_lid[usize::from(*lid)];
            self.of_lid[usize::from(*lid)] = column.map(|column| first + column);
        }
        self.columns.extend(followed.results);
    }

    /// One entry per switch: all its LIDs have the same hops.
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

/// Follows the columns of all LIDs but those that are known already.
fn follow_columns(
    topology: &Topology,
    routes: &Routes,
    is_known: impl Fn(u16) -> bool + Sync,
    share: Stretch<'_>,
) -> Followed<Surveyed> {
    let done = share.count(routes.lfts().stride());
    follow_all(topology, routes, is_known, &done, |follower, reached| {
        Surveyed {
            switches: (!reached.is_everywhere).then(|| follower.arriving()),
            reached,
        }
    })
}

impl Surveyed {
    /// True when packets from this switch arrive.
    pub(crate) fn arrives(&self, switch: SwitchIx) -> bool {
        let (word, bit) = (switch.index() / 64, switch.index() % 64);
        let bits = self.switches.as_ref();
        bits.is_none_or(|bits| bits[word] >> bit & 1 == 1)
    }
}
