//! Dependencies between channels, kept free of circles while they are added.
//!
//! The cables of a bundle count as one: their tables are alike.
//! Source: Pearce and Kelly, A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs,
//! 2006.

use super::lanes::LANES;
use crate::topology::count32;
use crate::torus::geometry::Direction;
use crate::torus::placement::{PoolIx, Torus};

/// Groups of ports towards other switches.
pub(super) const GROUPS: usize = 6;

/// No neighbour in a direction.
pub(super) const NOBODY: PoolIx = PoolIx::MAX;

/// A lane of a bundle of cables: see [`node`].
pub(super) type Node = u32;

/// The channel that leaves a switch by a group on a lane.
pub(super) fn node(switch: PoolIx, group: u8, lane: usize) -> Node {
    (switch * 6 + u32::from(group)) * 4 + count32(lane)
}

/// Neighbours by switch and group. Shape: 6 per switch.
#[derive(Debug, Clone)]
pub(super) struct Neighbours(Vec<PoolIx>);

impl Neighbours {
    pub(super) fn new(torus: &Torus) -> Self {
        let all = torus.pool_ixs().flat_map(|ix| {
            let of = move |direction| torus.neighbour(ix, direction).unwrap_or(NOBODY);
            Direction::ALL.into_iter().map(of)
        });
        Self(all.collect())
    }

    #[inline]
    pub(super) fn get(&self, switch: PoolIx, group: u8) -> Option<PoolIx> {
        let there = self.0[switch as usize * GROUPS + usize::from(group)];
        (there != NOBODY).then_some(there)
    }

    /// The groups of a switch that lead somewhere, and where.
    pub(super) fn of(&self, switch: PoolIx) -> impl Iterator<Item = (u8, PoolIx)> + '_ {
        (0..6).filter_map(move |group| Some((group, self.get(switch, group)?)))
    }

    pub(super) fn switches(&self) -> usize {
        self.0.len() / GROUPS
    }
}

/// Dependencies, by default without circles.
#[derive(Debug, Clone)]
pub(super) struct Graph<'a> {
    neighbours: &'a Neighbours,
    /// By node: the channels behind it, bit 4 x group + lane of the switch where it ends.
    next: Vec<u32>,
    /// By node: its place in an order in which all dependencies lead upwards. Empty: anything may be
    /// added, until [`Self::sort`].
    place: Vec<u32>,
    /// By node: dependencies that are not taken. May be empty.
    watched: Vec<u32>,
    /// By node: the search that visited it last.
    visited: Vec<u32>,
    search: u32,
    stack: Vec<Node>,
    behind: Vec<Node>,
    before: Vec<Node>,
    /// Dependencies since the last [`Self::keep`].
    fresh: Vec<(Node, u32)>,
    /// Dependencies since the last [`Self::end_column`].
    of_column: Vec<(Node, u32)>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(neighbours: &'a Neighbours) -> Self {
        let nodes = neighbours.switches() * GROUPS * LANES;
        Self {
            neighbours,
            next: vec![0; nodes],
            place: (0..count32(nodes)).collect(),
            watched: Vec::new(),
            visited: vec![0; nodes],
            search: 0,
            stack: Vec::new(),
            behind: Vec::new(),
            before: Vec::new(),
            fresh: Vec::new(),
            of_column: Vec::new(),
        }
    }

    /// Without dependencies, and taking circles too, until [`Self::sort`].
    pub(super) fn unsorted(neighbours: &'a Neighbours) -> Self {
        Self {
            place: Vec::new(),
            ..Self::new(neighbours)
        }
    }

    /// As [`Self::unsorted`], but will not take any of `watched`.
    pub(super) fn watching(neighbours: &'a Neighbours, watched: Vec<u32>) -> Self {
        Self {
            watched,
            ..Self::unsorted(neighbours)
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.next.len()
    }

    /// The dependencies of a node: a bit for each group and lane at its end.
    pub(super) fn bits(&self, node: Node) -> u32 {
        self.next[node as usize]
    }

    /// The node behind another one that a bit stands for.
    #[inline]
    pub(super) fn behind(&self, node: Node, bit: u32) -> Option<Node> {
        Some(self.end_of(node)? * 24 + bit)
    }

    /// Takes away from `dependencies` what is in this graph.
    pub(super) fn remove_from(&self, dependencies: &mut [u32]) {
        let pairs = dependencies.iter_mut().zip(&self.next);
        pairs.for_each(|(theirs, mine)| *theirs &= !mine);
    }

    /// Adds what another graph has; the order is lost until [`Self::sort`].
    pub(super) fn merge(&mut self, other: &Self) {
        let pairs = self.next.iter_mut().zip(&other.next);
        pairs.for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Finds an order. False when there is a circle; the graph is of no use then.
    pub(super) fn sort(&mut self) -> bool {
        let mut waited_for = vec![0_u8; self.next.len()];
        for node in 0..count32(self.next.len()) {
            self.each_behind(node, |next| waited_for[next as usize] += 1);
        }
        let all = 0..count32(self.next.len());
        let mut order: Vec<Node> = all.filter(|node| waited_for[*node as usize] == 0).collect();
        let mut done = 0;
        while let Some(&node) = order.get(done) {
            done += 1;
            self.each_behind(node, |next| {
                waited_for[next as usize] -= 1;
                if waited_for[next as usize] == 0 {
                    order.push(next);
                }
            });
        }
        self.place = vec![0; self.next.len()];
        for (place, node) in (0..).zip(&order) {
            self.place[*node as usize] = place;
        }
        order.len() == self.next.len()
    }

    /// The channels that a channel may wait for.
    #[inline]
    pub(super) fn each_behind(&self, node: Node, mut act: impl FnMut(Node)) {
        let mut bits = self.next[node as usize];
        if let Some(end) = self.end_of(node).filter(|_| bits != 0) {
            while bits != 0 {
                act(end * 24 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// Makes one channel wait for one behind it: a group and lane of the switch where it ends.
    /// False, and nothing changes, where that closes a circle.
    #[inline]
    pub(super) fn add(&mut self, from: Node, to: Node) -> bool {
        let bit = 1 << (to % (6 * 4));
        if self.next[from as usize] & bit != 0 {
            return true;
        }
        if self.place.is_empty() {
            return self.add_unsorted(from, bit);
        }
        if self.place[from as usize] >= self.place[to as usize] && !self.reorder(from, to) {
            return false;
        }
        self.next[from as usize] |= bit;
        self.fresh.push((from, bit));
        true
    }

    fn add_unsorted(&mut self, from: Node, bit: u32) -> bool {
        if let Some(watched) = self.watched.get(from as usize) {
            if watched & bit != 0 {
                return false;
            }
            self.of_column.push((from, bit));
        }
        self.next[from as usize] |= bit;
        true
    }

    /// Makes everything added so far permanent.
    pub(super) fn keep(&mut self) {
        self.fresh.clear();
    }

    /// What was added to a watching graph since the last call stays, or goes.
    pub(super) fn end_column(&mut self, stays: bool) {
        for (node, bit) in self.of_column.drain(..) {
            if !stays {
                self.next[node as usize] &= !bit;
            }
        }
    }

    /// Takes back what was added since the last [`Self::keep`]. The order stays good.
    pub(super) fn take_back(&mut self) {
        for (node, bit) in self.fresh.drain(..) {
            self.next[node as usize] &= !bit;
        }
    }

    /// Moves `to` and what is behind it above `from`. False when `from` is behind `to`.
    fn reorder(&mut self, from: Node, to: Node) -> bool {
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if !self.collect_behind(from, to, high) {
            return false;
        }
        self.collect_before(from, low);
        let by_place = |place: &Vec<u32>, nodes: &mut Vec<Node>| {
            nodes.sort_unstable_by_key(|node| place[*node as usize]);
        };
        by_place(&self.place, &mut self.behind);
        by_place(&self.place, &mut self.before);
        let moved = self.before.iter().chain(&self.behind);
        let mut places: Vec<u32> = moved
            .clone()
            .map(|node| self.place[*node as usize])
            .collect();
        places.sort_unstable();
        for (node, place) in moved.zip(places) {
            self.place[*node as usize] = place;
        }
        true
    }

    /// What can be reached from `to` up to a place; false when `from` can.
    fn collect_behind(&mut self, from: Node, to: Node, high: u32) -> bool {
        self.search += 1;
        self.behind.clear();
        self.stack.clear();
        self.stack.push(to);
        self.visited[to as usize] = self.search;
        while let Some(node) = self.stack.pop() {
            if node == from {
                return false;
            }
            self.behind.push(node);
            let Some(end) = self.end_of(node) else {
                continue;
            };
            let mut bits = self.next[node as usize];
            while bits != 0 {
                let next = end * 24 + bits.trailing_zeros();
                bits &= bits - 1;
                let is_new = self.visited[next as usize] != self.search;
                if is_new && self.place[next as usize] <= high {
                    self.visited[next as usize] = self.search;
                    self.stack.push(next);
                }
            }
        }
        true
    }

    /// What `from` can be reached from, down to a place.
    fn collect_before(&mut self, from: Node, low: u32) {
        self.search += 1;
        self.before.clear();
        self.stack.clear();
        self.stack.push(from);
        self.visited[from as usize] = self.search;
        while let Some(node) = self.stack.pop() {
            self.before.push(node);
            let (switch, bit) = (node / 24, 1 << (node % 24));
            for (group, previous) in self.neighbours.of(switch) {
                for lane in 0..LANES {
                    let earlier = self::node(previous, group ^ 1, lane);
                    let leads_here = self.next[earlier as usize] & bit != 0;
                    let is_new = self.visited[earlier as usize] != self.search;
                    if leads_here && is_new && self.place[earlier as usize] >= low {
                        self.visited[earlier as usize] = self.search;
                        self.stack.push(earlier);
                    }
                }
            }
        }
    }

    fn end_of(&self, node: Node) -> Option<PoolIx> {
        let group = u8::try_from(node / 4 % 6).unwrap_or(0);
        self.neighbours.get(node / 24, group)
    }
}
