//! torus-2QoS: routing a torus or mesh free of deadlock, with two QoS levels, in a way that keeps
//! the SL of every path when links and switches fail.
//! Source: torus-2QoS(8), torus-2QoS.conf(5), OpenSM `osm_torus.c`.

pub(super) mod accept;
mod changes;
mod config;
pub(super) mod discover;
mod fingerprint;
mod incremental;
pub(super) mod lft;
pub(super) mod multicast;
pub(super) mod next_hop;
mod recognise;
pub(super) mod sl2vl;
pub(super) mod verify;

pub use self::changes::{Change, Changes, FarEnd, changes};
pub use self::config::{
    ConfigError, ConfigErrors, ConfigProblem, ConfigRemark, ConfigWarning, KEYWORDS, Places, Seed,
    SeedLink, TorusConfig,
};
use self::discover::Strays;
pub use self::incremental::Before;
pub use self::multicast::MulticastTree;
pub use self::recognise::{Grid, recognise};
pub(crate) use self::sl2vl::TorusSl2Vl;
use self::verify::LeastVls;
use crate::error::{Reason, Refusal, Warning};
use crate::placement::Torus;
use crate::tables::sl2vl::Sl2Vl;
use crate::tables::{Engine, Qos, Routes};
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

/// Finds the place of every switch, without asking whether the result can be routed. Enough for
/// the SLs of paths ([`Torus::path_sl`]).
pub fn place(topology: &Topology, config: &TorusConfig) -> Result<(Torus, Vec<Warning>), Refusal> {
    let (torus, warnings, _) = find(topology, config, Strays::Leave)?;
    Ok((torus, warnings))
}

pub(super) fn find(
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

pub(super) fn refusal(reasons: Vec<Reason>, warnings: Vec<Warning>) -> Refusal {
    Refusal::new(Engine::Torus2Qos, reasons, warnings)
}
