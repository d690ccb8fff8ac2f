//! Where the usual ways go, laid out so that all switches are read one after the other.
//!
//! The same as `torus::next_hop` says, turned round: by axis and position, then by switch. All ways
//! to one destination are three such rows, so that a column of groups is filled by reading three
//! rows side by side.

use super::graph::Neighbours;
use crate::engine::torus::next_hop::{NO_WAY, Ways};
use crate::placement::{Axis, Coordinate};
use crate::placement::{PoolIx, Torus};

/// The groups by which switches leave by the usual rules.
/// Memory: a byte for each switch and position, 192 KiB for 16x16x16.
pub(super) struct Steps {
    /// By axis, position on it, and switch: the group to leave by, or [`NO_WAY`].
    along: [Vec<u8>; 3],
    switches: usize,
}

impl Steps {
    /// Looks along all rings once.
    pub(super) fn new(torus: &Torus) -> Self {
        let shape = torus.shape();
        let switches = torus.switches().len();
        let mut along = Axis::ALL.map(|axis| {
            let positions = usize::from(shape.radix_of(axis));
            vec![NO_WAY; positions * switches]
        });
        for ix in torus.pool_ixs() {
            let ways = Ways::from(torus, ix);
            for (axis, groups) in Axis::ALL.into_iter().zip(&mut along) {
                // Every `switches` bytes from its own place on: its entry in each row.
                let of_switch = groups[ix as usize..].iter_mut().step_by(switches);
                let towards = (0..=u8::MAX).map(|position| ways.along(axis, position));
                of_switch.zip(towards).for_each(|(to, group)| *to = group);
            }
        }
        Self { along, switches }
    }

    /// By switch: the group towards a position of an axis, or [`NO_WAY`].
    pub(super) fn towards(&self, axis: Axis, position: u8) -> &[u8] {
        &self.along[axis.index()][usize::from(position) * self.switches..][..self.switches]
    }

    /// The group by which a switch leaves for another place, or [`NO_WAY`]; that also for the place
    /// itself.
    /// The early turn is in the rows already: they are looked at x before y before z.
    pub(super) fn group(&self, switch: PoolIx, destination: Coordinate) -> u8 {
        let mut groups = Axis::ALL.into_iter().map(|axis| {
            let towards = self.towards(axis, destination.on(axis));
            towards[switch as usize]
        });
        groups.find(|group| *group != NO_WAY).unwrap_or(NO_WAY)
    }

    /// By switch: what [`Self::group`] gives where z is left out.
    /// [`NO_WAY`] where x and y are those of the destination: there the last part begins.
    pub(super) fn fill_without_z(&self, x: u8, y: u8, groups: &mut [u8]) {
        let (x, y) = (self.towards(Axis::X, x), self.towards(Axis::Y, y));
        for (group, (x, y)) in groups.iter_mut().zip(x.iter().zip(y)) {
            *group = if *x == NO_WAY { *y } else { *x };
        }
    }

    /// By switch: what [`Self::group`] gives.
    pub(super) fn fill(&self, destination: Coordinate, groups: &mut [u8]) {
        let [x, y, z] = destination.0;
        self.fill_without_z(x, y, groups);
        for (group, z) in groups.iter_mut().zip(self.towards(Axis::Z, z)) {
            *group = if *group == NO_WAY { *z } else { *group };
        }
    }
}

/// The switch that a group leads to; none for [`NO_WAY`] too.
pub(super) fn next(neighbours: &Neighbours, switch: PoolIx, group: u8) -> Option<PoolIx> {
    if group == NO_WAY {
        return None;
    }
    neighbours.get(switch, group)
}
