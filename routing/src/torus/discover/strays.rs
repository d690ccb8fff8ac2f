//! Places for switches that no four-cycle of cables reaches any more.

use std::collections::BTreeSet;

use super::Discovery;
use crate::error::Warning;
use crate::topology::SwitchIx;
use crate::torus::geometry::{Coordinate, Direction, Sign};

/// What becomes of switches that torus-2QoS finds no place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::torus) enum Strays {
    /// They stay outside, as with OpenSM.
    Leave,
    /// A switch between two or more that have places gets the only empty place beside them all.
    Place,
}

impl Discovery<'_> {
    /// Places strays one by one; each may help the usual search, and other strays.
    pub(super) fn place_strays(&mut self) {
        loop {
            let strays = self.topology.switch_ixs();
            let mut found =
                strays.filter_map(|switch| Some((switch, self.place_of_stray(switch)?)));
            let Some((switch, at)) = found.next() else {
                return;
            };
            drop(found);
            self.put(at, Some(switch));
            let switch = self.name(switch);
            self.warnings.push(Warning::StrayPlaced { switch });
            self.place_all();
        }
    }

    /// The only empty place beside all neighbours of a switch outside the torus.
    fn place_of_stray(&self, switch: SwitchIx) -> Option<Coordinate> {
        if self.torus.coordinate(switch).is_some() {
            return None;
        }
        let ends = self.cables.unplaced(switch);
        let around: BTreeSet<Coordinate> = ends
            .filter_map(|end| self.torus.coordinate(end.far))
            .collect();
        let mut around = around.into_iter();
        let (first, second) = (around.next()?, around.next()?);
        let mut places = self.empty_beside(first);
        for other in std::iter::once(second).chain(around) {
            let beside = self.empty_beside(other);
            places.retain(|place| beside.contains(place));
        }
        (places.len() == 1)
            .then(|| places.first().copied())
            .flatten()
    }

    fn empty_beside(&self, at: Coordinate) -> BTreeSet<Coordinate> {
        let exists = |direction: &Direction| {
            let radix = self.shape.radix_of(direction.axis);
            let end = match direction.sign {
                Sign::Minus => 0,
                Sign::Plus => radix - 1,
            };
            radix > 1 && !(self.shape.is_mesh(direction.axis) && at.on(direction.axis) == end)
        };
        let directions = Direction::ALL.into_iter().filter(exists);
        directions
            .map(|direction| self.shape.neighbour(at, direction))
            .filter(|place| self.torus.at(*place).is_none())
            .collect()
    }
}
