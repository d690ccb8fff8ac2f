//! Beyond torus-2QoS: routes around damage that it refuses, and multicast that closes no circle
//! with unicast.
//!
//! Coordinates alone decide about SLs, so that they are those of the healthy fabric.

mod circles;
mod graph;
mod lacking;
mod lanes;
mod order;
mod phases;
mod plan;
mod steps;
mod substitute;
mod sweep;
mod tree;
mod unicast;
mod usual;

#[cfg(test)]
mod tests;

use super::torus::multicast::MulticastTree;
use super::torus::sl2vl::TorusSl2Vl;
use super::torus::verify::LeastVls;
use super::torus::{TorusConfig, accept, lft, refusal};
use crate::error::{Reason, Refusal, Warning};
use crate::placement::Torus;
use crate::proof::{DependencyGraph, PathSls};
use crate::tables::sl2vl::Sl2Vl;
use crate::tables::{Engine, Qos, Routes};
use crate::topology::Topology;

/// Routes a torus also around damage that torus-2QoS refuses: every way that can be proved free of
/// deadlock without changing the SL of a path. What torus-2QoS routes without a flaw comes out as
/// by [`super::torus::route`].
///
/// Pairs without such a way have no route, which the warnings tell. So they do when multicast had
/// to be given up.
/// Errors: what [`super::torus::route`] refuses for other reasons than damage.
pub fn route(topology: &Topology, config: &TorusConfig, qos: Qos) -> Result<Routes, Refusal> {
    let refused = |refusal| Refusal {
        engine: Engine::TorusProved,
        ..refusal
    };
    if qos == Qos::Off {
        return Err(refused(refusal(vec![Reason::QosOff], Vec::new())));
    }
    let (torus, mut warnings, vls) =
        substitute::find_with_remains(topology, config).map_err(refused)?;
    let noticed = warnings.len();
    let reasons = accept::judge(topology, &torus, &mut warnings);
    let is_whole = warnings.len() == noticed && reasons.is_empty();
    let (lft, lost) = lft::build_partly(topology, &torus, config);
    let tree = MulticastTree::of(topology, &torus).ok();
    let sl2vl = Sl2Vl::torus(topology, TorusSl2Vl::new(topology, &torus, vls));
    let mut routes = Routes {
        torus: Some(torus),
        multicast: tree,
        ..Routes::new(topology, Engine::TorusProved, lft, sl2vl)
    };
    let is_usable = reasons.is_empty() && lost.is_empty() && routes.multicast.is_some();
    if !(is_usable && is_whole) {
        warnings.extend(reasons.into_iter().map(Warning::BeyondTorus2Qos));
        mend(topology, config, vls, is_usable, &mut routes, &mut warnings);
    }
    Ok(Routes { warnings, ..routes })
}

/// Replaces what is not free of deadlock in the routes of a damaged torus. `is_usable`: torus-2QoS
/// would route it.
fn mend(
    topology: &Topology,
    config: &TorusConfig,
    vls: LeastVls,
    is_usable: bool,
    routes: &mut Routes,
    warnings: &mut Vec<Warning>,
) {
    let Some(torus) = &routes.torus else { return };
    let plan = plan::plan(torus, vls.between_switches, routes.multicast.as_ref());
    let is_usual = plan.changes.is_empty() && plan.tree == routes.multicast;
    // The plan takes parallel cables for one, the check does not.
    if is_usual || (is_usable && is_proved(topology, routes)) {
        return;
    }
    lft::change(&mut routes.lft, topology, torus, config, &plan.changes);
    plan::report(topology, torus, &plan, routes.multicast.as_ref(), warnings);
    routes.multicast = plan.tree;
}

/// True when unicast and multicast close no circle.
fn is_proved(topology: &Topology, routes: &Routes) -> bool {
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, PathSls::Engine);
    graph.add_multicast(topology, &routes.worst_groups(topology));
    graph.shortest_loop().is_none()
}

/// [`super::torus::place`] as [`route`] does it: also what torus-2QoS leaves outside, and with what is left
/// of a seed. Nothing that [`super::torus::place`] places comes out elsewhere.
pub fn place(topology: &Topology, config: &TorusConfig) -> Result<(Torus, Vec<Warning>), Refusal> {
    let (torus, warnings, _) = substitute::find_with_remains(topology, config)?;
    Ok((torus, warnings))
}
