//! Levels of channels, each above those that wait for it: while there are any no cycle can be.
//!
//! ```text
//! levels  A 0 ─> B 1 ─> C 2      added: D 1 ─> B 1    B becomes 2, C 3      added: C 3 ─> D 1    comes back to C: a cycle
//! ```
//!
//! What is added raises those that are in its way. What is taken away leaves levels good.
//!
//! Source: levels by longest ways as in Kahn, Topological Sorting of Large Networks, 1962.

use super::channels::VLS;
use super::graph::{DependencyGraph, Node};
use super::loads::VlPairs;
use crate::topology::count32;

/// Channels that one dependency may raise; beyond that it counts as closing a cycle.
const MOST_RAISED: usize = 1 << 18;

/// By number of the channel.
#[derive(Clone)]
pub(super) struct Levels {
    levels: Vec<u32>,
    /// Of the last dependency.
    undo: Vec<(Node, u32)>,
    open: Vec<(Node, u32)>,
}

impl Levels {
    /// None for a graph with a cycle.
    /// Cost: O(channels + dependencies).
    pub(super) fn of(graph: &DependencyGraph) -> Option<Self> {
        Some(Self {
            levels: levels(graph)?,
            undo: Vec::new(),
            open: Vec::new(),
        })
    }

    /// Adds dependencies by turn, each of a channel that waits for the next one, or none where they close a cycle. True where they are there; and how
    /// many channels were raised for them. Shape: all that the graph has was added so, or was there at the beginning.
    pub(super) fn take(
        &mut self,
        graph: &DependencyGraph,
        added: impl Iterator<Item = (u32, (Node, Node))>,
    ) -> (bool, usize) {
        let (mut taken, mut raised) = (Vec::new(), 0);
        for (turn, (waits, next)) in added {
            let pairs = pair(waits, next);
            if graph.edges.has(turn, &pairs) {
                continue;
            }
            graph.edges.add(turn, &pairs);
            taken.push((turn, pairs));
            let Some(more) = self.raise(graph, waits, next) else {
                let taken = taken.iter();
                taken.for_each(|(turn, pairs)| graph.edges.take(*turn, pairs));
                return (false, raised);
            };
            raised += more;
        }
        (true, raised)
    }

    /// Brings the second above the first, which waits for it, and all behind it. None, and no level has changed, where there is a cycle; else how many
    /// were raised.
    fn raise(&mut self, graph: &DependencyGraph, waits: Node, next: Node) -> Option<usize> {
        self.undo.clear();
        self.open.clear();
        self.open.push((next, self.levels[waits as usize] + 1));
        while let Some((node, least)) = self.open.pop() {
            let level = &mut self.levels[node as usize];
            if *level >= least {
                continue;
            }
            if node == waits || self.undo.len() > MOST_RAISED {
                // The last to come back is what was there first.
                for (node, level) in self.undo.drain(..).rev() {
                    self.levels[node as usize] = level;
                }
                return None;
            }
            self.undo.push((node, *level));
            *level = least;
            let behind = graph.successors(node);
            self.open.extend(behind.map(|behind| (behind, least + 1)));
        }
        Some(self.undo.len())
    }
}

/// The VLs of two channels.
fn pair(waits: Node, next: Node) -> VlPairs {
    let [vl, far] = [waits, next].map(|node| node as usize % VLS);
    let mut pairs: VlPairs = [0; 4];
    pairs[vl / 4] = 1 << (vl % 4 * VLS + far);
    pairs
}

/// By channel: a level above those of all that wait for it. None for a graph with a cycle.
/// Cost: O(channels + dependencies).
pub(super) fn levels(graph: &DependencyGraph) -> Option<Vec<u32>> {
    let mut levels = vec![0; graph.nodes()];
    let mut waiting = vec![0_u32; graph.nodes()];
    let vls = graph.edges.vls();
    for node in graph.nodes_on(vls) {
        let nexts = graph.successors(node);
        nexts.for_each(|next| waiting[next as usize] += 1);
    }
    let first = graph.nodes_on(vls);
    let first = first.filter(|node| waiting[*node as usize] == 0);
    let mut ready: Vec<Node> = first.collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        let above = levels[node as usize] + 1;
        for next in graph.successors(node).map(|next| next as usize) {
            levels[next] = above.max(levels[next]);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(count32(next));
            }
        }
    }
    // Those on a cycle, and behind one, wait for ever.
    (done == graph.nodes_on(vls).count()).then_some(levels)
}
