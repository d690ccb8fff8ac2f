//! Which LIDs change together next, and which have to lead nowhere first: greedy choices, part after part.

use super::super::Has;
use super::super::flow::Flow;
use super::{Search, set};
use crate::proof::graph::DependencyGraph;
use crate::proof::levels::Levels;

impl Search<'_> {
    /// LIDs of those that are left which need not lead nowhere, if they have these entries. None where all others close a loop without them.
    pub(super) fn kept(&mut self, with: Has, is_sl2vl: bool) -> Option<Vec<u16>> {
        let mut has = self.has.clone();
        set(&mut has, &self.left, Has::Nowhere);
        let graph = self.state(&has, is_sl2vl)?;
        if graph.has_loop() {
            return None;
        }
        let each = by_size(&self.left, 1);
        let (mut kept, _) = self.fitting(graph, &each, with, is_sl2vl);
        kept.sort_unstable();
        Some(kept)
    }

    /// LIDs that may change together now, ascending. Empty where there is none, or it is too much work to find them. `lost`: those that
    /// nobody reaches as it is, ascending.
    pub(super) fn stage(&mut self, graph: DependencyGraph, lost: &[u16]) -> Vec<u16> {
        // What is left mostly goes together, once what stood against it is done.
        let left = self.left.clone();
        // Whole blocks first: these take no Set more.
        let blocks = by_size(&left, 64);
        let (mut stage, graph) = self.fitting(graph, &blocks, Has::Either, false);
        // Of the others one by one, if nothing else goes, or if nobody reaches them as it is.
        let others = left.into_iter();
        let others = others.filter(|lid| stage.binary_search(lid).is_err());
        let others: Vec<u16> = others
            .filter(|lid| stage.is_empty() || lost.binary_search(lid).is_ok())
            .collect();
        let singly = by_size(&others, 1);
        stage.extend(self.fitting(graph, &singly, Has::Either, false).0);
        stage.sort_unstable();
        stage
    }

    /// LIDs of those parts which close no loop with these entries, each with the ones before it, in their order. As far as there is work left; and the
    /// graph with them.
    fn fitting(
        &mut self,
        graph: DependencyGraph,
        parts: &[Vec<u16>],
        has: Has,
        is_sl2vl: bool,
    ) -> (Vec<u16>, DependencyGraph) {
        let mut fitting = Vec::new();
        // With a cycle in it already nothing fits.
        let Some(mut levels) = Levels::of(&graph) else {
            return (fitting, graph);
        };
        let mut flow = Flow::new(self.change, &graph, Some(&self.change.judge.hosts));
        flow.has_old_sl2vl = is_sl2vl;
        for part in parts {
            flow.apart = Some(Vec::new());
            part.iter().for_each(|lid| flow.add(*lid, has, false));
            let added = flow.apart.take().unwrap_or_default();
            let ends = added.iter().flat_map(|(turn, pairs)| {
                let ends = graph.ends(*turn, pairs);
                ends.map(move |ends| (*turn, ends))
            });
            let (fits, raised) = levels.take(&graph, ends);
            if fits {
                fitting.extend(part);
            }
            let Some(work) = self.work.checked_sub(added.len() + raised + part.len()) else {
                break;
            };
            self.work = work;
        }
        drop(flow);
        debug_assert!(!graph.has_loop(), "levels say that there is none");
        (fitting, graph)
    }
}

/// Ascending LIDs in parts: those of one row of so many.
fn by_size(lids: &[u16], size: u16) -> Vec<Vec<u16>> {
    let parts = lids.chunk_by(|one, next| one / size == next / size);
    parts.map(<[u16]>::to_vec).collect()
}
