//! From read sources to routes.
//!
//! Three ways lead to tables: an engine makes them ([`by_engine`]), dumps or an SA give them, or,
//! where the engine refuses a fabric that has lost parts, what is left of the last ones stands in
//! ([`routing::tables::survivors`]). The last is for running fabrics only: switches keep their
//! tables when OpenSM cannot route, so paths that pass no failed part still work and must still be
//! answered. OpenSM itself then gives SLs without the engine's bits, which is not safe (deviation
//! 11).
//!
//! The engine is one of a list in `routing`; nothing here knows them apart but by what they need.
//!
//! ```text
//!  routes, no refusal     -> those
//!  refusal, fabric changed since the last routes of this engine -> survivors, with a warning
//!  refusal otherwise      -> an error: the configuration does not fit, nothing is published
//! ```

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use routing::engine::{self, Before, EngineInput, Request, torus};
use routing::tables::{ChangedEntries, changed_entries, survivors};
use routing::{Qos, Refusal, Routes, Topology};
use sa_fabric::display;
use sa_text::{Location, Remark};
use thiserror::Error;

use super::PipelineError;
use super::programmed::{self, Programmed};
use super::rows::sls_in_use;

use crate::heard_sls::HeardSls;
use crate::qos_setup::{ScopeFit, Scopes, SetupContext};
use crate::state::{FabricState, Given, LastProof, Routing, Sources, StandingRefusal};

/// A fabric that the engine refuses.
///
/// Boxed where it is an error, as a topology goes with it.
#[derive(Debug, Error)]
#[error("{words}")]
pub struct Refused {
    /// Why, and the placement where there is one.
    pub refusal: Refusal,
    /// The reasons, with their places in the configuration.
    pub words: String,
    /// The fabric that the refusal speaks of: its reasons name switches by index.
    pub topology: Topology,
}

/// A refusal for people. Shape: one line, then a line per reason: `file:line:column: error[code]:
/// reason` where the configuration is what the fabric contradicts, without the place elsewhere; as
/// many as people read.
///
/// As many as people read: a torus of 4,096 switches can have a reason for each.
pub(super) fn in_words(refusal: &Refusal, routing: &Routing) -> String {
    let reasons = refusal.reasons.iter().map(|reason| {
        let mut text = String::new();
        if let Given::TorusConf { path, .. } = &routing.given
            && let Some(at) = reason.place()
        {
            let _ = write!(text, "{}: ", Location::new(path, at));
        }
        let _ = write!(text, "error[{}]: {reason}", reason.code());
        text
    });
    let mut text = format!("{} refuses to route this fabric", refusal.engine);
    for line in display::at_most(reasons, "reason", "reasons") {
        text.push_str("\n  ");
        text.push_str(&line);
    }
    text
}

/// Routes the fabric by the engine that the inputs call for, with nothing from before. Errors:
/// `Refused`.
pub fn route(sources: Sources) -> Result<FabricState, PipelineError> {
    route_after(sources, None, &mut Duration::default())
}

/// [`route`], where `before` holds the last routes that an engine made: if it refuses the fabric
/// now, what is left of them stands in. `spent` is set to the time of the engine alone.
///
/// SL2VL tables of scopes replace the engine's where somebody has programmed them: then SLs that a
/// path carries follow from those.
pub fn route_after(
    sources: Sources,
    before: Option<&FabricState>,
    spent: &mut Duration,
) -> Result<FabricState, PipelineError> {
    let mut topology = sources.subnet.topology(&sources.options);
    let severed_pairs = sources.drained.take_from(&mut topology);
    let start = Instant::now();
    let Programmed { routed, notes } = sources
        .watch
        .step("routing", || programmed::route(&sources, &topology, before));
    let routed = match sources.apply_setup {
        true => routed.map(|routes| sources.with_setup(&topology, routes)),
        false => routed,
    };
    // Without the topology, which is reading's part.
    *spent = start.elapsed();
    let (routes, refusal) = match (routed, before) {
        (Ok(routes), _) => (routes, None),
        // Only what an engine of the same kind made before, and only if the fabric is another one
        // now.
        (Err(refusal), Some(before)) if has_failed(before, &refusal, &topology) => {
            let left = survivors(&before.topology, &before.routes, &topology);
            let words = in_words(&refusal, &sources.routing);
            (left, Some(Box::new(StandingRefusal { refusal, words })))
        }
        (Err(refusal), _) => {
            return Err(PipelineError::Refused(Box::new(Refused {
                words: in_words(&refusal, &sources.routing),
                refusal,
                topology,
            })));
        }
    };
    let Sources {
        subnet,
        options,
        partitions,
        policy,
        off_subnet,
        aliases,
        from_sa,
        heard_sls,
        routing,
        ..
    } = sources;
    // Once for the state: policy, lints and the reference all go by them.
    let facts = subnet.port_facts();
    let ends = subnet.end_ports().iter();
    let rate_caps = ends
        .map(|port| subnet.fabric().rate_caps(port.at))
        .collect();
    let parts = FabricState {
        subnet,
        options,
        topology,
        severed_pairs,
        routes,
        facts,
        partitions,
        policy,
        rate_caps,
        off_subnet,
        aliases,
        refusal,
        programmed: notes,
        from_sa,
        devices: None,
        multicast: None,
        proven: None,
        last_group_proof: LastProof::default(),
    };
    Ok(with_heard_sls(parts, heard_sls, &routing.given))
}

/// Gives paths the SLs that the SM was heard to give, where the tables are its own and say none.
fn with_heard_sls(
    mut parts: FabricState,
    heard: Option<Arc<HeardSls>>,
    given: &Given,
) -> FabricState {
    let heard = heard.or_else(|| recorded(&parts, given));
    let Some(heard) = heard.filter(|_| parts.has_tables_without_sls()) else {
        return parts;
    };
    let rule = heard.rule(&parts.topology);
    let remark = Remark::warning("sls-of-pairs", heard.note.clone());
    parts.programmed.push(remark);
    parts.routes = parts.routes.with_path_sl(rule);
    parts
}

/// The SLs of `psl`, unless they are such as policy and partitions give.
fn recorded(parts: &FabricState, given: &Given) -> Option<Arc<HeardSls>> {
    let Given::Tables { psl: Some(psl), .. } = given else {
        return None;
    };
    let note = "paths have the SLs that `psl` beside the tables records, as policy and partitions \
                give others; a path that it lacks is not answered";
    let heard = HeardSls::from_psl(psl, &parts.topology, note.to_owned());
    (!heard.are_among(sls_in_use(parts))).then(|| Arc::new(heard))
}

/// Asks the engine, with the routes from before where there are some. Errors: it refuses.
pub(super) fn by_engine(
    sources: &Sources,
    topology: &Topology,
    before: Option<&FabricState>,
) -> Result<Routes, Refusal> {
    let qos = if sources.options.qos {
        Qos::On
    } else {
        Qos::Off
    };
    let Routing { engine, given } = &sources.routing;
    let input = match given {
        Given::Nothing => EngineInput::Nothing,
        Given::TorusConf { config, .. } => EngineInput::TorusConf(config),
        Given::Roots(roots) => EngineInput::Roots(roots),
        Given::Tables { lfts, sl2vl, .. } => EngineInput::Tables { lfts, sl2vl },
        Given::HeldTables => return programmed::as_read(sources, topology, before),
    };
    let before = before.map(|before| Before {
        topology: &before.topology,
        routes: &before.routes,
    });
    let request = Request {
        topology,
        qos,
        input,
        before,
        watch: sources.watch,
    };
    engine::route(*engine, &request)
}

/// True when it is the fabric that changed: a configuration that fits it no more is an error like
/// any other, and so is another engine that will not have it.
///
/// What a torus engine needs to keep its routes is in the routes; that they were made by the same
/// engine is enough. Routes of a subnet without switches are no engine's: of them nothing is left.
fn has_failed(before: &FabricState, refusal: &Refusal, topology: &Topology) -> bool {
    before.routes.engine() == refusal.engine
        && !before.topology.switches.is_empty()
        && before.topology != *topology
}

/// How many forwarding entries are others, whatever the engines.
pub(super) fn entries_changed(before: &FabricState, after: &FabricState) -> ChangedEntries {
    changed_entries(
        (&before.topology, &before.routes),
        (&after.topology, &after.routes),
    )
}

/// What changed in the torus. `most`: as many differences as are told (max_changes).
pub(super) fn changes(before: &FabricState, after: &FabricState, most: u32) -> Vec<String> {
    // Other engines have no places that could change.
    let (Some(was), Some(is)) = (before.routes.torus(), after.routes.torus()) else {
        return Vec::new();
    };
    let found = torus::changes((&before.topology, was), (&after.topology, is), most);
    let mut told: Vec<String> = found.listed.iter().map(ToString::to_string).collect();
    if found.is_cut {
        told.push(format!(
            "there may be more changes in the torus; max_changes is {most}"
        ));
    }
    told
}

impl Sources {
    /// Routes as they are once somebody programmed the SL2VL tables of the policy's `qos-setup`,
    /// which OpenSM does not: which SLs a path carries then follows from these.
    ///
    /// Nothing changes without a policy.
    #[must_use]
    pub fn with_setup(&self, topology: &Topology, routes: Routes) -> Routes {
        let Some(policy) = &self.policy else {
            return routes;
        };
        let ports = self.subnet.port_facts();
        let context = SetupContext::from_sources(self, &ports);
        let scopes = Scopes::new(policy, context, ScopeFit::Rfc);
        routes.with_sl2vl(topology, &scopes.given_sl2vl())
    }

    /// How many changes of the torus are told.
    /// `max_changes` of `torus-2QoS.conf`; 0 without one.
    pub(super) fn changes_told(&self) -> u32 {
        let config = self.routing.torus_conf();
        config.map_or(0, |config| config.max_changes)
    }
}

impl FabricState {
    /// What is served when the engine refuses.
    /// None where the engine routes.
    pub(super) fn standing_refusal(&self) -> Option<Remark> {
        let refusal = self.refusal.as_ref()?;
        let text = format!(
            "{}\nThe switches keep the tables they have: pairs whose paths pass no failed \
             part keep their answers, the others get none",
            refusal.words
        );
        Some(Remark::warning("engine-refuses", text))
    }
}
