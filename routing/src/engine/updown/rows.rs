//! Which of several equal ways a switch takes for each LID.
//!
//! | a switch | takes |
//! |---|---|
//! | in the chain of the LID | the cable of the chain |
//! | that can join it | a cable to where others joined; of several the one with the fewest LIDs |
//! | with hosts, that cannot | the cable with the fewest LIDs |
//! | without, that cannot | one after the other: few packets pass |
//!
//! Counts are those of the switch's own cables alone. So each switch is worked out by itself, and
//! nothing depends on how many are at the same time.

use super::chains::{Chains, Link};
use super::goals::Goal;
use super::ground::Ground;
use super::joined::{Joined, can_join};
use super::relieve::{Movable, relieve};
use super::ways::{Place, Places, Ways, each, next};
use crate::tables::{Lft, NO_PATH};
use crate::topology::{Topology, count32};
use crate::watch::Stretch;

/// The tables of all switches. Cost: O(switches x LIDs), on all cores.
pub(super) fn tables(topology: &Topology, ground: &Ground<'_>, share: Stretch<'_>) -> Lft {
    // Both are worked out for all switches at once; a row then needs nothing of another row.
    let chains = Chains::new(ground);
    let joined = Joined::new(ground, &chains, share.cut(10..35));
    let done = share.cut(35..90).count(topology.switches.len());
    let stride = usize::from(topology.max_lid()) + 1;
    let fill = |first, rows: &mut [u8]| {
        let mut filler = Filler::new(ground, &chains, &joined);
        for (from, row) in (count32(first)..).zip(rows.chunks_mut(stride)) {
            filler.fill(from, row);
            done.add(1);
        }
    };
    let (mut lft, _) = Lft::filled(topology, topology.max_lid(), fill);
    // Whole trees deal out evenly by chains alone, and then nothing has to be counted.
    if !chains.are_even(ground) {
        let all = Movable {
            is_any: &|_| true,
            is: &|_, _, _| true,
        };
        relieve(topology, ground, &mut lft, &all, share.cut(90..100));
    }
    lft
}

/// Fills the tables of one switch after the other.
struct Filler<'a> {
    ground: &'a Ground<'a>,
    chains: &'a Chains,
    joined: &'a Joined,
    ways: Ways,
    /// It has no hosts: what cannot join is passed by few packets.
    is_passed: bool,
    /// Ways to switches that may be joined.
    joinable: Places,
    /// By offset, then by place: LIDs of hosts with that offset.
    used: Vec<[u32; 256]>,
    /// By place: all LIDs of hosts.
    total: [u32; 256],
    /// The place whose turn it is among equals that nobody counts.
    round: usize,
}

impl<'a> Filler<'a> {
    fn new(ground: &'a Ground<'a>, chains: &'a Chains, joined: &'a Joined) -> Self {
        Self {
            ground,
            chains,
            joined,
            is_passed: false,
            ways: Ways::default(),
            joinable: [0; 4],
            used: vec![[0; 256]; ground.goals.offsets()],
            total: [0; 256],
            round: 0,
        }
    }

    /// Fills the table of a switch.
    fn fill(&mut self, from: u32, row: &mut [u8]) {
        // What no way leads to stays so, and is told by the proof.
        row.fill(NO_PATH);
        self.begin(from);
        let goals = &self.ground.goals;
        let mut chain = self.chains.leaving(from);
        for turn in 0..goals.switches().len() {
            // Its own LIDs go to its ports, not to a neighbour.
            if goals.switches()[turn] == from {
                goals.fill_own(turn, row);
                continue;
            }
            let ways = self.ways.to(turn);
            for lid in goals.own(turn) {
                row[usize::from(*lid)] = self.any(&ways);
            }
            if turn < goals.with_hosts() {
                self.hosts(turn, &ways, &mut chain, row);
            }
        }
    }

    fn begin(&mut self, from: u32) {
        self.is_passed = self.ground.cabling.hosts(from) == 0;
        self.ways.look(self.ground, from);
        // Counts are of one switch: what others use is in their own rows.
        self.used.fill([0; 256]);
        self.total = [0; 256];
        self.round = 0;
        self.joinable = [0; 4];
        for (nth, place) in self.ways.places().iter().enumerate() {
            if can_join(self.ground, from, place.slope.far()) {
                self.joinable[nth / 64] |= 1 << (nth % 64);
            }
        }
    }

    /// Fills in the LIDs of the hosts of another switch, 64 at a time.
    fn hosts(&mut self, turn: usize, ways: &Places, chain: &mut &[Link], row: &mut [u8]) {
        let goals = self.ground.goals.hosts(turn);
        // Shortest ways to switches that are no lower: nobody joins downwards.
        let mut joinable = *ways;
        for (ways, joinable) in joinable.iter_mut().zip(self.joinable) {
            *ways &= joinable;
        }
        let first = self.ground.goals.first_host(turn);
        // 64 at a time: who joined is told in words of so many LIDs.
        for (word, goals) in goals.chunks(64).enumerate() {
            let mut choice = self.choice(turn, word, joinable);
            self.link(&mut choice, first + count32(word * 64), goals.len(), chain);
            for (nth, goal) in goals.iter().enumerate() {
                row[usize::from(goal.lid)] = if self.is_passed && choice.joined >> nth & 1 == 0 {
                    self.any(ways)
                } else if choice.several >> nth & 1 != 0 {
                    self.least(*goal, self.with(turn, word, nth, joinable))
                } else if choice.joined >> nth & 1 != 0 {
                    self.take(*goal, usize::from(choice.places[nth]))
                } else {
                    self.least(*goal, *ways)
                };
            }
        }
    }

    /// Which of 64 LIDs this switch can join, and by which cable.
    #[inline]
    fn choice(&self, turn: usize, word: usize, joinable: Places) -> Choice {
        let mut choice = Choice {
            joined: 0,
            several: 0,
            places: [0; 64],
        };
        for place in each(joinable) {
            let far = self.ways.places()[place].slope.far();
            let mut bits = self.joined.of(turn, far)[word];
            choice.several |= choice.joined & bits;
            choice.joined |= bits;
            // Only for LIDs that one place serves this is the answer; `several` says for which it is not.
            // Of the place that is found where it is the only one.
            while bits != 0 {
                choice.places[bits.trailing_zeros() as usize] = u8::try_from(place).unwrap_or(0);
                bits &= bits - 1;
            }
        }
        choice
    }

    /// Puts in the cables by which the switch is in chains of some LIDs, `first` and those behind it.
    #[inline]
    fn link(&self, choice: &mut Choice, first: u32, count: usize, chain: &mut &[Link]) {
        while let Some((link, rest)) = chain.split_first() {
            // Links of a chain are in the order of hosts, so what is not of this word is of a later one.
            let nth = (link.host - first) as usize;
            if nth >= count {
                return;
            }
            *chain = rest;
            let is_it = |place: &Place| place.cable == link.cable;
            // The chain outweighs what was joined: `several` is taken back.
            let place = self.ways.places().iter().position(is_it);
            choice.joined |= 1 << nth;
            choice.several &= !(1 << nth);
            choice.places[nth] = place
                .and_then(|place| u8::try_from(place).ok())
                .unwrap_or(0);
        }
    }

    /// The places by which one LID can join.
    fn with(&self, turn: usize, word: usize, nth: usize, joinable: Places) -> Places {
        let mut all = [0; 4];
        for place in each(joinable) {
            let far = self.ways.places()[place].slope.far();
            let bit = self.joined.of(turn, far)[word] >> nth & 1;
            all[place / 64] |= bit << (place % 64);
        }
        all
    }

    /// The cable with the fewest LIDs of this offset, then of all; then the first.
    fn least(&mut self, goal: Goal, places: Places) -> u8 {
        let used = &self.used[usize::from(goal.offset)];
        let least = each(places).min_by_key(|place| (used[*place], self.total[*place]));
        least.map_or(NO_PATH, |place| self.take(goal, place))
    }

    /// The port of the next of some ways, for packets of which there are few.
    #[inline]
    fn any(&mut self, ways: &Places) -> u8 {
        let Some(place) = next(ways, self.round) else {
            return NO_PATH;
        };
        self.round = place + 1;
        self.ways.places()[place].port
    }

    /// Counts a LID on a cable. Returns the port that the cable leaves.
    #[inline]
    fn take(&mut self, goal: Goal, place: usize) -> u8 {
        self.used[usize::from(goal.offset)][place] += 1;
        self.total[place] += 1;
        self.ways.places()[place].port
    }
}

/// What a switch can join of 64 LIDs.
struct Choice {
    /// By LID: it can join.
    joined: u64,
    /// By LID: by several cables.
    several: u64,
    /// By LID: the cable, where it is one.
    places: [u8; 64],
}
