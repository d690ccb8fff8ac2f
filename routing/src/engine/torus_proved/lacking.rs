//! What a graph still lacks of usual ways, for the destinations whose ways come in last.
//!
//! Most ways of a destination that is laid late are in the graph already, as other destinations use
//! the same turns. Worked out side by side on all cores before the destinations are laid one after
//! the other, since only that part cannot be split.
//!
//! The graph only gains dependencies in between, so what was lacking then is at least what is
//! lacking later.

use super::graph::{Edge, Graph};
use super::phases::{Parts, Phases};
use super::plan::Context;
use super::usual::{Columns, over_columns};
use crate::placement::PoolIx;

/// What a graph lacks of the usual ways to some destinations.
pub(super) struct Lacking {
    /// By number of columns.
    /// Kept once for all destinations of a column.
    shared: Vec<Vec<Edge>>,
    /// By destination: number of its columns, and what is its own; none for those whose ways are
    /// not made of parts.
    own: Vec<Option<(usize, Vec<Edge>)>>,
}

impl Lacking {
    /// For the destinations with gaps.
    /// Columns without gaps are passed over, which after a small failure are nearly all.
    pub(super) fn new(context: &Context<'_>, graph: &Graph<'_>, has_gaps: &[bool]) -> Self {
        let lists = over_columns(context, |columns| {
            let mut phases = Phases::new(context);
            let lists = columns.iter();
            let lists = lists.map(|columns| columns.lacking(&mut phases, graph, has_gaps));
            lists.collect::<Vec<_>>()
        });
        let mut all = Self {
            shared: Vec::new(),
            own: vec![None; has_gaps.len()],
        };
        for (number, (shared, own)) in lists.into_iter().flatten().enumerate() {
            all.shared.push(shared);
            for (to, edges) in own {
                all.own[to as usize] = Some((number, edges));
            }
        }
        all
    }

    /// What is lacking for one destination.
    /// To be added whole: shared and own together are the ways of all switches.
    pub(super) fn for_destination(&self, to: PoolIx) -> Option<Parts<'_>> {
        let (number, own) = self.own[to as usize].as_ref()?;
        Some(Parts {
            shared: &self.shared[*number],
            own,
        })
    }
}

/// Those of the dependencies that a graph has not, or has in part.
/// A node whose dependencies are all there is left out.
fn lacking(graph: &Graph<'_>, edges: &[Edge]) -> Vec<Edge> {
    let edges = edges.iter().map(|edge| (edge.0, graph.lacking(*edge)));
    edges.filter(|(_, bits)| *bits != 0).collect()
}

impl Columns {
    /// What a graph lacks of the ways to those with gaps: of the shared part, and by destination.
    fn lacking(
        &self,
        phases: &mut Phases<'_>,
        graph: &Graph<'_>,
        has_gaps: &[bool],
    ) -> (Vec<Edge>, Vec<(PoolIx, Vec<Edge>)>) {
        let all = self.destinations.iter().copied();
        let mut gaps = all.filter(|to| has_gaps[*to as usize]).peekable();
        if gaps.peek().is_none() {
            return (Vec::new(), Vec::new());
        }
        phases.enter(self.x, self.y);
        let own = gaps.filter_map(|to| {
            let parts = phases.column(to)?;
            Some((to, lacking(graph, parts.own)))
        });
        let own: Vec<_> = own.collect();
        let shared = if own.is_empty() { &[] } else { phases.shared() };
        (lacking(graph, shared), own)
    }
}
