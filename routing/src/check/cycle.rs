//! A shortest circle in the dependency graph.

use std::collections::VecDeque;

use super::graph::{DependencyGraph, Node};
use crate::topology::count32;

/// Channels of a shortest circle, in order; none when there is no circle.
pub(super) fn shortest(graph: &DependencyGraph) -> Option<Vec<Node>> {
    let mut core = Core::of(graph);
    let mut best: Option<Vec<Node>> = None;
    for node in core.nodes() {
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        if let Some(circle) = core.circle_through(graph, node, limit) {
            best = Some(circle);
        }
        // Whatever is found from now on leads around this one.
        core.is_in[node as usize] = false;
        if best.as_ref().is_some_and(|circle| circle.len() <= 2) {
            break;
        }
    }
    best
}

/// What is left of the graph when all that lies on no circle is peeled off.
struct Core {
    is_in: Vec<bool>,
    /// By node: the search that visited it last, and from where.
    visits: Vec<(u32, Node)>,
    search: u32,
}

impl Core {
    fn of(graph: &DependencyGraph) -> Self {
        let mut is_in = vec![true; graph.nodes()];
        peel(graph, &mut is_in);
        Self {
            is_in,
            visits: vec![(0, 0); graph.nodes()],
            search: 0,
        }
    }

    fn nodes(&self) -> Vec<Node> {
        let all = (0..count32(self.is_in.len())).zip(&self.is_in);
        all.filter(|(_, is_in)| **is_in)
            .map(|(node, _)| node)
            .collect()
    }

    /// A shortest circle through a node that is shorter than `limit`. Breadth first.
    fn circle_through(
        &mut self,
        graph: &DependencyGraph,
        start: Node,
        limit: usize,
    ) -> Option<Vec<Node>> {
        self.search += 1;
        let mut queue = VecDeque::from([(start, 1)]);
        while let Some((node, length)) = queue.pop_front() {
            if length >= limit {
                return None;
            }
            for next in graph.successors(node) {
                if next == start {
                    return Some(self.way_back(start, node));
                }
                let visit = &mut self.visits[next as usize];
                if self.is_in[next as usize] && visit.0 != self.search {
                    *visit = (self.search, node);
                    queue.push_back((next, length + 1));
                }
            }
        }
        None
    }

    fn way_back(&self, start: Node, mut node: Node) -> Vec<Node> {
        let mut way = vec![node];
        while node != start {
            node = self.visits[node as usize].1;
            way.push(node);
        }
        way.reverse();
        way
    }
}

/// Takes away nodes that nothing waits for, again and again, then those that wait for nothing.
fn peel(graph: &DependencyGraph, is_in: &mut [bool]) {
    let mut waiting = vec![0_u32; is_in.len()];
    let all = 0..count32(is_in.len());
    for node in all.clone() {
        graph
            .successors(node)
            .for_each(|next| waiting[next as usize] += 1);
    }
    let unwaited = all.clone().filter(|node| waiting[*node as usize] == 0);
    let mut order: Vec<Node> = unwaited.collect();
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        is_in[node as usize] = false;
        for successor in graph.successors(node) {
            waiting[successor as usize] -= 1;
            if waiting[successor as usize] == 0 {
                order.push(successor);
            }
        }
    }
    // What is left waits for something; tails that lead off the circles go last to first.
    loop {
        let is_tail = |node: &Node, is_in: &[bool]| {
            is_in[*node as usize] && !graph.successors(*node).any(|next| is_in[next as usize])
        };
        let tails: Vec<Node> = all.clone().filter(|node| is_tail(node, is_in)).collect();
        if tails.is_empty() {
            return;
        }
        tails.iter().for_each(|node| is_in[*node as usize] = false);
    }
}
