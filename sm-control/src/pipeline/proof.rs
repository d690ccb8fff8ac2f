//! The proof over finished tables.

use routing::Survey;
use routing::check::{CreditLoop, DependencyGraph, PathSls, Reachability, reachability_surveyed};

use super::{Parts, rows};

/// What the check of finished tables found.
#[derive(Debug, Clone)]
pub struct Proof {
    /// A shortest credit loop of the unicast routes; none proves them free of deadlock.
    pub credit_loop: Option<CreditLoop>,
    /// A shortest loop that unicast and multicast close together, with groups of everybody on either
    /// QoS level. Torus-2QoS makes one after some failures; engines without trees make none.
    pub multicast_loop: Option<CreditLoop>,
    /// Which pairs have a path.
    pub reachability: Reachability,
}

/// Lost pairs that a report names.
pub const LISTED_PAIRS: usize = 1000;

/// Proves the tables as the SA will use them. With torus-2QoS both QoS levels are looked at; with
/// other engines every SL that policy or partitions hand out.
pub fn check(parts: &Parts) -> Proof {
    check_surveyed(parts, &Survey::of(&parts.topology, &parts.routes))
}

/// The same where the columns of the tables have been followed already.
pub(super) fn check_surveyed(parts: &Parts, survey: &Survey) -> Proof {
    let sls = path_sls(parts);
    let (topology, routes) = (&parts.topology, &parts.routes);
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, sls);
    let credit_loop = graph.shortest_loop();
    let groups = match credit_loop {
        None => routes.worst_groups(topology),
        Some(_) => Vec::new(),
    };
    // Nothing new to find without them.
    let multicast_loop = if groups.is_empty() {
        None
    } else {
        graph.add_multicast(topology, &groups);
        graph.shortest_loop()
    };
    Proof {
        multicast_loop,
        credit_loop,
        reachability: reachability_surveyed(topology, routes, survey, LISTED_PAIRS),
    }
}

/// The SLs that the SA will give to paths.
pub fn path_sls(parts: &Parts) -> PathSls<'static> {
    match parts.routes.torus() {
        Some(_) => PathSls::Engine,
        None => PathSls::Any(rows::sls_in_use(parts)),
    }
}
