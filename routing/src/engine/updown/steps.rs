//! How many steps a path takes that climbs and then descends.
//!
//! Forwarding goes by the destination alone, so every switch on a path goes on as if the path began
//! there. A packet that came from above must not climb again. So a switch through which others
//! descend only descends; one that can descend, but through which nobody above it would, takes the
//! way up where that is no longer.
//!
//! ```text
//! to t:    m (falls, 2)             m, a: descend all the way
//!         / \                       s: cannot, so it climbs to m: 3
//!        s   a (falls, 1)
//!             \
//!              t
//! ```
//!
//! Destinations go in blocks of 64, side by side in memory (*lanes*), so that one look at a bundle
//! serves a block, with the processor's vector instructions. Blocks of a switch lie side by side, as
//! whoever asks goes on with the same switch.

use super::cabling::Cabling;
use super::order::Order;
use super::slopes::{Slope, Slopes};
use crate::parallel;
use crate::watch::Stretch;

/// Destinations in a block.
pub(super) const LANES: usize = 64;

/// What a switch has before it on the way to each destination of a block.
pub(super) type Lanes = [Step; LANES];

/// Steps from every switch to every other. 2 bytes for a pair: 31 MB for 3,920 switches.
pub(super) struct Steps {
    blocks: usize,
    /// Shape: by switch, then by block, then by lane.
    all: Vec<Step>,
}

/// What a switch has before it on the way to a destination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Step(u16);

/// Set where the way only descends.
const FALLS: u16 = 1 << 15;

/// Steps without a mark, by lane; signed, as these have vector instructions everywhere.
type Counts = [i16; LANES];

/// No way. Two below the largest number: a step more is still none that a way has.
const NONE: i16 = i16::MAX - 1;

impl Step {
    /// There is no way.
    const NONE: Self = Self(NONE.cast_unsigned());

    /// Steps to go. Larger than any where there is no way.
    #[inline]
    const fn count(self) -> u16 {
        self.0 & !FALLS
    }

    /// A path may go on by a way up to where `there` is what is left, and is no longer for it.
    #[inline]
    const fn climbs_to(self, there: Self) -> bool {
        // Where this way only descends its mark makes it another number.
        self.0 == there.count() + 1
    }

    /// The same for a way down.
    #[inline]
    const fn falls_to(self, there: Self) -> bool {
        // Below the mark, and so unlike, where the rest does not only descend.
        self.0 | FALLS == there.0 + 1
    }
}

impl Steps {
    /// To these switches, each once. Cost: O(switches x cables), on all cores.
    pub(super) fn new(
        cabling: &Cabling,
        order: &Order,
        slopes: &Slopes,
        to: &[u32],
        share: Stretch<'_>,
    ) -> Self {
        let done = share.count(to.len());
        let switches = cabling.switches();
        let row = (switches * LANES).max(1);
        let mut all = vec![Step::NONE; to.len().div_ceil(LANES) * switches * LANES];
        parallel::over_rows(&mut all, row, |first, blocks| {
            let mut falls = vec![[NONE; LANES]; switches];
            let destinations = to.chunks(LANES).skip(first);
            for (to, block) in destinations.zip(blocks.chunks_mut(row)) {
                fall(cabling, (order, slopes), to, &mut falls);
                climb(cabling, (order, slopes), block.as_chunks_mut().0, &falls);
                done.add(to.len());
            }
        });
        let blocks = to.len().div_ceil(LANES);
        let all = by_switch(&all, switches, LANES);
        Self { blocks, all }
    }

    /// From a switch to the destinations of a block.
    #[inline]
    pub(super) fn lanes(&self, block: usize, from: u32) -> &Lanes {
        &self.all.as_chunks().0[from as usize * self.blocks + block]
    }

    /// From a switch to a destination, by its place in the list of them.
    #[inline]
    fn step(&self, to: usize, from: u32) -> Step {
        self.lanes(to / LANES, from)[to % LANES]
    }

    /// True where a path to a destination may go on by a bundle, and is no longer for it.
    #[inline]
    pub(super) fn leads_on(&self, to: usize, from: u32, slope: Slope) -> bool {
        let (here, there) = (self.step(to, from), self.step(to, slope.far()));
        if slope.is_up() {
            here.climbs_to(there)
        } else {
            here.falls_to(there)
        }
    }

    /// How many steps there are to a destination.
    pub(super) fn count(&self, to: usize, from: u32) -> u16 {
        self.step(to, from).count()
    }

    /// As [`Self::leads_on`], for the destinations of a block: a bit for each.
    #[inline]
    pub(super) fn leading_on(&self, block: usize, from: u32, slope: Slope) -> u64 {
        let (here, there) = (self.lanes(block, from), self.lanes(block, slope.far()));
        if slope.is_up() {
            bits(here, there, Step::climbs_to)
        } else {
            bits(here, there, Step::falls_to)
        }
    }
}

/// Puts what is known by block and then by switch in the order of the switches. Shape: `width` values
/// for each block of each switch. Cost: O(values), on all cores.
pub(super) fn by_switch<T: Copy + Default + Send + Sync>(
    all: &[T],
    switches: usize,
    width: usize,
) -> Vec<T> {
    let blocks = all.len().checked_div(switches * width).unwrap_or(0);
    let mut sorted = vec![T::default(); all.len()];
    parallel::over_rows(&mut sorted, (blocks * width).max(1), |first, rows| {
        for (switch, row) in (first..).zip(rows.chunks_mut((blocks * width).max(1))) {
            for (block, part) in row.chunks_mut(width).enumerate() {
                part.copy_from_slice(&all[(block * switches + switch) * width..][..width]);
            }
        }
    });
    sorted
}

/// The lanes for which something holds.
#[inline]
fn bits(here: &Lanes, there: &Lanes, holds: impl Fn(Step, Step) -> bool) -> u64 {
    // In two steps, as compilers find vector instructions for the first alone.
    let mut marks = [0_u8; LANES];
    for lane in 0..LANES {
        marks[lane] = u8::from(holds(here[lane], there[lane]));
    }
    let eights = marks.as_chunks::<8>().0.iter().enumerate();
    eights.fold(0, |all, (nth, eight)| {
        // The product has the lowest bits of all eight bytes in its highest byte, the first one lowest.
        let spread = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080);
        all | spread >> 56 << (8 * nth)
    })
}

/// Who descends all the way to destinations of a block, from the lowest switch on.
fn fall(cabling: &Cabling, (order, slopes): (&Order, &Slopes), to: &[u32], falls: &mut [Counts]) {
    falls.fill([NONE; LANES]);
    for (lane, to) in to.iter().enumerate() {
        falls[*to as usize][lane] = 0;
    }
    for switch in order.switches().iter().rev() {
        let mut own = falls[*switch as usize];
        let near = slopes.of(cabling.of(*switch)).iter();
        for far in near.filter(|slope| !slope.is_up()) {
            let far = &falls[far.far() as usize];
            for (own, far) in own.iter_mut().zip(far) {
                *own = (*own).min(*far + 1);
            }
        }
        falls[*switch as usize] = own;
    }
}

/// Adds who climbs, from the topmost on, so that all above a switch are known before it.
fn climb(
    cabling: &Cabling,
    (order, slopes): (&Order, &Slopes),
    block: &mut [Lanes],
    falls: &[Counts],
) {
    for switch in order.switches() {
        let own = &falls[*switch as usize];
        let (mut least, mut is_needed) = ([NONE; LANES], [false; LANES]);
        let near = slopes.of(cabling.of(*switch)).iter();
        for above in near.filter(|slope| slope.is_up()) {
            let (row, falls) = (&block[above.far() as usize], &falls[above.far() as usize]);
            for lane in 0..LANES {
                least[lane] = least[lane].min(row[lane].count().cast_signed());
                // Whoever descends through here would be kept waiting for a way that turns.
                is_needed[lane] |= falls[lane] == own[lane] + 1;
            }
        }
        let row = &mut block[*switch as usize];
        for lane in 0..LANES {
            let climbs = least[lane] < own[lane] && !is_needed[lane];
            let mark = if own[lane] == NONE { 0 } else { FALLS };
            row[lane] = if climbs {
                Step(least[lane].cast_unsigned() + 1)
            } else {
                Step(own[lane].cast_unsigned() | mark)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_as_its_lanes() {
        let step = |number: usize| {
            Step(
                u16::try_from(number % 5).unwrap()
                    | if number.is_multiple_of(3) { FALLS } else { 0 },
            )
        };
        let here: Lanes = std::array::from_fn(|lane| step(lane * 7));
        let there: Lanes = std::array::from_fn(|lane| step(lane * 11 + 1));
        for holds in [Step::climbs_to, Step::falls_to] {
            let all = bits(&here, &there, holds);
            assert_ne!(all, 0);
            for lane in 0..LANES {
                assert_eq!(
                    all >> lane & 1 == 1,
                    holds(here[lane], there[lane]),
                    "{lane}"
                );
            }
        }
    }
}
