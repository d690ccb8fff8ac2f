//! Which lane a path takes, hop by hop: the tables of torus-2QoS, for sets of paths.
//!
//! The SL of a path is its *class* here: bits 0 to 2, the datelines that it crosses. The QoS level
//! repeats everything on lanes of its own (or shares them in the same way), so it is left out.

use sa_wire::SlToVl;

use crate::torus::geometry::{Axis, Direction};
use crate::torus::sl2vl::{NO_AXIS, between};

/// Lanes of a cable that one QoS level can use.
pub(super) const LANES: usize = 4;

/// Classes on each lane of a cable, a bit each.
pub(super) type Load = [u8; LANES];

/// How the tables of a fabric spread classes over lanes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes {
    /// By axis of the input, from a host last, then by axis of the output.
    tables: [[SlToVl; 3]; 4],
}

impl Lanes {
    /// With the fewest data VLs between switches.
    pub(super) fn new(vls: u8) -> Self {
        let outputs = |input| [0, 1, 2].map(|output| between(input, output, vls));
        Self {
            tables: [0, 1, 2, NO_AXIS].map(outputs),
        }
    }

    /// The lane on which a class leaves a switch; `input` is the axis it came in on, none from a
    /// host.
    pub(super) fn of(&self, input: Option<Axis>, output: Axis, class: u8) -> usize {
        let input = input.map_or_else(|| usize::from(NO_AXIS), Axis::index);
        usize::from(self.tables[input][output.index()].0[usize::from(class)])
    }
}

/// Axis of a group of ports.
pub(super) fn axis_of(group: u8) -> Axis {
    Direction::ALL[usize::from(group)].axis
}
