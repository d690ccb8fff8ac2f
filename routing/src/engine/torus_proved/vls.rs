//! Which vl a path takes, hop by hop: the tables of torus-2QoS, for sets of paths.
//!
//! The SL of a path is its *class* here: bits 0 to 2, the datelines that it crosses. The QoS level
//! repeats everything on vls of its own (or shares them in the same way), so it is left out.
//!
//! # A load
//!
//! ```text
//! bits 31..24   23..16   15..8    7..0
//!      VL 3     VL 2     VL 1     VL 0      in each: bit c set when paths of class c are on it
//! ```
//!
//! Turning a whole load at a switch is an AND per VL with a mask made beforehand, so that all eight
//! classes take one instruction.

use sa_wire::SlToVl;

use crate::engine::torus::sl2vl::{NO_AXIS, between};
use crate::placement::{Axis, Direction};

/// PathVls of a cable that one QoS level can use.
/// With 8 data VLs each of the two levels has four; with 4 or 2 both share what there is.
pub(super) const VLS: usize = 4;

/// Classes on each vl of a cable: a byte for each vl, the lowest first, in it a bit for each
/// class.
pub(super) type Load = u32;

/// How the tables of a fabric spread classes over vls.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathVls {
    /// By axis of the input, from a host last, then by axis of the output.
    tables: [[SlToVl; 3]; 4],
    /// The same, as the classes that leave on each vl.
    /// Every class is on exactly one VL of each.
    leaving: [[Load; 3]; 4],
}

impl PathVls {
    /// With the fewest data VLs between switches.
    pub(super) fn new(vls: u8) -> Self {
        let outputs = |input| [0, 1, 2].map(|output| between(input, output, vls));
        let tables = [0, 1, 2, NO_AXIS].map(outputs);
        Self {
            tables,
            leaving: tables.map(|outputs| outputs.map(|table| leaving(&table))),
        }
    }

    /// The vl on which a class leaves a switch; `input` is the axis it came in on, none from a
    /// host.
    /// 0 to 3 for every class: bit 2 of a VL is the level, which classes leave out.
    pub(super) fn leaving_vl(&self, input: Option<Axis>, output: Axis, class: u8) -> usize {
        let input = input.map_or_else(|| usize::from(NO_AXIS), Axis::index);
        usize::from(self.tables[input][output.index()].0[usize::from(class)])
    }

    /// What a switch's own packets of a class put on a group.
    pub(super) fn own(&self, group: u8, class: u8) -> Load {
        let output = axis_of(group).index();
        on_every_vl(1 << class) & self.leaving[usize::from(NO_AXIS)][output]
    }

    /// What classes (a bit each) that came by one group put on another one.
    /// `classes` of one VL; a load is turned VL by VL, since the edges need to know which waits for
    /// which.
    pub(super) fn onward(&self, by: u8, group: u8, classes: u32) -> Load {
        let (input, output) = (axis_of(by).index(), axis_of(group).index());
        on_every_vl(classes) & self.leaving[input][output]
    }
}

/// Classes by the vl that a table gives them.
fn leaving(table: &SlToVl) -> Load {
    /// As many as three datelines make.
    const CLASSES: u32 = 8;
    let classes = (0..CLASSES).zip(table.0);
    classes.fold(0, |load, (class, vl)| {
        load | 1 << (8 * u32::from(vl) + class)
    })
}

/// The same classes on each vl.
/// A multiplication copies the byte four times, as no byte carries into the next.
fn on_every_vl(classes: u32) -> Load {
    classes * 0x0101_0101
}

/// One class on one vl.
pub(super) fn load_of(vl: usize, class: u8) -> Load {
    1 << (8 * vl + usize::from(class))
}

/// PathVls with any class, a bit each.
pub(super) fn used(load: Load) -> u32 {
    let vls = load.to_le_bytes().map(|classes| u32::from(classes != 0));
    vls[0] | vls[1] << 1 | vls[2] << 2 | vls[3] << 3
}

/// Axis of a group of ports.
pub(super) fn axis_of(group: u8) -> Axis {
    Direction::ALL[usize::from(group)].axis
}
