//! A fabric as a matrix: a row and a column for each sign, a cell for the cables between two.
//!
//! Cells have the colours of load, by cables where none was counted. Cells of one colour share an
//! element, and those that lie side by side one rectangle: a matrix of 128 signs has 16,384 cells.

use std::collections::BTreeMap;

use sa_plot::Xml;

use super::super::scene::{Bundle, Scene, ordered};
use crate::draw::paper::{Scale, colours};
use sa_layout::MARGIN;
use sa_layout::graph::Form;

/// Above the cells: title and labels of the columns.
const TOP: i32 = 96;
/// Left of the cells: labels of the rows.
const LEFT: i32 = MARGIN + 60;

/// Side of a cell.
///
/// As large as leaves the whole below about 900 pixels, and never too small to be seen.
fn side(scene: &Scene) -> i32 {
    let signs = count(scene).max(1);
    (900 / signs).clamp(3, 20)
}

/// Rows, and as many columns.
fn count(scene: &Scene) -> i32 {
    i32::try_from(scene.signs.len()).unwrap_or(i32::MAX)
}

/// Width, and where the words below begin.
pub(super) fn size(scene: &Scene) -> (i32, i32) {
    let all = side(scene) * count(scene);
    (LEFT + all + MARGIN, TOP + all + 16)
}

/// What a cell is coloured by: load, else cables.
///
/// Units: paths on the busiest cable, or cables that are there.
pub(super) fn weight(scene: &Scene, bundle: &Bundle) -> u32 {
    if scene.has_load {
        bundle.load()
    } else {
        u32::try_from(bundle.cables - bundle.lost).unwrap_or(u32::MAX)
    }
}

/// The steps of what cells are coloured by.
pub(super) fn scale(scene: &Scene) -> Scale {
    Scale::of(scene.bundles.values().map(|bundle| weight(scene, bundle)))
}

/// Cells below, then numbers of rows and columns, then what was asked for.
pub(super) fn draw(xml: &mut Xml, scene: &Scene) {
    let (side, all) = (side(scene), side(scene) * count(scene));
    xml.empty(
        "rect",
        &[
            ("x", &(LEFT - 1)),
            ("y", &(TOP - 1)),
            ("width", &(all + 2)),
            ("height", &(all + 2)),
            ("fill", &colours::FRAME),
            ("stroke", &colours::FRAME_EDGE),
        ],
    );
    let scale = scale(scene);
    let mut cells: BTreeMap<&str, Vec<(i32, i32)>> = BTreeMap::new();
    for ((one, other), bundle) in &scene.bundles {
        let step = scale.step(weight(scene, bundle));
        let colour = step.and_then(|step| colours::LOAD.get(step)).map(|it| it.0);
        // Damage outweighs load: a cell can have one colour.
        let colour = if bundle.failed > 0 {
            Some(colours::MISSING)
        } else {
            colour
        };
        let Some(colour) = colour else { continue };
        let places = cells.entry(colour).or_default();
        places.extend(both(*one, *other));
    }
    for (colour, mut places) in cells {
        places.sort_unstable();
        places.dedup();
        let data = rectangles(&places, side);
        xml.empty("path", &[("d", &data), ("fill", &colour)]);
    }
    ticks(xml, scene, side);
    tree(xml, scene, side);
    paths(xml, scene, side);
}

/// Row and column of a bundle, on both sides of the diagonal.
///
/// A cable has no direction, so its cell is on both sides; a hop has one, and uses the first.
fn both(one: usize, other: usize) -> [(i32, i32); 2] {
    let [one, other] = [one, other].map(|sign| i32::try_from(sign).unwrap_or(i32::MAX));
    [(one, other), (other, one)]
}

/// Path data of cells, sorted by row; neighbours in a row as one.
///
/// A path for each colour: an element for each cell would make the file ten times as large.
fn rectangles(places: &[(i32, i32)], side: i32) -> String {
    let runs = places.chunk_by(|one, two| one.0 == two.0 && one.1 + 1 == two.1);
    let rectangles = runs.filter_map(|run| {
        let (row, column) = run.first()?;
        let width = side * i32::try_from(run.len()).unwrap_or(1);
        let (x, y) = (LEFT + side * column, TOP + side * row);
        Some(format!("M{x} {y}h{width}v{side}h-{width}z"))
    });
    rectangles.collect()
}

/// Numbers of rows and columns, from 1; levels where a new one begins.
///
/// Counted from 1 as rows are when somebody points at one.
fn ticks(xml: &mut Xml, scene: &Scene, side: i32) {
    let step = match scene.signs.len() {
        0..=20 => 1,
        21..=60 => 5,
        _ => 10,
    };
    xml.open("g", &[("font-size", &11), ("fill", &colours::SOFT_INK)]);
    for number in (0..scene.signs.len()).filter(|number| (number + 1) % step == 0 || *number == 0) {
        let at = side * i32::try_from(number).unwrap_or(0) + side / 2;
        let word = (number + 1).to_string();
        let row: [(_, &dyn std::fmt::Display); 3] = [
            ("x", &(LEFT - 6)),
            ("y", &(TOP + at + 4)),
            ("text-anchor", &"end"),
        ];
        xml.words("text", &row, &word);
        let column: [(_, &dyn std::fmt::Display); 3] = [
            ("x", &(LEFT + at)),
            ("y", &(TOP - 6)),
            ("text-anchor", &"middle"),
        ];
        xml.words("text", &column, &word);
    }
    let what = match scene.shape.form {
        Form::Ring => "stretches of switches",
        Form::Rows => "groups by level, from those with hosts",
        Form::Circles | Form::Fans => "groups",
    };
    xml.words("text", &[("x", &LEFT), ("y", &(TOP - 24))], what);
    xml.close();
}

/// A dot in each cell with a branch, from row to column.
///
/// Unlike cables it is not drawn twice: the side of the diagonal says which way.
fn tree(xml: &mut Xml, scene: &Scene, side: i32) {
    let Some(tree) = &scene.tree else {
        return;
    };
    xml.open("g", &[("fill", &colours::TREE)]);
    for (from, to) in &tree.branches {
        let [(row, column), _] = both(*from, *to);
        let (x, y) = (LEFT + side * column + side / 2, TOP + side * row + side / 2);
        xml.empty(
            "circle",
            &[("cx", &x), ("cy", &y), ("r", &(side / 3).max(1))],
        );
    }
    xml.close();
}

/// A cell for each hop, from the row to the column, in the colour of its VL.
///
/// Larger than its cell, so that it shows around what fills it.
fn paths(xml: &mut Xml, scene: &Scene, side: i32) {
    for path in &scene.paths {
        for (nth, hop) in path.hops.iter().enumerate() {
            let [(row, column), _] = both(hop.from, hop.to);
            let (colour, _) = colours::vl(hop.vl);
            let (from, to) = (&path.trace.from.name, &path.trace.to.name);
            let bundle = scene.bundles.get(&ordered(hop.from, hop.to));
            let cables = bundle.map_or(0, |bundle| bundle.cables);
            let title = format!(
                "{from} to {to}: hop {} of {}, VL {}, one of {cables} cables",
                nth + 1,
                path.hops.len(),
                hop.vl
            );
            let attributes: [(_, &dyn std::fmt::Display); 7] = [
                ("x", &(LEFT + side * column - 2)),
                ("y", &(TOP + side * row - 2)),
                ("width", &(side + 4)),
                ("height", &(side + 4)),
                ("fill", &"none"),
                ("stroke", &colour),
                ("stroke-width", &"3"),
            ];
            xml.titled("rect", &attributes, &title);
        }
    }
}
