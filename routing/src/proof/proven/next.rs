//! The dependencies of a fabric after a change, as those of before and what is other.

use std::fmt;

use super::Proven;
use super::fit::Gone;
use crate::paths::survey::Survey;
use crate::proof::graph::DependencyGraph;
use crate::proof::loads::VlPairs;

/// What goes on from a proof: all dependencies of everybody's unicast paths, and maybe some that are not
/// there any more, and the survey of the tables.
pub struct Next<'a> {
    pub(super) from: &'a Proven,
    pub(super) gone: Gone,
    /// By turn; none into or out of a cable that is gone. Some may be there twice.
    pub(super) added: Vec<(u32, VlPairs)>,
    pub(super) survey: Survey,
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next")
            .field("added", &self.added.len())
            .finish_non_exhaustive()
    }
}

impl Next<'_> {
    /// From where LIDs are reached.
    pub const fn survey(&self) -> &Survey {
        &self.survey
    }

    /// The same, for keeps.
    pub fn into_survey(self) -> Survey {
        self.survey
    }

    /// The dependencies in a graph of their own.
    /// Cost: a copy of those of before.
    pub fn graph(&self) -> DependencyGraph {
        let graph = self.from.graph.copy();
        // First: what was added is never of a cable that is gone.
        let turns = self.gone.turns(&graph.channels);
        turns.for_each(|turn| graph.edges.remove(turn));
        let mut added = self.added.iter();
        added
            .by_ref()
            .for_each(|(turn, pairs)| graph.edges.add(*turn, pairs));
        graph
    }

    /// True only if the dependencies close no cycle: channels can still be put in an order in which each
    /// waits for later ones alone. False does not mean that there is a cycle; [`Self::graph`] tells.
    /// Cost: that of what was added, and of what it moves in the order.
    pub fn is_in_order(&self) -> bool {
        let Self {
            from, gone, added, ..
        } = self;
        from.order.holds(&from.graph, gone, added)
    }
}
