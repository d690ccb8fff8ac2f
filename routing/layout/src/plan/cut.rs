//! A fabric that is too large for one picture, in parts.
//!
//! ```text
//!  torus 16x16x16     16 planes of 256:   z=0, z=1, ..
//!  torus 64x64        5 bands:            y=0-14, y=15-29, ..
//!  fat tree           pods and tops:      from L0_0 on, from T0_0 on, ..
//! ```
//!
//! Parts are of switches that belong together, so that most cables lie within one: which part a switch is in never depends on damage
//! elsewhere, as planes and groups do not.

use std::collections::BTreeMap;

use routing::placement::{Axis, Coordinate, Shape};
use routing::{SwitchIx, Topology, Torus};

use super::MOST;
use crate::graph::{self, Form, Wires, near_each_other};
use crate::torus::View;

/// Some switches of a fabric that are drawn together.
#[derive(Debug, Clone)]
pub struct Part {
    /// As `z=3`, or its first switch.
    pub name: String,
    /// Its switches. Shape: at least one, but of a torus with empty planes.
    pub switches: Vec<SwitchIx>,
    corner: Option<Corner>,
}

/// A box of a torus: where it begins, and how far it goes along each axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub(super) low: Coordinate,
    pub(super) shape: Shape,
}

/// Parts of a fabric, one of all where that is small enough. Cost: as the search for groups of the whole fabric.
pub fn parts(topology: &Topology, torus: Option<&Torus>) -> Vec<Part> {
    match torus {
        Some(torus) => boxes(torus),
        None if topology.switches.len() <= MOST => {
            let switches = topology.switch_ixs().collect();
            vec![Part::new("all switches".to_owned(), switches)]
        }
        None => groups(topology),
    }
}

/// Switches without a place in the torus; none where there is no torus.
pub fn outside(topology: &Topology, torus: Option<&Torus>) -> Vec<SwitchIx> {
    let Some(torus) = torus else {
        return Vec::new();
    };
    let all = topology.switch_ixs();
    all.filter(|ix| torus.placed(*ix).is_none()).collect()
}

impl Part {
    const fn new(name: String, switches: Vec<SwitchIx>) -> Self {
        Self {
            name,
            switches,
            corner: None,
        }
    }

    /// Where in a torus it lies; none elsewhere.
    pub(super) const fn corner(&self) -> Option<Corner> {
        self.corner
    }
}

/// The whole torus, its planes, or bands of them.
fn boxes(torus: &Torus) -> Vec<Part> {
    let whole = Corner {
        low: Coordinate([0; 3]),
        shape: torus.shape(),
    };
    let mut cut = vec![whole];
    if torus.shape().places() > MOST {
        let view = View::of(torus.shape());
        // Planes first: they are what people know.
        for axis in [view.through, view.up, view.across].into_iter().flatten() {
            cut = cut.iter().flat_map(|it| it.cut(axis)).collect();
        }
    }
    let parts = cut.into_iter().map(|corner| {
        let placed = corner.places().filter_map(|at| Some(torus.at(at)?.switch));
        Part {
            name: corner.name(torus.shape()),
            switches: placed.collect(),
            corner: Some(corner),
        }
    });
    parts.collect()
}

impl Corner {
    /// Its coordinates, as the torus has them.
    fn places(self) -> impl Iterator<Item = Coordinate> {
        let all = self.shape.coordinates();
        all.map(move |inner| self.outer(inner))
    }

    /// A coordinate of the box as the torus has it.
    pub(super) fn outer(self, inner: Coordinate) -> Coordinate {
        let mut at = self.low;
        for axis in Axis::ALL {
            at = at.with(axis, self.low.on(axis).saturating_add(inner.on(axis)));
        }
        at
    }

    /// Slices along an axis that are small enough, at least one place thick; itself where it is small enough.
    fn cut(self, axis: Axis) -> Vec<Self> {
        let (places, length) = (self.shape.places(), self.shape.radix_of(axis));
        if places <= MOST || length < 2 {
            return vec![self];
        }
        let slice = places / usize::from(length);
        // Where even the thinnest is too large the next axis is cut too.
        let thick = u8::try_from(MOST / slice.max(1)).unwrap_or(length).max(1);
        // Planes stay whole and alone: a block of several would be drawn as planes again.
        let thick = if slice > 1 && axis == Axis::Z {
            1
        } else {
            thick
        };
        let starts = (0..length).step_by(usize::from(thick));
        starts.map(|start| self.slice(axis, start, thick)).collect()
    }

    fn slice(self, axis: Axis, start: u8, thick: u8) -> Self {
        let Self { low, mut shape } = self;
        let left = shape.radix_of(axis) - start;
        shape.radix[axis.index()] = thick.min(left);
        // It does not close upon itself.
        shape.mesh[axis.index()] = true;
        Self {
            low: low.with(axis, start),
            shape,
        }
    }

    /// What is cut of it, as `z=3`, `y=0-14`.
    fn name(self, whole: Shape) -> String {
        let cut = Axis::ALL
            .into_iter()
            .filter(|axis| self.shape.radix_of(*axis) != whole.radix_of(*axis));
        let words = cut.map(|axis| {
            let (first, length) = (self.low.on(axis), self.shape.radix_of(axis));
            match length {
                1 => format!("{axis}={first}"),
                _ => format!("{axis}={first}-{}", first + (length - 1)),
            }
        });
        let words: Vec<_> = words.collect();
        match words.is_empty() {
            true => "all switches".to_owned(),
            false => words.join(" "),
        }
    }
}

/// By group and, where there is none, by level; what has neither by the order in which a search finds it.
fn groups(topology: &Topology) -> Vec<Part> {
    let wires = Wires::of(topology);
    let shape = graph::Shape::of(&wires);
    let mut parts: BTreeMap<(Option<usize>, usize), Vec<usize>> = BTreeMap::new();
    let order = match shape.form {
        Form::Ring => near_each_other(&wires),
        _ => (0..wires.len()).collect(),
    };
    for number in order {
        let key = match shape.group[number] {
            Some(group) => (Some(group), 0),
            None => (None, shape.level[number]),
        };
        parts.entry(key).or_default().push(number);
    }
    let pieces = parts.values().flat_map(|part| part.chunks(MOST / 4));
    let parts = pieces.map(|piece| {
        let switches: Vec<_> = piece.iter().map(|nth| wires.switches[*nth]).collect();
        let first = switches.first().map(|ix| topology.switch(*ix));
        let name = first.map_or("", |first| first.description.as_str());
        Part::new(format!("from {name} on"), switches)
    });
    parts.collect()
}
