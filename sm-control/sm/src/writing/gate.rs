//! When changed routes of switches that pass data may go, and who waits for them.
//!
//! ```text
//!  Before ──(LIDs that must lead nowhere for SL2VL to change)──┐
//!  Tables <─────────────────────────────────────────────────────┘
//!  Tables ──(no node lacks other tables)──> Links ──(links between switches are up)──> Open ──(all written)──> nodes go on
//! ```
//!
//! SL2VL comes first, since a new way may need it; new links come next, since new ways may lead over them. Both are waited for in the whole
//! subnet and not by way: a sweep that changes routes seldom has much of either. Nodes that are slow are not waited for, as with
//! links: a switch that does not answer has its turn in the order of routes like others.
//!
//! Where no route changes on a switch that passes data none of this happens.

use std::time::Duration;

use sa_fabric::NodeIx;

use super::Writing;
use super::set::Set;
use super::turns::{Progress, passes_data};
use crate::model::Subnet;

/// What changed routes wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// Nothing: a stage that comes before other tables, which wait for it.
    Before,
    /// Other tables of all nodes, of which they may need SL to VL.
    Tables,
    /// Links between switches over which they may lead.
    Links,
    /// Nothing.
    Open,
}

impl Writing {
    /// Lets links and changed routes go when what they wait for is there.
    pub(super) fn open(&mut self, subnet: &Subnet, is_slow: &impl Fn(NodeIx) -> bool) {
        if !self.is_open && self.unfinished.iter().all(|node| is_slow(*node)) {
            self.is_open = true;
            self.release_links(subnet);
        }
        if self.routes.is_over() && self.gate != Gate::Before {
            return;
        }
        if self.gate == Gate::Before && !self.routes.is_before_tables() {
            self.gate = Gate::Tables;
            subnet.places().for_each(|(node, _)| self.go_on(node));
        }
        // SL2VL of a switch further on may be what keeps the new way free of credit loops.
        if self.gate == Gate::Tables && self.has_tables(subnet, is_slow) {
            self.gate = Gate::Links;
            self.release_links_of_switches(subnet);
        }
        // Also where a link did not come up: routes over it lose their packets, and go last.
        if self.gate == Gate::Links && self.link_sets == 0 {
            self.gate = Gate::Open;
        }
    }

    /// Other tables are there, as far as they are waited for. SL2VL is waited for also of who is slow: its Set has an outcome soon.
    fn has_tables(&self, subnet: &Subnet, is_slow: &impl Fn(NodeIx) -> bool) -> bool {
        // A switch that passes no data has its tables before any packet comes.
        let owes = |node: NodeIx| {
            let progress = self.nodes.get(node.get());
            progress.is_some_and(Progress::owes_sl2vl) && passes_data(subnet, node)
        };
        let mut nodes = self.preparing.iter();
        nodes.all(|node| is_slow(*node) && !owes(*node))
    }

    /// The next Set of changed routes.
    pub(super) fn next_route(&mut self, subnet: &Subnet, now: Duration) -> Option<Set> {
        let is_open = matches!(self.gate, Gate::Before | Gate::Open) && !self.routes.is_over();
        is_open.then(|| self.routes.next(subnet, now)).flatten()
    }

    /// Lets nodes go on that waited for changed routes, once these are through. False where there is nothing to let go.
    pub(super) fn end_routes(&mut self, subnet: &Subnet) -> bool {
        // Other tables have waited for a stage that is over now.
        if self.gate == Gate::Before && !self.routes.is_before_tables() {
            return true;
        }
        let is_end = self.gate == Gate::Open && self.routes.is_over();
        if is_end {
            // Once only: nothing opens it again, as there are no routes left.
            self.gate = Gate::Tables;
            subnet.places().for_each(|(node, _)| self.go_on(node));
        }
        is_end
    }
}
