//! Ways to every destination that close no circle.
//!
//! To each destination the ways of torus-2QoS are laid first. Where one has no way, or would close
//! a circle, the switch looks for another neighbour that has one, near ones first. A switch that
//! finds none loses that destination.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Ground;
use super::graph::{Graph, node};
use super::lanes::{Load, axis_of};
use crate::torus::geometry::Axis;
use crate::torus::next_hop::NO_WAY;
use crate::torus::placement::PoolIx;

/// What differs from the ways of torus-2QoS.
#[derive(Debug, Clone, Default)]
pub(in crate::torus) struct Changes {
    /// Destination, source, and the group that it leaves by. By destination, then by source.
    pub(in crate::torus) rerouted: Vec<(PoolIx, PoolIx, u8)>,
    /// Destination and source without a way. By destination, then by source.
    pub(in crate::torus) lost: Vec<(PoolIx, PoolIx)>,
}

impl Changes {
    /// True when nothing differs.
    pub(in crate::torus) fn is_empty(&self) -> bool {
        self.rerouted.is_empty() && self.lost.is_empty()
    }
}

/// Lays ways into a graph.
pub(super) struct Layer<'a> {
    ground: &'a Ground<'a>,
    graph: Graph<'a>,
    changes: Changes,
    /// By switch: the group to the destination at hand, or [`NO_WAY`].
    groups: Vec<u8>,
    /// By switch: hops to the destination at hand.
    hops: Vec<u32>,
    /// By switch: what leaves it for the destination at hand.
    loads: Vec<Load>,
    /// Loads that the attempt at hand changed, with what they were.
    loaded: Vec<(PoolIx, Load)>,
    /// By axis and position: what a source there adds to the class of its path.
    classes: [[u8; 256]; 3],
    /// By switch: how far the usual ways to the destination at hand are laid.
    states: Vec<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Laid,
    Left,
}

/// Ways to be tried, shortest first: hops, switch, group.
type Open = BinaryHeap<Reverse<(u32, PoolIx, u8)>>;

impl<'a> Layer<'a> {
    pub(super) fn new(ground: &'a Ground<'a>, graph: Graph<'a>) -> Self {
        let switches = ground.neighbours.switches();
        Self {
            ground,
            graph,
            changes: Changes::default(),
            groups: vec![NO_WAY; switches],
            hops: vec![0; switches],
            loads: vec![Load::default(); switches],
            loaded: Vec::new(),
            classes: [[0; 256]; 3],
            states: vec![State::Unknown; switches],
        }
    }

    pub(super) fn finish(mut self) -> (Graph<'a>, Changes) {
        self.changes.rerouted.sort_unstable();
        self.changes.lost.sort_unstable();
        (self.graph, self.changes)
    }

    /// Lays the usual ways to one destination, in a graph without order. True when some switches
    /// have none that the graph takes; a watching graph takes nothing then.
    pub(super) fn has_gaps(&mut self, to: PoolIx) -> bool {
        let has_gaps = !self.usual(to).is_empty();
        self.graph.end_column(!has_gaps);
        has_gaps
    }

    /// Lays ways to one destination, searching for those that the usual rules do not give.
    pub(super) fn lay(&mut self, to: PoolIx) {
        let left = self.usual(to);
        if left.is_empty() {
            return;
        }
        self.search(to, &left);
        for from in left {
            match self.groups[from as usize] {
                NO_WAY => self.changes.lost.push((to, from)),
                group => self.changes.rerouted.push((to, from, group)),
            }
        }
    }

    /// Lays the ways of torus-2QoS. Returns the switches whose way is none or closes a circle, and
    /// all that send by them.
    fn usual(&mut self, to: PoolIx) -> Vec<PoolIx> {
        self.groups.fill(NO_WAY);
        self.loads.fill(Load::default());
        self.states.fill(State::Unknown);
        self.fill_classes(to);
        self.hops[to as usize] = 0;
        self.states[to as usize] = State::Laid;
        let mut left = Vec::new();
        let mut way = Vec::new();
        for from in self.ground.torus.pool_ixs() {
            let end = self.usual_way(from, to, &mut way);
            let mut is_good = self.states[end as usize] == State::Laid;
            while let Some((switch, step)) = way.pop() {
                is_good = is_good
                    && step.is_some_and(|(group, next)| self.attach(switch, group, next, to));
                if is_good {
                    self.states[switch as usize] = State::Laid;
                } else {
                    left.push(switch);
                }
            }
        }
        left.sort_unstable();
        left
    }

    /// Follows the usual way up to a switch that was looked at before, or the end of it.
    fn usual_way(&mut self, from: PoolIx, to: PoolIx, way: &mut Vec<Step>) -> PoolIx {
        let destination = self.ground.torus.get(to).at;
        let mut here = from;
        while self.states[here as usize] == State::Unknown {
            self.states[here as usize] = State::Left;
            let group = self.ground.ways[here as usize].group_to(destination);
            let step = group.and_then(|group| {
                let next = self.ground.neighbours.get(here, group)?;
                Some((group, next))
            });
            way.push((here, step));
            here = step.map_or(here, |(_, next)| next);
        }
        here
    }

    /// Looks for ways of the switches that have none, nearest to the destination first.
    fn search(&mut self, to: PoolIx, left: &[PoolIx]) {
        let mut open = BinaryHeap::new();
        for switch in left {
            self.offer(*switch, to, &mut open);
        }
        while let Some(Reverse((_, switch, group))) = open.pop() {
            if self.groups[switch as usize] != NO_WAY {
                continue;
            }
            let Some(next) = self.ground.neighbours.get(switch, group) else {
                continue;
            };
            if !self.attach(switch, group, next, to) {
                continue;
            }
            for (group, other) in self.ground.neighbours.of(switch) {
                if other != to && self.groups[other as usize] == NO_WAY {
                    self.offer_one(other, group ^ 1, switch, &mut open);
                }
            }
        }
    }

    fn offer(&self, switch: PoolIx, to: PoolIx, open: &mut Open) {
        for (group, next) in self.ground.neighbours.of(switch) {
            if next == to || self.groups[next as usize] != NO_WAY {
                self.offer_one(switch, group, next, open);
            }
        }
    }

    fn offer_one(&self, switch: PoolIx, group: u8, next: PoolIx, open: &mut Open) {
        let length = self.hops[next as usize] + 1;
        open.push(Reverse((length, switch, group)));
    }

    /// Sends a switch's own packets for the destination to a neighbour that has a way. False, and
    /// nothing changes, where that closes a circle.
    fn attach(&mut self, switch: PoolIx, group: u8, next: PoolIx, to: PoolIx) -> bool {
        self.groups[switch as usize] = group;
        if self.follow(switch, to) {
            self.graph.keep();
            self.loaded.clear();
            self.hops[switch as usize] = self.hops[next as usize] + 1;
            return true;
        }
        self.graph.take_back();
        for (switch, load) in self.loaded.drain(..).rev() {
            self.loads[switch as usize] = load;
        }
        self.groups[switch as usize] = NO_WAY;
        false
    }

    /// Carries the class of a source along its way, as far as it is new there.
    fn follow(&mut self, from: PoolIx, to: PoolIx) -> bool {
        let class = self.class(from);
        let (mut here, mut input, mut last) = (from, None, None);
        while here != to {
            let group = self.groups[here as usize];
            let axis = axis_of(group);
            let lane = self.ground.lanes.of(input, axis, class);
            let channel = node(here, group, lane);
            if let Some(last) = last
                && !self.graph.add(last, channel)
            {
                return false;
            }
            let load = &mut self.loads[here as usize];
            if load[lane] >> class & 1 == 1 {
                return true;
            }
            self.loaded.push((here, *load));
            load[lane] |= 1 << class;
            (input, last) = (Some(axis), Some(channel));
            let Some(next) = self.ground.neighbours.get(here, group) else {
                return false;
            };
            here = next;
        }
        true
    }

    /// Works out the classes of paths to a destination.
    fn fill_classes(&mut self, to: PoolIx) {
        let torus = self.ground.torus;
        let shape = torus.shape();
        let to = torus.get(to).at;
        for axis in Axis::ALL {
            let classes = &mut self.classes[axis.index()];
            for (from, class) in (0..shape.radix_of(axis)).zip(classes) {
                let crosses = shape.crosses_dateline(axis, from, to.on(axis));
                *class = u8::from(crosses) << axis.index();
            }
        }
    }

    /// The SL of a path to the destination at hand, without its QoS level.
    fn class(&self, from: PoolIx) -> u8 {
        let [x, y, z] = self.ground.torus.get(from).at.0.map(usize::from);
        self.classes[0][x] | self.classes[1][y] | self.classes[2][z]
    }
}

/// A switch, and the group and the neighbour it sends to by the usual rules.
type Step = (PoolIx, Option<(u8, PoolIx)>);
