//! Cables of one switch that take turns.
//!
//! Counting LIDs by cable and looking for the least is what minhop spends its time on. Most destinations of a
//! switch share few sets of cables, so that each set remembers whose turn it is, and a look through all
//! cables comes once for as many LIDs as the set has cables.
//!
//! ```text
//! set {1,2,3}, used 0 0 0:  1, 2, 3 in turn, then one look:  used 1 1 1, again 1, 2, 3 ...
//! set {2,3}   in between:   2 has more by now, so the first set passes it over when its turn comes
//! ```
//!
//! The result is that of counting for every LID; only the looking is saved.

use std::collections::HashMap;

use crate::shortest::{self, CableSet};
use crate::topology::{SwitchIx, count32};

/// More than a switch can have.
/// Ports are a byte, so it is never reached; the counters are an array of it.
pub(super) const MOST_CABLES: usize = 256;

/// Cables that lie on shortest paths to some switches, and whose turn it is.
///
/// That is the one with the fewest LIDs, the first among equals. Cables belong to several rounds,
/// so each cable's LIDs are counted by itself. Counts only grow: of the cables that had the fewest
/// when they were last looked through, those that have no more since are the ones that have the
/// fewest now, until none is left.
#[derive(Clone, Copy)]
pub(super) struct Round<const WORDS: usize> {
    all: CableSet<WORDS>,
    /// The cables with `fewest` LIDs, and maybe some that have more by now.
    /// A cable leaves when it gets a LID here, or when it turns out to have got one elsewhere.
    left: CableSet<WORDS>,
    /// Never above what any cable of `left` has.
    fewest: u32,
}

impl<const WORDS: usize> Round<WORDS> {
    /// All its cables have no LID yet.
    const fn new(all: CableSet<WORDS>) -> Self {
        Self {
            all,
            left: all,
            fewest: 0,
        }
    }

    /// The cable whose turn it is by the LIDs that each has; none when there is no cable.
    #[inline]
    pub(super) fn next(&mut self, used: &[u32; MOST_CABLES]) -> Option<usize> {
        loop {
            match shortest::first(&self.left) {
                Some(cable) if used[cable] == self.fewest => return Some(cable),
                // It got a LID by another round since the last look, so it is no longer among the
                // least.
                Some(cable) => self.remove(cable),
                None if self.all == [0; WORDS] => return None,
                None => self.look_through(used),
            }
        }
    }

    /// All its cables, ascending.
    pub(super) fn cables(&self) -> impl Iterator<Item = usize> + use<WORDS> {
        shortest::members(self.all)
    }

    /// A cable that got a LID that counts.
    #[inline]
    pub(super) const fn remove(&mut self, cable: usize) {
        self.left[cable / 64] &= !(1 << (cable % 64));
    }

    /// Finds the cables that have the fewest LIDs now.
    /// Cost: one look at each cable of the set.
    fn look_through(&mut self, used: &[u32; MOST_CABLES]) {
        self.fewest = u32::MAX;
        for cable in shortest::members(self.all) {
            if used[cable] < self.fewest {
                self.fewest = used[cable];
                self.left = [0; WORDS];
            }
            self.left[cable / 64] |= u64::from(used[cable] == self.fewest) << (cable % 64);
        }
    }
}

/// The rounds of one switch.
/// Few where the fabric is regular: a leaf of a fat tree has its own hosts, which need no cable,
/// and all others, which any cable up leads to.
pub(super) struct Rounds<const WORDS: usize> {
    /// One per different set of cables.
    all: Vec<Round<WORDS>>,
    /// By destination switch: index into `all`.
    of: Vec<u32>,
    numbers: HashMap<CableSet<WORDS>, u32>,
    /// Sets and their numbers, each in a place of its own that the next comer takes over.
    /// Most destinations ask for one of the last few sets, so the map is asked seldom.
    recent: Vec<(CableSet<WORDS>, u32)>,
}

/// Entries of `recent`: small enough for the first cache.
/// A power of two that eight bits of a mixed set index.
const RECENT: usize = 256;

impl<const WORDS: usize> Rounds<WORDS> {
    /// Holds nothing until [`Self::reset`].
    pub(super) fn new() -> Self {
        Self {
            all: Vec::new(),
            of: Vec::new(),
            numbers: HashMap::new(),
            recent: Vec::new(),
        }
    }

    /// Begins anew with a set of cables for every destination switch.
    pub(super) fn reset(&mut self, sets: &[CableSet<WORDS>]) {
        self.all.clear();
        self.of.clear();
        self.numbers.clear();
        let nothing = [0; WORDS];
        // Number 0 is the empty set, which also fills the places of the cache that nobody took yet.
        let number = self.number(nothing);
        self.recent.clear();
        self.recent.resize(RECENT, (nothing, number));
        for set in sets {
            let place = place(set);
            let number = match self.recent[place] {
                (known, number) if known == *set => number,
                _ => self.number(*set),
            };
            self.recent[place] = (*set, number);
            self.of.push(number);
        }
    }

    /// The round of the LIDs on a switch.
    #[inline]
    pub(super) fn to(&mut self, switch: SwitchIx) -> &mut Round<WORDS> {
        &mut self.all[self.of[switch.index()] as usize]
    }

    /// The number of a set, the next one where it is new.
    fn number(&mut self, set: CableSet<WORDS>) -> u32 {
        let next = count32(self.all.len());
        let number = *self.numbers.entry(set).or_insert(next);
        if number == next {
            self.all.push(Round::new(set));
        }
        number
    }
}

/// Where a set has its place among the recent ones.
/// Any mixing would do: a wrong guess costs a look into the map.
#[inline]
fn place<const WORDS: usize>(set: &CableSet<WORDS>) -> usize {
    let mixed = set.iter().fold(0_u64, |mixed, word| {
        (mixed.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    (mixed >> 56) as usize
}
