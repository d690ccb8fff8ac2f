//! The proof over finished tables.
//!
//! `routing::proof` knows only forwarding tables, SLs and SL2VL tables; here it is asked about a
//! whole fabric, in the way that everybody must be asked: packets between hosts decide, of which the
//! SM's port is one, packets from and to port 0 of other switches are told apart, multicast is added
//! for the worst groups that there could be. What is done with the result is decided elsewhere.
//!
//! ```text
//!  unicast between hosts a loop: not published                 credit_loop
//!  unicast of everybody  a loop: a warning                     management_loop
//!  with multicast        a loop: a warning, as in OpenSM       multicast_loop
//!  lost pairs of hosts   not published unless allowed          reachability
//! ```
//!
//! After a small change the proof goes on from the one before ([`go_on`]): dependencies of before,
//! without those of cables that are gone, joined by those of paths that changed. That sum holds all
//! dependencies of the new tables and maybe more, so "no loop" in it is a proof, and a loop in it
//! says nothing: then all is done [`from_nothing`] (ADR 18).

use std::sync::Arc;

use routing::proof::{
    CreditLoop, DependencyGraph, Hosts, Judge, Loops, PathSls, Proven, Reachability,
    reachability_surveyed,
};
use routing::watch::{Stretch, Watch};
use routing::{EndPortIx, EngineKind, Survey};
use sa_text::Remark;

use super::rows;
use crate::state::FabricState;

/// What the check of finished tables found.
///
/// A value with no reference to the tables; its loops are put into words with the state that they
/// are of.
#[derive(Debug, Clone)]
pub struct Proof {
    /// A shortest credit loop that unicast packets between hosts close; none proves that they cannot
    /// wait for each other for ever.
    pub credit_loop: Option<CreditLoop>,
    /// The same, closed only with packets from or to port 0 of a switch; no reason to refuse tables.
    pub management_loop: Option<CreditLoop>,
    /// A shortest loop that unicast and multicast close together, with groups of everybody on
    /// either
    /// QoS level. Torus-2QoS makes one after some failures; engines without trees make none.
    pub multicast_loop: Option<CreditLoop>,
    /// Which pairs have a path; counts of all, and the first [`LISTED_PAIRS`] that are lost.
    pub reachability: Reachability,
}

impl Proof {
    /// What is said of loops that are no reason to refuse the routes: those that no packet of a
    /// host takes part in, and those that unicast and multicast could close together.
    pub fn remarks(&self, parts: &FabricState) -> Vec<Remark> {
        let remark = |found: &CreditLoop, code, sentence: &str| {
            let channels = found.in_words(&parts.topology, &parts.routes);
            let text = format!("{sentence}, each may wait for the next:\n{channels}");
            Remark::warning(code, text)
        };
        let management = self.management_loop.as_ref().map(|found| {
            let sentence = "packets that a switch itself (port 0) sends or gets could close a \
                            credit loop; those between hosts, and the port with the SM, cannot, \
                            so it is no reason to refuse the routes";
            remark(found, "management-loop", sentence)
        });
        let multicast = self.multicast_loop.as_ref().map(|found| {
            let sentence = "unicast and multicast together can close a credit loop (OpenSM's own \
                            tables have it too after such a failure)";
            remark(found, "multicast-loop", sentence)
        });
        management.into_iter().chain(multicast).collect()
    }
}

/// Lost pairs that a report names.
///
/// Counts are exact however many there are.
pub const LISTED_PAIRS: usize = 1000;

/// Proves the tables as the SA will use them. With torus-2QoS both QoS levels are looked at; with
/// other engines every SL that policy or partitions hand out.
pub fn check(parts: &FabricState) -> Proof {
    check_after(parts, None, Watch::default()).proof
}

/// A proof, and what others can make use of.
pub(super) struct Checked {
    pub(super) proof: Proof,
    /// Of the same tables.
    /// Path classes are compiled from it, so that columns are followed once.
    pub(super) survey: Survey,
    /// What the proof after the next change can go on from.
    pub(super) proven: Option<Arc<Proven>>,
}

/// [`check`], gone on from the proof before where that says enough. The result is the same.
pub(super) fn check_after(
    parts: &FabricState,
    before: Option<&Arc<Proven>>,
    watch: Watch,
) -> Checked {
    let quick = before.and_then(|before| go_on(parts, before));
    quick.unwrap_or_else(|| watch.share(|share| from_nothing(parts, share)))
}

/// None where the proof has to be made from nothing: the judge says that too much changed, or the
/// sum closes a circle.
fn go_on(parts: &FabricState, before: &Arc<Proven>) -> Option<Checked> {
    let (topology, routes) = (&parts.topology, &parts.routes);
    let next = judge(parts, path_sls(parts)).go_on(before)?;
    let groups = routes.worst_groups(topology);
    // What closes the circle may be gone.
    let is_free = (groups.is_empty() && next.is_in_order()) || {
        let mut graph = next.graph();
        // All at once: where unicast and multicast together close nothing, unicast alone does not
        // either.
        graph.add_multicast(topology, &groups);
        !graph.has_loop()
    };
    let survey = next.into_survey();
    is_free.then(|| Checked {
        proof: Proof {
            credit_loop: None,
            management_loop: None,
            multicast_loop: None,
            reachability: reachability_surveyed(topology, routes, &survey, LISTED_PAIRS),
        },
        survey,
        // Still the one from nothing: sums that go on from sums would fill with what is not there
        // any more.
        proven: Some(Arc::clone(before)),
    })
}

/// Follows every path, and keeps the dependencies for the next change where that can be of use.
///
/// Following paths is nearly all of it; a loop, where there is one, is then looked for without a share.
fn from_nothing(parts: &FabricState, share: Stretch<'_>) -> Checked {
    let (topology, routes) = (&parts.topology, &parts.routes);
    let survey = Survey::from_routes_watched(topology, routes, share.cut(0..35));
    let judge = judge(parts, path_sls(parts));
    let mut graph = judge.everybody_watched(share.cut(35..95));
    let loops = judge.loops(&graph, |_| ());
    let is_free = loops == Loops::default() && parts.is_made_by_changes();
    // Kept before multicast goes into the graph: trees are worked out anew each time.
    let proven = is_free.then(|| judge.keep(&graph, &survey)).flatten();
    let proof = prove(parts, &judge, &mut graph, loops, &survey);
    Checked {
        proven: proven
            // A graph with a loop can prove nothing about its successors.
            .filter(|_| proof.multicast_loop.is_none())
            .map(Arc::new),
        proof,
        survey,
    }
}

/// The proof, from the loops of unicast alone. Adds multicast to the graph.
fn prove(
    parts: &FabricState,
    judge: &Judge<'_>,
    graph: &mut DependencyGraph,
    loops: Loops,
    survey: &Survey,
) -> Proof {
    let (topology, routes) = (&parts.topology, &parts.routes);
    let Loops { hosts, management } = loops;
    // Unicast with a loop is refused anyway.
    let groups = match hosts {
        None => routes.worst_groups(topology),
        Some(_) => Vec::new(),
    };
    // Nothing new to find without them.
    let multicast_loop = if groups.is_empty() {
        None
    } else {
        let add = |graph: &mut DependencyGraph| graph.add_multicast(topology, &groups);
        add(graph);
        judge.loops(graph, add).hosts
    };
    Proof {
        multicast_loop,
        credit_loop: hosts,
        management_loop: management,
        reachability: reachability_surveyed(topology, routes, survey, LISTED_PAIRS),
    }
}

impl FabricState {
    /// True where the engine makes tables from those before, so that most stay as they are, and for tables
    /// that an SM writes: it does not write what has not changed, and its SA is read again and again.
    /// Min-hop deals LIDs out anew, so one cable changes entries everywhere, and nothing could be
    /// gone on from.
    fn is_made_by_changes(&self) -> bool {
        let is_told = self.from_sa.is_some() && self.routes.engine() == EngineKind::Files;
        is_told || routing::engine::by_kind(self.routes.engine()).is_incremental()
    }
}

/// Whoever judges the tables of a fabric judges them so: packets between hosts decide, of which the
/// port with the SM is one.
pub fn judge<'a>(parts: &'a FabricState, sls: PathSls<'a>) -> Judge<'a> {
    let sm = u32::try_from(parts.subnet.sm()).map(EndPortIx);
    Judge {
        topology: &parts.topology,
        routes: &parts.routes,
        sls,
        hosts: Hosts { sm: sm.ok() },
    }
}

/// The SLs that the SA will give to paths.
///
/// Those of the engine where it gives any: on a torus by coordinates. Else any SL that policy or
/// partitions hand out, on any path: which pair gets which would need all rules for all pairs.
pub fn path_sls(parts: &FabricState) -> PathSls<'static> {
    PathSls::EngineOver(rows::sls_in_use(parts))
}

#[cfg(test)]
mod tests {
    use routing::engine::files;
    use routing::{EngineKind, GivenSl2Vl, NO_PATH, SwitchIx};
    use sa_wire::{Guid, Lmc};

    use super::*;
    use crate::pipeline::{Inputs, Stamp, compile};

    /// Four switches in a ring, each with port 1 to the next and 2 to the one before, and a host of
    /// many LIDs, so that few of all entries change.
    const RING: &str = "\
        switchguid=0x1\nSwitch 4 \"A\"\n[1] \"B\"[2]\n[2] \"D\"[1]\n[3] \"H\"[1]\n\n\
        switchguid=0x2\nSwitch 4 \"B\"\n[1] \"C\"[2]\n[2] \"A\"[1]\n\n\
        switchguid=0x3\nSwitch 4 \"C\"\n[1] \"D\"[2]\n[2] \"B\"[1]\n\n\
        switchguid=0x4\nSwitch 4 \"D\"\n[1] \"A\"[2]\n[2] \"C\"[1]\n\n\
        caguid=0x10\nHca 1 \"H\"\n[1] \"A\"[3]\n";

    fn ring() -> FabricState {
        let directory = tempfile::tempdir().unwrap();
        let inputs = Inputs {
            fabric: directory.path().join("net"),
            engine: Some(EngineKind::MinHop),
            lmc: Some(Lmc::new(7).unwrap()),
            ..Inputs::default()
        };
        std::fs::write(&inputs.fabric, RING).unwrap();
        compile(&inputs, Stamp::default()).unwrap().parts
    }

    /// Sends to the opposite switch through the next one from these switches, from the others the
    /// other way round.
    fn send(parts: &mut FabricState, around: [bool; 4]) {
        let topology = &parts.topology;
        let number = |guid: Guid| usize::try_from(guid.get() - 1).unwrap();
        let table = |from: SwitchIx| {
            let mut table = vec![NO_PATH; usize::from(topology.max_lid()) + 1];
            let here = number(topology.switch(from).guid);
            for end in &topology.end_ports {
                let (switch, port) = end.attached.unwrap();
                let there = number(topology.switch(switch).guid);
                let entry = match (there + 4 - here) % 4 {
                    0 => port,
                    1 => 1,
                    2 if end.port_number == 0 && around[here] => 1,
                    _ => 2,
                };
                end.lids().for_each(|lid| table[lid.index()] = entry);
            }
            table
        };
        let tables: Vec<_> = topology.switch_ixs().map(table).collect();
        parts.routes = files::route(topology, &tables, &GivenSl2Vl::default()).unwrap();
    }

    fn keep(parts: &FabricState) -> Arc<Proven> {
        let judge = judge(parts, path_sls(parts));
        let survey = Survey::from_routes(&parts.topology, &parts.routes);
        Arc::new(judge.keep(&judge.everybody(), &survey).unwrap())
    }

    /// Three of four turns before, and three now: what is left from before and what is new would
    /// close a circle that is not there.
    #[test]
    fn where_going_on_finds_a_circle_the_proof_is_made_from_nothing() {
        let mut parts = ring();
        send(&mut parts, [true, true, true, false]);
        let before = keep(&parts);
        assert!(go_on(&parts, &before).is_some());
        let next = judge(&parts, path_sls(&parts)).go_on(&before).unwrap();
        assert!(!next.graph().has_loop() && next.is_in_order());
        send(&mut parts, [false, true, true, true]);
        let next = judge(&parts, path_sls(&parts)).go_on(&before).unwrap();
        assert!(next.graph().has_loop() && !next.is_in_order());
        let proof = check_after(&parts, Some(&before), Watch::default()).proof;
        assert_eq!((&proof.credit_loop, &proof.management_loop), (&None, &None));
        assert_eq!(proof.reachability.lost, 0);
        // And with all four there is one, which nobody must miss.
        send(&mut parts, [true; 4]);
        let next = judge(&parts, path_sls(&parts)).go_on(&before).unwrap();
        assert!(next.graph().has_loop() && !next.is_in_order());
        let proof = check_after(&parts, Some(&before), Watch::default()).proof;
        assert!(proof.management_loop.is_some());
    }
}
