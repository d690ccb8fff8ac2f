//! From input files to a verified snapshot, in the order of `docs/architecture.md`, section 5.
//!
//! Nothing here publishes: a failure at any step leaves whatever is in service alone.
//!
//! | step | file | may end it |
//! |---|---|---|
//! | read and parse all inputs | `read` | [`ReadProblem`] |
//! | route, or take the tables of the switches | `route`, `programmed` | [`Refused`] |
//! | credit loops, and who reaches whom | `proof` | nothing: what is found is in the result |
//! | policy and path classes, snapshot, verification | `rows`, [`build`] | policy, size, [`BuildError`] |
//! | 512 pairs asked of the reference | `crosscheck` | [`Mismatch`] |
//!
//! The proof ends nothing because a verb that shows a broken fabric needs the snapshot of it.
//! Whether it may be served is [`Compiled::publishable`]'s word.
//!
//! [`compile_after`] is the whole way in one function. What is handed in from before
//! (`FabricState`) only makes it faster or, where the engine refuses a fabric that lost parts,
//! decides what is served on; a compilation from nothing of the same fabric gives the same bytes.

mod crosscheck;
mod group_trees;
mod inputs;
mod programmed;
mod proof;
mod read;
mod route;
mod rows;

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use routing::paths::classes::TooManyClasses;
use routing::proof::CreditLoop;
use routing::tables::ChangedEntries;
use routing::{EngineKind, Survey};
use sa_fabric::display::count;
use sa_fabric::sa_records::SaFabric;
use sa_snapshot::model::{EpochId, Model, Provenance};
use sa_snapshot::{BuildError, Builder, Snapshot};
use sa_text::{Location, Remark};
use sa_wire::Guid;
use thiserror::Error;

use crate::qos_setup::{ScopeFit, Scopes, SetupContext, TorusWarning, torus_warnings};
use crate::state::FabricState;

use self::proof::Checked;
pub use crosscheck::Mismatch;
pub use inputs::{Inputs, OnPolicyError, torus_conf_beside};
pub use proof::{LISTED_PAIRS, Proof, check, judge, path_sls};
pub use read::{
    FailedPartError, OptionsProblem, ReadProblem, manager_options, options, parse_text, read,
    read_but_the_fabric, remark_of_note, service_ranges, ulp_names,
};
pub use route::{Refused, route, route_after};
pub use rows::{sls_in_use, subnet_options};

/// What the proof is called while it is made, by whoever asks for one.
pub const PROVING: &str = "proving free of credit loops";

/// What a snapshot is stamped with; nothing and zero where bytes must be reproducible.
///
/// It goes into the snapshot's header. Two snapshots that differ only in their stamp
/// give the same paths.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stamp {
    /// Epoch that it is to be published under.
    pub epoch: Option<EpochId>,
    /// Seconds since 1970.
    pub built_unix: u64,
}

/// Seconds since 1970; 0 on a machine whose clock stands before that.
pub fn unix_time() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// How long each step took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// Reading and parsing, decompression included.
    pub read: Duration,
    /// Placement, forwarding tables, multicast tree.
    pub route: Duration,
    /// Credit-loop and reachability check.
    pub check: Duration,
    /// Compiling policy and path classes, building and verifying the snapshot.
    pub build: Duration,
    /// Comparing sampled pairs with the reference: 512 walks by hand, each way; counting entries that
    /// changed.
    pub compare: Duration,
}

impl Timings {
    /// All steps together.
    pub fn total(&self) -> Duration {
        let Self {
            read,
            route,
            check,
            build,
            compare,
        } = *self;
        read + route + check + build + compare
    }
}

/// A snapshot and what it came from.
///
/// Large: the state and the snapshot. One is alive per fabric in service, and a second one during a
/// change.
#[derive(Debug)]
pub struct Compiled {
    /// What was read and computed.
    pub parts: FabricState,
    /// The result.
    pub snapshot: Snapshot,
    /// What later compilations go on from, where that is not `parts`: routes that are planned and programmed, while some link that they lead over is
    /// not up yet.
    pub goes_on_from: Option<Box<FabricState>>,
    /// What the check of the tables found.
    pub proof: Proof,
    /// What an operator should know, in the order in which it was found.
    pub warnings: Vec<Remark>,
    /// What torus-2QoS has to say of VL arbitration and SL2VL options: for those who put the tables
    /// into service, and of no concern to whoever asks about paths.
    pub arbitration: Vec<Remark>,
    /// What changed in the torus since the routes before, one sentence each.
    pub changes: Vec<String>,
    /// Forwarding entries that are others than before; none without routes before.
    pub entries_changed: Option<ChangedEntries>,
    /// How long it took.
    pub timings: Timings,
    /// What a running SA told, where the fabric comes from one.
    pub from_sa: Option<Arc<SaFabric>>,
    /// As the operator said, like `strict`.
    allow_lost_pairs: bool,
    strict: bool,
}

/// Why there is no snapshot.
///
/// Not among them: what the proof found, which is an error only for who wants to publish.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// An input cannot be read or parsed.
    #[error(transparent)]
    Read(#[from] ReadProblem),
    /// The engine refuses the fabric.
    #[error(transparent)]
    Refused(Box<Refused>),
    /// The policy does not fit the fabric.
    #[error("QoS policy: {0}")]
    Policy(Box<policy::Error>),
    /// The paths or tables are more than a snapshot holds.
    #[error(transparent)]
    TooLarge(#[from] TooManyClasses),
    /// The snapshot does not build.
    #[error("snapshot: {0}")]
    Build(#[from] BuildError),
    /// The snapshot and the reference disagree; a defect, and the reason nothing is published.
    #[error(
        "the compiled tables and the reference implementation disagree, nothing is published: {0}"
    )]
    CrossCheck(Box<Mismatch>),
    /// The tables have a credit loop.
    #[error("the routes have a credit loop, each may wait for the next:\n{channels}")]
    CreditLoop {
        /// The channels of the loop. Shape: a line each.
        channels: String,
    },
    /// A loop that packets of hosts alone do not close; an error only where the operator is strict.
    #[error(
        "{whose} could close a credit loop, which is refused because of strict; each may wait for \
         the next:\n{channels}"
    )]
    StrictLoop {
        /// Whose packets close it. "packets that ports 0 of switches send or get".
        whose: &'static str,
        /// As in [`Self::CreditLoop`].
        channels: String,
    },
    /// Wired pairs have no path. Pairs that a failure has cut apart are none of these.
    #[error(
        "{} no path; repair the fabric or its configuration, or allow lost pairs",
        count(.0, "pair of hosts that is wired together has", "pairs of hosts that are wired together have")
    )]
    LostPairs(u64),
    /// Who watches does not want the result any more.
    #[error("the compilation was stopped")]
    Stopped,
}

impl PipelineError {
    /// The file that is wrong, and the place in it; none where no single file is.
    pub fn location(&self) -> Option<Location> {
        match self {
            Self::Read(problem) => problem.location(),
            _ => None,
        }
    }
}

impl Compiled {
    /// Whether it may go into service without being told to. Errors: a credit loop; lost
    /// pairs; where the inputs are strict, loops of management or multicast. Tables that switches hold already are served whatever
    /// they are: the SM made them, and silence would mend nothing.
    pub fn publishable(&self) -> Result<(), PipelineError> {
        // First, as the proof of such tables may find anything.
        if self.serves_held_tables() {
            return Ok(());
        }
        if let Some(cycle) = &self.proof.credit_loop {
            let channels = self.channels(cycle);
            return Err(PipelineError::CreditLoop { channels });
        }
        if self.strict {
            self.without_other_loops()?;
        }
        // Those that were given up by order are no surprise.
        let lost = self.proof.reachability.lost_between_hosts;
        match lost.saturating_sub(self.parts.severed_pairs) {
            0 => Ok(()),
            // With a refusal the lost pairs are those that the failure cost; the rest must keep its
            // answers.
            _ if self.allow_lost_pairs || self.parts.refusal.is_some() => Ok(()),
            lost => Err(PipelineError::LostPairs(lost)),
        }
    }

    /// What only a strict operator refuses. Errors: [`PipelineError::StrictLoop`].
    fn without_other_loops(&self) -> Result<(), PipelineError> {
        let loops = [
            (
                &self.proof.management_loop,
                "packets that ports 0 of switches send or get",
            ),
            (&self.proof.multicast_loop, "unicast and multicast together"),
        ];
        let found = loops
            .into_iter()
            .find_map(|(found, whose)| Some((found.as_ref()?, whose)));
        found.map_or(Ok(()), |(cycle, whose)| {
            let channels = self.channels(cycle);
            Err(PipelineError::StrictLoop { whose, channels })
        })
    }

    /// A loop, a line a channel.
    fn channels(&self, cycle: &CreditLoop) -> String {
        cycle.in_words(&self.parts.topology, &self.parts.routes)
    }

    /// The tables were read from a running fabric and not made.
    /// With a torus configuration that agrees, the engine's own routes are served instead.
    fn serves_held_tables(&self) -> bool {
        self.from_sa.is_some() && self.parts.routes.engine() == EngineKind::Files
    }

    /// One line for logs.
    /// "512 switches, 512 hosts, engine torus-2qos, 1 path class (uniform), no policy, ..".
    pub fn summary(&self) -> String {
        let info = self.snapshot.info();
        let mut text = format!(
            "{}, {}, engine {}, {} ({}), ",
            count(info.switches, "switch", "switches"),
            count(info.hosts, "host", "hosts"),
            self.parts.routes.engine(),
            count(info.path_classes, "path class", "path classes"),
            info.encoding
        );
        let _ = match info.rules {
            Some(rules) => write!(text, "{}, ", count(rules, "policy rule", "policy rules")),
            None => write!(text, "no policy, "),
        };
        if let Some(changed) = self.entries_changed {
            let ChangedEntries { entries, switches } = changed;
            let entries = count(entries, "forwarding entry", "forwarding entries");
            let switches = count(switches, "switch", "switches");
            let _ = write!(text, "{entries} of {switches} changed, ");
        }
        let total = self.timings.total();
        let _ = write!(text, "{} bytes, {} ms", info.bytes, total.as_millis());
        text
    }
}

/// Reads, routes, checks, compiles, builds, compares with the reference.
/// Errors: [`PipelineError`]. What the check found is in the result.
pub fn compile(inputs: &Inputs, stamp: Stamp) -> Result<Compiled, PipelineError> {
    compile_after(inputs, stamp, None)
}

/// [`compile`], where `before` holds the last routes that an engine made. If the fabric changed and
/// it refuses it now, what is left of them is served; else they spare some of the work.
pub fn compile_after(
    inputs: &Inputs,
    stamp: Stamp,
    before: Option<&FabricState>,
) -> Result<Compiled, PipelineError> {
    let start = Instant::now();
    let sources = read(inputs)?;
    let read = start.elapsed();
    let mut timings = Timings {
        read,
        ..Timings::default()
    };
    let mut warnings = sources.warnings.clone();
    let provenance = sources.provenance.clone();
    going_on(inputs)?;
    // Before the sources are taken apart.
    let changes_told = sources.changes_told();
    let mut parts = route_after(sources, before, &mut timings.route)?;
    let changes = before.map_or_else(Vec::new, |before| {
        route::changes(before, &parts, changes_told)
    });
    warnings.extend(parts.standing_refusal());
    warnings.extend(parts.programmed.iter().cloned());
    warnings.extend(remarks_of_engine(parts.routes.warnings()));
    // Only torus-2QoS has needs of its own; other engines take whatever VL arbitration there is.
    let arbitration = match parts.routes.torus() {
        Some(_) => vl_arbitration(inputs, &parts),
        None => Vec::new(),
    };
    warnings.extend(setup_remarks(inputs, &parts));
    going_on(inputs)?;
    let Checked {
        proof,
        survey,
        proven,
    } = timed(&mut timings.check, || {
        let before = before.and_then(|before| before.proven.as_ref());
        let prove = || proof::check_after(&parts, before, inputs.watch);
        inputs.watch.step(PROVING, prove)
    });
    // For the next change. It shares the tables that it is about.
    parts.proven = proven;
    warnings.extend(proof.remarks(&parts));
    going_on(inputs)?;
    let snapshot = timed(&mut timings.build, || {
        let build = || build_surveyed(&parts, &survey, &parts.aliases, provenance, stamp);
        inputs.watch.step("compiling", build)
    })?;
    going_on(inputs)?;
    timed(&mut timings.compare, || {
        let compare = || crosscheck::sample(&parts, &snapshot);
        inputs.watch.step("comparing with the reference", compare)
    })
    // A difference is a defect of ours: the snapshot is not shown to anybody.
    .map_err(PipelineError::CrossCheck)?;
    let entries_changed = timed(&mut timings.compare, || {
        before.map(|before| route::entries_changed(before, &parts))
    });
    let mut compiled = Compiled {
        parts,
        snapshot,
        proof,
        warnings,
        arbitration,
        changes,
        entries_changed,
        timings,
        from_sa: inputs.from_sa.clone(),
        goes_on_from: None,
        allow_lost_pairs: inputs.allow_lost_pairs,
        strict: inputs.strict,
    };
    // What would have refused the tables of an engine is a warning here.
    if compiled.serves_held_tables() {
        let flaws = programmed::flaws(&compiled);
        compiled.warnings.extend(flaws);
    }
    Ok(compiled)
}

/// Between two steps. Errors: [`PipelineError::Stopped`].
fn going_on(inputs: &Inputs) -> Result<(), PipelineError> {
    match inputs.watch.is_stopped() {
        true => Err(PipelineError::Stopped),
        false => Ok(()),
    }
}

/// What an engine says of a fabric that it routes, or refuses.
pub fn remarks_of_engine(warnings: &[routing::Warning]) -> Vec<Remark> {
    let remarks = warnings.iter();
    let remarks = remarks.map(|it| Remark::warning(it.code(), it.to_string()));
    remarks.collect()
}

/// What is wrong with the policy's scopes, where they are to be in force.
/// Nothing where scopes are not in force: the reader says then that they are without effect.
fn setup_remarks(inputs: &Inputs, parts: &FabricState) -> Vec<Remark> {
    match (&inputs.policy, &parts.policy) {
        (Some(file), Some(policy)) if inputs.apply_setup => {
            Scopes::new(policy, SetupContext::from_state(parts), ScopeFit::Rfc).remarks(file)
        }
        _ => Vec::new(),
    }
}

/// What torus-2QoS has to say about VL arbitration and SL2VL options; briefly where nobody gave
/// any.
fn vl_arbitration(inputs: &Inputs, parts: &FabricState) -> Vec<Remark> {
    let all = torus_warnings(&parts.options);
    // Nobody wrote these weights, so a list of them would be about lines that are not there.
    if inputs.opensm_conf.is_none() && !all.is_empty() {
        let brief = "without opensm.conf VL arbitration is OpenSM's default, which is unfair on a \
                     torus; `sapphire setup` says what to set";
        return vec![Remark::warning("vl-arbitration-default", brief)];
    }
    all.iter().map(TorusWarning::remark).collect()
}

/// Runs a step, or a part of one, and adds how long it took.
fn timed<T>(place: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *place += start.elapsed();
    result
}

/// Compiles policy and paths and builds the snapshot. Errors: `Policy`, `TooLarge`, `Build`.
///
/// For verbs that have a state and want no proof: previews, tests, benchmarks.
pub fn build(
    parts: &FabricState,
    provenance: Vec<String>,
    stamp: Stamp,
) -> Result<Snapshot, PipelineError> {
    build_with_aliases(parts, &parts.aliases, provenance, stamp)
}

/// [`build`] with other alias GUIDs than those of the parts, each with the GUID of its port; those
/// of ports that are not there are left out. Where there is a snapshot of the same parts already,
/// [`Snapshot::with_aliases`] gives the same without compiling. Errors: as [`build`].
pub fn build_with_aliases(
    parts: &FabricState,
    aliases: &[(Guid, Guid)],
    provenance: Vec<String>,
    stamp: Stamp,
) -> Result<Snapshot, PipelineError> {
    let survey = Survey::from_routes(&parts.topology, &parts.routes);
    build_surveyed(parts, &survey, aliases, provenance, stamp)
}

/// [`build_with_aliases`] where the columns of the tables have been followed already, as the proof
/// has. Following them twice would double the time of a small change.
fn build_surveyed(
    parts: &FabricState,
    survey: &Survey,
    aliases: &[(Guid, Guid)],
    provenance: Vec<String>,
    stamp: Stamp,
) -> Result<Snapshot, PipelineError> {
    let (topology, routes) = (&parts.topology, &parts.routes);
    // Path classes before the policy: a fabric that is too large is refused before rules are
    // compiled.
    let paths = routing::paths::classes::compile_surveyed(topology, routes, parts.qos(), survey)?;
    let policy = parts
        .policy
        .as_ref()
        .map(|policy| policy::compile(policy, &parts.facts, &parts.partitions))
        .transpose()
        .map_err(|error| PipelineError::Policy(Box::new(error)))?;
    let model = Model {
        provenance: Provenance {
            built_unix: stamp.built_unix,
            epoch: stamp.epoch,
            engine: parts.routes.engine().to_string(),
            // Names and digests, no paths: where a file lies must not change the bytes.
            inputs: provenance,
        },
        subnet: rows::subnet(parts),
        ports: rows::port_rows(parts),
        partitions: parts.partitions.rows(),
        paths,
        policy,
        groups: rows::group_rows(parts),
        prefix_routes: rows::prefix_route_rows(parts),
        aliases: rows::alias_rows(parts, aliases),
    };
    Ok(Builder::build(&model)?)
}
