//! The proof over finished tables.

use routing::check::{
    CreditLoop, DependencyGraph, Hosts, Judge, Loops, PathSls, Reachability, reachability_surveyed,
};
use routing::{EndPortIx, Survey};

use super::{Parts, rows};

/// What the check of finished tables found.
#[derive(Debug, Clone)]
pub struct Proof {
    /// A shortest credit loop that unicast packets of hosts close; none proves that they cannot
    /// wait for each other for ever.
    pub credit_loop: Option<CreditLoop>,
    /// The same, closed only with packets between ports 0 of switches; no reason to refuse tables.
    pub management_loop: Option<CreditLoop>,
    /// A shortest loop that unicast and multicast close together, with groups of everybody on either
    /// QoS level. Torus-2QoS makes one after some failures; engines without trees make none.
    pub multicast_loop: Option<CreditLoop>,
    /// Which pairs have a path.
    pub reachability: Reachability,
}

impl Proof {
    /// What is said of a loop that no packet of a host takes part in.
    pub fn management_in_words(&self, parts: &Parts) -> Option<String> {
        let found = self.management_loop.as_ref()?;
        let words = found.in_words(&parts.topology, &parts.routes);
        Some(format!(
            "packets from one switch itself (port 0) to another could close a credit loop; those \
             of hosts, and of the port with the SM, cannot, so it is no reason to refuse the \
             routes; each may wait for the next:\n{}",
            words.trim_end()
        ))
    }
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
    let (topology, routes) = (&parts.topology, &parts.routes);
    let judge = judge(parts, path_sls(parts));
    let mut graph = judge.everybody();
    let Loops { hosts, management } = judge.loops(&graph, |_| ());
    let groups = match hosts {
        None => routes.worst_groups(topology),
        Some(_) => Vec::new(),
    };
    // Nothing new to find without them.
    let multicast_loop = if groups.is_empty() {
        None
    } else {
        let add = |graph: &mut DependencyGraph| graph.add_multicast(topology, &groups);
        add(&mut graph);
        judge.loops(&graph, add).hosts
    };
    Proof {
        multicast_loop,
        credit_loop: hosts,
        management_loop: management,
        reachability: reachability_surveyed(topology, routes, survey, LISTED_PAIRS),
    }
}

/// Whoever judges the tables of a fabric judges them so: packets of hosts decide, and those of the
/// port with the SM.
pub fn judge<'a>(parts: &'a Parts, sls: PathSls<'a>) -> Judge<'a> {
    let sm = u32::try_from(parts.subnet.sm()).map(EndPortIx);
    Judge {
        topology: &parts.topology,
        routes: &parts.routes,
        sls,
        hosts: Hosts { sm: sm.ok() },
    }
}

/// The SLs that the SA will give to paths.
pub fn path_sls(parts: &Parts) -> PathSls<'static> {
    match parts.routes.torus() {
        Some(_) => PathSls::Engine,
        None => PathSls::Any(rows::sls_in_use(parts)),
    }
}
