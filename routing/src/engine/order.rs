//! An order of nodes in which some can be moved behind another one at the cost of those that move.
//!
//! Every node has a label, with room between neighbours; where that is used up, all get new ones.
//! Source: Dietz and Sleator, Two Algorithms for Maintaining Order in a List, 1987.
//!
//! ```text
//! labels   a 0   b 2^40   c 2^41        move b right behind c:  c 2^41, b 2^41 + 2^40
//! between two nodes with labels 8 and 16, one node gets 12, three get 10, 12, 14
//! ```
//!
//! Comparing two nodes is comparing two numbers, which a graph does for every dependency it adds;
//! moving touches only what moves.

/// Number of a node.
pub(super) type Node = u32;

/// Nodes in order.
/// A list both ways, in arrays by node.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// By node: grows along the order. No two are the same.
    labels: Vec<u64>,
    /// By node: its neighbours, before and behind; [`NONE`] at the ends.
    before: Vec<Node>,
    behind: Vec<Node>,
}

/// No neighbour.
const NONE: Node = Node::MAX;

/// Room behind a node that has got a new label.
/// 2^40 times 98,304 nodes of a torus of 16x16x16 is below 2^57.
const ROOM: u64 = 1 << 40;

impl Order {
    /// `nodes` holds each of the numbers below its length once.
    pub(super) fn new(nodes: &[Node]) -> Self {
        let mut order = Self {
            labels: vec![0; nodes.len()],
            before: vec![NONE; nodes.len()],
            behind: vec![NONE; nodes.len()],
        };
        for pair in nodes.windows(2) {
            order.join(pair[0], pair[1]);
        }
        if let Some(first) = nodes.first() {
            order.relabel(*first);
        }
        order
    }

    /// Grows along the order; changes when nodes are moved.
    #[inline]
    pub(super) fn label(&self, node: Node) -> u64 {
        self.labels[node as usize]
    }

    /// The node before one. Not for the first one.
    #[inline]
    pub(super) fn before(&self, node: Node) -> Node {
        self.before[node as usize]
    }

    /// Moves nodes, given in order, to right behind another one that is not among them.
    /// Cost: O(nodes that move), but for the rare time when all get new labels.
    pub(super) fn move_behind(&mut self, nodes: &[Node], to: Node) {
        for node in nodes {
            self.take_out(*node);
        }
        let beyond = self.behind[to as usize];
        let mut last = to;
        for node in nodes {
            self.join(last, *node);
            last = *node;
        }
        self.join(last, beyond);
        let start = self.labels[to as usize];
        let end = match beyond {
            // At the end of the list there is room without bound, up to the check below.
            NONE => start + ROOM * (nodes.len() as u64 + 1),
            beyond => self.labels[beyond as usize],
        };
        let room = (end - start) / (nodes.len() as u64 + 1);
        // Seldom: each move halves the room at most, and there is room for forty.
        if room == 0 || end > u64::MAX / 2 {
            self.relabel(self.first(to));
        } else {
            for (node, label) in nodes.iter().zip(1..) {
                self.labels[*node as usize] = start + label * room;
            }
        }
    }

    /// Joins the neighbours of a node. It keeps its label until it is put somewhere.
    fn take_out(&mut self, node: Node) {
        let (before, behind) = (self.before[node as usize], self.behind[node as usize]);
        self.join(before, behind);
    }

    /// Makes two nodes neighbours. Either may be [`NONE`].
    fn join(&mut self, one: Node, other: Node) {
        if let Some(behind) = self.behind.get_mut(one as usize) {
            *behind = other;
        }
        if let Some(before) = self.before.get_mut(other as usize) {
            *before = one;
        }
    }

    /// The first of all nodes, found from any of them.
    /// Cost: O(nodes), only before all are labelled anew.
    fn first(&self, from: Node) -> Node {
        let mut first = from;
        while self.before[first as usize] != NONE {
            first = self.before[first as usize];
        }
        first
    }

    /// Gives all nodes new labels, with the same room between them.
    fn relabel(&mut self, first: Node) {
        let (mut node, mut label) = (first, 0);
        while node != NONE {
            self.labels[node as usize] = label;
            label += ROOM;
            node = self.behind[node as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::count32;

    fn listed(order: &Order) -> Vec<Node> {
        let mut nodes: Vec<Node> = (0..count32(order.labels.len())).collect();
        nodes.sort_by_key(|node| order.label(*node));
        nodes
    }

    #[test]
    fn nodes_move_behind_another_together() {
        let mut order = Order::new(&[4, 2, 0, 1, 3]);
        order.move_behind(&[4, 0], 1);
        assert_eq!(listed(&order), [2, 1, 4, 0, 3]);
        order.move_behind(&[2], 3);
        assert_eq!(listed(&order), [1, 4, 0, 3, 2]);
    }

    /// Behind the same place again and again, until no room is left there several times.
    #[test]
    fn room_never_runs_out() {
        let mut order = Order::new(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let mut expected = listed(&order);
        for number in 0..1000 {
            let node = 1 + number * 5 % 7;
            let to = expected[if number < 500 { 0 } else { 4 }];
            if node != to {
                order.move_behind(&[node], to);
                expected.retain(|it| *it != node);
                let at = expected.iter().position(|it| *it == to).unwrap_or(0);
                expected.insert(at + 1, node);
            }
            assert_eq!(listed(&order), expected);
        }
    }
}
