//! Where a switch forwards to, by destination switch.
//!
//! Dimension order x, y, z; the shorter way round each ring; the long way round where a ring is
//! broken; and where the switch to turn at is missing, as far towards it as possible, then the next
//! axis. The choice depends on the present switch and the destination switch alone.
//! Source: OpenSM `osm_torus.c` (`lft_port` and what it calls).
//!
//! # The three attempts, on a ring of 6
//!
//! ```text
//! 0 - 1 - 2 - 3 - 4 - 5 (- 0)
//! whole           from 1 to 3: + is shorter                       group +
//! 2-3 cut         from 1 to 3: + ends at 2, the long way works    group -
//! 3 missing       from 1 to 3: nothing to turn at, + while cables last, then the next axis
//! ```
//!
//! A switch knows nothing of earlier switches of a path. So every switch on the way must come to a
//! choice that fits the one before; it does, since all look along the same ring.
//!
//! # Cost
//!
//! A switch's ways are three rows of bytes, one look along each ring for all destinations; the
//! group for a destination is two or three lookups then. OpenSM walks rings for each pair of
//! switches.

use crate::placement::{Axis, Coordinate, Direction, Shape};
use crate::placement::{PoolIx, Torus};

/// Ways from one switch along its three rings.
/// 768 bytes, on the stack of the thread that fills the switch's table.
#[derive(PartialEq, Eq)]
pub(in crate::engine) struct Ways {
    /// By axis, then by position on the ring: the group to leave by, or `NO_WAY`.
    /// As long as positions can be, so that no lookup needs a bound.
    along: [[u8; 256]; 3],
}

/// In place of a group where there is no way.
/// Groups are 0 to 6, so it can stand beside them.
pub(in crate::engine) const NO_WAY: u8 = u8::MAX;

impl Ways {
    /// Looks along the three rings of a switch, nothing more: a change elsewhere leaves its ways as they are.
    /// Cost: O(radices). Equal before and after a change means that the table is, too, which is
    /// what `incremental` compares.
    pub(in crate::engine) fn from(torus: &Torus, switch: PoolIx) -> Self {
        let at = torus.get(switch).at;
        let mut along = [[NO_WAY; 256]; 3];
        for axis in Axis::ALL {
            let ring = Ring {
                torus,
                switch,
                at,
                axis,
            };
            ring.fill(&mut along[axis.index()]);
        }
        Self { along }
    }

    /// The group by which to leave along one axis for a position on it, or [`NO_WAY`].
    /// For callers that lay ways out by axis; a way to a place is [`Self::group_to`].
    pub(in crate::engine) fn along(&self, axis: Axis, position: u8) -> u8 {
        self.along[axis.index()][usize::from(position)]
    }

    /// The group by which to leave for another place; none when there is no way.
    pub(in crate::engine) fn group_to(&self, destination: Coordinate) -> Option<u8> {
        let group = self.group_or_none(destination);
        (group != NO_WAY).then_some(group)
    }

    /// The group by which to leave for another place, or [`NO_WAY`]; that also for the place itself.
    #[inline]
    pub(in crate::engine) fn group_or_none(&self, destination: Coordinate) -> u8 {
        let [x, y, z] = destination.0.map(usize::from);
        // The position of the switch itself has no way along its axis.
        match (self.along[0][x], self.along[1][y]) {
            (NO_WAY, NO_WAY) => self.along[2][z],
            (NO_WAY, group) | (group, _) => group,
        }
    }
}

/// The ring through a switch along one axis.
struct Ring<'t> {
    torus: &'t Torus,
    switch: PoolIx,
    at: Coordinate,
    axis: Axis,
}

impl Ring<'_> {
    /// The group for each position on the ring.
    /// Positions without a switch get a way towards them, as far as there are cables: the early
    /// turn.
    fn fill(&self, groups: &mut [u8; 256]) {
        let shape: Shape = self.torus.shape();
        let (plus, minus) = (self.axis.plus(), self.axis.minus());
        // Both looked at once for the ring, not for each position on it.
        let (by_plus, by_minus) = (self.reached(plus), self.reached(minus));
        for position in 0..shape.radix_of(self.axis) {
            let here = usize::from(position);
            let Some(way) = shape.shorter_way(self.axis, self.at.on(self.axis), position) else {
                continue;
            };
            let reached = |way| {
                if way == plus {
                    by_plus[here]
                } else {
                    by_minus[here]
                }
            };
            let turn = self.at.with(self.axis, position);
            // The preferred way round first; the long way only if that is broken.
            let chosen = if self.torus.at(turn).is_some() {
                [way, way.opposite()].into_iter().find(|way| reached(*way))
            } else {
                // Nothing to turn at: go that way while there are cables. On the last axis the
                // place is the destination itself.
                let has_cable = self.torus.neighbour(self.switch, way).is_some();
                (self.axis != Axis::Z && has_cable).then_some(way)
            };
            groups[here] = chosen.map_or(NO_WAY, Direction::group);
        }
    }

    /// Positions that are reached by following cables in one direction.
    /// Stops at the first missing cable, and where it comes round to the start.
    fn reached(&self, direction: Direction) -> [bool; 256] {
        let mut reached = [false; 256];
        let mut here = self.switch;
        while let Some(next) = self.torus.neighbour(here, direction) {
            if next == self.switch {
                break;
            }
            reached[usize::from(self.torus.get(next).at.on(self.axis))] = true;
            here = next;
        }
        reached
    }
}
