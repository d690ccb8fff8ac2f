//! Which bundles lead up, beside where they lead, in one word each.
//!
//! Steps and plans look at every bundle once for every destination. With 4 bytes a bundle those of a
//! large tree (220,000) stay in a second-level cache from one destination to the next.

use std::ops::Range;

use super::cabling::Cabling;
use super::order::Order;
use crate::topology::count32;

/// All bundles, by their numbers.
pub(super) struct Slopes(Vec<Slope>);

/// Where a bundle leads, shifted by one bit, and in the lowest bit whether that is up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slope(u32);

impl Slope {
    /// From one switch to another.
    pub(super) fn new(order: &Order, from: u32, far: u32) -> Self {
        // 31 bits are enough: a switch has a LID, and there are 2^16 of these.
        Self(far << 1 | u32::from(order.is_above(far, from)))
    }

    /// The same from the far end.
    #[inline]
    pub(super) const fn back(self, from: u32) -> Self {
        // Up from one end is down from the other, so the bit turns and nothing is looked up.
        Self(from << 1 | (self.0 & 1 ^ 1))
    }

    /// The switch that it leads to.
    #[inline]
    pub(super) const fn far(self) -> u32 {
        self.0 >> 1
    }

    /// It leads up.
    #[inline]
    pub(super) const fn is_up(self) -> bool {
        self.0 & 1 != 0
    }
}

impl Slopes {
    /// In the order of bundles, so that a range of theirs is a range of these.
    pub(super) fn new(cabling: &Cabling, order: &Order) -> Self {
        let switches = 0..count32(cabling.switches());
        let slopes = switches.flat_map(|from| {
            let bundles = cabling.leaving(from).iter().map(|bundle| bundle.far);
            bundles.map(move |far| Slope::new(order, from, far))
        });
        Self(slopes.collect())
    }

    /// Those of some bundles.
    #[inline]
    pub(super) fn of(&self, bundles: Range<usize>) -> &[Slope] {
        &self.0[bundles]
    }
}
