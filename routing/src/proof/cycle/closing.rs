//! Channels on a cycle of few channels, found from both sides: what half of the cycle reaches ahead
//! is little beside all that a search would see.

use crate::proof::graph::{DependencyGraph, Node};

/// Looks at one channel after the other.
pub(super) struct Closing<'a> {
    graph: &'a DependencyGraph,
    /// By node: others lie on no cycle.
    is_in: &'a [bool],
    /// By node: the last round in which it was met.
    /// A number for each round, so that it needs no clearing.
    met: Vec<u32>,
    round: u32,
}

impl<'a> Closing<'a> {
    /// Shape: `is_in` by node.
    pub(super) fn new(graph: &'a DependencyGraph, is_in: &'a [bool]) -> Self {
        Self {
            graph,
            is_in,
            met: vec![0; graph.nodes()],
            round: 0,
        }
    }

    /// Whether a channel waits for itself over so many channels.
    /// True when some channel is met by half the steps forwards and half backwards. Right only if
    /// no shorter cycle exists, as walks may pass a channel twice.
    pub(super) fn is_on_cycle(&mut self, node: Node, length: usize) -> bool {
        // Half of the cycle from each side: walks of half the length meet few channels.
        let graph = self.graph;
        let ahead = self.walk(node, length.div_ceil(2), |node| graph.successors(node));
        let behind = self.walk(node, length / 2, |node| graph.predecessors(node));
        // Marked from one side and looked up from the other: no set is made.
        self.round += 1;
        ahead
            .into_iter()
            .for_each(|node| self.met[node as usize] = self.round);
        behind
            .iter()
            .any(|node| self.met[*node as usize] == self.round)
    }

    /// The channels at the end of all walks of so many steps, each once.
    fn walk<I: Iterator<Item = Node>>(
        &mut self,
        start: Node,
        steps: usize,
        nexts: impl Fn(Node) -> I,
    ) -> Vec<Node> {
        let mut here = vec![start];
        for _ in 0..steps {
            self.round += 1;
            let (is_in, met, round) = (self.is_in, &mut self.met, self.round);
            // A channel that was met in this round is not walked from twice.
            let mut is_new = |node: usize| std::mem::replace(&mut met[node], round) != round;
            let nexts = here.into_iter().flat_map(&nexts);
            let nexts = nexts.filter(|node| is_in[*node as usize]);
            here = nexts.filter(|node| is_new(*node as usize)).collect();
        }
        here
    }
}
