//! A scene as SVG 1.1, in the signs and colours of the pictures of tori.
//!
//! Drawn from the back to the front, since what comes later covers what was there:
//!
//! ```text
//! frames of groups
//! lines           plain, then by load, then what is missing   | a matrix has cells instead
//! tree, paths     over the lines that they use
//! switches        over the ends of lines
//! labels of hops  over all, or they could not be read
//! legend, caption below
//! ```
//!
//! Up to 300 lines have an element with a title each. More share one element for each look, or the
//! file would be megabytes.

mod course;
mod legend;
mod lines;
mod matrix;
mod overlays;
mod signs;

use super::scene::{Bundle, Scene};
use super::words;
use crate::draw::paper::{self, Below, LEAST_WIDTH, Scale, colours};
use sa_layout::graph::Detail;
use sa_layout::graph::{Frame, Layout};
use sa_layout::{MARGIN, Point};
use sa_plot::Xml;

/// The whole document. Equal scenes give equal bytes.
pub(super) fn render(scene: &Scene) -> String {
    let (title, lines) = (words::title(scene), words::lines(scene));
    let layout = scene.layout();
    let (width, bottom) = match scene.detail {
        Detail::Matrix => matrix::size(scene),
        Detail::Switches | Detail::Blocks => (layout.width, layout.bottom),
    };
    let width = width.max(LEAST_WIDTH);
    let at = Point {
        x: MARGIN,
        y: bottom,
    };
    let below = Below::of(legend::signs(scene, &layout), &lines, at, width);
    let mut xml = paper::head(&title, &lines, (width, below.bottom()));
    if scene.detail == Detail::Matrix {
        matrix::draw(&mut xml, scene);
    } else {
        // A box is a group of switches itself.
        if scene.detail == Detail::Switches {
            frames(&mut xml, &layout);
        }
        lines::all(&mut xml, scene, &layout);
        overlays::tree(&mut xml, scene, &layout);
        overlays::paths(&mut xml, scene, &layout);
        signs::all(&mut xml, scene, &layout);
        overlays::labels(&mut xml, scene, &layout);
    }
    below.draw(&mut xml);
    xml.finish()
}

/// The steps of load over all bundles that are drawn.
fn scale(scene: &Scene) -> Scale {
    Scale::of(scene.bundles.values().map(Bundle::load))
}

/// Around groups, behind everything.
fn frames(xml: &mut Xml, layout: &Layout) {
    xml.open(
        "g",
        &[("fill", &colours::FRAME), ("stroke", &colours::FRAME_EDGE)],
    );
    for frame in &layout.frames {
        match *frame {
            Frame::Box(from, to) => xml.empty(
                "rect",
                &[
                    ("x", &from.x),
                    ("y", &from.y),
                    ("width", &(to.x - from.x)),
                    ("height", &(to.y - from.y)),
                    ("rx", &8),
                ],
            ),
            Frame::Circle(at, radius) => {
                xml.empty("circle", &[("cx", &at.x), ("cy", &at.y), ("r", &radius)])
            }
        }
    }
    xml.close();
}
