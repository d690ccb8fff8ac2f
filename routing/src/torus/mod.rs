//! torus-2QoS: routing a torus or mesh free of deadlock, with two QoS levels, in a way that keeps
//! the SL of every path when links and switches fail.
//! Source: torus-2QoS(8), torus-2QoS.conf(5), OpenSM `osm_torus.c`.

mod accept;
mod changes;
mod config;
mod discover;
mod fingerprint;
mod geometry;
mod incremental;
mod lft;
mod multicast;
mod next_hop;
mod placement;
mod proved;
mod recognise;
mod sl2vl;
mod substitute;
mod verify;

pub use self::changes::{Change, Changes, FarEnd, changes};
pub use self::config::{
    ConfigError, ConfigErrors, ConfigProblem, ConfigRemark, ConfigWarning, KEYWORDS, Place, Places,
    Seed, SeedLink, TorusConfig,
};
use self::discover::Strays;
pub use self::geometry::{Axis, Coordinate, Direction, Shape, Sign};
pub use self::incremental::Before;
pub use self::multicast::MulticastTree;
pub use self::placement::{LOCAL_GROUP, PlacedSwitch, Torus};
pub use self::recognise::{Grid, recognise};
pub(crate) use self::sl2vl::TorusSl2Vl;
use self::verify::LeastVls;
use crate::check::{DependencyGraph, PathSls};
use crate::error::{Reason, Refusal, Warning};
use crate::routes::{Engine, Qos, Routes};
use crate::sl2vl::Sl2Vl;
use crate::topology::Topology;

/// Routes a torus.
/// Errors: every reason why it cannot be; the refusal holds the placement when that was complete.
pub fn route(topology: &Topology, config: &TorusConfig, qos: Qos) -> Result<Routes, Refusal> {
    route_from(topology, config, qos, None)
}

/// [`route`], made from the routes of the same torus before it changed, which takes less work. The
/// result is the same.
pub fn reroute(
    topology: &Topology,
    config: &TorusConfig,
    qos: Qos,
    before: Before<'_>,
) -> Result<Routes, Refusal> {
    route_from(topology, config, qos, Some(before))
}

fn route_from(
    topology: &Topology,
    config: &TorusConfig,
    qos: Qos,
    before: Option<Before<'_>>,
) -> Result<Routes, Refusal> {
    if qos == Qos::Off {
        return Err(refusal(vec![Reason::QosOff], Vec::new()));
    }
    let (torus, mut warnings, vls) = find(topology, config, Strays::Leave)?;
    let mut reasons = accept::judge(topology, &torus, &mut warnings);
    if reasons.is_empty() {
        match (
            lft::build(topology, &torus, config, before),
            MulticastTree::of(topology, &torus),
        ) {
            (Ok(lft), Ok(tree)) => {
                let sl2vl = Sl2Vl::torus(topology, TorusSl2Vl::new(topology, &torus, vls));
                let routes = Routes::new(topology, Engine::Torus2Qos, lft, sl2vl);
                let (torus, multicast) = (Some(torus), Some(tree));
                return Ok(Routes {
                    torus,
                    multicast,
                    warnings,
                    ..routes
                });
            }
            (lft, tree) => reasons.extend(lft.err().into_iter().chain(tree.err())),
        }
    }
    Err(Refusal {
        torus: Some(Box::new(torus)),
        ..refusal(reasons, warnings)
    })
}

/// Routes a torus also around damage that torus-2QoS refuses: every way that can be proved free of
/// deadlock without changing the SL of a path. What torus-2QoS routes without a flaw comes out as
/// by [`route`].
///
/// Pairs without such a way have no route, which the warnings tell. So they do when multicast had
/// to be given up.
/// Errors: what [`route`] refuses for other reasons than damage.
pub fn route_proved(
    topology: &Topology,
    config: &TorusConfig,
    qos: Qos,
) -> Result<Routes, Refusal> {
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
    let plan = proved::plan(torus, vls.between_switches, routes.multicast.as_ref());
    let is_usual = plan.changes.is_empty() && plan.tree == routes.multicast;
    // The plan takes parallel cables for one, the check does not.
    if is_usual || (is_usable && is_proved(topology, routes)) {
        return;
    }
    lft::change(&mut routes.lft, topology, torus, config, &plan.changes);
    proved::report(topology, torus, &plan, routes.multicast.as_ref(), warnings);
    routes.multicast = plan.tree;
}

/// True when unicast and multicast close no circle.
fn is_proved(topology: &Topology, routes: &Routes) -> bool {
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, PathSls::Engine);
    graph.add_multicast(topology, &routes.worst_groups(topology));
    graph.shortest_loop().is_none()
}

/// Finds the place of every switch, without asking whether the result can be routed. Enough for
/// the SLs of paths ([`Torus::path_sl`]).
pub fn place(topology: &Topology, config: &TorusConfig) -> Result<(Torus, Vec<Warning>), Refusal> {
    let (torus, warnings, _) = find(topology, config, Strays::Leave)?;
    Ok((torus, warnings))
}

/// [`place`] as [`route_proved`] does it: also what torus-2QoS leaves outside, and with what is left
/// of a seed. Nothing that [`place`] places comes out elsewhere.
pub fn place_proved(
    topology: &Topology,
    config: &TorusConfig,
) -> Result<(Torus, Vec<Warning>), Refusal> {
    let (torus, warnings, _) = substitute::find_with_remains(topology, config)?;
    Ok((torus, warnings))
}

fn find(
    topology: &Topology,
    config: &TorusConfig,
    strays: Strays,
) -> Result<(Torus, Vec<Warning>, LeastVls), Refusal> {
    let mut warnings = Vec::new();
    let setup = verify::verify(topology, config, strays, &mut warnings);
    let placed = setup.and_then(|setup| {
        let torus = discover::discover(topology, config, &setup, strays, &mut warnings)?;
        Ok((torus, setup.vls))
    });
    match placed {
        Ok((torus, vls)) => Ok((torus, warnings, vls)),
        Err(reasons) => Err(refusal(reasons, warnings)),
    }
}

fn refusal(reasons: Vec<Reason>, warnings: Vec<Warning>) -> Refusal {
    Refusal::new(Engine::Torus2Qos, reasons, warnings)
}
