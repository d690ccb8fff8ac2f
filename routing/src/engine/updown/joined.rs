//! Which switches can join the chain of a LID.
//!
//! Whatever switch can go on to the chain on a shortest way joins it, and who can go on to those
//! that joined joins them. Only to switches that are no lower: up the tree the chain alone leads.
//! In a whole tree all leaves join, so that packets to a LID come down by its chain from everywhere.
//!
//! Who joined is told by bits, one for each LID, so that all LIDs of a switch are passed on at once.
//! Cost: O(cables x switches with hosts), on all cores.

use std::ops::Range;

use super::chains::Chains;
use super::ground::Ground;
use super::slopes::Slope;
use super::steps::{LANES, by_switch};
use crate::parallel;
use crate::topology::count32;
use crate::watch::Stretch;

/// By switch and LID of a host: whether packets come there to the chain. A bit each: 49 MB for
/// 3,920 switches and 43,904 hosts, of which most is never touched.
pub(super) struct Joined {
    blocks: usize,
    /// By turn: its words in the row of a switch.
    places: Vec<Range<u32>>,
    /// Words of a row: as many as the largest block needs.
    width: usize,
    /// Shape: by switch, then by block, then by word.
    words: Vec<u64>,
}

impl Joined {
    pub(super) fn new(ground: &Ground<'_>, chains: &Chains, share: Stretch<'_>) -> Self {
        let switches = ground.cabling.switches();
        // A row each block and not one of all: blocks are filled by different cores.
        let (places, width) = places(ground);
        let blocks = ground.goals.with_hosts().div_ceil(LANES);
        let mut words = vec![0; blocks * switches * width];
        let mut joined = Self {
            blocks,
            places,
            width,
            words: Vec::new(),
        };
        let passed: Vec<u32> = (0..count32(switches))
            .filter(|switch| is_passed(ground, *switch))
            .collect();
        let row = (switches * width).max(1);
        let done = share.count(blocks);
        parallel::over_rows(&mut words, row, |first, blocks| {
            for (block, words) in (first..).zip(blocks.chunks_mut(row)) {
                joined.begin(ground, chains, block, words);
                joined.spread(ground, &passed, block, words);
                done.add(1);
            }
        });
        // Turned once: who asks goes switch by switch, as tables are filled.
        joined.words = by_switch(&words, switches, width);
        joined
    }

    /// The bits of a turn in which a switch joined. Shape: a word for each 64 LIDs.
    #[inline]
    pub(super) fn of(&self, turn: usize, switch: u32) -> &[u64] {
        let row = (switch as usize * self.blocks + turn / LANES) * self.width;
        &self.words[row..][self.range(turn)]
    }

    /// Where the words of a turn are in a row.
    #[inline]
    fn range(&self, turn: usize) -> Range<usize> {
        let place = &self.places[turn];
        place.start as usize..place.end as usize
    }

    /// Marks the destinations and their chains.
    fn begin(&self, ground: &Ground<'_>, chains: &Chains, block: usize, words: &mut [u64]) {
        let goals = &ground.goals;
        let turns = block * LANES..goals.with_hosts().min((block + 1) * LANES);
        for turn in turns {
            let place = |switch: u32| switch as usize * self.width + self.range(turn).start;
            let own = place(goals.switches()[turn]);
            // All bits, also those beyond the last host: nobody asks for them.
            words[own..][..self.range(turn).len()].fill(u64::MAX);
            for link in chains.of(turn) {
                let nth = (link.host - goals.first_host(turn)) as usize;
                words[place(link.switch) + nth / 64] |= 1 << (nth % 64);
            }
        }
    }

    /// Passes bits on: from below first, the lowest switch first, for ways that descend; then from
    /// above, the topmost first. So what a switch hands on is complete.
    fn spread(&self, ground: &Ground<'_>, passed: &[u32], block: usize, words: &mut [u64]) {
        let order = ground.order.switches();
        // Down before up: what descends first is complete before anything climbs on.
        let is_passed = |switch: &&u32| passed.binary_search(switch).is_ok();
        let mut row = vec![0; self.width];
        for switch in order.iter().rev().filter(is_passed) {
            self.join(
                ground,
                (block, *switch),
                |slope| !slope.is_up(),
                &mut row,
                words,
            );
        }
        for switch in order.iter().filter(is_passed) {
            self.join(ground, (block, *switch), Slope::is_up, &mut row, words);
        }
    }

    /// Adds to a switch what those have to which it can go on by some of its bundles.
    fn join(
        &self,
        ground: &Ground<'_>,
        (block, switch): (usize, u32),
        takes: impl Fn(Slope) -> bool,
        row: &mut [u64],
        words: &mut [u64],
    ) {
        let place = |switch: u32| switch as usize * self.width;
        // A copy, as the far rows are in the same memory.
        row.copy_from_slice(&words[place(switch)..][..self.width]);
        let slopes = ground.slopes.of(ground.cabling.of(switch)).iter();
        for slope in slopes.filter(|slope| takes(**slope) && can_join(ground, switch, slope.far()))
        {
            let far = &words[place(slope.far())..][..self.width];
            let mut left = ground.steps.leading_on(block, switch, *slope);
            while left != 0 {
                let turn = block * LANES + left.trailing_zeros() as usize;
                left &= left - 1;
                // Switches without hosts are in the last block, too.
                if turn < ground.goals.with_hosts() {
                    for word in self.range(turn) {
                        row[word] |= far[word];
                    }
                }
            }
        }
        words[place(switch)..][..self.width].copy_from_slice(row);
    }
}

/// True where `from` may join `far`, as that is no lower.
#[inline]
pub(super) fn can_join(ground: &Ground<'_>, from: u32, far: u32) -> bool {
    ground.heights[from as usize] <= ground.heights[far as usize]
}

/// True where anybody may join a switch: nobody asks about the others.
fn is_passed(ground: &Ground<'_>, switch: u32) -> bool {
    let mut near = ground.cabling.leaving(switch).iter();
    near.any(|bundle| can_join(ground, bundle.far, switch))
}

/// By turn: its words in the row of a block; and the words of the largest block.
fn places(ground: &Ground<'_>) -> (Vec<Range<u32>>, usize) {
    let goals = &ground.goals;
    let (mut places, mut next, mut width) = (Vec::new(), 0, 0);
    for turn in 0..goals.with_hosts() {
        if turn % LANES == 0 {
            next = 0;
        }
        let begin = next;
        next += count32(goals.hosts(turn).len().div_ceil(64));
        width = width.max(next);
        places.push(begin..next);
    }
    (places, width as usize)
}
