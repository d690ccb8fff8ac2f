//! A box of a torus as a plan.
//!
//! The layout knows whole tori that begin at 0,0,0: the box is laid out as one, and its coordinates are those of the torus only where a
//! switch or a name is asked for.

use routing::placement::Axis;
use routing::{Topology, Torus};

use super::cut::Corner;
use super::{Anchor, Label, Line, Plan, Spot};
use crate::Point;
use crate::torus::{Layout, Link, LinkId, LinkState, View};

/// What stands where.
pub(super) fn plan(topology: &Topology, torus: &Torus, corner: Corner) -> Plan {
    let layout = Layout::of(corner.shape);
    let (width, height) = layout.size();
    let mut plan = Plan {
        width,
        height,
        dot: layout.room.dot,
        labels: labels(&layout, corner),
        ..Plan::default()
    };
    for inner in corner.shape.coordinates() {
        let at = layout.point(inner);
        match torus.at(corner.outer(inner)) {
            Some(placed) => plan.switches.push((placed.switch, spot(&layout, at))),
            None => plan.empty.push(at),
        }
    }
    let lines = LinkId::all(corner.shape);
    plan.lines = lines
        .filter_map(|link| line(topology, torus, (corner, &layout), link))
        .collect();
    plan
}

/// Names stand at the right of their switches, above the link there.
fn spot(layout: &Layout, at: Point) -> Spot {
    let dot = layout.room.dot;
    let beside = (at.moved((dot + 2, -dot)), Anchor::Start);
    Spot {
        at,
        name: layout.room.letters.map(|_| beside),
    }
}

/// A link between two switches that are there; none where one is not.
fn line(
    topology: &Topology,
    torus: &Torus,
    (corner, layout): (Corner, &Layout),
    link: LinkId,
) -> Option<Line> {
    let ends = [link.low, link.high(corner.shape)].map(|inner| torus.at(corner.outer(inner)));
    let [Some(low), Some(high)] = ends else {
        return None;
    };
    let outer = LinkId {
        low: corner.outer(link.low),
        axis: link.axis,
    };
    let cables = match Link::of(topology, torus, outer).state {
        LinkState::Wired(cables) => cables,
        LinkState::Missing => Vec::new(),
        LinkState::NoSwitch => return None,
    };
    Some(Line {
        ends: [low.switch, high.switch],
        cables,
        pieces: layout.segments(link),
        is_bowed: false,
    })
}

/// Positions along both axes of each plane, and its name.
fn labels(layout: &Layout, corner: Corner) -> Vec<Label> {
    let view = layout.view;
    let (across, up) = layout.reach();
    let mut labels = Vec::new();
    let name = |axis, position: u8| View::label(axis, corner.low.on(axis) + position);
    for plane in view.planes() {
        let (origin, far) = (layout.origin(plane), layout.far_corner(plane));
        let mut put = |x, y, anchor, words| {
            let at = Point { x, y };
            labels.push(Label { at, anchor, words });
        };
        for position in view.across.map_or(0..0, |axis| 0..length(corner, axis)) {
            let x = origin.x + layout.room.cell * i32::from(position);
            let words = view
                .across
                .map_or_else(String::new, |axis| name(axis, position));
            put(x, origin.y + up + 12, Anchor::Middle, words);
        }
        for position in view.up.map_or(0..0, |axis| 0..length(corner, axis)) {
            let y = origin.y - layout.room.cell * i32::from(position) + 4;
            let words = view
                .up
                .map_or_else(String::new, |axis| name(axis, position));
            put(origin.x - across, y, Anchor::End, words);
        }
        if let Some(axis) = view.through {
            let words = format!("{axis}={}", corner.low.on(axis) + plane);
            put(
                (origin.x + far.x) / 2,
                far.y - up - 4,
                Anchor::Middle,
                words,
            );
        }
    }
    labels
}

const fn length(corner: Corner, axis: Axis) -> u8 {
    corner.shape.radix_of(axis)
}
