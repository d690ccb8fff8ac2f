//! The dependencies of one moment of a change. What does not change is followed once for all moments, by all cores.

use super::super::flow::Flow;
use super::super::{Has, MOST_FOLLOWED};
use super::Search;
use crate::parallel::over_queue;
use crate::proof::graph::DependencyGraph;

impl Search<'_> {
    /// All dependencies where each LID has these entries, of packets between hosts: those of switches themselves may close loops at any
    /// time, which is told elsewhere and refuses nothing. None where that is too much work.
    pub(super) fn state(&self, has: &[Has], is_sl2vl: bool) -> Option<DependencyGraph> {
        let switches = self.change.judge.topology.switches.len();
        if switches.saturating_mul(has.len()) > MOST_FOLLOWED {
            return None;
        }
        let graph = self.of_others(is_sl2vl).copy();
        let mut flow = Flow::new(self.change, &graph, Some(&self.change.judge.hosts));
        flow.has_old_sl2vl = is_sl2vl;
        for lid in &self.changing {
            let has = has.get(usize::from(*lid)).copied();
            flow.add(*lid, has.unwrap_or(Has::New), false);
        }
        Some(graph)
    }

    /// Those of LIDs that do not change, of packets that meet no change on their way, and of groups: the same at all moments, so they are followed
    /// once.
    fn of_others(&self, is_sl2vl: bool) -> &DependencyGraph {
        let [new, any] = &*self.others;
        let others = if is_sl2vl { any } else { new };
        others.get_or_init(|| {
            let (change, graph) = (self.change, self.channels.wide());
            let effort = self.has.len() * change.judge.topology.switches.len();
            over_queue(self.has.len(), effort, |lids| {
                let mut flow = Flow::new(change, &graph, Some(&change.judge.hosts));
                flow.has_old_sl2vl = is_sl2vl;
                for lid in lids.filter_map(|lid| u16::try_from(lid).ok()) {
                    match self.changing.binary_search(&lid) {
                        Ok(_) => flow.add_unchanged(lid),
                        Err(_) => flow.add(lid, Has::New, true),
                    }
                }
            });
            change.add_groups(&graph, is_sl2vl);
            graph
        })
    }
}
