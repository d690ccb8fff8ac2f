//! Some switches of a fabric without coordinates as a plan: by levels and groups, each switch with a sign of its own.
//!
//! Groups are looked for among these switches alone, so that a part is laid out as a small fabric would be.

use std::collections::HashMap;

use routing::{SwitchIx, Topology};

use super::{Anchor, Line, Plan, Spot};
use crate::Point;
use crate::graph::{Detail, Form, Layout, Shape, Signs, Stand, Wires};
use crate::torus::Segment;

/// What stands where.
pub(super) fn plan(topology: &Topology, switches: &[SwitchIx]) -> Plan {
    let wires = Wires::among(topology, switches.to_vec());
    let shape = Shape::of(&wires);
    let stands = shape.level.iter().zip(&shape.group);
    let stands = stands.map(|(level, group)| Stand {
        level: *level,
        group: *group,
    });
    let layout = Layout::of(Signs {
        detail: Detail::Switches,
        shape: &shape,
        wires: &wires,
        signs: &stands.collect::<Vec<_>>(),
    });
    let names = names_fit(topology, &wires, &shape, &layout);
    let spots = layout.points.iter().enumerate().map(|(number, at)| Spot {
        at: *at,
        name: names.then(|| beside(&layout, &shape, number, *at)),
    });
    Plan {
        width: layout.width,
        height: layout.bottom,
        dot: layout.dot,
        switches: wires.switches.iter().copied().zip(spots).collect(),
        lines: lines(topology, &wires, &shape, &layout),
        frames: layout.frames,
        ..Plan::default()
    }
}

/// Cables between each two switches, ports of the lower number first.
fn lines(topology: &Topology, wires: &Wires, shape: &Shape, layout: &Layout) -> Vec<Line> {
    let number: HashMap<SwitchIx, usize> = wires.switches.iter().copied().zip(0..).collect();
    let mut cables: HashMap<(usize, usize), Vec<(u8, u8)>> = HashMap::new();
    for (one, ix) in wires.switches.iter().enumerate() {
        for (port, far, far_port) in topology.cables(*ix) {
            // From the lower end, or each would be there twice.
            if let Some(other) = number.get(&far).filter(|other| **other > one) {
                cables
                    .entry((one, *other))
                    .or_default()
                    .push((port, far_port));
            }
        }
    }
    let links = wires.links().map(|(one, other, _)| {
        let (from, to) = (layout.points[one], layout.points[other]);
        Line {
            ends: [wires.switches[one], wires.switches[other]],
            cables: cables.remove(&(one, other)).unwrap_or_default(),
            pieces: vec![Segment { from, to }],
            is_bowed: shape.form == Form::Rows && from.y == to.y,
        }
    });
    links.collect()
}

/// Letters are 12 pixels high and about 7 wide.
const LETTER: usize = 7;

/// All or none: a name here and none there would confuse.
fn names_fit(topology: &Topology, wires: &Wires, shape: &Shape, layout: &Layout) -> bool {
    let names = wires.switches.iter().map(|ix| topology.switch(*ix));
    let longest = names.map(|switch| switch.description.chars().count()).max();
    let width = i32::try_from(longest.unwrap_or(0) * LETTER).unwrap_or(i32::MAX);
    match shape.form {
        Form::Rows => width <= layout.pitch,
        Form::Ring | Form::Fans => width <= 76 && layout.pitch >= 24,
        Form::Circles => width + 10 <= layout.pitch,
    }
}

/// Where few lines run: below the leaves, above all others; on circles outwards.
fn beside(layout: &Layout, shape: &Shape, number: usize, at: Point) -> (Point, Anchor) {
    let dot = layout.dot;
    let Some(middle) = layout.middle else {
        return match shape.level[number] {
            0 => (at.moved((0, dot + 14)), Anchor::Middle),
            _ => (at.moved((0, -dot - 6)), Anchor::Middle),
        };
    };
    match (at.x - middle.x).signum() {
        1 => (at.moved((dot + 4, 4)), Anchor::Start),
        -1 => (at.moved((-dot - 4, 4)), Anchor::End),
        _ if at.y < middle.y => (at.moved((0, -dot - 6)), Anchor::Middle),
        _ => (at.moved((0, dot + 14)), Anchor::Middle),
    }
}
