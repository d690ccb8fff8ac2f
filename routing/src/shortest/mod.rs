//! Shortest ways between switches, by the cables alone.
//!
//! Breadth-first hops between all pairs ([`distances`]), the LIDs and where they are
//! ([`destinations`]), and from both which cables of a switch begin a shortest way. The engine
//! minhop chooses among these; the survey of paths uses them to tell, without following a column,
//! that all ways to a LID are shortest. Forwarding tables are not looked at here.
//!
//! # How a set of cables is found
//!
//! A cable of a switch begins a shortest way to a destination if its far switch has fewer hops to
//! go than the switch itself. All destinations are compared at once, cable by cable:
//!
//! ```text
//! destination          d0  d1  d2  d3
//! hops from here        2   1   3   0
//! hops from far end 0   1   2   2   1     ->  bit 0:  1 0 1 0
//! hops from far end 1   1   0   4   1     ->  bit 1:  1 1 0 0
//! ```
//!
//! Rows of distances are bytes that lie side by side, so the compiler compares sixteen destinations
//! in an instruction, and nothing is ever looked up by pair.
//!
//! Memory: a byte per pair of switches, 16 MiB for 4,096.

pub(crate) mod destinations;
pub(crate) mod distances;

use crate::bits::Bits;
use crate::shortest::distances::{Distances, UNREACHABLE};
use crate::topology::{SwitchIx, Topology, count32};

/// Some cables of one switch: bit n is the nth, by ascending port. Up to 64 a word.
/// `WORDS` is 1, 2 or 4: chosen once for a fabric by the switch with most cables, so that the usual
/// case of up to 64 is one register.
pub(crate) type CableSet<const WORDS: usize> = [u64; WORDS];

/// Works out the cables on shortest paths, of one switch after the other.
/// Made once for a thread and reused, switch after switch: its three tables are as long as there
/// are switches.
pub(crate) struct Shortest<'a, const WORDS: usize> {
    distances: &'a Distances,
    /// By destination switch: hops to it; 0, of which there are no fewer, where it is not reached.
    own: Vec<u8>,
    /// By destination switch: which of eight cables lie on a shortest path. The compiler makes
    /// sixteen such comparisons an instruction.
    eight: Vec<u8>,
    /// By destination switch.
    sets: Vec<CableSet<WORDS>>,
}

impl<'a, const WORDS: usize> Shortest<'a, WORDS> {
    pub(crate) fn new(distances: &'a Distances, switches: usize) -> Self {
        Self {
            distances,
            own: vec![0; switches],
            eight: vec![0; switches],
            sets: vec![[0; WORDS]; switches],
        }
    }

    /// By destination switch, the cables by which a shortest path to it leaves; none to the switch
    /// itself. `far` has the far switch of every cable, by ascending port, at most 64 times `WORDS`.
    pub(crate) fn from(&mut self, switch: SwitchIx, far: &[SwitchIx]) -> &[CableSet<WORDS>] {
        let hops = self.distances.from(switch);
        for (own, hops) in self.own.iter_mut().zip(hops) {
            // No neighbour has fewer than 0 hops, so nothing is offered where there is no way.
            *own = if *hops == UNREACHABLE { 0 } else { *hops };
        }
        self.sets.fill([0; WORDS]);
        // Eight cables a byte: eight comparisons for each load of `own`, and one pass to widen.
        for (group, far) in far.chunks(8).enumerate() {
            self.compare(far);
            let (word, shift) = (group / 8, 8 * (group % 8));
            for (set, eight) in self.sets.iter_mut().zip(&self.eight) {
                set[word] |= u64::from(*eight) << shift;
            }
        }
        &self.sets
    }

    /// Fills `eight`, for at most eight cables to these switches.
    fn compare(&mut self, far: &[SwitchIx]) {
        self.eight.fill(0);
        for (nth, far) in far.iter().enumerate() {
            let (bit, theirs) = (1 << nth, self.distances.from(*far));
            for ((eight, own), theirs) in self.eight.iter_mut().zip(&self.own).zip(theirs) {
                *eight |= if theirs < own { bit } else { 0 };
            }
        }
    }
}

/// The cables in a set, ascending.
/// Costs as many steps as there are cables in the set.
#[inline]
pub(crate) fn members<const WORDS: usize>(set: CableSet<WORDS>) -> impl Iterator<Item = usize> {
    let words = (0..).step_by(64).zip(set);
    words.flat_map(|(first, word)| Bits(word).map(move |bit| first + bit as usize))
}

/// The first cable in a set.
#[inline]
pub(crate) fn first<const WORDS: usize>(set: &CableSet<WORDS>) -> Option<usize> {
    let word = set.iter().position(|word| *word != 0)?;
    Some(64 * word + set[word].trailing_zeros() as usize)
}

/// The most cables that a switch has.
/// 0 for a fabric without cables, which takes the narrowest form.
pub(crate) fn most_cables(topology: &Topology) -> u32 {
    let switches = topology.switch_ixs();
    let cables = switches.map(|switch| topology.cables(switch).count());
    count32(cables.max().unwrap_or(0))
}
