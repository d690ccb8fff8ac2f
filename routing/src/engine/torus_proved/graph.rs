//! Dependencies between channels, kept free of cycles while they are added.
//!
//! The cables of a bundle count as one: their tables are alike.
//! Source: Pearce and Kelly, A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs,
//! 2006, with the order as a list: what lies behind the new dependency moves, and nothing else.
//!
//! To add a dependency that goes along the order costs nothing; one against it moves the nodes behind it, if
//! none of these is where it comes from, and is refused else. So a refusal is found by the same search as the
//! new order, and takes nothing back but its own bits.
//!
//! # Numbers
//!
//! ```text
//! node = (switch x 6 + group) x 4 + vl         the channel that leaves `switch` by `group` on `vl`
//! next[node], bit 4 x group + vl               it waits for that channel of the switch at its end
//! ```
//!
//! The end is known from the cables, so that a dependency takes a bit, and asking whether it is
//! there is one look. Most are asked for many times: all ways to all destinations share them.
//!
//! # Adding against the order
//!
//! ```text
//! order  a b c d e,  new d -> b:   behind b up to d are b and c, say; d is not among them
//!                                  a d b c e
//! new c -> a, and a leads to c:    the search from a meets c: refused
//! ```

use std::cmp::Reverse;

use super::vls::VLS;
use crate::engine::order::Order;
use crate::placement::Direction;
use crate::placement::{PoolIx, Torus};
use crate::topology::count32;

/// Groups of ports towards other switches.
/// Local ports make no channels: hosts always take in what comes.
pub(super) const GROUPS: usize = 6;

/// No neighbour in a direction.
pub(super) const NOBODY: PoolIx = PoolIx::MAX;

/// A vl of a bundle of cables: see [`node`].
pub(super) type Node = u32;

/// Dependencies of one node: a bit for each group and vl at its end.
/// Several dependencies at once, all from one channel.
pub(super) type Edge = (Node, u32);

/// The channel that leaves a switch by a group on a vl.
pub(super) fn node(switch: PoolIx, group: u8, vl: usize) -> Node {
    (switch * 6 + u32::from(group)) * 4 + count32(vl)
}

/// Neighbours by switch and group. Shape: 6 per switch.
/// Made once for a plan; every graph of it shares the table.
#[derive(Debug, Clone)]
pub(super) struct Neighbours(Vec<PoolIx>);

impl Neighbours {
    /// Looks at every switch in all six directions.
    pub(super) fn new(torus: &Torus) -> Self {
        let all = torus.pool_ixs().flat_map(|ix| {
            let of = move |direction| torus.neighbour(ix, direction).unwrap_or(NOBODY);
            Direction::ALL.into_iter().map(of)
        });
        Self(all.collect())
    }

    /// The switch that a group of cables leads to.
    #[inline]
    pub(super) fn get(&self, switch: PoolIx, group: u8) -> Option<PoolIx> {
        let there = self.0[switch as usize * GROUPS + usize::from(group)];
        (there != NOBODY).then_some(there)
    }

    /// The groups of a switch that lead somewhere, and where.
    pub(super) fn around(&self, switch: PoolIx) -> impl Iterator<Item = (u8, PoolIx)> + '_ {
        (0..6).filter_map(move |group| Some((group, self.get(switch, group)?)))
    }

    /// How many switches there are.
    pub(super) fn switches(&self) -> usize {
        self.0.len() / GROUPS
    }
}

/// Dependencies, by default without cycles.
/// In one of two states: sorted (no cycle, `order` holds) or not (anything goes, `order` is empty
/// or old).
#[derive(Debug, Clone)]
pub(super) struct Graph<'a> {
    neighbours: &'a Neighbours,
    /// By node: the channels behind it, bit 4 x group + vl of the switch where it ends.
    /// The upper eight bits are not used.
    next: Vec<u32>,
    /// An order along which all dependencies lead. Empty until [`Self::sort`] in a graph that
    /// takes anything.
    order: Order,
    /// By node: the search that visited it last.
    visited: Vec<u32>,
    search: u32,
    stack: Vec<Node>,
    behind: Vec<Node>,
    /// Dependencies since the last [`Self::keep`].
    /// Kept so that a way that fails halfway is taken back without copying the graph.
    fresh: Vec<Edge>,
}

impl<'a> Graph<'a> {
    /// Without dependencies, and never with a cycle.
    /// Any order is right as long as there are no dependencies.
    pub(super) fn new(neighbours: &'a Neighbours) -> Self {
        let nodes = neighbours.switches() * GROUPS * VLS;
        let order: Vec<Node> = (0..count32(nodes)).collect();
        Self {
            order: Order::new(&order),
            ..Self::unsorted(neighbours)
        }
    }

    /// Without dependencies, and taking cycles too, until [`Self::sort`].
    pub(super) fn unsorted(neighbours: &'a Neighbours) -> Self {
        let nodes = neighbours.switches() * GROUPS * VLS;
        Self {
            neighbours,
            next: vec![0; nodes],
            order: Order::default(),
            visited: vec![0; nodes],
            search: 0,
            stack: Vec::new(),
            behind: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.next.len()
    }

    /// The dependencies of a node: a bit for each group and vl at its end.
    pub(super) fn bits(&self, node: Node) -> u32 {
        self.next[node as usize]
    }

    /// The node behind another one that a bit stands for.
    /// None where no cable leaves by the node's group.
    #[inline]
    pub(super) fn behind(&self, node: Node, bit: u32) -> Option<Node> {
        Some(self.end_of(node)? * 24 + bit)
    }

    /// Takes away from `dependencies` what is in this graph.
    pub(super) fn remove_from(&self, dependencies: &mut [u32]) {
        let pairs = dependencies.iter_mut().zip(&self.next);
        pairs.for_each(|(theirs, mine)| *theirs &= !mine);
    }

    /// Takes dependencies away.
    pub(super) fn remove(&mut self, dependencies: &[u32]) {
        let pairs = self.next.iter_mut().zip(dependencies);
        pairs.for_each(|(mine, theirs)| *mine &= !theirs);
    }

    /// Adds what another graph has; the order is lost until [`Self::sort`].
    /// Cost: one OR per node, whatever the dependencies.
    pub(super) fn merge(&mut self, other: &Self) {
        let pairs = self.next.iter_mut().zip(&other.next);
        pairs.for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Finds an order. False, and the order is that of before, when there is a cycle.
    /// By peeling (Kahn): what nothing waits for comes first. Cost: O(nodes + dependencies).
    pub(super) fn sort(&mut self) -> bool {
        // A channel has at most 24 in front of it: 6 groups of 4 VLs at the switch it leaves.
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
        // On a cycle everybody waits for somebody, so its nodes never come out.
        let is_good = order.len() == self.next.len();
        if is_good {
            self.order = Order::new(&order);
        }
        is_good
    }

    /// Takes the order of a graph that has the same dependencies and more, but keeps together the
    /// nodes of a component: those that other dependencies would join to cycles. Components are
    /// numbered against the order.
    ///
    /// An order by chance would be as right. This one agrees with most of what is added later,
    /// which then costs nothing.
    pub(super) fn sort_like(&mut self, other: &Self, component: &[u32]) {
        let mut order: Vec<Node> = (0..count32(self.next.len())).collect();
        order.sort_unstable_by_key(|node| {
            (Reverse(component[*node as usize]), other.order.label(*node))
        });
        self.order = Order::new(&order);
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

    /// Makes one channel wait for one behind it: a group and vl of the switch where it ends.
    /// False, and nothing changes, where that closes a cycle.
    /// Cost: nothing where it is there or goes along the order, else what lies between the two.
    #[inline]
    pub(super) fn add(&mut self, from: Node, to: Node) -> bool {
        let bit = 1 << (to % (6 * 4));
        if self.next[from as usize] & bit != 0 {
            return true;
        }
        // Equal labels are the same node: a channel that waits for itself, which `reorder` refuses.
        if self.order.label(from) >= self.order.label(to) && !self.reorder(from, to) {
            return false;
        }
        self.next[from as usize] |= bit;
        self.fresh.push((from, bit));
        true
    }

    /// Adds dependencies. False, and nothing changes, where that closes a cycle.
    /// All or nothing, for the ways to one destination.
    pub(super) fn add_all<'e>(&mut self, edges: impl IntoIterator<Item = &'e Edge>) -> bool {
        let is_good = edges.into_iter().all(|edge| {
            let mut bits = self.lacking(*edge);
            let end = self.end_of(edge.0).filter(|_| bits != 0);
            let mut is_good = true;
            while let Some(end) = end.filter(|_| is_good && bits != 0) {
                is_good = self.add(edge.0, end * 24 + bits.trailing_zeros());
                bits &= bits - 1;
            }
            is_good
        });
        if is_good {
            self.keep();
        } else {
            // Mended orders stay: they are as right for fewer dependencies.
            self.take_back();
        }
        is_good
    }

    /// As [`Self::add_all`] for a large part of a graph, by a new order instead of a mended one.
    /// Cost: O(nodes), worth it for a tree of the whole fabric.
    pub(super) fn add_at_once(&mut self, edges: &[Edge]) -> bool {
        let before = self.next.clone();
        self.add_unordered(edges);
        let is_good = self.sort();
        if !is_good {
            self.next = before;
        }
        is_good
    }

    /// What of a node's dependencies is not there.
    pub(super) fn lacking(&self, (node, bits): Edge) -> u32 {
        bits & !self.next[node as usize]
    }

    /// Takes dependencies with cycles and all; the order is lost until [`Self::sort`].
    pub(super) fn add_unordered(&mut self, edges: &[Edge]) {
        for (node, bits) in edges {
            self.next[*node as usize] |= bits;
        }
    }

    /// Makes everything added so far permanent.
    pub(super) fn keep(&mut self) {
        self.fresh.clear();
    }

    /// Takes back what was added since the last [`Self::keep`]. The order stays good.
    pub(super) fn take_back(&mut self) {
        for (node, bit) in self.fresh.drain(..) {
            self.next[node as usize] &= !bit;
        }
    }

    /// Moves `to` and what is behind it beyond `from`. False when `from` is behind `to`.
    /// What moves keeps its order among itself.
    fn reorder(&mut self, from: Node, to: Node) -> bool {
        if !self.collect_behind(from, to) {
            return false;
        }
        let order = &self.order;
        self.behind.sort_unstable_by_key(|node| order.label(*node));
        self.order.move_behind(&self.behind, from);
        true
    }

    /// What can be reached from `to` without passing `from` in the order; false when `from` can.
    fn collect_behind(&mut self, from: Node, to: Node) -> bool {
        let high = self.order.label(from);
        // A number for each search, so that marks need no clearing.
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
                // What lies beyond `from` already need not move, nor does anything behind it.
                if is_new && self.order.label(next) <= high {
                    self.visited[next as usize] = self.search;
                    self.stack.push(next);
                }
            }
        }
        true
    }

    /// The switch where a channel ends.
    fn end_of(&self, node: Node) -> Option<PoolIx> {
        let group = u8::try_from(node / 4 % 6).unwrap_or(0);
        self.neighbours.get(node / 24, group)
    }
}
