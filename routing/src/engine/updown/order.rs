//! Which of two switches is above the other.
//!
//! A path may climb and then descend, never the other way round: then no packets can wait for each
//! other in a circle, as a channel up waits for channels further up or down, and a channel down
//! only for channels further down. That holds for any order of the switches. Which order is taken
//! decides what paths there are.
//!
//! # Two wishes that contradict each other
//!
//! * *Shortest paths between hosts.* In a tree these climb to a common ancestor. So what is higher
//!   in the tree should be higher in the order.
//! * *Every pair.* With one topmost switch in the order all pairs have a path: up to it, then down.
//!   A tree has many tops; from one to another a path would have to descend first.
//!
//! # How both are met
//!
//! Switches are put in their order from the top, each below one that has its place already. The
//! first is a *leaf*. What is higher in the tree than the switch that it is cabled to comes first
//! (so the part of the tree above this leaf stands on its head); of the rest the highest comes
//! first, and of equals the one that was seen first:
//!
//! ```text
//! tree    S1  S2  S3         order:  A  S1 S2 S3  B C D        A to C: down down
//!         |\ /|\ /|                                            B to C: up to S1, down
//!         A  B C  D                                            S1 to S3: up to A, down
//! ```
//!
//! A path that climbs to a common ancestor and descends stays one that climbs and descends: an
//! ancestor gets its place as soon as one of the two below it has one. So no shortest path is given
//! up, and the tops reach each other, too. Where cables are missing, other leaves come before parts
//! of the tree that the first one does not lead to.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::cabling::Cabling;
use crate::topology::count32;

/// The order of the switches.
pub(super) struct Order {
    /// By switch: its place; 0 is the topmost.
    place: Vec<u32>,
    /// Switches from the topmost on.
    switches: Vec<u32>,
}

impl Order {
    /// Of a fabric whose switches have these heights, by switch; the highest have the largest.
    /// Cost: O(cables log cables).
    pub(super) fn new(cabling: &Cabling, heights: &[u32]) -> Self {
        let count = heights.len();
        let mut made = Making {
            cabling,
            heights,
            place: vec![NO_PLACE; count],
            switches: Vec::with_capacity(count),
            next: BinaryHeap::new(),
            seen: 0,
        };
        // One turn for each part of the fabric that no cable joins to the others.
        while let Some(top) = made.top() {
            made.put(top);
            while let Some(Reverse((.., switch))) = made.next.pop() {
                made.put(switch);
            }
        }
        Self {
            place: made.place,
            switches: made.switches,
        }
    }

    /// The order of another fabric, for those of its switches that are here, which `old` gives by
    /// switch. None where a part of this fabric would have several topmost switches, and so pairs
    /// without a path.
    pub(super) fn carried_over(&self, cabling: &Cabling, old: &[u32]) -> Option<Self> {
        let mut switches: Vec<u32> = (0..count32(old.len())).collect();
        switches.sort_by_key(|switch| self.place[old[*switch as usize] as usize]);
        let mut place = vec![0; old.len()];
        for (nth, switch) in (0..).zip(&switches) {
            place[*switch as usize] = nth;
        }
        let order = Self { place, switches };
        let tops = order.switches.iter();
        let tops = tops.filter(|switch| {
            let mut near = cabling.leaving(**switch).iter();
            !near.any(|bundle| order.is_above(bundle.far, **switch))
        });
        (tops.count() == parts(cabling)).then_some(order)
    }

    /// True if the first switch is higher than the second.
    #[inline]
    pub(super) fn is_above(&self, a: u32, b: u32) -> bool {
        self.place[a as usize] < self.place[b as usize]
    }

    /// Sorts what is known of switches, the topmost first. Switches that have the same part in
    /// different branches of a tree come in the same order in each.
    pub(super) fn sort<T>(&self, all: &mut [(u32, T)]) {
        all.sort_by_key(|(switch, _)| self.place[*switch as usize]);
    }

    /// All switches, the topmost first.
    pub(super) fn switches(&self) -> &[u32] {
        &self.switches
    }
}

/// How many parts of a fabric there are that no cable joins.
fn parts(cabling: &Cabling) -> usize {
    let mut seen = vec![false; cabling.switches()];
    let mut queue = VecDeque::new();
    let mut parts = 0;
    for first in 0..count32(cabling.switches()) {
        parts += usize::from(!seen[first as usize]);
        queue.push_back(first);
        while let Some(switch) = queue.pop_front() {
            if !std::mem::replace(&mut seen[switch as usize], true) {
                queue.extend(cabling.leaving(switch).iter().map(|bundle| bundle.far));
            }
        }
    }
    parts
}

/// Not placed yet.
const NO_PLACE: u32 = u32::MAX;

/// Who comes next: those that are seen from below first, the lowest of them first; then the
/// highest; then who was seen first.
type Next = Reverse<(bool, u32, u32, u32)>;

/// An order that is being made.
struct Making<'a> {
    cabling: &'a Cabling,
    heights: &'a [u32],
    place: Vec<u32>,
    switches: Vec<u32>,
    next: BinaryHeap<Next>,
    /// How many were seen.
    seen: u32,
}

impl Making<'_> {
    /// Where to begin with what is left: at the one switch that is higher than all others, else at
    /// the lowest with the most neighbours. None when all have their places.
    fn top(&self) -> Option<u32> {
        let height = |switch: &u32| self.heights[*switch as usize];
        let left = (0..count32(self.place.len()))
            .filter(|switch| self.place[*switch as usize] == NO_PLACE);
        let left: Vec<u32> = left.collect();
        let highest = left.iter().map(height).max()?;
        let mut highest = left.iter().filter(|switch| height(switch) == highest);
        if let (Some(only), None) = (highest.next(), highest.next()) {
            return Some(*only);
        }
        let near = |switch: &u32| Reverse(self.cabling.leaving(*switch).len());
        // The first of equals, as `min_by_key` has it.
        left.iter()
            .copied()
            .min_by_key(|switch| (height(switch), near(switch)))
    }

    /// Gives a switch the next place, unless it has one.
    fn put(&mut self, switch: u32) {
        if self.place[switch as usize] != NO_PLACE {
            return;
        }
        self.place[switch as usize] = count32(self.switches.len());
        self.switches.push(switch);
        for bundle in self.cabling.leaving(switch) {
            if self.place[bundle.far as usize] == NO_PLACE {
                let (own, far) = (
                    self.heights[switch as usize],
                    self.heights[bundle.far as usize],
                );
                let key = if far > own { far } else { u32::MAX - far };
                self.next
                    .push(Reverse((far <= own, key, self.seen, bundle.far)));
                self.seen += 1;
            }
        }
    }
}
