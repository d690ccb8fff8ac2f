//! Who can close a loop: packets of hosts, or only those that switches send each other.
//!
//! Port 0 of a switch sends and gets management packets, mostly from and to the SA, which is a host
//! as a rule. That two switches talk to each other is possible and not done: a loop that needs it is
//! told, and no reason to refuse tables.
//!
//! On a fat tree paths between switches turn at the leaves, which packets of hosts never do, and
//! can close a cycle there. To refuse such a fabric would be to refuse fat trees that run well, so
//! the question is asked twice: of everybody's packets, and only if those close a loop, of hosts'
//! alone.

use super::{CreditLoop, DependencyGraph, PathSls};
use crate::tables::Routes;
use crate::topology::{EndPortIx, Topology};

/// Whose packets decide: those of CA and router ports, and of the port with the SM and its SA.
/// Router ports count, as packets of other subnets come through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hosts {
    /// Where the SM runs, which may be port 0 of a switch.
    pub sm: Option<EndPortIx>,
}

impl Hosts {
    /// True for a port whose packets decide.
    /// Port number 0 is a switch's own port, and nothing else's.
    pub fn include(&self, topology: &Topology, end: EndPortIx) -> bool {
        topology.end_port(end).port_number != 0 || self.sm == Some(end)
    }
}

/// Shortest loops, by who can close them.
/// At most one of the two is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loops {
    /// Packets that a host sends or gets. None proves that they cannot.
    pub hosts: Option<CreditLoop>,
    /// Closed only with packets from port 0 of a switch to port 0 of another; looked for where
    /// hosts close none.
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
        let mut graph = DependencyGraph::new(self.topology, self.routes);
        graph.add_unicast_noting(self.topology, self.routes, self.sls, &self.hosts);
        graph
    }

    /// The loops of [`Self::everybody`], to which `more` has been added already.
    /// `more` adds what both graphs have, such as multicast.
    pub fn loops(&self, graph: &DependencyGraph, more: impl Fn(&mut DependencyGraph)) -> Loops {
        // Mostly there is none at all, and that is all there is to know.
        let Some(any) = graph.shortest_loop() else {
            return Loops::default();
        };
        let mut of_hosts = graph.of_hosts(self.topology, self.routes, self.sls, &self.hosts);
        more(&mut of_hosts);
        match of_hosts.shortest_loop() {
            None => Loops {
                hosts: None,
                management: Some(any),
            },
            hosts => Loops {
                hosts,
                management: None,
            },
        }
    }
}
