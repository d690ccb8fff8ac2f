//! torus-proved: torus-2QoS where that routes the fabric, and routes around damage that it refuses.
//!
//! The routes of torus-2QoS are made as far as they go, and stay wherever they close no cycle of
//! channel dependencies. For what is left, `plan` searches other ways one by one, in a graph that is
//! kept free of cycles all the time, and a multicast tree in the same graph. Pairs for which there
//! is no such way are lost, and named. `substitute` finds the torus when every seed has lost a
//! switch.
//!
//! The SL of a path stays that of the whole torus: applications hold it, and only coordinates
//! decide about it. That is why a way may have to be given up although cables would lead there.
//! The plan counts parallel cables as one; the check of finished tables ([`crate::proof`]) does not,
//! and nothing here replaces it.
//!
//! # The parts
//!
//! ```text
//! substitute   places, also with what is left of a seed
//! steps        where the usual ways go, for all switches
//! vls          which VL a class takes at a turn
//! usual, phases, sweep   the dependencies of all usual ways, without following each
//! graph, order           an acyclic graph that takes or refuses one dependency at a time
//! cycles       which dependencies lie on cycles
//! lacking      what usual ways still need, for destinations that come late
//! unicast, tree          lay ways and the tree into the graph
//! plan         tries orders of doing so and takes the best
//! ```
//!
//! # Size
//!
//! Nodes are 24 for each switch (6 directions, 4 VLs of one QoS level), dependencies 24 bits a
//! node. A torus of 16x16x16 has 98,304 nodes: 24 bytes each with their places in the order, so a
//! graph is 2.4 MB, and copied for each attempt.
//!
//! # What is promised
//!
//! What torus-2QoS routes without a cycle comes out the same; SLs are those of the whole torus;
//! what is routed closes no cycle. Not promised are shortest ways, even load, or that every pair is
//! routed. The result depends on the input alone (ADR 5).

mod cycles;
mod graph;
mod lacking;
mod phases;
mod plan;
mod steps;
mod substitute;
mod sweep;
mod tree;
mod unicast;
mod usual;
mod vls;

#[cfg(test)]
mod tests;

use super::torus::lft;
use super::torus::reason::TorusReason;
use super::torus::tree::TorusTree;
use super::torus::warning::TorusWarning;
use super::torus::{Found, Refused, TorusConfig, accept, routes};
use super::{Engine, EngineInput, Needs, Request, wrong_input};
use crate::error::{Refusal, Warning};
use crate::kind::EngineKind;
use crate::placement::Torus;
use crate::proof::{DependencyGraph, PathSls};
use crate::tables::{Qos, Routes};
use crate::topology::Topology;
use crate::watch::Stretch;

/// The engine torus-proved.
/// Never incremental: it always starts from nothing.
pub(super) struct TorusProved;

impl Engine for TorusProved {
    fn needs(&self) -> Needs {
        Needs::TorusConf
    }

    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal> {
        let EngineInput::TorusConf(config) = request.input else {
            return Err(wrong_input(EngineKind::TorusProved));
        };
        let (topology, qos) = (request.topology, request.qos);
        let route = |share: Stretch<'_>| route_watched(topology, config, qos, share);
        request.watch.share(route)
    }
}

/// Routes a torus also around damage that torus-2QoS refuses: every way that can be proved free of
/// deadlock without changing the SL of a path. What torus-2QoS routes without a flaw comes out as
/// by [`super::torus::route`].
///
/// Pairs without such a way have no route, which the warnings tell. So they do when multicast had
/// to be given up.
/// Errors: what [`super::torus::route`] refuses for other reasons than damage.
/// Cost: far more than torus-2QoS where the torus is damaged, the same where it is whole.
pub fn route(topology: &Topology, config: &TorusConfig, qos: Qos) -> Result<Routes, Refusal> {
    route_watched(topology, config, qos, Stretch::nobody())
}

/// [`route`], which says how much of it is done.
fn route_watched(
    topology: &Topology,
    config: &TorusConfig,
    qos: Qos,
    share: Stretch<'_>,
) -> Result<Routes, Refusal> {
    let routed = route_typed(topology, config, qos, share);
    routed.map_err(|refused| refused.into_refusal(EngineKind::TorusProved, config))
}

/// [`route`], with reasons as torus-2QoS has them.
fn route_typed(
    topology: &Topology,
    config: &TorusConfig,
    qos: Qos,
    share: Stretch<'_>,
) -> Result<Routes, Refused> {
    if qos == Qos::Off {
        return Err(TorusReason::QosOff.into());
    }
    let Found {
        torus,
        vls,
        mut warnings,
    } = substitute::find_with_remains(topology, config)?;
    // `judge` warns of whatever is missing, so no new warning means that nothing is.
    let noticed = warnings.len();
    let reasons = accept::judge(topology, &torus, &mut warnings);
    let is_whole = warnings.len() == noticed && reasons.is_empty();
    // Where something is missing the search for ways takes longer than all tables.
    let tables = if is_whole { 100 } else { 20 };
    let (lft, lost) = lft::build_partly(topology, &torus, config, share.cut(0..tables));
    let tree = TorusTree::build(topology, &torus).ok();
    let usual = Usual {
        is_accepted: reasons.is_empty() && lost.is_empty() && tree.is_some(),
        vls: vls.between_switches,
        tree,
    };
    let routes = routes(topology, EngineKind::TorusProved, torus, vls, lft);
    let mut routes = routes.with_tree(usual.tree.as_ref());
    // A whole torus needs no proof: the rules of torus-2QoS are one.
    if !(usual.is_accepted && is_whole) {
        warnings.extend(reasons.into_iter().map(TorusWarning::BeyondTorus2Qos));
        let share = share.cut(20..100);
        routes = mend(topology, config, routes, &usual, &mut warnings, share);
    }
    Ok(routes.with_warnings(warnings))
}

/// What torus-2QoS would do.
/// Kept to compare with, and to keep where it is good.
struct Usual {
    /// It would route the fabric.
    is_accepted: bool,
    /// The fewest data VLs between switches.
    vls: u8,
    tree: Option<TorusTree>,
}

/// Replaces what is not free of deadlock in the routes of a damaged torus.
/// Routes that are good already come back as they are, with no new warning.
fn mend(
    topology: &Topology,
    config: &TorusConfig,
    mut routes: Routes,
    usual: &Usual,
    warnings: &mut Vec<TorusWarning>,
    share: Stretch<'_>,
) -> Routes {
    let Some(torus) = &routes.facts.torus else {
        return routes;
    };
    let plan = plan::plan(torus, usual.vls, usual.tree.as_ref(), share);
    let is_usual = plan.changes.is_empty() && plan.tree == usual.tree;
    // The plan takes parallel cables for one, the check does not.
    // In that order, since the proof costs more than comparing plans.
    if is_usual || (usual.is_accepted && is_proved(topology, &routes)) {
        return routes;
    }
    lft::change(&mut routes.lft, topology, torus, config, &plan.changes);
    plan::report(topology, torus, &plan, usual.tree.as_ref(), warnings);
    routes.with_tree(plan.tree.as_ref())
}

/// True when unicast and multicast close no cycle.
/// The whole proof, as for finished tables, with groups of everybody.
fn is_proved(topology: &Topology, routes: &Routes) -> bool {
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, PathSls::Engine);
    graph.add_multicast(topology, &routes.worst_groups(topology));
    graph.shortest_loop().is_none()
}

/// [`super::torus::place`] as [`route`] does it: also what torus-2QoS leaves outside, and with what
/// is left of a seed. Nothing that [`super::torus::place`] places comes out elsewhere.
/// Errors name torus-2QoS, by whose rules places are found.
pub fn place(topology: &Topology, config: &TorusConfig) -> Result<(Torus, Vec<Warning>), Refusal> {
    let found = substitute::find_with_remains(topology, config);
    let found = found.map_err(|refused| refused.into_refusal(EngineKind::Torus2Qos, config))?;
    Ok(found.into_place())
}
