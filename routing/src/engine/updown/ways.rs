//! All shortest ways of one switch, to all destinations at once.
//!
//! A way is a cable. Cables of a switch are told by their *place* in a list in which those of one
//! bundle lie apart, so that whoever takes one place after the other spreads over the switches behind
//! them first:
//!
//! ```text
//! two cables to each of S and T:   places  0 1 2 3   are cables to  S T S T
//! ```

use super::ground::Ground;
use super::slopes::Slope;
use super::steps::LANES;

/// Words of a set of places: a switch has no more than 254 ports with cables.
/// Four words: 254 ports.
const WORDS: usize = 4;

/// Places, a bit each.
pub(super) type Places = [u64; WORDS];

/// A cable of a switch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) port: u8,
    /// Which of its bundle it is.
    pub(super) nth: u32,
    /// Its number in the whole fabric.
    pub(super) cable: u32,
    /// The number of its bundle among those of the switch.
    bundle: u32,
    pub(super) slope: Slope,
}

/// The ways of the switch that was looked at last. Its memory is used again and again.
#[derive(Default)]
pub(super) struct Ways {
    places: Vec<Place>,
    /// By turn.
    ways: Vec<Places>,
}

impl Ways {
    /// Looks at a switch. Cost: O(cables of it x switches / 8).
    pub(super) fn look(&mut self, ground: &Ground<'_>, from: u32) {
        self.find_places(ground, from);
        let bundles = ground.slopes.of(ground.cabling.of(from));
        let turns = ground.goals.switches().len();
        self.ways.clear();
        // In blocks of 64 turns: one word of each bundle has the turns, one of each turn the bundles.
        self.ways.resize(turns, [0; WORDS]);
        let mut leading = vec![0; bundles.len()];
        for block in 0..turns.div_ceil(LANES) {
            for (bits, slope) in leading.iter_mut().zip(bundles) {
                *bits = ground.steps.leading_on(block, from, *slope);
            }
            let turns = block * LANES..turns.min((block + 1) * LANES);
            let ways = &mut self.ways[turns];
            for (word, places) in self.places.chunks(64).enumerate() {
                // Bundles by turns become turns by bundles, 64 of both at once.
                let mut square = [0; 64];
                for (row, place) in square.iter_mut().zip(places) {
                    *row = leading[place.bundle as usize];
                }
                transpose(&mut square);
                for (ways, row) in ways.iter_mut().zip(square) {
                    ways[word] = row;
                }
            }
        }
    }

    fn find_places(&mut self, ground: &Ground<'_>, from: u32) {
        let cabling = ground.cabling;
        let slopes = ground.slopes.of(cabling.of(from)).iter();
        let bundles = (0..).zip(cabling.leaving(from)).zip(slopes);
        self.places.clear();
        for ((number, bundle), slope) in bundles {
            self.places.extend((0..bundle.width).map(|nth| Place {
                port: cabling.port(bundle.cable + nth),
                nth,
                cable: bundle.cable + nth,
                bundle: number,
                slope: *slope,
            }));
        }
        // By which of its bundle first: the list goes round the bundles.
        self.places.sort_by_key(|place| (place.nth, place.bundle));
    }

    /// Cables of the switch, by place.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Places that lead on to the switch whose turn it is.
    #[inline]
    pub(super) fn to(&self, turn: usize) -> Places {
        self.ways[turn]
    }
}

/// The places of a set, in order.
#[inline]
pub(super) fn each(places: Places) -> impl Iterator<Item = usize> {
    (0..WORDS).flat_map(move |word| {
        let mut left = places[word];
        std::iter::from_fn(move || {
            let next = (left != 0).then(|| word * 64 + left.trailing_zeros() as usize);
            left &= left.wrapping_sub(1);
            next
        })
    })
}

/// The first place of a set from another one on, counted round. None of none.
#[inline]
pub(super) fn next(places: &Places, from: usize) -> Option<usize> {
    let (word, bit) = (from / 64 % WORDS, from % 64);
    // Places before `from` are masked out of its own word, and looked at last.
    let rest = places[word] & u64::MAX << bit;
    if rest != 0 {
        return Some(word * 64 + rest.trailing_zeros() as usize);
    }
    // The word at hand comes last again, for its places before this one.
    let words = (1..=WORDS).map(|step| (word + step) % WORDS);
    let mut left = words.filter(|word| places[*word] != 0);
    left.next()
        .map(|word| word * 64 + places[word].trailing_zeros() as usize)
}

/// Exchanges rows and columns of a square of bits.
/// Source: Warren, Hacker's Delight, 2nd edition, section 7-3.
fn transpose(square: &mut [u64; 64]) {
    let mut half = 32;
    let mut mask = u64::MAX >> 32;
    while half != 0 {
        for row in (0..64).filter(|row| row & half == 0) {
            let swap = (square[row] >> half ^ square[row + half]) & mask;
            square[row] ^= swap << half;
            square[row + half] ^= swap;
        }
        half /= 2;
        mask ^= mask << half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let bit = |row: usize, column: usize| (row * 37 + column * 101 + row * column) % 3 == 1;
        let mut square: [u64; 64] = std::array::from_fn(|row| {
            (0..64)
                .map(|column| u64::from(bit(row, column)) << column)
                .sum()
        });
        transpose(&mut square);
        for (row, column) in (0..64).flat_map(|row| (0..64).map(move |column| (row, column))) {
            let found = square[row] >> column & 1 == 1;
            assert_eq!(found, bit(column, row), "{row} {column}");
        }
    }

    #[test]
    fn places_are_taken_round() {
        let set = [1 << 3 | 1 << 60, 0, 1 << 1, 0];
        assert_eq!(each(set).collect::<Vec<_>>(), [3, 60, 129]);
        let from = |place| next(&set, place);
        assert_eq!([from(0), from(3), from(4)], [Some(3), Some(3), Some(60)]);
        assert_eq!(
            [from(61), from(129), from(130)],
            [Some(129), Some(129), Some(3)]
        );
        assert_eq!(next(&[0; WORDS], 7), None);
    }
}
