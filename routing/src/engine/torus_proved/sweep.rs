//! What the ways to one destination, or to several alike, depend on: the classes of all sources are
//! carried from the far ends towards the destination, once per switch.
//!
//! # Carrying
//!
//! ```text
//! A ─> C ─> D      A sends class 0 on VL 0, B class 1 on VL 1
//! B ─┘             C carries both and its own: one load, passed on once
//! ```
//!
//! For a fixed destination the next hop depends on the switch alone, so ways join and never part. A
//! switch is done when all that send to it are, which the order of `laid` gives for free: each
//! switch stands behind the one that it sends to, so going backwards meets leaves first.

use super::graph::{Edge, node};
use super::plan::Context;
use super::steps;
use super::vls::{Load, VLS, used};
use crate::engine::torus::next_hop::NO_WAY;
use crate::placement::PoolIx;
use crate::placement::{Axis, Coordinate};
use crate::topology::count32;

/// Ways, and what they carry.
/// Reused from destination to destination: nothing is allocated once lists have grown.
pub(super) struct Sweep {
    /// By switch: the group to leave by; [`NO_WAY`] where the ways end.
    pub(super) groups: Vec<u8>,
    /// By switch: how far its way is known.
    pub(super) states: Vec<State>,
    /// By switch: what leaves it.
    /// By that switch's own cable towards the destination.
    pub(super) loads: Vec<Load>,
    /// Switches whose way gets to an end, each behind the one that it sends to.
    pub(super) laid: Vec<PoolIx>,
    /// Switches that no way reaches the destination from.
    pub(super) left: Vec<PoolIx>,
    /// Dependencies of the ways that get to an end; some may be named twice.
    pub(super) edges: Vec<Edge>,
    pub(super) classes: Classes,
    way: Vec<PoolIx>,
}

/// How far the way from a switch is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Its way has not been followed for the destination at hand.
    Unknown,
    /// Its way ends at the destination, or where the caller said that ways end.
    Laid,
    /// Its way stops short, or runs in a circle.
    Left,
}

impl Sweep {
    /// Without ways.
    pub(super) fn new(switches: usize) -> Self {
        Self {
            groups: vec![NO_WAY; switches],
            states: vec![State::Unknown; switches],
            loads: vec![0; switches],
            laid: Vec::new(),
            left: Vec::new(),
            edges: Vec::new(),
            classes: Classes::default(),
            way: Vec::new(),
        }
    }

    /// The usual ways to one destination: groups, loads, edges, and which are left.
    pub(super) fn column(&mut self, context: &Context<'_>, to: PoolIx) {
        let at = context.at(to);
        self.clear();
        context.steps.fill(at, &mut self.groups);
        self.groups[to as usize] = NO_WAY;
        self.states[to as usize] = State::Laid;
        self.classes.fill(context, at);
        self.follow(context, 0..count32(self.groups.len()));
        self.carry(context, |_, _, _, _| ());
    }

    /// Forgets the destination. Groups and classes stay.
    pub(super) fn clear(&mut self) {
        self.states.fill(State::Unknown);
        self.loads.fill(0);
        self.laid.clear();
        self.left.clear();
        self.edges.clear();
    }

    /// Finds out which ways get to an end: to a switch that is laid already.
    pub(super) fn follow(
        &mut self,
        context: &Context<'_>,
        switches: impl IntoIterator<Item = PoolIx>,
    ) {
        for from in switches {
            let mut here = from;
            while self.states[here as usize] == State::Unknown {
                // Until the end of the way is known. A way that runs into itself stays so.
                self.states[here as usize] = State::Left;
                self.way.push(here);
                let group = self.groups[here as usize];
                here = steps::next(&context.neighbours, here, group).unwrap_or(here);
            }
            if self.states[here as usize] == State::Laid {
                // The switch next to the end first, so that each stands behind the one it sends to.
                let way = self.way.drain(..).rev();
                way.for_each(|switch| {
                    self.states[switch as usize] = State::Laid;
                    self.laid.push(switch);
                });
            } else {
                self.left.append(&mut self.way);
            }
        }
    }

    /// Carries classes along the ways that get to an end. `arrive` is told of every switch that
    /// sends to an end: it, its group, the end, and the load.
    /// Cost: O(switches), whatever the number of sources.
    pub(super) fn carry(
        &mut self,
        context: &Context<'_>,
        mut arrive: impl FnMut(PoolIx, u8, PoolIx, Load),
    ) {
        for index in (0..self.laid.len()).rev() {
            let switch = self.laid[index];
            let group = self.groups[switch as usize];
            let class = self.classes.class_from(context.at(switch));
            // What came from behind is complete here: whoever sends to this switch was done before.
            let load = self.loads[switch as usize] | context.vls.own(group, class);
            self.loads[switch as usize] = load;
            let Some(next) = context.neighbours.get(switch, group) else {
                continue;
            };
            if self.groups[next as usize] == NO_WAY {
                arrive(switch, group, next, load);
            } else {
                self.pass_on(context, (switch, group), load, next);
            }
        }
    }

    /// What a switch sends by a group goes on at the next one.
    pub(super) fn pass_on(
        &mut self,
        context: &Context<'_>,
        (switch, group): (PoolIx, u8),
        load: Load,
        next: PoolIx,
    ) {
        let onward = self.groups[next as usize];
        for vl in 0..VLS {
            let classes = load >> (8 * vl) & 0xff;
            if classes != 0 {
                let leaving = context.vls.onward(group, onward, classes);
                self.loads[next as usize] |= leaving;
                // Four bits for each group, one for each VL: see `node` for the numbers.
                let bits = used(leaving) << (count32(VLS) * u32::from(onward));
                self.edges.push((node(switch, group, vl), bits));
            }
        }
    }
}

/// What sources add to the class of their path to a destination, by axis and position.
/// Three lookups give the class of any source: axes add up, and none asks the others.
#[derive(Debug, Clone)]
pub(super) struct Classes([[u8; 256]; 3]);

impl Default for Classes {
    fn default() -> Self {
        Self([[0; 256]; 3])
    }
}

impl Classes {
    /// For a destination.
    pub(super) fn fill(&mut self, context: &Context<'_>, to: Coordinate) {
        for axis in Axis::ALL {
            self.fill_axis(context, axis, to.on(axis));
        }
    }

    /// For any destination with this x and y, as if nothing crossed the dateline of z.
    /// [`super::phases`] adds the bit of z later.
    pub(super) fn fill_without_z(&mut self, context: &Context<'_>, x: u8, y: u8) {
        self.fill_axis(context, Axis::X, x);
        self.fill_axis(context, Axis::Y, y);
        self.0[Axis::Z.index()].fill(0);
    }

    /// Whether paths cross the dateline of an axis, by where on it they start.
    pub(super) fn fill_axis(&mut self, context: &Context<'_>, axis: Axis, to: u8) {
        let shape = context.torus.shape();
        let classes = &mut self.0[axis.index()];
        for (from, class) in (0..shape.radix_of(axis)).zip(classes) {
            *class = u8::from(shape.crosses_dateline(axis, from, to)) << axis.index();
        }
    }

    /// The SL of a path from a place, without its QoS level.
    pub(super) fn class_from(&self, from: Coordinate) -> u8 {
        let [x, y, z] = from.0.map(usize::from);
        self.0[0][x] | self.0[1][y] | self.0[2][z]
    }

    /// What an axis adds to the class.
    pub(super) fn on(&self, axis: Axis, from: Coordinate) -> u8 {
        self.0[axis.index()][usize::from(from.on(axis))]
    }
}
