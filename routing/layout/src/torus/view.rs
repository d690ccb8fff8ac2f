//! Which axis of a torus runs which way on paper.
//!
//! Only axes with more than one switch take part, so that a 6x1x5 is drawn flat, as 6 by 5.
//!
//! ```text
//! shape       across   up   through
//! 6 x 5 x 1   x        y    -            one plane
//! 6 x 1 x 5   x        z    -            one plane
//! 8 x 8 x 8   x        y    z            eight planes
//! 4 x 1 x 1   x        -    -            one row
//! ```

use routing::placement::{Axis, Coordinate, Shape};

/// Axes by their use. Axes of radix 1 have none.
/// The three are different axes; one that is missing has those after it missing too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    shape: Shape,
    /// From left to right.
    pub across: Option<Axis>,
    /// From the bottom up.
    pub up: Option<Axis>,
    /// From plane to plane.
    pub through: Option<Axis>,
}

impl View {
    /// The first axis that is there runs across, the next up; a third makes planes.
    pub fn of(shape: Shape) -> Self {
        let mut there = Axis::ALL
            .into_iter()
            .filter(|axis| shape.radix_of(*axis) > 1);
        Self {
            shape,
            across: there.next(),
            up: there.next(),
            through: there.next(),
        }
    }

    /// Length of one of the view's own axes.
    /// 1 for an axis that is missing, so that loops over it run once.
    pub fn count(&self, axis: Option<Axis>) -> u8 {
        axis.map_or(1, |axis| self.shape.radix_of(axis))
    }

    /// Position along one of the view's own axes.
    pub fn position(at: Coordinate, axis: Option<Axis>) -> u8 {
        axis.map_or(0, |axis| at.on(axis))
    }

    /// From the left, from 0.
    pub fn column(&self, at: Coordinate) -> u8 {
        Self::position(at, self.across)
    }

    /// From the bottom, from 0.
    pub fn row(&self, at: Coordinate) -> u8 {
        Self::position(at, self.up)
    }

    /// 0 where there is one.
    pub fn plane(&self, at: Coordinate) -> u8 {
        Self::position(at, self.through)
    }

    /// Positions of the planes; one where there are only two axes.
    pub fn planes(&self) -> std::ops::Range<u8> {
        0..self.count(self.through)
    }

    /// What a position is called: with the axis at 0, alone elsewhere.
    pub fn label(axis: Axis, position: u8) -> String {
        match position {
            0 => format!("{axis}=0"),
            other => other.to_string(),
        }
    }
}
