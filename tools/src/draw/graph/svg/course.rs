//! The course of a line between two signs: straight, or a bow between two of one row.
//!
//! A straight line between two of one row would run through all between them.
//!
//! Lines, arrows and labels of one hop ask the same course, so they lie on each other.

use super::super::scene::Scene;
use sa_layout::Point;
use sa_layout::graph::Form;
use sa_layout::graph::Layout;

/// Where a line runs, from the sign that sends.
///
/// Shape: a straight line, or a quadratic curve with one control point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    from: Point,
    to: Point,
    /// What a bow is drawn towards.
    bow: Option<Point>,
}

impl Course {
    /// Bows only in rows: in circles two signs never have a third between them on a line.
    pub(super) fn of(scene: &Scene, layout: &Layout, from: usize, to: usize) -> Self {
        let (start, end) = (layout.points[from], layout.points[to]);
        let is_level = scene.shape.form == Form::Rows && start.y == end.y;
        let height = 40 + (start.x - end.x).abs() / 6;
        let bow = is_level.then(|| Point {
            x: i32::midpoint(start.x, end.x),
            y: start.y - height.min(110),
        });
        Self {
            from: start,
            to: end,
            bow,
        }
    }

    /// Path data.
    pub(super) fn data(&self) -> String {
        let Self { from, to, bow } = self;
        match bow {
            // Steps from the start are shorter than places.
            None => format!("M{} {}l{} {}", from.x, from.y, to.x - from.x, to.y - from.y),
            Some(bow) => format!(
                "M{} {}Q{} {} {} {}",
                from.x, from.y, bow.x, bow.y, to.x, to.y
            ),
        }
    }

    /// The point at a part of the way, from 0 to 1, and the direction there, of length 1.
    ///
    /// Source: de Casteljau's construction.
    pub(super) fn at(&self, part: f64) -> ((f64, f64), (f64, f64)) {
        let real = |point: Point| (f64::from(point.x), f64::from(point.y));
        let (from, to) = (real(self.from), real(self.to));
        let mix = |one: (f64, f64), other: (f64, f64)| {
            (
                one.0 + (other.0 - one.0) * part,
                one.1 + (other.1 - one.1) * part,
            )
        };
        // A line is a bow towards its own middle.
        let bow = self.bow.map_or_else(
            || (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1)),
            real,
        );
        let (first, second) = (mix(from, bow), mix(bow, to));
        let (dx, dy) = (second.0 - first.0, second.1 - first.1);
        let length = dx.hypot(dy).max(1e-6);
        (mix(first, second), (dx / length, dy / length))
    }
}
