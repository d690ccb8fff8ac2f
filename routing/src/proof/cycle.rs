//! A shortest cycle in the dependency graph.
//!
//! First all that lies on no cycle is peeled off, which mostly leaves nothing. Then the length that the
//! cables allow at least is looked for, because nearly every credit loop has it; only if there is none that
//! short every node is searched from. Operators get a shortest one, since it is the easiest to understand.

mod closing;
mod girth;

use std::collections::VecDeque;

use self::closing::Closing;
use super::graph::{DependencyGraph, Node};

/// Channels of a shortest cycle, in order; none when there is no cycle.
/// Cost: O(channels + dependencies) where there is none; a search from each channel left at worst.
pub(super) fn shortest(graph: &DependencyGraph) -> Option<Vec<Node>> {
    let mut core = Core::from_graph(graph);
    if core.nodes.is_empty() {
        return None;
    }
    if let Some(cycle) = core.of_length(graph, girth::at_least(graph)) {
        return Some(cycle);
    }
    let mut best: Option<Vec<Node>> = None;
    for node in std::mem::take(&mut core.nodes) {
        // Only shorter ones are of interest from now on.
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        if let Some(cycle) = core.cycle_through(graph, node, limit) {
            best = Some(cycle);
        }
        // Whatever is found from now on leads around this one.
        core.is_in[node as usize] = false;
    }
    best
}

/// True when there is a cycle.
pub(super) fn is_any(graph: &DependencyGraph) -> bool {
    !peel(graph, &mut vec![false; graph.nodes()]).is_empty()
}

/// What is left of the graph when all that lies on no cycle is peeled off.
/// Every node in it lies on a cycle, or on a way between two.
struct Core {
    /// The channels that are left. Shape: ascending.
    nodes: Vec<Node>,
    is_in: Vec<bool>,
    /// By node: the search that visited it last, and from where.
    visits: Vec<(u32, Node)>,
    search: u32,
}

impl Core {
    /// Peels, and keeps room for searches only where something is left.
    fn from_graph(graph: &DependencyGraph) -> Self {
        let mut is_in = vec![false; graph.nodes()];
        let nodes = peel(graph, &mut is_in);
        let visits = if nodes.is_empty() { 0 } else { graph.nodes() };
        Self {
            nodes,
            is_in,
            visits: vec![(0, 0); visits],
            search: 0,
        }
    }

    /// A cycle of so many nodes, where none is shorter: through the lowest node that lies on one.
    /// Lower nodes are taken out, so that the cycle begins at the one that was found.
    fn of_length(&mut self, graph: &DependencyGraph, length: usize) -> Option<Vec<Node>> {
        let mut closing = Closing::new(graph, &self.is_in);
        let mut nodes = self.nodes.iter();
        let first = nodes.position(|node| closing.is_on_cycle(*node, length))?;
        for node in &self.nodes[..first] {
            self.is_in[*node as usize] = false;
        }
        self.cycle_through(graph, self.nodes[first], usize::MAX)
    }

    /// A shortest cycle through a node that is shorter than `limit`. Breadth first.
    fn cycle_through(
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

    /// The nodes of the cycle from `start` on. Shape: `node` was the last that the search looked at.
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
/// Gives the others, ascending, and notes them.
/// Cost: O(channels + dependencies), for fabrics without cycles all there is to do.
fn peel(graph: &DependencyGraph, is_in: &mut [bool]) -> Vec<Node> {
    let mut waiting = vec![0_u32; is_in.len()];
    let vls = graph.edges.worth_searching();
    for node in graph.nodes_on(vls) {
        graph
            .successors(node)
            .for_each(|next| waiting[next as usize] += 1);
    }
    let unwaited = graph.nodes_on(vls);
    let mut order: Vec<Node> = unwaited
        .filter(|node| waiting[*node as usize] == 0)
        .collect();
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        for successor in graph.successors(node) {
            waiting[successor as usize] -= 1;
            if waiting[successor as usize] == 0 {
                order.push(successor);
            }
        }
    }
    let left = graph.nodes_on(vls);
    let mut left: Vec<Node> = left.filter(|node| waiting[*node as usize] > 0).collect();
    left.iter().for_each(|node| is_in[*node as usize] = true);
    // What is left waits for something; tails that lead off the cycles go last to first.
    loop {
        let goes_on = |node: &Node| graph.successors(*node).any(|next| is_in[next as usize]);
        let (on, tails): (Vec<Node>, Vec<Node>) = left.into_iter().partition(goes_on);
        left = on;
        if tails.is_empty() {
            return left;
        }
        tails.iter().for_each(|node| is_in[*node as usize] = false);
    }
}
