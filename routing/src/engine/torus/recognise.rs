//! Tori and meshes by their cables alone, to tell an operator who has not said that it is one.
//!
//! A torus or mesh is a product of rings and rows: its cables fall into classes, one for each axis.
//! Two cables at a switch are of different axes exactly where one square has them both, and the
//! cables opposite in that square are of the same axes as they. (A ring of four is a square, and
//! comes out as a product of two rows of two.) Only whole ones are found: a missing cable leaves
//! no product.
//! Source: Imrich and Žerovnik, Factoring Cartesian-product graphs, 1994.
//!
//! Used to warn: routed by minhop a torus has credit loops, and the operator should know that the
//! engine is the wrong one. A wrong yes would be a nuisance, a wrong no changes nothing, so every
//! doubt is a no.
//!
//! ```text
//! S ─a─ o        a and b lie in exactly one square: two axes, and the cables opposite go along
//! |     |        a and c lie in none: one axis
//! b     |
//! o ── o
//! ```

use std::fmt;

use crate::topology::{SwitchIx, Topology, count32};

/// What the cables between switches look like.
/// For a message such as "a 4x4x4 torus"; nothing is routed by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Switches on each axis, most first. Shape: one to three axes.
    pub axes: Vec<usize>,
    /// Some axis is a ring.
    /// False for a mesh, open on every axis.
    pub has_ring: bool,
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.axes.iter().map(ToString::to_string).collect();
        let kind = if self.has_ring { "torus" } else { "mesh" };
        write!(f, "{} {kind}", axes.join("x"))
    }
}

/// A switch of a three-dimensional torus has so many neighbours at most.
/// Counted by neighbour and not by cable, as bundles are common.
const MOST_NEIGHBOURS: usize = 6;

/// Fewer switches need no rule against credit loops.
/// Three switches in a ring have no way round that a shortest path would close.
const LEAST_SWITCHES: usize = 4;

/// The grid that the switches form. None for rows, trees and everything else, and where most
/// switches have no hosts, as in a fat tree.
/// Cost: O(switches x neighbours^3), with six neighbours at most.
pub fn recognise(topology: &Topology) -> Option<Grid> {
    let switches = topology.switches.len();
    let with_hosts = topology.switch_ixs();
    let with_hosts = with_hosts.filter(|ix| topology.hosts(*ix).next().is_some());
    // The spines of a fat tree have no hosts: two of them with two leaves are a ring of four.
    if switches < LEAST_SWITCHES || with_hosts.count() * 2 <= switches {
        return None;
    }
    let graph = Graph::new(topology)?;
    let axes = graph.axes()?;
    let product = axes.iter().map(|axis| axis.length).product::<usize>();
    // A single row is a tree: no cycle can close on it.
    let is_row = axes.iter().all(|axis| !axis.is_ring) && axes.len() == 1;
    (product == switches && !is_row)
        .then(|| grid(axes))
        .flatten()
}

/// One factor of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    length: usize,
    is_ring: bool,
}

/// Two rows of two are a ring of four, where there would be too many axes else.
/// A ring of four cannot be told from two rows of two by squares; more than three axes cannot be.
fn grid(mut axes: Vec<Axis>) -> Option<Grid> {
    let pair = Axis {
        length: 2,
        is_ring: false,
    };
    // Fails where no two rows of two are left to be joined.
    while axes.len() > 3 {
        for _ in 0..2 {
            let place = axes.iter().position(|axis| *axis == pair)?;
            axes.swap_remove(place);
        }
        axes.push(Axis {
            length: 4,
            is_ring: true,
        });
    }
    let mut lengths: Vec<usize> = axes.iter().map(|axis| axis.length).collect();
    lengths.sort_unstable_by(|one, other| other.cmp(one));
    Some(Grid {
        axes: lengths,
        has_ring: axes.iter().any(|axis| axis.is_ring),
    })
}

/// Switches and which are neighbours, however many cables join two.
/// Simple: cables of a bundle are one edge, cables of a switch to itself none.
struct Graph {
    /// By switch: its neighbours, ascending, each with the number of the edge.
    neighbours: Vec<Vec<(u32, u32)>>,
    edges: usize,
}

impl Graph {
    /// None where a switch has none, or too many for a torus.
    fn new(topology: &Topology) -> Option<Self> {
        let mut graph = Self {
            neighbours: Vec::new(),
            edges: 0,
        };
        for switch in topology.switch_ixs() {
            let far = topology.cables(switch).map(|(_, far, _)| far);
            let mut far: Vec<SwitchIx> = far.filter(|far| *far != switch).collect();
            far.sort_unstable();
            far.dedup();
            if far.is_empty() || far.len() > MOST_NEIGHBOURS {
                return None;
            }
            let numbered = far.into_iter().map(|far| (far.0, u32::MAX));
            graph.neighbours.push(numbered.collect());
        }
        graph.number();
        Some(graph)
    }

    /// Gives every edge a number, the same at both its ends.
    /// At the end with the lower index first, then copied to the other.
    fn number(&mut self) {
        for switch in 0..count32(self.neighbours.len()) {
            for place in 0..self.neighbours[switch as usize].len() {
                let (far, _) = self.neighbours[switch as usize][place];
                let known = if far < switch {
                    self.edge(far, switch)
                } else {
                    None
                };
                let edge = known.unwrap_or_else(|| {
                    self.edges += 1;
                    count32(self.edges - 1)
                });
                self.neighbours[switch as usize][place].1 = edge;
            }
        }
    }

    /// The number of the edge between two switches; none when they are no neighbours.
    fn edge(&self, one: u32, other: u32) -> Option<u32> {
        let all = &self.neighbours[one as usize];
        let place = all.binary_search_by_key(&other, |(far, _)| *far).ok()?;
        Some(all[place].1)
    }

    /// The axes, if each is a ring or a row wherever it is followed.
    /// A class that fails anywhere makes the whole none.
    fn axes(&self) -> Option<Vec<Axis>> {
        let classes = self.classes();
        let mut names = classes.clone();
        names.sort_unstable();
        names.dedup();
        if names.len() > MOST_NEIGHBOURS {
            return None;
        }
        let axes = names.iter().map(|class| self.axis(&classes, *class));
        axes.collect()
    }

    /// By edge: its class.
    /// By union of sets: a cable opposite in a square joins the class of this one.
    fn classes(&self) -> Vec<u32> {
        let mut classes = Classes((0..count32(self.edges)).collect());
        for switch in 0..count32(self.neighbours.len()) {
            let around = &self.neighbours[switch as usize];
            for (nth, one) in around.iter().enumerate() {
                for other in &around[nth + 1..] {
                    self.relate(&mut classes, switch, *one, *other);
                }
            }
        }
        (0..count32(self.edges))
            .map(|edge| classes.class_of(edge))
            .collect()
    }

    /// Of two edges at a switch: the same class, or two with those opposite.
    ///
    /// No square, several, or a triangle: the two are of one axis, as far as can be told.
    fn relate(
        &self,
        classes: &mut Classes,
        switch: u32,
        (one, to_one): (u32, u32),
        (other, to_other): (u32, u32),
    ) {
        let corners = self.neighbours[one as usize].iter();
        let mut corners = corners.filter_map(|(corner, from_one)| {
            let from_other = self.edge(*corner, other)?;
            // Without the diagonal, as the corner would not be opposite else.
            let is_square = *corner != switch && self.edge(*corner, switch).is_none();
            is_square.then_some((*from_one, from_other))
        });
        match (corners.next(), corners.next(), self.edge(one, other)) {
            // { => Exactly one square: cables of two axes.
            (Some((from_one, from_other)), None, None) => {
                classes.join(to_one, from_other);
                classes.join(to_other, from_one);
            }
            _ => classes.join(to_one, to_other),
        }
    }

    /// An axis, if the edges of a class are rings or rows of one length that pass every switch.
    /// Cost: O(switches), for each axis.
    fn axis(&self, classes: &[u32], class: u32) -> Option<Axis> {
        let along = |switch: u32| {
            let all = self.neighbours[switch as usize].iter();
            all.filter(|(_, edge)| classes[*edge as usize] == class)
                .map(|(far, _)| *far)
        };
        let switches = count32(self.neighbours.len());
        let ends = (0..switches).filter(|switch| along(*switch).count() == 1);
        let ends = ends.count();
        // Every switch is on a line of each axis, at an end or within it.
        if (0..switches).any(|switch| !(1..=2).contains(&along(switch).count())) {
            return None;
        }
        let mut is_done = vec![false; switches as usize];
        let mut length = None;
        let mut lines = 0;
        for start in 0..switches {
            let mut stack = vec![start];
            let mut passed = 0;
            while let Some(switch) = stack.pop() {
                if !std::mem::replace(&mut is_done[switch as usize], true) {
                    passed += 1;
                    stack.extend(along(switch));
                }
            }
            // Lines of different lengths are no product.
            if passed > 0 && *length.get_or_insert(passed) != passed {
                return None;
            }
            lines += usize::from(passed > 0);
        }
        let is_ring = ends == 0;
        // Either nobody is at an end, or each line has two ends.
        (is_ring || ends == 2 * lines).then_some(Axis {
            length: length?,
            is_ring,
        })
    }
}

/// Sets of edges that are joined.
struct Classes(Vec<u32>);

impl Classes {
    /// The least edge that was ever joined to this one's.
    fn class_of(&mut self, edge: u32) -> u32 {
        let mut root = edge;
        while self.0[root as usize] != root {
            let above = self.0[root as usize];
            self.0[root as usize] = self.0[above as usize];
            root = above;
        }
        root
    }

    /// Makes two classes one.
    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.class_of(one), self.class_of(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}
