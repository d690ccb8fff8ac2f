//! Tree and paths, over the lines that they use.
//!
//! Drawn last: what was asked for must not be hidden by what is there anyway.

use std::collections::BTreeMap;

use sa_plot::Xml;

use super::super::scene::{Hop, Path, Scene, ordered};
use super::course::Course;
use crate::draw::paper::colours;
use sa_layout::Point;
use sa_layout::graph::Detail;
use sa_layout::graph::Layout;

/// The multicast tree. Arrows lead away from the root.
///
/// Nothing where none was asked for. Branches within a sign have no line.
pub(super) fn tree(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let Some(tree) = &scene.tree else {
        return;
    };
    // Thinner in large fabrics: the tree reaches every switch and would cover all else.
    let width = if scene.signs.len() > 200 {
        "1.5"
    } else {
        "2.5"
    };
    xml.open(
        "g",
        &[
            ("stroke", &colours::TREE),
            ("stroke-width", &width),
            ("fill", &"none"),
        ],
    );
    // Branches of several switches of a sign look the same.
    let mut branches: Vec<_> = tree
        .branches
        .iter()
        .filter(|(from, to)| from != to)
        .collect();
    branches.sort_unstable();
    branches.dedup();
    for (from, to) in branches {
        let data = Course::of(scene, layout, *from, *to).data();
        xml.empty("path", &[("d", &data)]);
    }
    xml.close();
}

/// All paths, hop by hop in the colour of the VL.
/// Later ones cover earlier ones where they share a line; the labels show all.
///
/// Each hop has a border of the paper's colour below it, and an arrow above it.
pub(super) fn paths(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let (width, border, arrow) = if layout.pitch >= 40 {
        ("5", "9", 13.0)
    } else {
        ("3", "6", 9.0)
    };
    for path in &scene.paths {
        xml.open(
            "g",
            &[
                ("stroke-width", &width),
                ("stroke-linecap", &"round"),
                ("fill", &"none"),
            ],
        );
        for hop in path.hops.iter().filter(|hop| hop.from != hop.to) {
            let course = Course::of(scene, layout, hop.from, hop.to);
            let (colour, _) = colours::vl(hop.vl);
            let title = title(scene, path, *hop);
            // Apart from the lines of load, which are blue as well.
            let border: [(_, &dyn std::fmt::Display); 3] = [
                ("d", &course.data()),
                ("stroke", &colours::PAPER),
                ("stroke-width", &border),
            ];
            xml.empty("path", &border);
            xml.titled(
                "path",
                &[("d", &course.data()), ("stroke", &colour)],
                &title,
            );
            head(xml, &course, arrow, colour);
        }
        xml.close();
    }
}

/// For who points at a hop: the whole path, the hop, SL and VL.
fn title(scene: &Scene, path: &Path, hop: Hop) -> String {
    let [from, to] = [hop.from, hop.to].map(|sign| &scene.signs[sign].name);
    let (source, destination) = (&path.trace.from.name, &path.trace.to.name);
    let (sl, vl) = (sl(path), hop.vl);
    format!("{source} to {destination}: {from} to {to}, SL {sl}, VL {vl}")
}

/// Only asked of paths with hops, which have an SL.
///
/// 0 would be an SL like others, so a path without one has no hops to be asked for.
fn sl(path: &Path) -> u8 {
    path.trace.sl.as_ref().copied().unwrap_or(0)
}

/// An arrow three quarters along the way: at its end it would lie under the switch and the next
/// hop.
///
/// `size` in pixels: from its middle 0.6 of that ahead, 0.5 behind, 0.6 to each side.
fn head(xml: &mut Xml, course: &Course, size: f64, colour: &str) {
    let ((x, y), (dx, dy)) = course.at(0.75);
    let corner = |along: f64, aside: f64| {
        let (x, y) = (
            x + dx * along * size - dy * aside * size,
            y + dy * along * size + dx * aside * size,
        );
        format!("{x:.0},{y:.0}")
    };
    let points = [corner(0.6, 0.0), corner(-0.5, 0.6), corner(-0.5, -0.6)].join(" ");
    xml.empty(
        "polygon",
        &[("points", &points), ("fill", &colour), ("stroke", &"none")],
    );
}

/// SL and VL on each hop, where there is room; nearer to where it begins, so that labels of a way
/// up and of one down do not meet where they cross. Labels of several paths on one line stand below
/// each other.
///
/// Without room there are none at all: colours of VLs and titles still say it.
pub(super) fn labels(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    if scene.detail != Detail::Switches || layout.pitch < 40 {
        return;
    }
    let mut taken: BTreeMap<(usize, usize), i32> = BTreeMap::new();
    xml.open("g", &[("text-anchor", &"middle"), ("font-weight", &"bold")]);
    for path in &scene.paths {
        for hop in path.hops.iter().filter(|hop| hop.from != hop.to) {
            // By pair of signs, whatever the direction: both directions share a line.
            let nth = taken.entry(ordered(hop.from, hop.to)).or_default();
            let ((x, y), _) = Course::of(scene, layout, hop.from, hop.to).at(0.36);
            label(xml, on_paper(x, y).moved((0, *nth * 16)), path, *hop);
            *nth += 1;
        }
    }
    xml.close();
}

/// A box in the colour of the VL, so that the label reads on any ground.
fn label(xml: &mut Xml, at: Point, path: &Path, hop: Hop) {
    let words = format!("SL {} VL {}", sl(path), hop.vl);
    let (fill, ink) = colours::vl(hop.vl);
    xml.empty(
        "rect",
        &[
            ("x", &(at.x - 29)),
            ("y", &(at.y - 7)),
            ("width", &58),
            ("height", &15),
            ("rx", &4),
            ("fill", &fill),
            ("stroke", &colours::PAPER),
        ],
    );
    xml.words(
        "text",
        &[
            ("x", &at.x),
            ("y", &(at.y + 4)),
            ("font-size", &10),
            ("fill", &ink),
        ],
        &words,
    );
}

/// Whole pixels.
///
/// SVG takes fractions, but whole numbers make smaller files and equal ones.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a place in a picture of some thousand pixels"
)]
pub(super) fn on_paper(x: f64, y: f64) -> Point {
    Point {
        x: x.round() as i32,
        y: y.round() as i32,
    }
}
