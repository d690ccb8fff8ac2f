//! A plan as SVG. Colours are classes of the style sheet, so that a picture follows light and dark.
//!
//! ```text
//!  frames ── links as they should be: one path for all ── links that stand out: one path each, with a title ── switches ── names
//! ```
//!
//! A switch is a link to its page. Links without anything to say share one path: a fabric of 1,000
//! switches has 3,000 of them, and a page must stay small.

use std::collections::HashMap;
use std::fmt::Write;

use maud::{Markup, html};
use routing::{SwitchIx, Topology};
use sa_layout::graph::Frame;
use sa_layout::plan::{Anchor, Line, Plan, Spot};
use sa_layout::{MARGIN, Point};

use super::marks::{Mark, Marks};
use crate::words::{counted, escaped, name_of};

/// What is drawn.
#[derive(Clone, Copy)]
pub(super) struct Picture<'a> {
    pub(super) whole: &'a Topology,
    pub(super) plan: &'a Plan,
    pub(super) marks: &'a Marks,
    /// Cables between switches whose link is not there.
    pub(super) down: &'a [[(SwitchIx, u8); 2]],
}

/// The picture. `desc` says in a sentence what is on it.
pub(super) fn svg(picture: Picture<'_>, desc: &str) -> Markup {
    let Plan { width, height, .. } = *picture.plan;
    // Titles of pages are above the picture, not in it.
    let top = 24;
    html! {
        svg role="group" viewBox={ "0 " (top) " " (width) " " (height - top + MARGIN) } width=(width) height=(height - top + MARGIN)
            aria-labelledby="drawn described" {
            title id="drawn" { "The fabric" }
            desc id="described" { (desc) }
            @for frame in &picture.plan.frames { (self::frame(*frame)) }
            path class="link" d=(plain(picture)) {}
            (marked(picture))
            (down(picture))
            g class="labels" {
                @for label in &picture.plan.labels {
                    text x=(label.at.x) y=(label.at.y) text-anchor=(anchor(label.anchor)) { (label.words) }
                }
            }
            @for at in &picture.plan.empty { circle class="missing" cx=(at.x) cy=(at.y) r=(picture.plan.dot) { title { "No switch is here" } } }
            @for (switch, spot) in &picture.plan.switches { (self::switch(picture, *switch, *spot)) }
        }
    }
}

const fn anchor(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    }
}

fn frame(frame: Frame) -> Markup {
    html! {
        @match frame {
            Frame::Box(from, to) => rect class="frame" x=(from.x) y=(from.y) width=(to.x - from.x) height=(to.y - from.y) rx="8" {},
            Frame::Circle(at, radius) => circle class="frame" cx=(at.x) cy=(at.y) r=(radius) {},
        }
    }
}

/// The worst of a line: of its cables, of both their ends.
fn mark(picture: Picture<'_>, line: &Line) -> Option<Mark> {
    if line.cables.is_empty() {
        return Some(Mark::Missing);
    }
    let [one, other] = line.ends.map(|ix| picture.whole.switch(ix).guid);
    let of_ends = line.cables.iter().flat_map(|(port, far)| {
        let near = picture.marks.of_port(one, *port);
        near.iter().chain(picture.marks.of_port(other, *far))
    });
    of_ends.map(|note| note.mark).min()
}

/// All lines that are as they should be.
fn plain(picture: Picture<'_>) -> String {
    let mut data = String::new();
    for line in &picture.plan.lines {
        if mark(picture, line).is_none() {
            course(&mut data, line);
        }
    }
    data
}

/// Those that are not, each with a title.
fn marked(picture: Picture<'_>) -> Markup {
    let marked = picture
        .plan
        .lines
        .iter()
        .filter_map(|line| Some((line, mark(picture, line)?)));
    html! {
        @for (line, mark) in marked {
            @let mut data = String::new();
            @let () = course(&mut data, line);
            path class={ "link " (mark.class()) } d=(data) { title { (title(picture, line, mark)) } }
        }
    }
}

/// Between which switches, and how many cables.
fn title(picture: Picture<'_>, line: &Line, mark: Mark) -> String {
    let [one, other] = line
        .ends
        .map(|ix| name_of(&picture.whole.switch(ix).description));
    match line.cables.len() {
        0 => format!("{one} to {other}: {}", mark.word()),
        cables => format!(
            "{one} to {other}, {}: {}",
            counted(cables, "cable"),
            mark.word()
        ),
    }
}

/// Cables that are there and carry nothing, where both ends are drawn and no line is there already.
fn down(picture: Picture<'_>) -> Markup {
    let at: HashMap<SwitchIx, Point> = picture
        .plan
        .switches
        .iter()
        .map(|(ix, spot)| (*ix, spot.at))
        .collect();
    // A torus draws what its shape lacks by itself.
    let is_torus = !picture.plan.labels.is_empty();
    let ends = picture
        .down
        .iter()
        .filter(|_| !is_torus)
        .filter_map(|[(one, _), (far, _)]| Some((*at.get(one)?, *at.get(far)?, *one, *far)));
    html! {
        @for (from, to, one, far) in ends {
            path class="link down" d={ "M" (from.x) " " (from.y) "L" (to.x) " " (to.y) } {
                title {
                    (name_of(&picture.whole.switch(one).description)) " to "
                    (name_of(&picture.whole.switch(far).description)) ": down"
                }
            }
        }
    }
}

/// Pieces of a line as path data. A bow leaves the row by a fifth of its length.
fn course(data: &mut String, line: &Line) {
    for piece in &line.pieces {
        let (from, to) = (piece.from, piece.to);
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        // A string takes all that is written to it.
        let _ = match line.is_bowed {
            true => write!(
                data,
                "M{} {}q{} {} {dx} {dy}",
                from.x,
                from.y,
                dx / 2,
                -dx.abs() / 5 - 8
            ),
            false => write!(data, "M{} {}l{dx} {dy}", from.x, from.y),
        };
    }
}

/// A link to its page, with a title that says what stands out.
fn switch(picture: Picture<'_>, ix: SwitchIx, spot: Spot) -> Markup {
    let of = picture.whole.switch(ix);
    let name = name_of(&of.description);
    let (itself, worst) = (
        picture.marks.of_switch(of.guid),
        picture.marks.worst(of.guid),
    );
    let hosts = counted(picture.whole.hosts(ix).count(), "host");
    html! {
        a href={ "/switch?name=" (escaped(&of.guid.to_string())) } {
            title { (name) ", " (hosts) @if let Some(worst) = worst { ", " (worst.word()) } }
            circle class=[itself.or(worst).map(Mark::class)] cx=(spot.at.x) cy=(spot.at.y) r=(picture.plan.dot) {}
            @if let Some((at, side)) = spot.name { text x=(at.x) y=(at.y) text-anchor=(anchor(side)) { (name) } }
        }
    }
}
