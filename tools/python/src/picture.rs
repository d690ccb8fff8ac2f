//! A fabric as an SVG for notebooks, which bring no style sheet of ours.
//!
//! The places are those of the daemon's page (`sa_layout::plan`). Colours are plain and stand on a
//! white sheet, so that the picture can be read in a dark notebook too.

use routing::{Topology, Torus};
use sa_layout::graph::Frame;
use sa_layout::plan::{Anchor, Line, Plan, parts};
use sa_layout::{MARGIN, Point};
use sa_plot::Xml;
use std::fmt::Write;

/// Parts of a large fabric that are drawn, one below the other.
const MOST_PARTS: usize = 8;

/// The picture: all parts, or the first of many with a line that says so.
pub(crate) fn svg(topology: &Topology, torus: Option<&Torus>, title: &str) -> String {
    let all = parts(topology, torus);
    let plans: Vec<Plan> = all
        .iter()
        .take(MOST_PARTS)
        .map(|part| part.plan(topology, torus))
        .collect();
    let width = plans
        .iter()
        .map(|plan| plan.width)
        .max()
        .unwrap_or(0)
        .max(320);
    let height: i32 = plans.iter().map(|plan| plan.height + MARGIN).sum::<i32>() + 2 * MARGIN;
    let mut xml = Xml::default();
    let sheet = format!("0 0 {width} {height}");
    xml.open(
        "svg",
        &[
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("viewBox", &sheet),
            ("width", &width),
            ("height", &height),
            ("font-family", &"sans-serif"),
            ("font-size", &11),
            ("role", &"img"),
        ],
    );
    xml.words("title", &[], title);
    xml.empty(
        "rect",
        &[("width", &width), ("height", &height), ("fill", &"#ffffff")],
    );
    let mut down = 0;
    for plan in &plans {
        let shift = format!("translate(0 {down})");
        xml.open("g", &[("transform", &shift)]);
        one(&mut xml, topology, plan);
        xml.close();
        down += plan.height + MARGIN;
    }
    let rest = all.len().saturating_sub(plans.len());
    if rest > 0 {
        let words = format!("and {rest} parts more");
        xml.words("text", &[("x", &MARGIN), ("y", &(down + MARGIN))], &words);
    }
    xml.finish()
}

/// Frames, links, names, switches, in this order: later ones lie above.
fn one(xml: &mut Xml, topology: &Topology, plan: &Plan) {
    for frame in &plan.frames {
        self::frame(xml, *frame);
    }
    let (whole, missing): (Vec<&Line>, Vec<&Line>) =
        plan.lines.iter().partition(|line| !line.cables.is_empty());
    links(xml, &whole, "#7a8794");
    links(xml, &missing, "#d9480f");
    for label in &plan.labels {
        words(xml, label.at, label.anchor, &label.words);
    }
    for at in &plan.empty {
        let place: [(&'static str, &dyn std::fmt::Display); 5] = [
            ("cx", &at.x),
            ("cy", &at.y),
            ("r", &plan.dot),
            ("fill", &"none"),
            ("stroke", &"#d9480f"),
        ];
        xml.titled("circle", &place, "No switch is here");
    }
    for (switch, spot) in &plan.switches {
        let of = topology.switch(*switch);
        let hosts = topology.hosts(*switch).count();
        let title = format!("{}, GUID {}, hosts: {hosts}", of.description, of.guid);
        let place: [(&'static str, &dyn std::fmt::Display); 4] = [
            ("cx", &spot.at.x),
            ("cy", &spot.at.y),
            ("r", &plan.dot),
            ("fill", &"#1c5d99"),
        ];
        xml.titled("circle", &place, &title);
        if let Some((at, anchor)) = spot.name {
            words(xml, at, anchor, &of.description);
        }
    }
}

fn words(xml: &mut Xml, at: Point, anchor: Anchor, text: &str) {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    xml.words(
        "text",
        &[
            ("x", &at.x),
            ("y", &at.y),
            ("text-anchor", &anchor),
            ("fill", &"#222222"),
        ],
        text,
    );
}

fn frame(xml: &mut Xml, frame: Frame) {
    match frame {
        Frame::Box(from, to) => xml.empty(
            "rect",
            &[
                ("x", &from.x),
                ("y", &from.y),
                ("width", &(to.x - from.x)),
                ("height", &(to.y - from.y)),
                ("rx", &8),
                ("fill", &"none"),
                ("stroke", &"#d0d7de"),
            ],
        ),
        Frame::Circle(at, radius) => xml.empty(
            "circle",
            &[
                ("cx", &at.x),
                ("cy", &at.y),
                ("r", &radius),
                ("fill", &"none"),
                ("stroke", &"#d0d7de"),
            ],
        ),
    }
}

/// All links of a colour share one path: a fabric of 1,000 switches has 3,000, and a notebook keeps
/// its pictures in its file.
fn links(xml: &mut Xml, lines: &[&Line], colour: &str) {
    let mut data = String::new();
    for line in lines {
        for piece in &line.pieces {
            let (from, to) = (piece.from, piece.to);
            let (dx, dy) = (to.x - from.x, to.y - from.y);
            // A string takes all that is written to it.
            let _ = match line.is_bowed {
                true => {
                    let lift = -dx.abs() / 5 - 8;
                    write!(data, "M{} {}q{} {lift} {dx} {dy}", from.x, from.y, dx / 2)
                }
                false => write!(data, "M{} {}l{dx} {dy}", from.x, from.y),
            };
        }
    }
    if !data.is_empty() {
        xml.empty(
            "path",
            &[("d", &data), ("fill", &"none"), ("stroke", &colour)],
        );
    }
}
