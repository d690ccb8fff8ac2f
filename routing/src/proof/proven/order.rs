//! An order of channels that shows that there is no cycle, mended where dependencies are added.
//!
//! Each channel has a level above those of all channels that wait for it. While there are such levels no
//! cycle can be. What a change adds mostly fits the levels of before; else the channel that is waited for is
//! raised, and those behind it where they are in its way. What a change takes away leaves levels good.
//!
//! ```text
//! levels  A 0 ─> B 1 ─> C 2      added: D 1 ─> B 1    B becomes 2, C 3
//! ```

use rustc_hash::FxHashMap;

use super::fit::Gone;
use crate::proof::channels::VLS;
use crate::proof::graph::{DependencyGraph, Node};
use crate::proof::levels::levels;
use crate::proof::loads::VlPairs;

/// The level of each channel, by its number. Empty for a graph with a cycle, of which nothing can be said.
pub(super) struct Order(Vec<u32>);

/// Channels that are raised at most; behind that many a search of the whole graph is as quick. Where there is
/// a cycle its channels are raised until then.
const MOST_RAISED: usize = 1 << 17;

impl Order {
    /// Cost: O(channels + dependencies).
    pub(super) fn from_graph(graph: &DependencyGraph) -> Self {
        Self(levels(graph).unwrap_or_default())
    }

    /// Whether there are such levels for a graph without the cables that are gone, and with what was added.
    pub(super) fn holds(
        &self,
        graph: &DependencyGraph,
        gone: &Gone,
        added: &[(u32, VlPairs)],
    ) -> bool {
        if self.0.is_empty() {
            // Unless there is no channel at all.
            return graph.nodes() == 0;
        }
        let is_straight = graph.edges.are_straight();
        let added = added.iter();
        let added = added.flat_map(|(turn, pairs)| graph.ends(*turn, pairs));
        // Where packets keep their VL others are not counted, as in the graph.
        let added = added.filter(|(one, next)| !is_straight || one % VLS32 == next % VLS32);
        let mut mended = Mended {
            order: self,
            raised: FxHashMap::default(),
            added: FxHashMap::default(),
        };
        for (node, next) in added {
            let nexts = mended.added.entry(node).or_default();
            if !nexts.contains(&next) {
                nexts.push(next);
            }
        }
        mended.mend(graph, gone)
    }
}

/// Levels of which some were raised.
struct Mended<'a> {
    order: &'a Order,
    raised: FxHashMap<Node, u32>,
    added: FxHashMap<Node, Vec<Node>>,
}

impl Mended<'_> {
    fn level(&self, node: Node) -> u32 {
        let raised = self.raised.get(&node).copied();
        raised.unwrap_or_else(|| self.order.0[node as usize])
    }

    /// Raises channels until each is above those that wait for it. False where that takes too many.
    fn mend(&mut self, graph: &DependencyGraph, gone: &Gone) -> bool {
        let mut moved: Vec<Node> = self.added.keys().copied().collect();
        let mut left = MOST_RAISED;
        while let Some(node) = moved.pop() {
            let level = self.level(node);
            let is_there = |next: &Node| !gone.has(next / VLS32);
            // Of channels that were not raised what was there before is in order.
            let is_raised = self.raised.contains_key(&node);
            let before = is_raised.then(|| graph.successors(node).filter(is_there));
            let added = self.added.get(&node).into_iter().flatten().copied();
            let nexts: Vec<Node> = before.into_iter().flatten().chain(added).collect();
            for next in nexts {
                if self.level(next) > level {
                    continue;
                }
                let Some(one_less) = left.checked_sub(1) else {
                    return false;
                };
                left = one_less;
                self.raised.insert(next, level + 1);
                moved.push(next);
            }
        }
        true
    }
}

const VLS32: u32 = 16;
const _: () = assert!(VLS32 as usize == VLS);
