//! One step of following a column: the SLs of a switch pass the next one.
//!
//! This is the innermost loop of the proof of irregular fabrics: it runs once for each LID and each switch.
//! So a turn is one word, states lie by switch, and what a load becomes behind a table is worked out once and
//! then looked up.

use super::graph::DependencyGraph;
use super::hops::{Hops, LOOK_UP, NO_OUTPUT};
use super::loads::{EMPTY, Load, Loads, VlPairs};
use crate::topology::{SwitchIx, count32};
use rustc_hash::FxHashMap;

/// What moves SLs over one switch.
/// One per thread, for one LID after the other.
pub(super) struct Carrier<'a> {
    graph: &'a DependencyGraph,
    hops: &'a Hops,
    pub(super) loads: Loads,
    /// By place of a turn, see [`Hops::tables`].
    /// Eight bytes each, 36 turns for a switch with six cables.
    turns: Turns,
    /// By switch, and one more that stands for no switch.
    pub(super) states: Vec<State>,
    /// Where the graph is to stay as it is: dependencies that it lacks, by turn.
    pub(super) apart: Option<Vec<(u32, VlPairs)>>,
}

/// A turn: above 16 bits one for each of the first loads whose dependencies here are known; the lower bits are
/// then the number of its table. One word, since memory is what counts, and 0 where nothing is known, which
/// memory is from the start: most turns of a fabric are never looked at after a small change.
#[derive(Clone, Copy)]
struct Turn(u64);

impl Turn {
    /// Number of the table, unless it does not fit or the load is new here.
    /// None asks for the slow way, which works the dependencies out and notes them.
    #[inline]
    const fn known(self, load: Load) -> Option<u32> {
        let is_known = load < Self::LOADS && self.0 >> (16 + load) & 1 == 1;
        if is_known {
            Some((self.0 & 0xffff) as u32)
        } else {
            None
        }
    }

    /// The dependencies of this load are known from now on, if it is one of the first and the number of the
    /// table fits.
    const fn note(&mut self, load: Load, table: u16) {
        if load < Self::LOADS && table != LOOK_UP {
            self.0 |= 1 << (16 + load) | table as u64;
        }
    }

    /// Loads get numbers as they turn up, so that common ones have small ones.
    // 64 bits less 16 for the number of the table.
    const LOADS: Load = 48;
}

/// What is known of turns, by their places.
enum Turns {
    /// Of each; memory of which nobody knows anything is never touched.
    All(Vec<u64>),
    /// Of those that were looked at: after a small change they are few.
    Few(FxHashMap<u32, u64>),
}

impl Turns {
    #[inline]
    fn get(&self, place: u32) -> Turn {
        match self {
            Self::All(turns) => Turn(turns[place as usize]),
            Self::Few(turns) => Turn(turns.get(&place).copied().unwrap_or(0)),
        }
    }

    fn set(&mut self, place: u32, turn: Turn) {
        match self {
            Self::All(turns) => turns[place as usize] = turn.0,
            Self::Few(turns) => {
                turns.insert(place, turn.0);
            }
        }
    }
}

/// A switch on the way to the LID at hand.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// Its next hop, as [`Hop`](super::hops::Hop) has it.
    pub(super) to: u32,
    pub(super) input: u32,
    pub(super) output: u32,
    /// What the cable it sends on carries.
    /// The sources' own first, then what other switches send over it.
    pub(super) carried: Load,
}

impl<'a> Carrier<'a> {
    /// For a fabric of so many switches, with no SL anywhere.
    pub(super) fn new(graph: &'a DependencyGraph, hops: &'a Hops, switches: usize) -> Self {
        let turns = vec![0; hops.tables().len()];
        Self::knowing(Turns::All(turns), graph, hops, switches)
    }

    fn knowing(turns: Turns, graph: &'a DependencyGraph, hops: &'a Hops, switches: usize) -> Self {
        let nowhere = State {
            to: count32(switches),
            input: 0,
            output: NO_OUTPUT,
            carried: EMPTY,
        };
        Self {
            graph,
            hops,
            loads: Loads::new(&graph.channels),
            turns,
            states: vec![nowhere; switches + 1],
            apart: None,
        }
    }

    /// The same for a small part of all turns, where the graph stays as it is.
    pub(super) fn apart(graph: &'a DependencyGraph, hops: &'a Hops, switches: usize) -> Self {
        let turns = Turns::Few(FxHashMap::default());
        Self {
            apart: Some(Vec::new()),
            ..Self::knowing(turns, graph, hops, switches)
        }
    }

    /// Begins anew with numbers of loads.
    /// What turns know is by number of load, so they go together.
    pub(super) fn forget(&mut self) {
        self.loads = Loads::new(&self.graph.channels);
        match &mut self.turns {
            Turns::All(turns) => turns.fill(0),
            Turns::Few(turns) => turns.clear(),
        }
    }

    /// Moves the SLs of a switch to the next one's cable. True when that had not had all of them.
    /// `entry` gives the forwarding entry of a switch.
    // The call is in three loops, each of which is worth it.
    #[inline(always)]
    pub(super) fn pass_on(&mut self, switch: u32, entry: impl Fn(SwitchIx) -> u8) -> bool {
        let State {
            to, input, carried, ..
        } = self.states[switch as usize];
        let next = self.states[to as usize];
        if next.output == NO_OUTPUT {
            // The next switch ends the way: its own LID, or nothing.
            return false;
        }
        let turn = self.turns.get(input + next.output);
        let beyond = match turn.known(carried) {
            Some(table) => self.loads.beyond(&self.graph.channels, carried, table),
            None => self.turn(switch, entry),
        };
        let sum = self.loads.sum(next.carried, beyond);
        self.states[to as usize].carried = sum;
        sum != next.carried
    }

    /// Notes the dependencies of a turn with a load that is new there. Gives the load beyond.
    #[cold]
    fn turn(&mut self, switch: u32, entry: impl Fn(SwitchIx) -> u8) -> Load {
        let State {
            to, input, carried, ..
        } = self.states[switch as usize];
        let channels = &self.graph.channels;
        let link = |switch: SwitchIx| {
            let link = channels.link(switch, entry(switch));
            channels.links[link as usize]
        };
        let (from, next) = (link(SwitchIx(switch)), link(SwitchIx(to)));
        let table = channels.table(next.from, from.input, next.slot);
        let passed = self.loads.pass(channels, carried, table);
        let turn = from.turns + u32::from(next.slot);
        match &mut self.apart {
            None => self.graph.edges.add(turn, &passed.pairs),
            Some(_) if self.graph.edges.has(turn, &passed.pairs) => {}
            Some(apart) => apart.push((turn, passed.pairs)),
        }
        // Behind the adding: a turn that is noted is never looked at again for this load.
        let place = input + self.states[to as usize].output;
        let mut known = self.turns.get(place);
        known.note(carried, self.hops.tables()[place as usize]);
        self.turns.set(place, known);
        passed.load
    }
}
