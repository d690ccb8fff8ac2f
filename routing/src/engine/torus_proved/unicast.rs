//! Ways to every destination that close no cycle.
//!
//! To each destination the ways of torus-2QoS are laid first. Where one has no way, or would close
//! a cycle, the switch looks for another neighbour that has one, near ones first. A switch that
//! finds none loses that destination.
//!
//! # One destination
//!
//! ```text
//! all usual ways at once, as parts         nothing lost: the next destination
//! else one source after the other          some are left
//! left: neighbours that have a way, nearest first
//! still left: the pair is lost
//! ```
//!
//! A way is the own step of a switch and then the ways of those behind it, so an attempt is tried
//! on the graph only as far as its class is new there. What a refused attempt added is taken back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::{Graph, node};
use super::phases::Parts;
use super::plan::Context;
use super::steps;
use super::sweep::{State, Sweep};
use super::vls::{Load, axis_of, load_of};
use crate::engine::torus::lft::Changes;
use crate::engine::torus::next_hop::NO_WAY;
use crate::placement::Coordinate;
use crate::placement::PoolIx;

/// Lays ways into a graph.
/// Owns the graph while it is filled.
pub(super) struct Layer<'a> {
    context: &'a Context<'a>,
    graph: Graph<'a>,
    changes: Changes,
    /// The ways to the destination at hand.
    ways: Sweep,
    /// By switch: hops to the destination at hand.
    hops: Vec<u32>,
    /// Loads that the attempt at hand changed, with what they were.
    /// To be put back, last first, where the attempt fails.
    loaded: Vec<(PoolIx, Load)>,
}

/// Ways to be tried, shortest first: hops, switch, group.
/// The least comes first; ties go by number of placement, so that results do not depend on luck.
type Open = BinaryHeap<Reverse<(u32, PoolIx, u8)>>;

impl<'a> Layer<'a> {
    /// Begins beside what is in a graph.
    pub(super) fn new(context: &'a Context<'a>, graph: Graph<'a>) -> Self {
        let switches = context.neighbours.switches();
        Self {
            context,
            graph,
            changes: Changes::default(),
            ways: Sweep::new(switches),
            hops: vec![0; switches],
            loaded: Vec::new(),
        }
    }

    /// The graph with all ways in it, and what differs from the usual ones.
    pub(super) fn finish(mut self) -> (Graph<'a>, Changes) {
        self.changes.rerouted.sort_unstable();
        self.changes.lost.sort_unstable();
        (self.graph, self.changes)
    }

    /// Lays ways to one destination, searching for those that the usual rules do not give.
    /// `lacking`: what the graph lacked of the usual ones before, if they leave no switch out.
    /// Cost: the usual ways in one pass where they fit; a search over the switches left where not.
    pub(super) fn lay(&mut self, to: PoolIx, lacking: Option<Parts<'_>>) {
        match lacking {
            Some(parts) if self.graph.add_all(parts.shared.iter().chain(parts.own)) => return,
            // The parts are complete but for a cycle, so trying them together again would fail
            // again.
            Some(_) => self.lay_one_by_one(to),
            None => self.lay_together(to),
        }
        // Ascending, and so is the search: what it finds does not depend on how switches came to be
        // left.
        let left = std::mem::take(&mut self.ways.left);
        if left.is_empty() {
            return;
        }
        self.search(to, &left);
        for from in left {
            match self.ways.groups[from as usize] {
                NO_WAY => self.changes.lost.push((to, from)),
                group => self.changes.rerouted.push((to, from, group)),
            }
        }
    }

    /// Lays the usual ways of all sources that have one, if together they close no cycle.
    fn lay_together(&mut self, to: PoolIx) {
        self.ways.column(self.context, to);
        if self.graph.add_all(&self.ways.edges) {
            self.ways.left.sort_unstable();
            self.count_hops(to);
        } else {
            self.lay_one_by_one(to);
        }
    }

    /// The switches that are left have no way any more.
    /// Each switch after the one that it sends to, as `laid` has them.
    fn count_hops(&mut self, to: PoolIx) {
        self.hops[to as usize] = 0;
        for from in &self.ways.laid {
            let group = self.ways.groups[*from as usize];
            if let Some(next) = self.context.neighbours.get(*from, group) {
                self.hops[*from as usize] = self.hops[next as usize] + 1;
            }
        }
        for from in &self.ways.left {
            self.ways.groups[*from as usize] = NO_WAY;
        }
    }

    /// Lays the usual ways of one source after the other. Left are the switches whose way is none
    /// or closes a cycle, and all that send by them.
    fn lay_one_by_one(&mut self, to: PoolIx) {
        let at = self.context.at(to);
        self.ways.clear();
        self.ways.groups.fill(NO_WAY);
        self.ways.classes.fill(self.context, at);
        self.hops[to as usize] = 0;
        // Ways end here whatever the destination's own table says.
        self.ways.states[to as usize] = State::Laid;
        let mut way = Vec::new();
        for from in self.context.torus.pool_ixs() {
            let end = self.usual_way(from, at, &mut way);
            let mut is_good = self.ways.states[end as usize] == State::Laid;
            // From the destination outwards: who sends over a switch that is left is left too.
            while let Some((switch, step)) = way.pop() {
                is_good = is_good
                    && step.is_some_and(|(group, next)| self.attach(switch, group, next, to));
                if is_good {
                    self.ways.states[switch as usize] = State::Laid;
                } else {
                    self.ways.left.push(switch);
                }
            }
        }
        self.ways.left.sort_unstable();
    }

    /// Follows the usual way up to a switch that was looked at before, or the end of it.
    /// Gives the switch at which it stopped.
    fn usual_way(&mut self, from: PoolIx, to: Coordinate, way: &mut Vec<Step>) -> PoolIx {
        let mut here = from;
        while self.ways.states[here as usize] == State::Unknown {
            self.ways.states[here as usize] = State::Left;
            let group = self.context.steps.group(here, to);
            let next = steps::next(&self.context.neighbours, here, group);
            way.push((here, next.map(|next| (group, next))));
            here = next.unwrap_or(here);
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
            // It found another way since it was offered this one.
            if self.ways.groups[switch as usize] != NO_WAY {
                continue;
            }
            let Some(next) = self.context.neighbours.get(switch, group) else {
                continue;
            };
            if !self.attach(switch, group, next, to) {
                continue;
            }
            for (group, other) in self.context.neighbours.around(switch) {
                if other != to && self.ways.groups[other as usize] == NO_WAY {
                    // Who stood beside it had one neighbour less to go by.
                    // The same cables from the other side.
                    self.offer_one(other, group ^ 1, switch, &mut open);
                }
            }
        }
    }

    /// Lists the neighbours of a switch that have a way.
    fn offer(&self, switch: PoolIx, to: PoolIx, open: &mut Open) {
        for (group, next) in self.context.neighbours.around(switch) {
            if next == to || self.ways.groups[next as usize] != NO_WAY {
                self.offer_one(switch, group, next, open);
            }
        }
    }

    /// Lists one neighbour, by how long the way over it is.
    fn offer_one(&self, switch: PoolIx, group: u8, next: PoolIx, open: &mut Open) {
        let length = self.hops[next as usize] + 1;
        open.push(Reverse((length, switch, group)));
    }

    /// Sends a switch's own packets for the destination to a neighbour that has a way. False, and
    /// nothing changes, where that closes a cycle.
    /// Cost: the way to the destination, as far as the class is new.
    fn attach(&mut self, switch: PoolIx, group: u8, next: PoolIx, to: PoolIx) -> bool {
        self.ways.groups[switch as usize] = group;
        if self.follow(switch, to) {
            self.graph.keep();
            self.loaded.clear();
            self.hops[switch as usize] = self.hops[next as usize] + 1;
            return true;
        }
        self.graph.take_back();
        for (switch, load) in self.loaded.drain(..).rev() {
            self.ways.loads[switch as usize] = load;
        }
        self.ways.groups[switch as usize] = NO_WAY;
        false
    }

    /// Carries the class of a source along its way, as far as it is new there.
    /// False as soon as a dependency is refused.
    fn follow(&mut self, from: PoolIx, to: PoolIx) -> bool {
        let class = self.ways.classes.class_from(self.context.at(from));
        let (mut here, mut input, mut last) = (from, None, None);
        while here != to {
            let group = self.ways.groups[here as usize];
            let axis = axis_of(group);
            let vl = self.context.vls.leaving_vl(input, axis, class);
            let channel = node(here, group, vl);
            if let Some(last) = last
                && !self.graph.add(last, channel)
            {
                return false;
            }
            let load = &mut self.ways.loads[here as usize];
            let own = load_of(vl, class);
            // From here on this class has gone this way before, so all its dependencies are there.
            if *load & own != 0 {
                return true;
            }
            self.loaded.push((here, *load));
            *load |= own;
            (input, last) = (Some(axis), Some(channel));
            let Some(next) = self.context.neighbours.get(here, group) else {
                return false;
            };
            here = next;
        }
        true
    }
}

/// A switch, and the group and the neighbour it sends to by the usual rules.
type Step = (PoolIx, Option<(u8, PoolIx)>);
