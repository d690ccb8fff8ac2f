//! A spanning tree, on which every destination can be reached without a cycle, and the order of channels that
//! follows from it.
//!
//! Packets on a tree go up towards its root and then down: no dependency leads from down to up but where a tree
//! needs it, and a walk on a tree that never turns back ends. So turns between cables of the tree close no
//! cycle, all of them together. On a fabric of several parts there is a tree for each.

use super::graph::{Channel, Graph, NOWHERE};
use crate::topology::count32;

/// A tree over all switches that are wired together.
pub(super) struct Tree {
    /// By switch: the channel towards the root; [`NOWHERE`] at a root.
    pub(super) up: Vec<Channel>,
    /// Switches, each behind the one above it.
    pub(super) order: Vec<u32>,
    /// By switch: hops from its root.
    depth: Vec<u32>,
}

impl Tree {
    /// Breadth first from `root`, and from the lowest switch of every part that this does not reach.
    pub(super) fn from(graph: &Graph, root: u32) -> Self {
        let mut tree = Self {
            up: vec![NOWHERE; graph.switches()],
            order: Vec::with_capacity(graph.switches()),
            depth: vec![NOWHERE; graph.switches()],
        };
        let mut next = 0;
        // The chosen root first; then the lowest switch of each part that it does not reach.
        for start in std::iter::once(root).chain(graph.all_switches()) {
            if tree.depth.get(start as usize) != Some(&NOWHERE) {
                continue;
            }
            tree.depth[start as usize] = 0;
            tree.order.push(start);
            while let Some(here) = tree.order.get(next).copied() {
                next += 1;
                tree.grow(graph, here);
            }
        }
        tree
    }

    /// Takes in the neighbours of a switch that have no place yet.
    fn grow(&mut self, graph: &Graph, here: u32) {
        for channel in graph.leaving(here) {
            let far = graph.to(channel) as usize;
            if self.depth[far] == NOWHERE {
                self.depth[far] = self.depth[here as usize] + 1;
                self.up[far] = graph.back(channel);
                self.order.push(graph.to(channel));
            }
        }
    }

    /// Channels in an order with which up*/down* agrees: those towards the root first, from the farthest on, then
    /// those away from it.
    pub(super) fn channels(&self, graph: &Graph) -> Vec<Channel> {
        let rank = |channel: Channel| {
            // Ties by number, so that every cable has one direction that is up.
            let (from, to) = (graph.from(channel) as usize, graph.to(channel) as usize);
            let at = |switch: usize| (i64::from(self.depth[switch]), switch);
            let is_up = at(to) < at(from);
            let depth = i64::from(self.depth[from]);
            // Between switches of one depth the number decides which is up.
            let (rank, number) = if is_up { (-depth, -1) } else { (depth, 1) };
            (!is_up, rank, number * i64::try_from(from).unwrap_or(0))
        };
        let mut channels: Vec<Channel> = (0..count32(graph.channels())).collect();
        channels.sort_by_key(|channel| rank(*channel));
        channels
    }
}

/// A switch in the middle of some: the one with the fewest hops to those at the ends.
/// Found by two searches from end to end; the middle of the way between is the root.
pub(super) fn middle(graph: &Graph) -> u32 {
    let near = 0;
    let mut hops = vec![NOWHERE; graph.switches()];
    let mut reached = Vec::new();
    if graph.switches() == 0 {
        return 0;
    }
    graph.spread_from(near, &mut hops, &mut reached);
    let one = reached.last().copied().unwrap_or(near);
    // Twice: from anywhere to one end, from there to the other. The middle of that way is central enough.
    graph.spread_from(one, &mut hops, &mut reached);
    let mut here = reached.last().copied().unwrap_or(near);
    let half = hops[here as usize] / 2;
    while hops[here as usize] > half {
        let nearer = |channel: &Channel| {
            let far = graph.to(*channel);
            (hops[far as usize] < hops[here as usize]).then_some(far)
        };
        match graph.leaving(here).find_map(|channel| nearer(&channel)) {
            Some(far) => here = far,
            None => break,
        }
    }
    here
}
