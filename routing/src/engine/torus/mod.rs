//! torus-2QoS: routing a torus or mesh free of deadlock, with two QoS levels, in a way that keeps
//! the SL of every path when links and switches fail.
//!
//! In this order, and each step refuses with every reason that it finds: the configuration is
//! checked against the fabric (`verify`); every switch gets its place, from a seed outwards by
//! cycles of four cables (`discover`); what is missing is judged (`accept`); then forwarding tables
//! (`lft`), SL2VL tables (`sl2vl`) and the multicast tree (`tree`) are made. After a change the
//! tables before are reused (`incremental`), with the same result as a full run.
//!
//! Which cables of a bundle a LID takes, and every tie, follow OpenSM, because switches that OpenSM
//! programmed must be answered for entry by entry. So does what is refused: whoever runs OpenSM
//! would get no tables for such a fabric either. [`super::torus_proved`] goes further.
//!
//! Source: torus-2QoS(8), torus-2QoS.conf(5), OpenSM `osm_torus.c`.
//!
//! # The steps and what each can refuse
//!
//! | step | refuses, among others |
//! |---|---|
//! | `verify` | no size, fewer than 2 data VLs, seeds that contradict themselves or the fabric |
//! | `discover` | a switch in two places, more hosts on a switch than a port group takes |
//! | `accept` | two missing switches apart, a ring with two gaps |
//! | `lft` | a pair without a way |
//! | `tree` | no root, a switch that the tree does not reach |
//!
//! # Why SLs never change
//!
//! Bits 0 to 2 of an SL say which datelines the shorter way crosses *by coordinates*. No link is
//! asked. Around damage a path may cross a dateline that its SL does not name, or the other way
//! round; that is safe because a broken ring is a line, on which no cycle can close whatever the
//! VL. Applications hold SLs for hours, so a re-route must not move them to other VLs.
//!
//! # An example
//!
//! On a ring of 5, from 1 to 4: the direct way has 3 hops, the other 2 and crosses the dateline
//! between 4 and 0. So bit 0 is set and packets go 1, 0, 4 on VL 1. If the cable 1-0 fails they go
//! 1, 2, 3, 4, still with bit 0 set, on VL 1.

pub(super) mod accept;
mod changes;
mod config;
pub(super) mod discover;
mod fingerprint;
mod incremental;
pub(super) mod lft;
pub(super) mod next_hop;
pub(super) mod reason;
mod recognise;
pub(super) mod sl2vl;
pub(super) mod text;
pub(super) mod tree;
pub(super) mod verify;
pub(super) mod warning;

pub use self::changes::{Change, Changes, FarEnd, changes};
pub use self::config::{
    ConfigError, ConfigErrors, ConfigProblem, ConfigRemark, ConfigWarning, KEYWORDS, Places, Seed,
    SeedLink, TorusConfig,
};
use self::discover::Strays;
use self::reason::TorusReason;
pub use self::recognise::{Grid, recognise};
use self::tree::TorusTree;
use self::verify::LeastVls;
use self::warning::TorusWarning;
use super::{Before, Engine, EngineInput, Needs, Request, wrong_input};
use crate::error::{Refusal, Warning};
use crate::kind::EngineKind;
use crate::placement::Torus;
use crate::tables::sl2vl::Sl2Vl;
use crate::tables::{EngineFacts, Lft, PathSlRule, Qos, Routes};
use crate::topology::Topology;
use crate::watch::Stretch;

/// OpenSM's torus-2QoS, to the entry; see the module.
/// Has no state of its own: routes before are in the request.
pub(super) struct Torus2Qos;

impl Engine for Torus2Qos {
    fn needs(&self) -> Needs {
        Needs::TorusConf
    }

    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal> {
        let EngineInput::TorusConf(config) = request.input else {
            return Err(wrong_input(EngineKind::Torus2Qos));
        };
        let Request {
            topology,
            qos,
            before,
            watch,
            ..
        } = *request;
        watch.share(|share| route_from(topology, config, qos, before, share))
    }

    fn is_incremental(&self) -> bool {
        true
    }
}

/// Routes a torus.
/// Errors: every reason why it cannot be; the refusal holds the placement when that was complete.
/// QoS off is one of them: without VLs no SL keeps anything apart.
pub fn route(topology: &Topology, config: &TorusConfig, qos: Qos) -> Result<Routes, Refusal> {
    route_from(topology, config, qos, None, Stretch::nobody())
}

/// [`route`], made from the routes of the same torus before it changed, which takes less work. The
/// result is the same.
/// Places are found anew all the same: a coordinate that came out otherwise would move SLs.
pub fn reroute(
    topology: &Topology,
    config: &TorusConfig,
    qos: Qos,
    before: Before<'_>,
) -> Result<Routes, Refusal> {
    route_from(topology, config, qos, Some(before), Stretch::nobody())
}

/// Routes, with or without routes from before, and words for callers of any engine.
fn route_from(
    topology: &Topology,
    config: &TorusConfig,
    qos: Qos,
    before: Option<Before<'_>>,
    share: Stretch<'_>,
) -> Result<Routes, Refusal> {
    let routed = route_typed(topology, config, qos, before, share);
    routed.map_err(|refused| refused.into_refusal(EngineKind::Torus2Qos, config))
}

/// The same with reasons as this engine has them. The tree and the tables are both tried, so that one refusal
/// tells all that is wrong.
fn route_typed(
    topology: &Topology,
    config: &TorusConfig,
    qos: Qos,
    before: Option<Before<'_>>,
    share: Stretch<'_>,
) -> Result<Routes, Refused> {
    // OpenSM's 4E44. Without QoS all SLs share VL 0, on which a ring is a cycle.
    if qos == Qos::Off {
        return Err(TorusReason::QosOff.into());
    }
    let Found {
        torus,
        vls,
        mut warnings,
    } = find(topology, config, Strays::Leave)?;
    // Only a placement that can be routed gets tables: what else is missing would repeat the same
    // news as pairs without a route.
    let mut reasons = accept::judge(topology, &torus, &mut warnings);
    if reasons.is_empty() {
        match (
            lft::build(topology, &torus, config, before, share),
            TorusTree::build(topology, &torus),
        ) {
            (Ok(lft), Ok(tree)) => {
                let routes = routes(topology, EngineKind::Torus2Qos, torus, vls, lft);
                return Ok(routes.with_tree(Some(&tree)).with_warnings(warnings));
            }
            // Both in one refusal: whoever repairs one should know of the other.
            (lft, tree) => reasons.extend(lft.err().into_iter().chain(tree.err())),
        }
    }
    Err(Refused {
        reasons,
        warnings,
        torus: Some(Box::new(torus)),
    })
}

/// Routes of these tables on a torus, without multicast.
/// torus-proved uses the same tables of SLs and VLs and exchanges forwarding entries only.
pub(super) fn routes(
    topology: &Topology,
    engine: EngineKind,
    torus: Torus,
    vls: LeastVls,
    lft: Lft,
) -> Routes {
    let tables = sl2vl::tables(topology, &torus, vls);
    let sl2vl = Sl2Vl::by_kind(topology, tables);
    let facts = EngineFacts {
        path_sl: PathSlRule::Datelines,
        torus: Some(torus),
        ..EngineFacts::default()
    };
    Routes {
        facts,
        ..Routes::new(topology, engine, lft, sl2vl)
    }
}

impl Routes {
    /// With the multicast tree of its torus.
    /// None where no tree could be made: then groups of this fabric get nothing.
    pub(super) fn with_tree(mut self, tree: Option<&TorusTree>) -> Self {
        let torus = self.facts.torus.as_ref();
        self.facts.multicast = tree.zip(torus).map(|(tree, torus)| tree.to_value(torus));
        self
    }

    /// With what was noticed on the way.
    pub(super) fn with_warnings(mut self, warnings: Vec<TorusWarning>) -> Self {
        self.warnings = warnings.into_iter().map(Warning::from).collect();
        self
    }
}

/// Finds the place of every switch, without asking whether the result can be routed. Enough for
/// the SLs of paths ([`Torus::path_sl`]).
/// Used where switches hold tables of an earlier fabric: those may not be routable now, and still
/// their SLs go by places.
pub fn place(topology: &Topology, config: &TorusConfig) -> Result<(Torus, Vec<Warning>), Refusal> {
    let found = find(topology, config, Strays::Leave);
    let found = found.map_err(|refused| refused.into_refusal(EngineKind::Torus2Qos, config))?;
    Ok(found.into_place())
}

/// Where the switches are.
/// On the way from the placement to tables.
pub(super) struct Found {
    pub(super) torus: Torus,
    /// Decide how many bits of an SL become bits of a VL.
    pub(super) vls: LeastVls,
    pub(super) warnings: Vec<TorusWarning>,
}

impl Found {
    /// As callers of [`place`] get it.
    pub(super) fn into_place(self) -> (Torus, Vec<Warning>) {
        let warnings = self.warnings.into_iter().map(Warning::from);
        (self.torus, warnings.collect())
    }
}

/// Why a torus is not routed.
/// Reasons as this engine has them, until they leave it as words.
pub(super) struct Refused {
    pub(super) reasons: Vec<TorusReason>,
    warnings: Vec<TorusWarning>,
    /// The placement, when it was complete.
    torus: Option<Box<Torus>>,
}

impl Refused {
    /// As callers of any engine get it.
    /// The configuration is asked for line and column of what the fabric contradicts.
    pub(super) fn into_refusal(self, engine: EngineKind, config: &TorusConfig) -> Refusal {
        let reasons = self.reasons.into_iter();
        Refusal {
            engine,
            reasons: reasons.map(|reason| reason.into_reason(config)).collect(),
            warnings: self.warnings.into_iter().map(Warning::from).collect(),
            torus: self.torus,
        }
    }
}

impl From<TorusReason> for Refused {
    fn from(reason: TorusReason) -> Self {
        Self {
            reasons: vec![reason],
            warnings: Vec::new(),
            torus: None,
        }
    }
}

/// Places every switch. Shape: `strays` says what becomes of switches that fit nowhere.
pub(super) fn find(
    topology: &Topology,
    config: &TorusConfig,
    strays: Strays,
) -> Result<Found, Refused> {
    let mut warnings = Vec::new();
    let setup = verify::verify(topology, config, strays, &mut warnings);
    let placed = setup.and_then(|setup| {
        let torus = discover::discover(topology, config, &setup, strays, &mut warnings)?;
        Ok((torus, setup.vls))
    });
    match placed {
        Ok((torus, vls)) => Ok(Found {
            torus,
            vls,
            warnings,
        }),
        Err(reasons) => Err(Refused {
            reasons,
            warnings,
            torus: None,
        }),
    }
}
