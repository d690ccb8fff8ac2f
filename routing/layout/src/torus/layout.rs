//! Where things stand on paper. All lengths in pixels.
//!
//! A torus has up to three axes and paper has two: planes of the third are laid side by side, in
//! rows. A ring is drawn as a line with a stub at each end, across which the dateline runs; a link
//! to another plane is a slanted stub, to the upper left for plus, to the lower left for minus. All
//! lengths are whole pixels, so equal tori give equal bytes on every machine.
//!
//! ```text
//!               z=0                    z=1
//!    2  --o----o----o--        --o----o----o--      -- stub of a ring
//!         |    |    |            |    |    |
//!    1  --o----o----o--        --o----o----o--
//!         |    |    |            |    |    |
//!   y=0 --o----o----o--        --o----o----o--
//!        x=0   1    2           x=0   1    2
//! ```
//!
//! The size of everything follows from the number of places: up to 64 switches stand 96 pixels
//! apart, up to 512 stand 56 apart, and more stand 24 apart, without words. An 8x8x8 then is eight
//! planes of about 500 pixels each way.

use routing::placement::{Axis, Coordinate, Shape, Sign};

use super::links::{LinkId, Step};
use super::view::View;
use crate::{MARGIN, Point};

/// A piece of a link: the whole of it, or what one end shows of it.
/// Level, upright, or diagonal with equal sides: nothing else is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins.
    pub from: Point,
    /// Where it ends.
    pub to: Point,
}

/// How much room a switch gets.
/// One of three, by the number of places; everything scales together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// From switch to switch.
    pub cell: i32,
    /// Radius of a switch.
    pub dot: i32,
    /// Size of letters beside a switch; none where there is no room for any.
    pub letters: Option<i32>,
    /// Length of the stub of a link that closes a ring.
    stub: i32,
    /// Length of the stub of a link to another plane, each way.
    slant: i32,
    /// From the outermost columns to the labels of the rows.
    reach: i32,
    /// What there is room for beside a hop.
    pub hop_label: HopLabel,
    /// Length of the arrows on paths.
    pub arrow: i32,
    /// Widths of lines: tree, path.
    /// As SVG takes them, to be written without converting.
    pub widths: (&'static str, &'static str),
}

/// What a hop of a path says.
/// By how many letters fit on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HopLabel {
    /// `SL 1 VL 0`
    Full,
    /// `1/0`
    Short,
    /// Colour alone.
    None,
}

/// Names of up to twelve letters stand beside switches.
const ROOMY: Room = Room {
    cell: 96,
    dot: 8,
    letters: Some(11),
    stub: 40,
    slant: 24,
    reach: 76,
    hop_label: HopLabel::Full,
    arrow: 13,
    widths: ("3.5", "6"),
};

/// Names of up to seven letters, or coordinates, stand beside switches.
const MEDIUM: Room = Room {
    cell: 56,
    dot: 6,
    letters: Some(9),
    stub: 24,
    slant: 14,
    reach: 38,
    hop_label: HopLabel::Short,
    arrow: 11,
    widths: ("2.5", "5"),
};

/// For thousands: form and damage show, words do not.
const TIGHT: Room = Room {
    cell: 24,
    dot: 4,
    letters: None,
    stub: 10,
    slant: 7,
    reach: 16,
    hop_label: HopLabel::None,
    arrow: 7,
    widths: ("1.5", "3"),
};

/// Most switches that get much room, and some.
/// A 4x4x4, or an 8x8.
const ROOMY_PLACES: usize = 64;
/// An 8x8x8.
const MEDIUM_PLACES: usize = 512;

/// Above the pictures, for the title.
const HEAD: i32 = 56;
/// Beside the columns and rows, for their labels.
const LABELS: i32 = 30;
/// Widest row of planes, unless a single one is wider.
/// About what a screen shows without scrolling sideways.
const WIDEST: i32 = 1800;

/// The arrangement of a torus.
/// Made from its shape alone; a few numbers, so it is copied freely.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Which axis runs where.
    pub view: View,
    /// How much of it each switch gets.
    pub room: Room,
    shape: Shape,
    /// Planes side by side.
    /// At least 1; chosen once, in [`Layout::of`].
    abreast: i32,
}

impl Layout {
    /// The more switches, the less room for each.
    /// By places and not by switches, so that a damaged torus is as large as the whole one beside
    /// it.
    pub fn of(shape: Shape) -> Self {
        let room = match shape.places() {
            0..=ROOMY_PLACES => ROOMY,
            places if places <= MEDIUM_PLACES => MEDIUM,
            _ => TIGHT,
        };
        let mut layout = Self {
            view: View::of(shape),
            room,
            shape,
            abreast: 1,
        };
        layout.abreast = layout.choose_abreast();
        layout
    }

    /// As wide as it is high, or somewhat wider.
    /// The fewest planes abreast with which all rows together are a third wider than high; then the
    /// planes are shared out evenly, so that 12 planes, 5 abreast in 3 rows, become 4 abreast.
    fn choose_abreast(&self) -> i32 {
        let (width, height) = self.plane_size();
        let planes = i32::from(self.view.count(self.view.through));
        // Planes of one row are at least one, even where that is wider.
        let fits = |abreast: &i32| abreast * width <= WIDEST;
        let is_wide = |abreast: &i32| {
            let rows = (planes + abreast - 1) / abreast;
            3 * abreast * width >= 4 * rows * height
        };
        let mut choices = (1..=planes).take_while(fits);
        let widest = choices.clone().last().unwrap_or(1);
        let abreast = choices.find(is_wide).unwrap_or(widest);
        // No emptier a last row than need be.
        let rows = (planes + abreast - 1) / abreast;
        (planes + rows - 1) / rows
    }

    /// Width and height of one plane with its labels.
    /// From the left label to the last stub, from the heading to the labels below.
    fn plane_size(&self) -> (i32, i32) {
        let length = |axis| self.room.cell * (i32::from(self.view.count(axis)) - 1);
        let heading = if self.view.through.is_some() { 24 } else { 0 };
        let (across, up) = self.reach();
        (
            length(self.view.across) + 2 * across + LABELS + 10,
            length(self.view.up) + 2 * up + LABELS + heading,
        )
    }

    /// Width of the pictures, and where the words below begin.
    /// The height is that of the pictures alone: how many lines stand below is not known here.
    pub fn size(&self) -> (i32, i32) {
        let (width, height) = self.plane_size();
        let planes = i32::from(self.view.count(self.view.through));
        let rows = (planes + self.abreast - 1) / self.abreast;
        (
            2 * MARGIN + width * self.abreast.min(planes),
            HEAD + height * rows,
        )
    }

    /// Where the switch at the lower left of a plane is.
    /// Planes fill rows from the left, rows follow downwards.
    pub fn origin(&self, plane: u8) -> Point {
        let (width, height) = self.plane_size();
        let plane = i32::from(plane);
        let (column, row) = (plane % self.abreast, plane / self.abreast);
        let (across, up) = self.reach();
        Point {
            x: MARGIN + column * width + across + LABELS,
            y: HEAD + (row + 1) * height - up - LABELS,
        }
    }

    /// The switch at the upper right of a plane.
    /// With [`Layout::origin`] it spans what the dateline runs around.
    pub fn far_corner(&self, plane: u8) -> Point {
        let length = |axis| self.room.cell * (i32::from(self.view.count(axis)) - 1);
        let origin = self.origin(plane);
        Point {
            x: origin.x + length(self.view.across),
            y: origin.y - length(self.view.up),
        }
    }

    /// From the outermost switches to the labels of the axes: sideways, and up or down.
    pub const fn reach(&self) -> (i32, i32) {
        (self.room.reach, self.room.stub + self.room.stub / 2)
    }

    /// From the outermost switches to the dateline.
    /// Across the stubs, nearer to their ends.
    pub const fn dateline(&self) -> i32 {
        self.room.stub - self.room.stub / 4
    }

    /// Where a switch is.
    /// Rows count upwards and pixels downwards.
    pub fn point(&self, at: Coordinate) -> Point {
        let origin = self.origin(self.view.plane(at));
        Point {
            x: origin.x + self.room.cell * i32::from(self.view.column(at)),
            y: origin.y - self.room.cell * i32::from(self.view.row(at)),
        }
    }

    /// What is seen of a link, from its lower to its upper end.
    /// One for a link that is drawn whole, two for one whose ends are stubs.
    pub fn segments(&self, link: LinkId) -> Vec<Segment> {
        let (low, high) = (self.point(link.low), self.point(link.high(self.shape)));
        if Some(link.axis) != self.view.through && !link.closes_ring(self.shape) {
            return vec![Segment {
                from: low,
                to: high,
            }];
        }
        let [out, back] = [Sign::Plus, Sign::Minus].map(|sign| self.stub(link.axis, sign));
        vec![
            Segment {
                from: low,
                to: low.moved(out),
            },
            Segment {
                from: high.moved(back),
                to: high,
            },
        ]
    }

    /// What is seen of a hop, in its direction.
    /// The first begins at the switch that sends.
    pub fn hop_segments(&self, step: Step) -> Vec<Segment> {
        let mut segments = self.segments(step.link(self.shape));
        // A link runs from low to high; a hop in the minus direction runs it backwards.
        if step.direction.sign == Sign::Minus {
            segments.reverse();
            for segment in &mut segments {
                std::mem::swap(&mut segment.from, &mut segment.to);
            }
        }
        segments
    }

    /// Where the end of a stub is, seen from its switch.
    /// Upwards is minus y.
    fn stub(&self, axis: Axis, sign: Sign) -> (i32, i32) {
        let towards = match sign {
            Sign::Plus => 1,
            Sign::Minus => -1,
        };
        let (stub, slant) = (self.room.stub, self.room.slant);
        if Some(axis) == self.view.across {
            (towards * stub, 0)
        } else if Some(axis) == self.view.up {
            (0, -towards * stub)
        } else {
            // Left of the switch: names and numbers stand at its right.
            (-slant, -towards * slant)
        }
    }
}

impl Segment {
    /// The point half-way.
    pub const fn middle(self) -> Point {
        Point {
            x: (self.from.x + self.to.x) / 2,
            y: (self.from.y + self.to.y) / 2,
        }
    }

    /// -1, 0 or 1 each way.
    /// Enough for arrows, as there are only eight directions.
    pub const fn heading(self) -> (i32, i32) {
        (
            (self.to.x - self.from.x).signum(),
            (self.to.y - self.from.y).signum(),
        )
    }
}
