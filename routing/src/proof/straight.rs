//! Dependencies of unicast routes where packets keep their VL and all paths have the same SLs.
//!
//! Then a turn has the dependencies of all these VLs or none, and what is to be found out is a bit:
//! whether a packet takes it. Where every switch is a source, a packet to a LID takes the turn from
//! its cable into the next switch's cable to that LID, whatever lies before: all turns are found by
//! reading the forwarding tables once ([`rows`]). Where some switches send nothing, or do something
//! else with LIDs of their own than deliver them, paths are followed ([`trails`]).
//!
//! The case of minhop and of every fabric with one SL2VL table: there is nothing to carry.
//!
//! ```text
//! switch A, entry for LID 9: port 2 -> B        B, entry for LID 9: port 5
//! A has the LID and so does B: the turn from A's cable 2 into B's cable 5 is taken
//! ```

mod rows;
mod trails;

use std::ops::Range;

use sa_wire::SlVlMask;

use self::rows::Rows;
use self::trails::Trails;
use super::channels::{Channels, NO_LINK};
use super::graph::DependencyGraph;
use super::unicast::Paths;
use crate::bits::Bits;
use crate::tables::Routes;
use crate::topology::{SwitchIx, Topology};
use crate::watch::Stretch;

/// Adds the dependencies of some paths, all of which have these SLs.
pub(super) fn add(
    graph: &DependencyGraph,
    (topology, routes): (&Topology, &Routes),
    sls: SlVlMask,
    paths: Paths<'_>,
    share: Stretch<'_>,
) {
    let channels = &graph.channels;
    // A fabric without turns: one switch, or none.
    if channels.tables() == 0 {
        return;
    }
    // All VLs that these SLs use: each turn taken has the same ones.
    let spread = channels.mapping(0).spread(sls.0);
    let vls = spread.fold(0, |vls, (vl, _)| vls | 1 << vl);
    let lids = Lids::new(channels, topology, routes, paths);
    let by_rows = lids.by_rows_percent();
    let turns = Rows::new(channels, routes, &lids.by_rows).taken(share.cut(0..by_rows));
    let trails = Trails::new(channels, topology, routes, paths);
    let by_trails = trails.taken(&lids.by_trails, share.cut(by_rows..100));
    for taken in turns.into_iter().chain(by_trails) {
        for turn in taken.all() {
            graph.edges.add_straight(turn, vls);
        }
    }
}

/// LIDs to which paths lead, by how their turns are found.
struct Lids {
    /// Ascending, as [`Rows`] needs them.
    /// Nearly all.
    by_rows: Vec<Range<usize>>,
    /// By LID: the switch it is on.
    by_trails: Vec<Option<SwitchIx>>,
}

impl Lids {
    /// Sorts the LIDs that end ports on switches have.
    fn new(channels: &Channels, topology: &Topology, routes: &Routes, paths: Paths<'_>) -> Self {
        let mut lids = Self {
            by_rows: Vec::new(),
            by_trails: vec![None; routes.lfts().stride()],
        };
        for lid in 0..=routes.lids().max_lid() {
            let owner = routes.lids().at(lid);
            let owner = owner.filter(|end| paths.lead_to(topology, *end));
            let attached = owner.and_then(|end| topology.end_port(end).attached);
            let Some((to, _)) = attached else {
                continue;
            };
            let place = usize::from(lid);
            let entry = routes.lft(to)[place];
            // A switch that sends a LID of its own into a cable would add turns that no path has.
            if paths.all_switches_send() && channels.next_link(to, entry) == NO_LINK {
                lids.add_to_rows(place);
            } else {
                lids.by_trails[place] = Some(to);
            }
        }
        lids
    }

    /// How much of the work reading by rows is. Units: per cent.
    fn by_rows_percent(&self) -> u64 {
        let by_trails = self.by_trails.iter().flatten().count() as u64;
        let by_rows = self.by_rows.iter().map(|run| run.len() as u64);
        let by_rows: u64 = by_rows.sum();
        // A trail takes about as long as ten LIDs that are read.
        by_rows * 100 / (by_rows + 10 * by_trails).max(1)
    }

    /// Makes the last run longer, or begins one.
    fn add_to_rows(&mut self, lid: usize) {
        match self.by_rows.last_mut() {
            Some(run) if run.end == lid && !lid.is_multiple_of(rows::LIDS) => run.end += 1,
            _ => self.by_rows.push(lid..lid + 1),
        }
    }
}

/// Turns that packets take, a bit each.
/// A bit per turn and thread, joined at the end.
struct Turns(Vec<u64>);

impl Turns {
    /// No turn taken.
    fn none(channels: &Channels) -> Self {
        Self(vec![0; channels.turns().div_ceil(64)])
    }

    /// Notes that a packet takes a turn.
    #[inline]
    fn take(&mut self, turn: u32) {
        self.0[turn as usize / 64] |= 1 << (turn % 64);
    }

    /// The turns taken, ascending.
    fn all(&self) -> impl Iterator<Item = u32> + '_ {
        let words = (0..).map(|word| word * 64).zip(&self.0);
        words.flat_map(|(first, word)| Bits(*word).map(move |bit| first + bit))
    }
}
