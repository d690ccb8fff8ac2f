//! Where signs stand on paper. All lengths in pixels.
//!
//! ```text
//! rows          T   T   T   T            circles     o o          ring    o  o
//!            .-------. .-------.                    o   o  o o          o      o
//!            | M   M | | M   M |               o o   o o  o   o        o        o
//!            | L   L | | L   L |              o   o        o o          o      o
//!            '-------' '-------'               o o                        o  o
//! ```
//!
//! Fans are circles whose groups stand on rays: the leaves outside, the levels above them further in.
//!
//! Nothing here knows SVG, and nothing here looks at cables but for the order around a ring: what is drawn where is decided once, for
//! lines, names and labels alike.

use std::f64::consts::TAU;

use super::blocks::{Detail, near_each_other};
use super::shape::{Form, Shape};
use super::wires::Wires;
use crate::{MARGIN, Point};

/// What is to be laid out: signs, which stand for switches or for many of them.
#[derive(Debug, Clone, Copy)]
pub struct Signs<'a> {
    /// What a sign stands for.
    pub detail: Detail,
    /// Of the whole fabric.
    pub shape: &'a Shape,
    /// Likewise.
    pub wires: &'a Wires,
    /// By sign.
    pub signs: &'a [Stand],
}

/// Where a sign belongs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stand {
    /// Of its first switch.
    pub level: usize,
    /// Likewise; none for switches that join groups.
    pub group: Option<usize>,
}

/// What stands where.
///
/// Whole pixels: places are compared, and equal ones have to be equal.
#[derive(Debug)]
pub struct Layout {
    /// By sign.
    pub points: Vec<Point>,
    /// Of the sheet, margins included.
    pub width: i32,
    /// Where the words below begin.
    pub bottom: i32,
    /// Radius of a switch.
    pub dot: i32,
    /// From sign to sign, where they stand side by side.
    pub pitch: i32,
    /// Around the signs of a group: in rows corners, else middle and radius.
    pub frames: Vec<Frame>,
    /// Where signs are on a circle: its middle, away from which names stand.
    pub middle: Option<Point>,
}

/// Around a group.
///
/// Drawn below everything else.
#[derive(Debug, Clone, Copy)]
pub enum Frame {
    /// Two corners: the upper left, the lower right.
    Box(Point, Point),
    /// Middle and radius.
    Circle(Point, i32),
}

/// Above the picture, for the title.
///
/// Names of columns stand further down, so nothing else begins above.
const HEAD: i32 = 64;
/// About what a screen shows without scrolling sideways.
const WIDEST: usize = 1900;

impl Layout {
    /// The form decides for switches; blocks of circles and fans stand around a ring, as their inner form is not shown.
    pub fn of(scene: Signs<'_>) -> Self {
        match (scene.shape.form, scene.detail) {
            (Form::Rows, _) => rows(scene),
            (Form::Circles, Detail::Switches) => circles(scene),
            (Form::Fans, Detail::Switches) => fans(scene),
            _ => ring(scene),
        }
    }
}

/// Signs of a group and level, in the order of their numbers, which is that of names.
///
/// Cost: a look at all signs. Pictures have some thousand at most.
fn members(scene: Signs<'_>, group: Option<usize>, level: usize) -> Vec<usize> {
    let signs = scene.signs.iter().enumerate();
    let wanted = signs.filter(|(_, sign)| sign.group == group && sign.level == level);
    wanted.map(|(number, _)| number).collect()
}

/// A count as a length. Counts of signs fit by far.
const fn pixels(count: usize) -> i32 {
    // Pictures are far below two thousand million pixels.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "counts of signs in a picture, some thousands at most"
    )]
    let pixels = count as i32;
    pixels
}

/// Levels above each other, leaves at the bottom, groups side by side.
///
/// Switches of no group, as the tops of a tree, are spread over the whole width.
fn rows(scene: Signs<'_>) -> Layout {
    let levels = scene.shape.levels();
    // One column more between groups.
    let of_group = |group| {
        let wide = (0..levels).map(|level| members(scene, Some(group), level).len());
        wide.max().unwrap_or(0) + 1
    };
    let widths: Vec<_> = (0..scene.shape.groups).map(of_group).collect();
    let alone: Vec<_> = (0..levels)
        .map(|level| members(scene, None, level))
        .collect();
    let columns = widths.iter().sum::<usize>();
    let alone_most = alone.iter().map(Vec::len).max().unwrap_or(0);
    // A box is as wide as two columns; one of a group has the gap beside it.
    let (least, each) = match scene.detail {
        Detail::Switches => (7, 1),
        Detail::Blocks | Detail::Matrix => (40, 2),
    };
    let columns = columns.max(each * alone_most).max(1);
    let pitch = pixels(WIDEST / columns).clamp(least, 96);
    let width = pitch * pixels(columns);
    let between = (width / 7).clamp(130, 300);
    let y = |level: usize| HEAD + 40 + between * pixels(levels - 1 - level);
    let mut points = vec![Point { x: 0, y: 0 }; scene.signs.len()];
    // As far apart as fills the room.
    let mut spread = |row: &[usize], left: i32, room: i32, level: usize| {
        for (nth, sign) in row.iter().enumerate() {
            let x = left + room * (2 * pixels(nth) + 1) / (2 * pixels(row.len()));
            points[*sign] = Point { x, y: y(level) };
        }
    };
    let mut frames = Vec::new();
    let mut left = MARGIN;
    for (group, columns) in widths.iter().enumerate() {
        let room = pitch * pixels(columns - 1);
        let left_edge = left + pitch / 2;
        for level in 0..levels {
            spread(&members(scene, Some(group), level), left_edge, room, level);
        }
        frames.push((group, left_edge, left_edge + room));
        left += pitch * pixels(*columns);
    }
    for (level, row) in alone.iter().enumerate() {
        spread(row, MARGIN, width, level);
    }
    let reach = 26.min(pitch / 2 + 12);
    let of_group = |group: usize| {
        let mut signs = scene.signs.iter();
        let own = signs.by_ref().filter(|sign| sign.group == Some(group));
        own.map(|sign| sign.level).max().unwrap_or(0)
    };
    let frames = frames.into_iter().map(|(group, left, right)| {
        let (top, bottom) = (y(of_group(group)) - reach, y(0) + reach + 14);
        Frame::Box(
            Point { x: left, y: top },
            Point {
                x: right,
                y: bottom,
            },
        )
    });
    Layout {
        frames: frames.collect(),
        points,
        width: width + 2 * MARGIN,
        bottom: y(0) + 64,
        dot: (pitch / 2 - 2).clamp(3, 8),
        pitch,
        middle: None,
    }
}

/// Something laid around a middle, moved so that all of it is on paper.
///
/// `points` and `frames` are around (0, 0), `reach` is the furthest of them, `room` what names need beyond it.
fn around(
    points: &[(f64, f64)],
    reach: f64,
    pitch: i32,
    room: i32,
    frames: &[((f64, f64), f64)],
) -> Layout {
    let size = rounded(reach) + room;
    let middle = Point {
        x: MARGIN + size,
        y: HEAD + size,
    };
    let on_paper = |(x, y): (f64, f64)| middle.moved((rounded(x), rounded(y)));
    let frames = frames
        .iter()
        .map(|(at, radius)| Frame::Circle(on_paper(*at), rounded(*radius)));
    Layout {
        points: points.iter().map(|at| on_paper(*at)).collect(),
        width: 2 * (MARGIN + size),
        bottom: HEAD + 2 * size,
        dot: (pitch / 2 - 2).clamp(3, 8),
        pitch,
        frames: frames.collect(),
        middle: Some(middle),
    }
}

/// To the nearest pixel.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a place in a picture of some thousand pixels"
)]
fn rounded(length: f64) -> i32 {
    length.round() as i32
}

/// For places on circles.
#[expect(clippy::cast_precision_loss, reason = "counts of signs in a picture")]
const fn real(count: usize) -> f64 {
    count as f64
}

/// On a circle, from the top clockwise.
///
/// `turn`: 0 to 1 for once around.
fn on_circle(turn: f64, radius: f64) -> (f64, f64) {
    let (sin, cos) = (turn * TAU).sin_cos();
    (radius * sin, -radius * cos)
}

/// All signs around one circle; in the order of names where they are blocks, else as a search along the cables finds them.
///
/// Neighbours beside each other keep most chords short.
fn ring(scene: Signs<'_>) -> Layout {
    let count = scene.signs.len();
    let order = match scene.detail {
        Detail::Switches => near_each_other(scene.wires),
        Detail::Blocks | Detail::Matrix => (0..count).collect(),
    };
    let least = if scene.detail == Detail::Switches {
        14
    } else {
        64
    };
    let pitch = pixels(2400 / count.max(1)).clamp(least, 80);
    let radius = (real(count) * f64::from(pitch) / TAU).max(120.0);
    let mut points = vec![(0.0, 0.0); count];
    for (nth, sign) in order.into_iter().enumerate() {
        points[sign] = on_circle(real(nth) / real(count), radius);
    }
    around(&points, radius, pitch, 90, &[])
}

/// A small circle for each group, all around a large one.
///
/// Groups have no levels here, so all of a group stand on one circle.
fn circles(scene: Signs<'_>) -> Layout {
    let groups = scene.shape.groups.max(1);
    let of_group: Vec<_> = (0..groups)
        .map(|group| members(scene, Some(group), 0))
        .collect();
    let largest = of_group.iter().map(Vec::len).max().unwrap_or(1);
    let pitch = pixels(2600 / scene.signs.len().max(1)).clamp(16, 64);
    let small = (real(largest) * f64::from(pitch) / TAU).max(f64::from(pitch));
    let frame = small + f64::from(pitch) * 0.75;
    // Circles that touch, but for a little, have their middles on this one.
    let large = (frame + 5.0) / (TAU / 2.0 / real(groups.max(2))).sin();
    let mut points = vec![(0.0, 0.0); scene.signs.len()];
    let mut frames = Vec::new();
    for (group, members) in of_group.iter().enumerate() {
        let turn = real(group) / real(groups);
        let (x, y) = on_circle(turn, large);
        frames.push(((x, y), frame));
        for (nth, sign) in members.iter().enumerate() {
            // The first looks at the middle.
            let (dx, dy) = on_circle(turn + 0.5 + real(nth) / real(members.len()), small);
            points[*sign] = (x + dx, y + dy);
        }
    }
    around(&points, large + frame, pitch, 16, &frames)
}

/// Groups on rays: the leaves outside, each level above further in.
///
/// A group takes as much of the circle as its widest level needs.
fn fans(scene: Signs<'_>) -> Layout {
    let levels = scene.shape.levels();
    let groups: Vec<_> = (0..scene.shape.groups)
        .map(Some)
        .chain([None])
        .filter(|group| scene.signs.iter().any(|sign| sign.group == *group))
        .collect();
    let wide = |group: Option<usize>| {
        let wide = (0..levels).map(|level| members(scene, group, level).len());
        // As much room between groups as one switch takes.
        wide.max().unwrap_or(0) + 1
    };
    let columns: usize = groups.iter().map(|group| wide(*group)).sum();
    let pitch = pixels(3000 / columns.max(1)).clamp(16, 64);
    let outer = (real(columns) * f64::from(pitch) / TAU).max(110.0);
    let step = (outer * 0.3).clamp(44.0, 130.0);
    let mut points = vec![(0.0, 0.0); scene.signs.len()];
    let mut begun = 0;
    for group in groups {
        let room = wide(group);
        for level in 0..levels {
            let row = members(scene, group, level);
            for (nth, sign) in row.iter().enumerate() {
                let within = (real(nth) + 0.5) / real(row.len()) * real(room - 1);
                let turn = (real(begun) + within) / real(columns);
                let radius = (outer - step * real(level)).max(30.0);
                points[*sign] = on_circle(turn, radius);
            }
        }
        begun += room;
    }
    around(&points, outer, pitch, 70, &[])
}
