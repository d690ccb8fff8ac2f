//! A place on paper.
//!
//! In a file of its own as both layouts, and whoever draws, start from it.

/// Left and right of everything.
// Units of all lengths: pixels.
pub const MARGIN: i32 = 24;

/// A point on paper.
/// From the upper left, y downwards, as in SVG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// To the right.
    pub x: i32,
    /// Down.
    pub y: i32,
}

impl Point {
    /// The point some way off, to the right and down.
    pub const fn moved(self, (x, y): (i32, i32)) -> Self {
        Self {
            x: self.x + x,
            y: self.y + y,
        }
    }
}
