//! Switches, and blocks of them, with what stands beside them.
//!
//! A sign has its title as an element: pages that can be pointed at show it, printers do not.

use std::collections::BTreeMap;

use sa_plot::Xml;

use super::super::scene::Scene;
use crate::draw::paper::{colours, counted, marks};
use sa_layout::Point;
use sa_layout::graph::Detail;
use sa_layout::graph::Form;
use sa_layout::graph::Layout;

/// Size of names.
/// Units: pixels.
const SIZE: i32 = 11;

/// Blocks have their numbers in them; names of single switches stand beside, where they have room.
///
/// Not called for a matrix, whose signs are its rows and columns.
pub(super) fn all(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    if scene.detail == Detail::Switches {
        switches(xml, scene, layout);
        if names_fit(scene, layout) {
            names(xml, scene, layout);
        }
    } else {
        blocks(xml, scene, layout);
    }
}

/// Crossed out before lettered: that a switch is lost is worth more than that a path begins there.
fn switches(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let letters = letters(scene);
    let dot = layout.dot;
    xml.open("g", &[("fill", &colours::SWITCH)]);
    for (number, sign) in scene.signs.iter().enumerate() {
        let (at, title) = (layout.points[number], scene.title(number));
        match letters.get(&number) {
            _ if sign.lost > 0 => marks::crossed_out(xml, at, dot, &title),
            Some(letter) => marks::letter(xml, at, dot.max(5), *letter, &title),
            // Without hosts: a ring, as on every map of trees.
            None if sign.hosts == 0 => hollow(xml, at, dot, &title),
            None => xml.titled(
                "circle",
                &[("cx", &at.x), ("cy", &at.y), ("r", &dot)],
                &title,
            ),
        }
    }
    xml.close();
}

/// A switch without hosts.
///
/// Filled with the paper, so that lines end at its rim.
///
/// Units: pixels, `dot` is the radius.
pub(super) fn hollow(xml: &mut Xml, at: Point, dot: i32, title: &str) {
    xml.titled(
        "circle",
        &[
            ("cx", &at.x),
            ("cy", &at.y),
            ("r", &dot),
            ("fill", &colours::PAPER),
            ("stroke", &colours::SWITCH),
            ("stroke-width", &"2"),
        ],
        title,
    );
}

/// Letters on switches; the last word is with the ends of paths.
///
/// By sign. At most one letter each, as there is no room for two.
///
/// R: root of the tree. S and D: source and destination; later ones replace earlier ones.
pub(super) fn letters(scene: &Scene) -> BTreeMap<usize, char> {
    let mut letters = BTreeMap::new();
    let root = scene.tree.iter().filter_map(|tree| tree.root);
    letters.extend(root.map(|root| (root, 'R')));
    // A path that there is not has ends, but nothing is drawn between them.
    for path in scene.paths.iter().filter(|path| path.trace.sl.is_ok()) {
        letters.extend(path.ends[0].map(|sign| (sign, 'S')));
        letters.extend(path.ends[1].map(|sign| (sign, 'D')));
    }
    letters
}

/// Boxes with the numbers of switches and hosts.
///
/// Red around those that lack a switch: a block cannot be crossed out for one of many.
///
/// The number of hosts is left out where there are none.
fn blocks(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let letters = letters(scene);
    let (width, height) = (76, 36);
    for (number, sign) in scene.signs.iter().enumerate() {
        let at = layout.points[number];
        let edge = if sign.lost > 0 {
            colours::MISSING
        } else {
            colours::SWITCH
        };
        let attributes: [(_, &dyn std::fmt::Display); 8] = [
            ("x", &(at.x - width / 2)),
            ("y", &(at.y - height / 2)),
            ("width", &width),
            ("height", &height),
            ("rx", &6),
            ("fill", &colours::PAPER),
            ("stroke", &edge),
            ("stroke-width", &"1.5"),
        ];
        let title = scene.title(number);
        xml.titled("rect", &attributes, &title);
        // One line in the middle, or two.
        let up = if sign.hosts > 0 { -3 } else { 4 };
        let switches = counted(sign.switches, "switch");
        word(xml, at.moved((0, up)), "middle", colours::INK, &switches);
        if sign.hosts > 0 {
            let hosts = counted(sign.hosts, "host");
            word(xml, at.moved((0, 11)), "middle", colours::SOFT_INK, &hosts);
        }
        if let Some(letter) = letters.get(&number) {
            let corner = at.moved((-width / 2, -height / 2));
            marks::letter(xml, corner, 6, *letter, &title);
        }
    }
}

/// A line of words in a block.
///
/// `anchor` as in SVG: `start`, `middle` or `end`.
fn word(xml: &mut Xml, at: Point, anchor: &str, colour: &str, words: &str) {
    xml.words(
        "text",
        &[
            ("x", &at.x),
            ("y", &at.y),
            ("font-size", &(SIZE - 1)),
            ("text-anchor", &anchor),
            ("fill", &colour),
        ],
        words,
    );
}

/// All or none: a name here and none there would confuse.
///
/// Decided by the longest name and not by each one.
///
/// The legend asks too: numbers of hosts are explained only where names are.
pub(super) fn names_fit(scene: &Scene, layout: &Layout) -> bool {
    let longest = scene.signs.iter().map(|sign| sign.name.chars().count());
    let longest = i32::try_from(longest.max().unwrap_or(0)).unwrap_or(i32::MAX);
    // A letter is about 62 hundredths of its size wide.
    let width = longest.saturating_mul(SIZE * 62) / 100;
    match scene.shape.form {
        Form::Rows => width + 6 <= layout.pitch,
        // Outwards there is room for as much as the margin has; above each other for a line.
        Form::Ring | Form::Fans => width <= 76 && layout.pitch >= 24,
        Form::Circles => width + 10 <= layout.pitch,
    }
}

/// Where few lines run: below the leaves, above the top, else at the right; on circles outwards.
///
/// Numbers of hosts stand below the names of leaves, in rows only: around a circle that place is
/// another switch's.
fn names(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let top = scene.shape.levels().saturating_sub(1);
    let dot = layout.dot;
    let place = |number: usize| {
        let at = layout.points[number];
        match (layout.middle, scene.signs[number].level) {
            (Some(centre), _) => outwards(at, centre, dot),
            (None, 0) => ((0, dot + 14), "middle"),
            (None, level) if level == top => ((0, -dot - 6), "middle"),
            _ => ((dot + 3, -dot - 1), "start"),
        }
    };
    let named = scene.signs.iter().enumerate().map(|(number, sign)| {
        let (moved, anchor) = place(number);
        (
            layout.points[number].moved(moved),
            anchor,
            sign.name.clone(),
        )
    });
    marks::names(xml, &named.collect::<Vec<_>>(), SIZE, colours::INK);
    if layout.middle.is_some() {
        return;
    }
    for (number, sign) in scene.signs.iter().enumerate() {
        if sign.level == 0 && sign.hosts > 0 {
            let at = layout.points[number].moved((0, dot + 26));
            word(
                xml,
                at,
                "middle",
                colours::SOFT_INK,
                &sign.hosts.to_string(),
            );
        }
    }
}

/// How far beside its sign a name stands, and where it is anchored: away from the middle of the
/// circle.
///
/// Units: pixels. Shape: across and down, then the anchor.
fn outwards(at: Point, centre: Point, dot: i32) -> ((i32, i32), &'static str) {
    let (x, y) = (at.x - centre.x, at.y - centre.y);
    if x.abs() * 3 < y.abs() {
        // Nearly above or below the middle.
        let side = if y < 0 { -dot - 6 } else { dot + 14 };
        return ((0, side), "middle");
    }
    // Lower below the middle and higher above it, so that names of neighbours keep apart.
    let up = SIZE / 3 + 6 * y / x.abs().max(y.abs()).max(1);
    if x < 0 {
        ((-dot - 5, up), "end")
    } else {
        ((dot + 5, up), "start")
    }
}
