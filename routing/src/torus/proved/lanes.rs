//! Which lane a path takes, hop by hop: the rule of [`super::super::sl2vl`], for sets of paths.
//!
//! The SL of a path is its *class* here: bits 0 to 2, the datelines that it crosses. The QoS level
//! repeats everything on lanes of its own (or shares them in the same way), so it is left out.

use crate::torus::geometry::{Axis, Direction};

/// Lanes of a cable that one QoS level can use.
pub(super) const LANES: usize = 4;

/// Classes on each lane of a cable, a bit each.
pub(super) type Load = [u8; LANES];

/// How the tables of a fabric spread classes over lanes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes {
    /// Bit 0 tells datelines apart.
    has_datelines: bool,
    /// Bit 1 tells turns against the dimension order apart.
    has_turns: bool,
}

impl Lanes {
    /// With the fewest data VLs between switches.
    pub(super) const fn new(vls: u8) -> Self {
        Self {
            has_datelines: vls >= 2,
            has_turns: vls >= 4,
        }
    }

    /// The lane on which a class leaves a switch; `input` is the axis it came in on, none from a
    /// host.
    pub(super) fn of(self, input: Option<Axis>, output: Axis, class: u8) -> usize {
        let crosses = self.has_datelines && class >> output.index() & 1 == 1;
        let is_against_order = self.has_turns && input.is_some_and(|input| input > output);
        usize::from(crosses) | usize::from(is_against_order) << 1
    }
}

/// Axis of a group of ports.
pub(super) fn axis_of(group: u8) -> Axis {
    Direction::ALL[usize::from(group)].axis
}
