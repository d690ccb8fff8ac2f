//! Who can close a loop: packets between hosts, or only those with a switch itself at an end.
//!
//! Port 0 of a switch sends and gets management packets: counters that a monitor asks for, and what
//! a switch asks the SA. Routing engines do not all keep these free of loops: OpenSM's Nue leaves
//! paths to switches out of its dependencies unless `nue_include_switches` is set, and on a fat tree
//! paths between switches turn at the leaves, which packets between hosts never do. ibdmchk looks at
//! paths from CA to CA alone. So such a loop is told, and no reason to refuse tables.
//!
//! The question is asked of everybody's packets, and only if those close a loop, of those that hosts
//! send or get, and of those between hosts.

use std::sync::Arc;

use super::{CreditLoop, DependencyGraph, PathSls};
use crate::tables::Routes;
use crate::topology::{EndPortIx, Topology};
use crate::watch::Stretch;

/// Between whom packets decide: CA and router ports, and the port with the SM and its SA.
/// Router ports count, as packets of other subnets come through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hosts {
    /// Where the SM runs, which may be port 0 of a switch.
    pub sm: Option<EndPortIx>,
}

impl Hosts {
    /// True for a port whose packets to another such port decide.
    /// Port number 0 is a switch's own port, and nothing else's.
    pub fn include(&self, topology: &Topology, end: EndPortIx) -> bool {
        topology.end_port(end).port_number != 0 || self.sm == Some(end)
    }
}

/// Shortest loops, by who can close them.
/// At most one of the two is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loops {
    /// Packets from a host to a host. None proves that they cannot.
    pub hosts: Option<CreditLoop>,
    /// Closed only with packets that port 0 of a switch sends or gets; looked for where hosts close
    /// none.
    pub management: Option<CreditLoop>,
}

/// Finished tables, and whose packets decide.
/// Borrows all it needs; made for one question and dropped.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// The fabric that the routes are for.
    pub topology: &'a Topology,
    /// The tables that are judged, whoever made them.
    pub routes: &'a Routes,
    /// SLs of unicast paths.
    pub sls: PathSls<'a>,
    /// Whose packets can close a loop that matters.
    pub hosts: Hosts,
}

impl Judge<'_> {
    /// The dependencies of everybody's unicast paths.
    /// Notes on the way what packets to hosts need, so that [`Self::loops`] has half of its second
    /// graph.
    pub fn everybody(&self) -> DependencyGraph {
        self.everybody_watched(Stretch::nobody())
    }

    /// [`Self::everybody`], which says how much of it is done.
    pub fn everybody_watched(&self, share: Stretch<'_>) -> DependencyGraph {
        let mut graph = DependencyGraph::new(self.topology, self.routes);
        let paths = (self.topology, self.routes, self.sls);
        graph.add_unicast_noting(paths, &self.hosts, share);
        graph
    }

    /// The loops of [`Self::everybody`], to which `more` has been added already.
    /// `more` adds what all graphs have, such as multicast.
    pub fn loops(&self, graph: &DependencyGraph, more: impl Fn(&mut DependencyGraph)) -> Loops {
        // Mostly there is none at all, and that is all there is to know.
        let Some(any) = graph.shortest_loop() else {
            return Loops::default();
        };
        // The most that close a loop do it from switch to switch: the graph with all that hosts send
        // or get is half made, and has those between hosts.
        let hosts = match self.loop_with_hosts(graph, &more) {
            None => None,
            Some(_) => self.loop_between_hosts(graph, more),
        };
        Loops {
            management: hosts.is_none().then_some(any),
            hosts,
        }
    }

    /// A shortest loop of packets that a host sends or gets, those from and to switches among them: what
    /// the engines here keep free of loops beyond [`Loops::hosts`]. `graph` as with [`Self::loops`].
    pub fn loop_with_hosts(
        &self,
        graph: &DependencyGraph,
        more: impl Fn(&mut DependencyGraph),
    ) -> Option<CreditLoop> {
        let mut of_hosts = graph.of_hosts(self.topology, self.routes, self.sls, &self.hosts);
        more(&mut of_hosts);
        of_hosts.shortest_loop()
    }

    fn loop_between_hosts(
        &self,
        graph: &DependencyGraph,
        more: impl Fn(&mut DependencyGraph),
    ) -> Option<CreditLoop> {
        let mut between = DependencyGraph::over(Arc::clone(&graph.channels));
        between.add_unicast_between_hosts(self.topology, self.routes, self.sls, &self.hosts);
        more(&mut between);
        between.shortest_loop()
    }
}
