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

use super::cabling::Cabling;
use super::order::Order;
use super::slopes::{Slope, Slopes};
use crate::parallel;

/// Steps from every switch to every other. 2 bytes for a pair: 31 MB for 3,920 switches.
pub(super) struct Steps {
    count: usize,
    /// Shape: a row per destination.
    to: Vec<Step>,
}

/// What a switch has before it on the way to a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step(u16);

/// Set where the way only descends.
const FALLS: u16 = 1 << 15;

impl Step {
    /// There is no way.
    pub(super) const NONE: Self = Self(u16::MAX >> 1);

    /// Steps to go. Larger than any where there is no way.
    #[inline]
    pub(super) const fn count(self) -> u16 {
        self.0 & !FALLS
    }

    /// The way only descends.
    #[inline]
    pub(super) const fn falls(self) -> bool {
        self.0 & FALLS != 0
    }
}

impl Steps {
    /// Cost: O(switches x cables), on all cores.
    pub(super) fn new(cabling: &Cabling, order: &Order, slopes: &Slopes) -> Self {
        let count = cabling.switches();
        let mut to = vec![Step::NONE; count * count];
        parallel::over_rows(&mut to, count.max(1), |first, rows| {
            let (mut front, mut falls) = (Vec::new(), vec![Step::NONE; count]);
            for (to, row) in (first..).zip(rows.chunks_mut(count.max(1))) {
                fall(cabling, slopes, to, row, &mut front);
                falls.copy_from_slice(row);
                climb(cabling, (order, slopes), row, &falls);
            }
        });
        Self { count, to }
    }

    /// By switch: steps to a destination.
    pub(super) fn to(&self, switch: u32) -> &[Step] {
        &self.to[switch as usize * self.count..][..self.count]
    }
}

/// Fills in who descends all the way: breadth first from the destination, upwards only.
fn fall(cabling: &Cabling, slopes: &Slopes, to: usize, row: &mut [Step], front: &mut Vec<u32>) {
    front.clear();
    front.push(crate::topology::count32(to));
    row[to] = Step(FALLS);
    let mut done = 0;
    while let Some(here) = front.get(done).copied() {
        done += 1;
        let next = Step(row[here as usize].0 + 1);
        for slope in slopes.of(cabling.of(here)) {
            let far = &mut row[slope.far() as usize];
            if *far == Step::NONE && slope.is_up() {
                *far = next;
                front.push(slope.far());
            }
        }
    }
}

/// Fills in the others, from the topmost on, so that all above a switch are known before it.
/// `falls` is the row as [`fall`] left it.
fn climb(cabling: &Cabling, (order, slopes): (&Order, &Slopes), row: &mut [Step], falls: &[Step]) {
    for switch in order.switches() {
        let own = falls[*switch as usize];
        let near = slopes.of(cabling.of(*switch)).iter();
        let mut above = near.filter(|slope| slope.is_up()).map(|slope| slope.far());
        let least = above.clone().map(|far| row[far as usize].count()).min();
        let Some(least) = least.filter(|least| *least < own.count()) else {
            continue;
        };
        // Whoever descends through here would be kept waiting for a way that turns.
        let is_needed = own.falls()
            && above.any(|far| {
                let far = falls[far as usize];
                far.falls() && far.count() == own.count() + 1
            });
        if !is_needed {
            row[*switch as usize] = Step(least + 1);
        }
    }
}

/// True where a path to the destination of `row` may go on by a bundle, and is no longer for it.
#[inline]
pub(super) fn leads_on(row: &[Step], from: u32, slope: Slope) -> bool {
    let (here, there) = (row[from as usize], row[slope.far() as usize]);
    here.count() == there.count() + 1
        && if slope.is_up() {
            !here.falls()
        } else {
            there.falls()
        }
}
