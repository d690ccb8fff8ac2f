//! Places for switches that no four-cycle of cables reaches any more.
//!
//! Where two neighbouring switches fail, the cycles through both are gone, and switches beside them may hang
//! by cables that no cycle joins. torus-2QoS leaves these outside and everything on them unreachable. They
//! are placed only where their neighbours leave them one place and nobody else claims it.
//!
//! ```text
//! o ─ o ─ o        S has no cable left to the row above, so no four-cycle reaches it. It hangs on
//! |       |        A and B, whose only common empty place is the one between them: there it is.
//! A ─ S ─ B
//! ```
//!
//! Coordinates decide SLs, so a wrong guess would be worse than none: with two possible places, or
//! two switches for one place, nobody gets it.

use std::collections::{BTreeMap, BTreeSet};

use super::Discovery;
use crate::engine::torus::reason::TorusReason;
use crate::engine::torus::verify::Setup;
use crate::engine::torus::warning::TorusWarning;
use crate::placement::{Coordinate, Direction, Sign};
use crate::topology::SwitchIx;

/// What becomes of switches that torus-2QoS finds no place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Strays {
    /// They stay outside, as with OpenSM; so does everything without a seed whose switches are all
    /// there.
    Leave,
    /// A switch between two or more that have places gets the only empty place beside them all.
    /// What is left of a seed is enough to begin with.
    Place,
}

impl Discovery<'_> {
    /// Places strays one by one; each may help the usual search, and other strays.
    /// Ends, as each round fills a place.
    pub(super) fn place_strays(&mut self) {
        while let Some((at, switch)) = self.next_stray() {
            self.put(at, Some(switch));
            let switch = self.name(switch);
            self.warnings.push(TorusWarning::StrayPlaced { switch });
            // First what four-cycles say, which is surer than neighbours.
            self.place_all();
        }
    }

    /// A place that exactly one stray can have, and that stray no other.
    /// The first in the order of coordinates, so that the result does not depend on luck.
    fn next_stray(&self) -> Option<(Coordinate, SwitchIx)> {
        let mut claims: BTreeMap<Coordinate, Vec<SwitchIx>> = BTreeMap::new();
        for switch in self.topology.switch_ixs() {
            if let Some(at) = self.place_of_stray(switch) {
                claims.entry(at).or_default().push(switch);
            }
        }
        let mut single = claims.into_iter().filter(|(_, claims)| claims.len() == 1);
        let (at, claims) = single.next()?;
        Some((at, *claims.first()?))
    }

    /// What is left of a seed may be too little to begin with, or may be no failure but a wrong
    /// GUID: nothing may stay outside then.
    /// Without that rule a typing error in a seed would pass for a failed switch.
    pub(super) fn refuse_remains_of_a_seed(&self, setup: &Setup) -> Result<(), Vec<TorusReason>> {
        let mut all = self.topology.switch_ixs();
        if self.vacant.is_empty() || all.all(|switch| self.torus.coordinate(switch).is_some()) {
            return Ok(());
        }
        let absent = setup.absent.clone();
        Err(vec![TorusReason::NoUsableSeed { absent }])
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
        // One neighbour leaves up to five places.
        let (first, second) = (around.next()?, around.next()?);
        let mut places = self.empty_beside(first);
        for other in std::iter::once(second).chain(around) {
            let beside = self.empty_beside(other);
            // What all its neighbours have in common.
            places.retain(|place| beside.contains(place));
        }
        (places.len() == 1)
            .then(|| places.first().copied())
            .flatten()
    }

    /// Empty places next to one, but for those of seed switches that are missing.
    fn empty_beside(&self, at: Coordinate) -> BTreeSet<Coordinate> {
        // Not beyond the open end of a mesh, and not along an axis that is not there.
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
            .filter(|place| self.torus.at(*place).is_none() && !self.vacant.contains(place))
            .collect()
    }
}
