//! A scene as SVG 1.1, with a background of its own so that it reads on light and dark pages.
//!
//! Drawn from the back to the front, since what comes later covers what was there:
//!
//! ```text
//! background, title, labels of the axes
//! datelines       under the stubs that cross them
//! links           plain, then by load, then what is missing
//! tree, paths     over the links that they use
//! switches        over the ends of lines
//! labels of hops  over all, or they could not be read
//! legend, caption below
//! ```
//!
//! The document stands alone: no style sheet, no script, no font of its own, so that it shows the
//! same in a page, in a mail and on paper. Each sign has a title with its facts, which viewers show
//! under the pointer.

mod legend;
mod links;
mod overlays;
mod switches;

use sa_plot::Xml;

use super::caption;
use super::scene::Scene;
use crate::draw::paper::{self, Below, LEAST_WIDTH, colours};
use sa_layout::torus::Layout;
use sa_layout::torus::View;
use sa_layout::{MARGIN, Point};

/// The whole document. Equal scenes give equal bytes.
/// The height is known before the head is written, since the legend is laid out first.
pub(crate) fn render(scene: &Scene) -> String {
    let layout = Layout::of(scene.shape);
    let (width, top) = layout.size();
    let width = width.max(LEAST_WIDTH);
    let (title, lines) = (caption::title(scene), caption::lines(scene));
    let at = Point { x: MARGIN, y: top };
    let below = Below::of(legend::signs(scene, &layout), &lines, at, width);
    let mut xml = paper::head(&title, &lines, (width, below.bottom()));
    axes(&mut xml, &layout);
    links::datelines(&mut xml, scene, &layout);
    links::all(&mut xml, scene, &layout);
    overlays::tree(&mut xml, scene, &layout);
    overlays::paths(&mut xml, scene, &layout);
    switches::all(&mut xml, scene, &layout);
    overlays::hop_labels(&mut xml, scene, &layout);
    below.draw(&mut xml);
    xml.finish()
}

/// Positions along the axes of every plane, and its heading.
/// Every plane has its labels, as it may stand far from the first.
fn axes(xml: &mut Xml, layout: &Layout) {
    let view = layout.view;
    let size = if layout.room.letters.is_some() { 12 } else { 9 };
    xml.open("g", &[("font-size", &size), ("fill", &colours::SOFT_INK)]);
    let (across, up) = layout.reach();
    for plane in view.planes() {
        let (origin, corner) = (layout.origin(plane), layout.far_corner(plane));
        if let Some(axis) = view.across {
            for position in 0..view.count(Some(axis)) {
                let x = origin.x + layout.room.cell * i32::from(position);
                let y = origin.y + up + size;
                label(xml, Point { x, y }, "middle", &View::label(axis, position));
            }
        }
        if let Some(axis) = view.up {
            for position in 0..view.count(Some(axis)) {
                // Rows are labelled at the left, and a third of a letter lower than their middle.
                let x = origin.x - across;
                let y = origin.y - layout.room.cell * i32::from(position) + size / 3;
                label(xml, Point { x, y }, "end", &View::label(axis, position));
            }
        }
        if let Some(axis) = view.through {
            let (x, y) = ((origin.x + corner.x) / 2, corner.y - up - 4);
            heading(xml, Point { x, y }, &format!("{axis}={plane}"));
        }
    }
    xml.close();
}

/// `anchor` is SVG's: which part of the words stands at the point.
fn label(xml: &mut Xml, at: Point, anchor: &str, words: &str) {
    xml.words(
        "text",
        &[("x", &at.x), ("y", &at.y), ("text-anchor", &anchor)],
        words,
    );
}

/// Names the plane; there is none where a torus has two axes.
fn heading(xml: &mut Xml, at: Point, words: &str) {
    xml.words(
        "text",
        &[
            ("x", &at.x),
            ("y", &at.y),
            ("text-anchor", &"middle"),
            ("font-size", &14),
            ("font-weight", &"bold"),
            ("fill", &colours::INK),
        ],
        words,
    );
}
