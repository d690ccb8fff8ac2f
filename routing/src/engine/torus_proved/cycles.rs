//! Which dependencies lie on cycles.
//!
//! Written with a stack of its own: a ring of some thousand channels would be as many calls deep.
//!
//! The usual ways and the tree are put into one graph, cycles and all. What lies on no cycle may
//! stay as it is; destinations that use any of the rest are laid anew. Dependencies on a cycle are
//! those whose two ends are in one strongly connected component.

use super::graph::{Graph, Node};
use crate::topology::count32;

/// What is on cycles.
/// Of the graph at the moment of the search.
pub(super) struct Cycles {
    /// By node: dependencies (bits as in [`Graph`]) on some cycle.
    pub(super) edges: Vec<u32>,
    /// By node: its strongly connected component. Dependencies between components lead to lower
    /// numbers.
    /// Used to sort what stays: a component has to keep together, see [`Graph::sort_like`].
    pub(super) component: Vec<u32>,
}

/// Dependencies on cycles. None when there is no cycle.
/// Source: Tarjan, Depth-first search and linear graph algorithms, 1972.
/// Cost: O(nodes + dependencies).
pub(super) fn on_cycles(graph: &Graph<'_>) -> Option<Cycles> {
    let component = Search::new(graph).run();
    let mut edges = vec![0; graph.nodes()];
    let mut is_any = false;
    for node in 0..count32(graph.nodes()) {
        graph.each_behind(node, |next| {
            // No channel waits for itself, so a component of one node has no dependency within.
            if component[node as usize] == component[next as usize] {
                edges[node as usize] |= 1 << (next % 24);
                is_any = true;
            }
        });
    }
    is_any.then_some(Cycles { edges, component })
}

/// Instead of a time, or of a component.
/// Times and components stay below the number of nodes.
const UNSEEN: u32 = u32::MAX;

/// A search in depth, under way.
struct Search<'g, 'a> {
    graph: &'g Graph<'a>,
    /// By node: when it was first seen.
    seen: Vec<u32>,
    /// By node: the earliest seen node that it leads back to.
    /// Final when the search leaves the node.
    low: Vec<u32>,
    /// By node: its component, once that is known.
    component: Vec<u32>,
    /// Seen nodes whose component is not complete.
    stack: Vec<Node>,
    /// Nodes on the way down, with the dependencies still to follow.
    way: Vec<(Node, u32)>,
    clock: u32,
    components: u32,
}

impl<'g, 'a> Search<'g, 'a> {
    /// Nothing seen yet.
    fn new(graph: &'g Graph<'a>) -> Self {
        let nodes = graph.nodes();
        Self {
            graph,
            seen: vec![UNSEEN; nodes],
            low: vec![0; nodes],
            component: vec![UNSEEN; nodes],
            stack: Vec::new(),
            way: Vec::new(),
            clock: 0,
            components: 0,
        }
    }

    /// By node: number of its strongly connected component.
    fn run(mut self) -> Vec<u32> {
        for node in 0..count32(self.seen.len()) {
            if self.seen[node as usize] == UNSEEN {
                self.enter(node);
                self.descend();
            }
        }
        self.component
    }

    /// Sees a node for the first time.
    fn enter(&mut self, node: Node) {
        self.seen[node as usize] = self.clock;
        self.low[node as usize] = self.clock;
        self.clock += 1;
        self.stack.push(node);
        self.way.push((node, self.graph.bits(node)));
    }

    /// Follows dependencies until the way is back at its start.
    fn descend(&mut self) {
        // One dependency at a time: the bits that are left say where to go on after coming back.
        while let Some((node, bits)) = self.way.last_mut() {
            let node = *node;
            let bit = bits.trailing_zeros();
            if *bits == 0 {
                self.way.pop();
                self.leave(node);
                continue;
            }
            *bits &= *bits - 1;
            let Some(next) = self.graph.behind(node, bit) else {
                continue;
            };
            if self.seen[next as usize] == UNSEEN {
                self.enter(next);
            // A node of a complete component leads nowhere back.
            } else if self.component[next as usize] == UNSEEN {
                self.low[node as usize] = self.low[node as usize].min(self.seen[next as usize]);
            }
        }
    }

    /// Goes back from a node; if it is the first of its component, the component is complete.
    fn leave(&mut self, node: Node) {
        let low = self.low[node as usize];
        if let Some((above, _)) = self.way.last() {
            self.low[*above as usize] = self.low[*above as usize].min(low);
        }
        // It leads back to a node above, so it belongs to that one's component.
        if low != self.seen[node as usize] {
            return;
        }
        while let Some(member) = self.stack.pop() {
            self.component[member as usize] = self.components;
            if member == node {
                break;
            }
        }
        self.components += 1;
    }
}
