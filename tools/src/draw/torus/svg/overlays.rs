//! Tree and paths, over the links that they use.
//!
//! Both follow links, so their lines are those of the layout; arrows say which way, colours which
//! VL, and labels say SL and VL where there is room.
//!
//! A hop over the link that closes a ring is two stubs: one leaves the picture with its arrow at
//! the end in the open, the other comes in and ends at a switch.
//!
//! An arrow is a triangle with its tip at the end of a segment. For a heading of (1, 0), a tip at
//! (100, 50) and a size of 12 its other corners are (88, 58) and (88, 42): the size back along the
//! way, two thirds of it to either side.
//!
//! ```text
//! label of a hop    SL 1 VL 0     where a cell is 96 pixels
//!                   1/0           where it is 56
//!                   (colour only) where it is 24
//! ```

use std::collections::HashMap;
use std::fmt::Display;

use sa_plot::Xml;

use super::super::path::{Hop, Path};
use super::super::scene::Scene;
use super::links::data;
use crate::draw::paper::colours;
use sa_layout::Point;
use sa_layout::torus::{HopLabel, Layout, Segment};
use sa_layout::torus::{LinkId, Step};

/// The multicast tree. Arrows lead away from the root where a branch leaves the plane.
/// Within a plane the root's sign tells the direction.
pub(super) fn tree(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let Some(tree) = &scene.tree else {
        return;
    };
    let (width, _) = layout.room.widths;
    xml.open(
        "g",
        &[
            ("stroke", &colours::TREE),
            ("stroke-width", &width),
            ("fill", &colours::TREE),
        ],
    );
    for step in &tree.branches {
        let segments = layout.hop_segments(*step);
        let (from, to) = (step.from, step.to(scene.shape));
        let title = format!("branch from {from} to {to}");
        xml.titled("path", &[("d", &data(&segments))], &title);
        // A stub does not show where it leads, so it gets an arrow.
        if Some(step.direction.axis) == layout.view.through
            && let Some(segment) = segments.first()
        {
            arrow(
                xml,
                segment.to,
                *segment,
                layout.room.arrow * 2 / 3,
                &[("stroke", &"none")],
            );
        }
    }
    xml.close();
}

/// All paths, hop by hop in the colour of the VL.
/// Later ones cover earlier ones where they share a link; the labels show all.
pub(super) fn paths(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let (_, width) = layout.room.widths;
    for path in &scene.paths {
        xml.open(
            "g",
            &[("stroke-width", &width), ("stroke-linecap", &"round")],
        );
        for hop in &path.hops {
            draw_hop(xml, scene, layout, path, hop);
        }
        xml.close();
    }
}

/// The arrow ends at the rim of the switch and not under it.
fn draw_hop(xml: &mut Xml, scene: &Scene, layout: &Layout, path: &Path, hop: &Hop) {
    let (colour, _) = colours::vl(hop.vl);
    let segments = layout.hop_segments(hop.step);
    xml.titled(
        "path",
        &[("d", &data(&segments)), ("stroke", &colour)],
        &title(scene, path, hop),
    );
    for (nth, segment) in segments.iter().enumerate() {
        // A stub that leaves ends in the open, anything else at a switch.
        // The first of two leaves the plane or the ring, the second arrives.
        let is_leaving = segments.len() > 1 && nth == 0;
        let back = if is_leaving { 0 } else { layout.room.dot };
        let (x, y) = segment.heading();
        let tip = segment.to.moved((-x * back, -y * back));
        arrow(xml, tip, *segment, layout.room.arrow, &[("fill", &colour)]);
    }
}

/// Everything about one hop, for those who point at it.
fn title(scene: &Scene, path: &Path, hop: &Hop) -> String {
    let Step { from, direction } = hop.step;
    let turn = if hop.is_against_order {
        ", after a turn against the dimension order"
    } else {
        ""
    };
    format!(
        "{} to {}: {from} {direction} to {}, SL {}, VL {}{turn}",
        path.from.name,
        path.to.name,
        hop.step.to(scene.shape),
        sl(path),
        hop.vl
    )
}

/// Only asked of paths with hops, which have an SL.
fn sl(path: &Path) -> u8 {
    path.sl.as_ref().copied().unwrap_or(0)
}

/// A triangle that ends in a point.
/// `size` is its length; it is four thirds of that wide at its base.
fn arrow(
    xml: &mut Xml,
    tip: Point,
    along: Segment,
    size: i32,
    attributes: &[(&'static str, &dyn Display)],
) {
    let (x, y) = along.heading();
    // A diagonal is as long as it is wide and high, times the root of two.
    let size = if x != 0 && y != 0 { size * 5 / 7 } else { size };
    // Back along the way, and sideways: the heading turned by a right angle is (-y, x).
    let corner = |side: i32| {
        let half = size * 2 / 3 * side;
        tip.moved((-x * size - y * half, -y * size + x * half))
    };
    let (left, right) = (corner(1), corner(-1));
    let points = format!(
        "{},{} {},{} {},{}",
        tip.x, tip.y, left.x, left.y, right.x, right.y
    );
    let mut all: Vec<(&'static str, &dyn Display)> = vec![("points", &points)];
    all.extend_from_slice(attributes);
    xml.empty("polygon", &all);
}

/// SL and VL on each hop. Labels of several paths on one link stand below each other.
/// A pass of its own over everything else.
pub(super) fn hop_labels(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let mut taken: HashMap<LinkId, i32> = HashMap::new();
    xml.open("g", &[("text-anchor", &"middle"), ("font-weight", &"bold")]);
    for path in &scene.paths {
        for hop in &path.hops {
            // Counted per link and not per path: labels of both directions share its middle.
            let nth = taken.entry(hop.step.link(scene.shape)).or_default();
            hop_label(xml, layout, path, hop, *nth);
            *nth += 1;
        }
    }
    xml.close();
}

/// A box in the colour of the VL, so that the label reads on any ground.
fn hop_label(xml: &mut Xml, layout: &Layout, path: &Path, hop: &Hop, nth: i32) {
    let (words, width, size) = match layout.room.hop_label {
        HopLabel::Full => (format!("SL {} VL {}", sl(path), hop.vl), 58, 10),
        HopLabel::Short => (format!("{}/{}", sl(path), hop.vl), 24, 8),
        HopLabel::None => return,
    };
    // Half a letter above and below.
    let height = size + 5;
    let Some(place) = label_place(layout, hop.step, width) else {
        return;
    };
    let (fill, ink) = colours::vl(hop.vl);
    let (x, y) = (
        place.x - width / 2,
        place.y - height / 2 + nth * (height + 1),
    );
    xml.empty(
        "rect",
        &[
            ("x", &x),
            ("y", &y),
            ("width", &width),
            ("height", &height),
            ("rx", &4),
            ("fill", &fill),
            ("stroke", &colours::PAPER),
        ],
    );
    xml.words(
        "text",
        &[
            ("x", &place.x),
            ("y", &(y + size + 1)),
            ("font-size", &size),
            ("fill", &ink),
        ],
        &words,
    );
}

/// Half-way along a link; beyond the end of a stub that leaves the plane or the ring.
/// At the first segment, where the packet leaves.
fn label_place(layout: &Layout, step: Step, width: i32) -> Option<Point> {
    let segments = layout.hop_segments(step);
    let first = segments.first()?;
    if segments.len() == 1 {
        return Some(first.middle());
    }
    Some(match first.heading() {
        // A stub across is as long as its label is wide, so the label begins beside the switch.
        (x, 0) => first.from.moved((x * (layout.room.dot + 4 + width / 2), 0)),
        (x, y) => first.to.moved((x * 4, y * 4)),
    })
}
