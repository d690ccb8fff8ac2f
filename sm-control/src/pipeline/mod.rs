//! From input files to a verified snapshot, in the order of `docs/architecture.md`, section 5.
//!
//! Nothing here publishes: a failure at any step leaves whatever is in service alone.

mod crosscheck;
mod inputs;
mod read;
mod rows;
mod tables;

use std::fmt::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use policy::{Partitions, Policy, PortFacts};
use routing::check::{
    CreditLoop, DependencyGraph, MulticastRoute, PathSls, Reachability, reachability,
};
use routing::{EndPortIx, Qos, Refusal, Routes, Topology};
use sa_snapshot::model::{Model, Provenance, RateCaps};
use sa_snapshot::{BuildError, Builder, Snapshot};
use sa_wire::{Mlid, Sl};
use thiserror::Error;

use crate::fabric::options::OpenSmOptions;
use crate::fabric::subnet::Subnet;
use crate::twin::{Twin, TwinInputs, TwinOptions};

pub use crosscheck::Mismatch;
pub use inputs::{EngineChoice, Inputs};
pub use read::{ReadProblem, Sources, Tables, read};
pub use rows::subnet_options;

/// What a snapshot is stamped with; zeros where bytes must be reproducible.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stamp {
    /// Number of the change.
    pub epoch: u64,
    /// Seconds since 1970.
    pub built_unix: u64,
}

/// Seconds since 1970.
pub fn unix_time() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Everything that was read and computed on the way to a snapshot.
#[derive(Debug)]
pub struct Parts {
    /// Nodes, LIDs, names.
    pub subnet: Subnet,
    /// Options of the SM.
    pub options: OpenSmOptions,
    /// What routing saw.
    pub topology: Topology,
    /// What it made.
    pub routes: Routes,
    /// What the policy saw. Shape: as the topology's end ports.
    pub facts: Vec<PortFacts>,
    /// Partitions.
    pub partitions: Partitions,
    /// Policy in force.
    pub policy: Option<Policy>,
    /// What newer rates need. Shape: as the topology's end ports.
    pub rate_caps: Vec<RateCaps>,
}

impl Parts {
    /// The slow twin of the snapshot that these parts give.
    pub fn twin(&self) -> Twin<'_> {
        let inputs = TwinInputs {
            topology: &self.topology,
            routes: &self.routes,
            policy: self.policy.as_ref(),
            ports: &self.facts,
            partitions: &self.partitions,
            rate_caps: &self.rate_caps,
        };
        let options = TwinOptions {
            prefix: self.options.subnet_prefix,
            qos: self.qos(),
            packet_life: self.options.subnet_timeout,
            max_rate_code: self.options.max_rate_code(),
            sa_key: self.options.sa_key,
            allow_both_pkeys: self.options.allow_both_pkeys,
            most_records: crate::slow_sa::MAX_RECORDS,
        };
        Twin::new(inputs, options)
    }

    /// Whether the subnet uses QoS.
    pub const fn qos(&self) -> Qos {
        if self.options.qos { Qos::On } else { Qos::Off }
    }
}

/// How long each step took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// Reading and parsing.
    pub read: Duration,
    /// Routing.
    pub route: Duration,
    /// Credit-loop and reachability check.
    pub check: Duration,
    /// Compiling policy and path classes, building and verifying the snapshot.
    pub build: Duration,
}

/// A snapshot and what it came from.
#[derive(Debug)]
pub struct Compiled {
    /// What was read and computed.
    pub parts: Parts,
    /// The result.
    pub snapshot: Snapshot,
    /// What the check of the tables found.
    pub proof: Proof,
    /// What an operator should know, one sentence each.
    pub warnings: Vec<String>,
    /// How long it took.
    pub timings: Timings,
    allow_lost_pairs: bool,
}

/// Why there is no snapshot.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// An input cannot be read or parsed.
    #[error(transparent)]
    Read(#[from] ReadProblem),
    /// The engine refuses the fabric.
    #[error(transparent)]
    Refused(Box<Refused>),
    /// The policy does not fit the fabric. Shape: `file:line:column: problem`.
    #[error("{0}")]
    Policy(String),
    /// The paths or tables are more than a snapshot holds.
    #[error("{0}")]
    TooLarge(String),
    /// The snapshot does not build.
    #[error("snapshot: {0}")]
    Build(#[from] BuildError),
    /// The snapshot and the slow twin disagree; a defect, and the reason nothing is published.
    #[error("the compiled tables and the slow twin disagree, nothing is published: {0}")]
    CrossCheck(Box<Mismatch>),
    /// The tables have a credit loop.
    #[error("the routes have a credit loop, each may wait for the next:\n{0}")]
    CreditLoop(String),
    /// Wired pairs have no path.
    #[error(
        "{0} pairs of hosts that are wired together have no path; repair the fabric or its \
        configuration, or allow lost pairs"
    )]
    LostPairs(u64),
}

/// A fabric that the engine refuses.
#[derive(Debug, Error)]
#[error("{refusal}")]
pub struct Refused {
    /// Why, and the placement where there is one.
    pub refusal: Refusal,
    /// The fabric that the refusal speaks of.
    pub topology: Topology,
}

impl Compiled {
    /// Whether it may go into service without being told to. Errors: a credit loop; lost pairs.
    pub fn publishable(&self) -> Result<(), PipelineError> {
        if let Some(cycle) = &self.proof.credit_loop {
            let words = cycle.in_words(&self.parts.topology, &self.parts.routes);
            return Err(PipelineError::CreditLoop(words.trim_end().to_owned()));
        }
        match self.proof.reachability.lost_between_hosts {
            0 => Ok(()),
            _ if self.allow_lost_pairs => Ok(()),
            lost => Err(PipelineError::LostPairs(lost)),
        }
    }

    /// One line for logs.
    pub fn summary(&self) -> String {
        let info = self.snapshot.info();
        let mut text = format!(
            "{} switches, {} hosts, engine {}, {} path classes ({}), ",
            info.switches,
            info.hosts,
            self.parts.routes.engine(),
            info.path_classes,
            info.encoding
        );
        let _ = match info.rules {
            Some(rules) => write!(text, "{rules} policy rules, "),
            None => write!(text, "no policy, "),
        };
        let total =
            self.timings.read + self.timings.route + self.timings.check + self.timings.build;
        let _ = write!(text, "{} bytes, {} ms", info.bytes, total.as_millis());
        text
    }
}

/// Reads, routes, checks, compiles, builds, compares with the slow twin.
/// Errors: [`PipelineError`]. What the check found is in the result.
pub fn compile(inputs: &Inputs, stamp: Stamp) -> Result<Compiled, PipelineError> {
    let start = Instant::now();
    let sources = read(inputs)?;
    let read = start.elapsed();
    let mut compiled = compile_sources(sources, inputs, stamp)?;
    compiled.timings.read = read;
    Ok(compiled)
}

/// [`compile`] without the reading.
pub fn compile_sources(
    sources: Sources,
    inputs: &Inputs,
    stamp: Stamp,
) -> Result<Compiled, PipelineError> {
    let mut timings = Timings::default();
    let mut warnings = sources.warnings.clone();
    let provenance = sources.provenance.clone();
    let parts = timed(&mut timings.route, || route(sources))?;
    warnings.extend(parts.routes.warnings().iter().map(ToString::to_string));
    let proof = timed(&mut timings.check, || check(&parts));
    if let Some(cycle) = &proof.multicast_loop {
        let words = cycle.in_words(&parts.topology, &parts.routes);
        warnings.push(format!(
            "unicast and multicast together can close a credit loop (OpenSM's own tables have it \
             too after such a failure), each may wait for the next:\n{}",
            words.trim_end()
        ));
    }
    let snapshot = timed(&mut timings.build, || build(&parts, provenance, stamp))?;
    crosscheck::sample(&parts, &snapshot).map_err(PipelineError::CrossCheck)?;
    let allow_lost_pairs = inputs.allow_lost_pairs;
    Ok(Compiled {
        parts,
        snapshot,
        proof,
        warnings,
        timings,
        allow_lost_pairs,
    })
}

fn timed<T>(place: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *place = start.elapsed();
    result
}

/// Routes the fabric by the engine that the inputs call for. Errors: `Refused`, `Policy`.
pub fn route(sources: Sources) -> Result<Parts, PipelineError> {
    let Sources {
        subnet,
        options,
        tables,
        partitions,
        policy,
        ..
    } = sources;
    let qos = if options.qos { Qos::On } else { Qos::Off };
    let topology = subnet.topology(&options);
    let routes = match &tables {
        Tables::Torus(config) => routing::torus::route(&topology, config, qos),
        Tables::MinHop => Ok(routing::minhop::route(&topology)),
        Tables::Files { lfts, sl2vl } => routing::files::route(&topology, lfts, sl2vl),
    };
    let routes = match routes {
        Ok(routes) => routes,
        Err(refusal) => {
            return Err(PipelineError::Refused(Box::new(Refused {
                refusal,
                topology,
            })));
        }
    };
    let facts = subnet.port_facts();
    let ends = subnet.end_ports().iter();
    let rate_caps = ends
        .map(|port| subnet.fabric().rate_caps(port.at))
        .collect();
    Ok(Parts {
        subnet,
        options,
        topology,
        routes,
        facts,
        partitions,
        policy,
        rate_caps,
    })
}

/// What the check of finished tables found.
#[derive(Debug, Clone)]
pub struct Proof {
    /// A shortest credit loop of the unicast routes; none proves them free of deadlock.
    pub credit_loop: Option<CreditLoop>,
    /// A shortest loop that unicast and multicast close together, where members of a group on SL 0
    /// are everywhere. Torus-2QoS makes one after some failures; no other engine here makes trees.
    pub multicast_loop: Option<CreditLoop>,
    /// Which pairs have a path.
    pub reachability: Reachability,
}

/// Lost pairs that a report names.
pub const LISTED_PAIRS: usize = 1000;

/// Proves the tables as the SA will use them. With torus-2QoS both QoS levels are looked at; with
/// other engines every SL that policy or partitions hand out.
pub fn check(parts: &Parts) -> Proof {
    let sls = match parts.routes.torus() {
        Some(_) => PathSls::Engine,
        None => PathSls::Any(rows::sls_in_use(parts)),
    };
    let (topology, routes) = (&parts.topology, &parts.routes);
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, sls);
    let credit_loop = graph.shortest_loop();
    let multicast_loop = everybodys_group(parts).and_then(|group| {
        graph.add_multicast(topology, &[group]);
        graph.shortest_loop()
    });
    Proof {
        multicast_loop: multicast_loop.filter(|_| credit_loop.is_none()),
        credit_loop,
        reachability: reachability(topology, routes, LISTED_PAIRS),
    }
}

/// The worst group there can be: everybody is a member. None without multicast trees.
fn everybodys_group(parts: &Parts) -> Option<MulticastRoute> {
    let (tree, torus) = (parts.routes.multicast_tree()?, parts.routes.torus()?);
    let members: Vec<EndPortIx> = parts.topology.end_port_ixs().collect();
    let table = tree.table(&parts.topology, torus, Mlid::MIN, &members);
    Some(MulticastRoute {
        sl: Sl::default(),
        switches: table.switches,
    })
}

/// Compiles policy and paths and builds the snapshot. Errors: `Policy`, `TooLarge`, `Build`.
pub fn build(
    parts: &Parts,
    provenance: Vec<String>,
    stamp: Stamp,
) -> Result<Snapshot, PipelineError> {
    let paths = routing::path_classes::compile(&parts.topology, &parts.routes, parts.qos())
        .map_err(|error| PipelineError::TooLarge(error.to_string()))?;
    let policy = parts
        .policy
        .as_ref()
        .map(|policy| policy::compile(policy, &parts.facts, &parts.partitions))
        .transpose()
        .map_err(|error| PipelineError::Policy(format!("QoS policy: {error}")))?;
    let model = Model {
        provenance: Provenance {
            built_unix: stamp.built_unix,
            epoch: stamp.epoch,
            engine: parts.routes.engine().to_string(),
            inputs: provenance,
        },
        subnet: subnet_options(&parts.options),
        ports: rows::port_rows(parts),
        partitions: parts.partitions.rows(),
        paths,
        policy,
    };
    Ok(Builder::build(&model)?)
}
