//! Links: wired, missing, loaded; and the datelines that they cross.
//!
//! Small pictures have an element with a title for each link. Large ones (no room for letters) have
//! one element for all plain links: a torus of thousands would else be megabytes, and nobody points
//! at a link of 24 pixels.
//!
//! A missing link is drawn where it should be, dashed and red; it is no gap, because a gap in a
//! picture of thousands is not seen.
//!
//! ```text
//! thin, grey           a wired link
//! blue, 2 to 8 wide    by load, five steps
//! red, dashed          missing
//! brown, dash and dot  a dateline
//! ```

use std::fmt::Write;

use routing::placement::Shape;
use sa_plot::Xml;

use super::super::caption::load_of;
use super::super::load::Load;
use super::super::scene::Scene;
use crate::draw::paper::{Scale, colours};
use sa_layout::torus::{Layout, Segment};
use sa_layout::torus::{Link, LinkState};

/// Every link of the shape. Those to other planes show only when missing or loaded.
/// Missing ones last, so that no load covers them.
pub(super) fn all(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    plain(xml, scene, layout);
    if let Some(load) = &scene.load {
        loaded(xml, scene, layout, load);
    }
    missing(xml, scene, layout);
    counts(xml, scene, layout);
}

/// In the order of the scene, with the ports of their cables.
///
/// Missing ones and those that a mesh does not have are left out.
fn wired(scene: &Scene) -> impl Iterator<Item = (&Link, &[(u8, u8)])> {
    scene.links.iter().filter_map(|link| match &link.state {
        LinkState::Wired(cables) => Some((link, cables.as_slice())),
        _ => None,
    })
}

/// Links without load show through as these; loaded ones are drawn over them.
fn plain(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    xml.open(
        "g",
        &[
            ("stroke", &colours::PLAIN),
            ("stroke-width", &"1.5"),
            ("fill", &"none"),
        ],
    );
    // Links to other planes are everywhere, and slanted stubs at every switch would hide the rest.
    let on_paper = wired(scene).filter(|(link, _)| Some(link.id.axis) != layout.view.through);
    if layout.room.letters.is_some() {
        for (link, cables) in on_paper {
            let data = data(&layout.segments(link.id));
            xml.titled("path", &[("d", &data)], &title(link, cables, scene));
        }
    } else {
        // Thousands: one element, without words.
        let data: String = on_paper
            .map(|(link, _)| data(&layout.segments(link.id)))
            .collect();
        xml.empty("path", &[("d", &data)]);
    }
    xml.close();
}

/// `1,0,0 to 2,0,0: S1_0_0 port 1 to S2_0_0 port 2`
///
/// All cables of the link, as somebody with a cable in hand looks for a port.
fn title(link: &Link, cables: &[(u8, u8)], scene: &Scene) -> String {
    let (low, high) = (link.id.low, link.id.high(scene.shape));
    let name = |at| {
        let place = scene.place(at).and_then(|place| place.switch.as_ref());
        place.map_or("", |switch| switch.name.as_str())
    };
    let (from, to) = (name(low), name(high));
    let cables = cables
        .iter()
        .map(|(near, far)| format!("{from} port {near} to {to} port {far}"));
    format!("{low} to {high}: {}", cables.collect::<Vec<_>>().join("; "))
}

/// Path data of straight lines.
/// Each segment is a move and a line, so several stand in one attribute.
pub(super) fn data(segments: &[Segment]) -> String {
    let mut data = String::new();
    for Segment { from, to } in segments {
        let _ = write!(data, "M{} {}L{} {}", from.x, from.y, to.x, to.y);
    }
    data
}

/// Also those to other planes, as slanted stubs at both ends.
///
/// A link that should be there is known from the shape: its title names places, not ports.
fn missing(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    // Short links take short dashes, or a missing one looks like a plain one.
    let dashes = match layout.room.letters {
        Some(_) => "5 4",
        None => "3 2",
    };
    xml.open(
        "g",
        &[
            ("stroke", &colours::MISSING),
            ("stroke-width", &"2"),
            ("stroke-dasharray", &dashes),
            ("fill", &"none"),
        ],
    );
    for link in scene.missing_links() {
        let (low, high) = (link.low, link.high(scene.shape));
        let data = data(&layout.segments(link));
        let title = format!("no link between {low} and {high}");
        xml.titled("path", &[("d", &data)], &title);
    }
    xml.close();
}

/// How many cables a link has, where it is more than one.
/// In the way of nothing: beside a level link below, beside an upright one at the right.
fn counts(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let Some(size) = layout.room.letters else {
        return;
    };
    xml.open("g", &[("font-size", &size), ("fill", &colours::SOFT_INK)]);
    let on_paper = wired(scene).filter(|(link, _)| Some(link.id.axis) != layout.view.through);
    for (link, cables) in on_paper.filter(|(_, cables)| cables.len() > 1) {
        // Of two stubs the one at coordinate 0: nothing else stands there.
        if let Some(segment) = layout.segments(link.id).last() {
            // Below a level link, at the right of an upright one: names of switches stand above at
            // their right.
            let is_level = segment.heading().1 == 0;
            let away = if is_level {
                (-6, size + 8)
            } else {
                (4, size / 3)
            };
            let at = segment.middle().moved(away);
            let words = format!("\u{d7}{}", cables.len());
            xml.words("text", &[("x", &at.x), ("y", &at.y)], &words);
        }
    }
    xml.close();
}

/// Links without load stay plain.
///
/// By cable: a link of two with twice the paths is no busier than its neighbours.
fn loaded(xml: &mut Xml, scene: &Scene, layout: &Layout, load: &Load) {
    let scale = scale(scene, load);
    xml.open("g", &[("fill", &"none")]);
    for (link, cables) in wired(scene) {
        let paths = load.per_cable(link.id, cables.len());
        // None is no load: the plain line shows.
        let Some((colour, width)) = scale.step(paths).and_then(|step| colours::LOAD.get(step))
        else {
            continue;
        };
        let title = format!("{}: {}", ends(link, scene.shape), load_of(load, link.id));
        let data = data(&layout.segments(link.id));
        let width = if layout.room.letters.is_some() {
            (*width).to_owned()
        } else {
            // The widths are texts for SVG; here they become thinner, as cells are smaller.
            format!("{:.1}", width.parse::<f64>().unwrap_or(2.0) * 0.6)
        };
        xml.titled(
            "path",
            &[("d", &data), ("stroke", colour), ("stroke-width", &width)],
            &title,
        );
    }
    xml.close();
}

/// As in titles: lower end first.
///
/// Shape: coordinates, not names: links are of places.
fn ends(link: &Link, shape: Shape) -> String {
    format!("{} to {}", link.id.low, link.id.high(shape))
}

/// Over wired links alone.
///
/// Missing ones carry nothing, and would draw the lowest step down.
pub(super) fn scale(scene: &Scene, load: &Load) -> Scale {
    Scale::of(wired(scene).map(|(link, cables)| load.per_cable(link.id, cables.len())))
}

/// Where paths change their VL: across the stubs of links that close rings.
/// Twice for each ring: at both of its ends, since it is one line on the torus.
pub(super) fn datelines(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let view = layout.view;
    // Rings of two are wired as meshes.
    let is_ring = |axis| scene.shape.radix_of(axis) > 2 && !scene.shape.is_mesh(axis);
    xml.open(
        "g",
        &[
            ("stroke", &colours::DATELINE),
            ("stroke-dasharray", &"8 3 2 3"),
            ("fill", &"none"),
        ],
    );
    for plane in view.planes() {
        let (low, high) = (layout.origin(plane), layout.far_corner(plane));
        // Beyond the outermost switches, so that the dateline runs past all rings.
        let (off, over) = (layout.dateline(), layout.dateline() * 3 / 4);
        let mut line = |from: (i32, i32), to: (i32, i32), axis| {
            let ends = [from, to].map(|(x, y)| super::Point { x, y });
            let [from, to] = ends;
            let data = data(&[Segment { from, to }]);
            let last = scene.shape.radix_of(axis) - 1;
            let title = format!("dateline between {axis}={last} and {axis}=0");
            xml.titled("path", &[("d", &data)], &title);
        };
        if let Some(axis) = view.across.filter(|axis| is_ring(*axis)) {
            for x in [low.x - off, high.x + off] {
                line((x, low.y + over), (x, high.y - over), axis);
            }
        }
        if let Some(axis) = view.up.filter(|axis| is_ring(*axis)) {
            for y in [low.y + off, high.y - off] {
                line((low.x - over, y), (high.x + over, y), axis);
            }
        }
    }
    xml.close();
}
