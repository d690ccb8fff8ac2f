//! What it costs when a cable fails: from the fabric's files to the snapshot in service.
//!
//! ```text
//! change                              a 16x16x16 torus with one and with two hosts a switch, and
//!                                     a fat tree of 8,192 hosts
//! change --rounds 20                  more often
//! change torus:24x24x24x2             another fabric
//! change --overheard fat-tree:32      beside an OpenSM, from the last word of what it wrote
//! change --overheard --pace 100000 --prepare fat-tree:32
//!                                     its words at a pace, and work done while they come
//! ```
//!
//! Each cable fails in a fabric that is whole, with what the daemon has of it from before
//! (`from before`) and without (`from nothing`), in turn. The results must be equal, table by table
//! and byte by byte, or the run ends with an error. Prints a JSON line per cable and way. Times are
//! medians in ms, with the least where named so; `wall_ms` is everything but reading the files.
//!
//! Engines that keep entries (updn, ftree, dfsssp-nue) must connect the same pairs without a loop;
//! of the others the two ways must give the same bytes: an incremental reroute that is fast and
//! differs would be found here before a fabric finds it. That is why they are compared in every
//! round and not once.

#![forbid(unsafe_code)]

mod fabric;
mod figures;
mod overheard;

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use fabric::Fabric;
use figures::{least, median, milliseconds};
use overheard::Replay;
use sa_bench::clock::process_cpu_time;
use sa_compiler::pipeline::{self, Compiled, Inputs, Proof, Stamp, Timings};
use sa_compiler::state::FabricState;
use sa_fastpath::publish::Publisher;
use sa_snapshot::SharedBytes;
use serde::Serialize;

/// As the daemon has it.
// The allocator is part of what a change costs: most of it is tables that are made and dropped.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures a change of the fabric.
#[derive(Debug, Parser)]
struct Arguments {
    /// torus:XxYxZxHOSTS, or a shape as `sapphire bench` takes it: fat-tree:PORTS,
    /// dragonfly-plus:LEAVESxSPINESxHOSTSxGLOBAL, random:SWITCHESxDEGREExHOSTS
    #[arg(default_values = ["torus:16x16x16x1", "torus:16x16x16x2", "fat-tree:32"])]
    fabrics: Vec<String>,
    /// How often each cable fails
    #[arg(long, default_value_t = 7, value_name = "N")]
    rounds: usize,
    /// Take the change from the words of an OpenSM, not from files
    #[arg(long)]
    overheard: bool,
    /// With --overheard: let words come at this pace, as of an SM that waits for answers; else at
    /// once
    #[arg(long, requires = "overheard", value_name = "WORDS_PER_SECOND", value_parser = clap::value_parser!(u32).range(1..))]
    pace: Option<u32>,
    /// With --pace: compile states while tables are written, which are not published
    #[arg(long, requires = "pace")]
    prepare: bool,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    for name in &arguments.fabrics {
        // Dropped with the loop's turn: files of large fabrics do not pile up.
        let directory = tempfile::tempdir()?;
        let fabric = Fabric::new(name, directory.path())?;
        // Compiled once: it is what every round of every cable goes on from.
        let healthy = pipeline::compile(&fabric.inputs, Stamp::default())?;
        if arguments.overheard {
            let replay = Replay {
                pace: arguments.pace,
                prepares: arguments.prepare,
            };
            overhear(&fabric, healthy, (arguments.rounds, replay))?;
            continue;
        }
        for cable in &fabric.cables {
            fail(&fabric, cable, &healthy.parts, arguments.rounds)?;
        }
    }
    Ok(())
}

/// Lets each cable fail again and again beside an OpenSM.
///
/// Errors: a fabric does not compile; standard output.
fn overhear(fabric: &Fabric, healthy: Compiled, how: (usize, Replay)) -> Result<(), Failure> {
    let healthy = Arc::new(healthy);
    for cable in &fabric.cables {
        let inputs = Inputs {
            failed: vec![cable.to_owned()],
            ..fabric.inputs.clone()
        };
        // Compiled from nothing, as the truth that the words of the SM are made of.
        let failed = Arc::new(pipeline::compile(&inputs, Stamp::default())?);
        let both = (&healthy, &failed);
        overheard::measure(&fabric.name, cable, &fabric.inputs, both, how)?;
    }
    Ok(())
}

/// Lets a cable fail again and again.
///
/// Quick and full in each round, so that a machine that slows down does so for both.
fn fail(fabric: &Fabric, cable: &str, healthy: &FabricState, rounds: usize) -> Result<(), Failure> {
    let inputs = Inputs {
        failed: vec![cable.to_owned()],
        ..fabric.inputs.clone()
    };
    let (mut quick, mut full) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (one, took) = Took::of(&inputs, Some(healthy))?;
        // In turn with the other way, so that both meet the same machine.
        quick.push(took);
        let (other, took) = Took::of(&inputs, None)?;
        full.push(took);
        if is_kept(fabric) {
            compare_pairs(&one, &other)?;
        } else {
            compare(&one, &other)?;
        }
    }
    for (way, all) in [("from before", quick), ("from nothing", full)] {
        print(fabric, cable, way, &all)?;
    }
    Ok(())
}

/// What came of a change.
///
/// Kept until it was compared; then both results go.
/// Without times: those are in [`Took`].
struct Changed {
    parts: FabricState,
    proof: Proof,
    snapshot: SharedBytes,
}

/// What one change took.
struct Took {
    steps: Timings,
    publish: Duration,
    /// All but reading, by the clock on the wall.
    wall: Duration,
    /// All but reading, of all threads.
    cpu: Duration,
    /// The daemon would put it into service: it has no credit loop of hosts and no lost pairs.
    is_publishable: bool,
}

impl Took {
    /// Reads the fabric once alone, to know its CPU time, then does everything. Errors: the
    /// pipeline's.
    fn of(inputs: &Inputs, before: Option<&FabricState>) -> Result<(Changed, Self), Failure> {
        // Dropped before the clock starts: two fabrics in memory would be another measurement.
        let reading = process_cpu_time();
        drop(pipeline::read(inputs)?);
        let begun = process_cpu_time();
        // Reading has no CPU time of its own in the timings, and is the same for both ways.
        let read = begun - reading;
        let start = Instant::now();
        let compiled = pipeline::compile_after(inputs, Stamp::default(), before)?;
        let is_publishable = compiled.publishable().is_ok();
        let (built, mut publisher) = (Instant::now(), Publisher::new());
        let changed = Changed {
            parts: compiled.parts,
            proof: compiled.proof,
            snapshot: compiled.snapshot.shared_bytes(),
        };
        // To an empty publisher: what is timed is touching the snapshot and the store.
        publisher.publish(compiled.snapshot);
        let (wall, publish) = (start.elapsed(), built.elapsed());
        let cpu = (process_cpu_time() - begun).saturating_sub(read);
        let steps = compiled.timings;
        let took = Self {
            steps,
            publish,
            wall: wall.saturating_sub(steps.read),
            cpu,
            is_publishable,
        };
        Ok((changed, took))
    }
}

/// True where an engine keeps entries from before that it would not choose anew.
///
/// Such an engine keeps what still works, so its tables depend on what was before; equal they need
/// not be.
fn is_kept(fabric: &Fabric) -> bool {
    use routing::EngineKind::{DfssspNue, FatTree, UpDown};
    matches!(fabric.inputs.engine, Some(DfssspNue | FatTree | UpDown))
}

/// Errors: another number of pairs without a path, or a loop of hosts where there was none.
fn compare_pairs(one: &Changed, other: &Changed) -> Result<(), Failure> {
    let found = |changed: &Changed| {
        let proof = &changed.proof;
        (proof.reachability.lost, proof.credit_loop.is_some())
    };
    if found(one) != found(other) {
        return Err("lost pairs or loops differ".into());
    }
    Ok(())
}

/// Errors: the first thing in which two results differ.
///
/// Proofs are compared as they print: they have no equality of their own, and need none elsewhere.
fn compare(one: &Changed, other: &Changed) -> Result<(), Failure> {
    // All tables, not a digest: the first difference is worth looking at.
    let tables = |changed: &Changed| {
        let switches = changed.parts.topology.switch_ixs();
        let tables = switches.map(|switch| changed.parts.routes.lft(switch).to_vec());
        tables.collect::<Vec<_>>()
    };
    let found = |changed: &Changed| format!("{:?}", changed.proof);
    if tables(one) != tables(other) {
        return Err("forwarding tables differ".into());
    }
    if found(one) != found(other) {
        return Err("proofs differ".into());
    }
    if one.snapshot.as_ref() != other.snapshot.as_ref() {
        return Err("snapshots differ".into());
    }
    Ok(())
}

/// A cable and a way. Units: ms; none without a round.
///
/// Names are an interface: pages of figures are made of them.
#[derive(Debug, Serialize)]
struct Line<'a> {
    schema: &'static str,
    fabric: &'a str,
    cable: &'a str,
    way: &'a str,
    /// The daemon would put it into service.
    publishable: bool,
    rounds: usize,
    read_ms: Option<f64>,
    route_ms: Option<f64>,
    check_ms: Option<f64>,
    build_ms: Option<f64>,
    compare_ms: Option<f64>,
    publish_ms: Option<f64>,
    /// All but reading, by the clock on the wall.
    wall_ms: Option<f64>,
    wall_least_ms: Option<f64>,
    /// All but reading, of all threads.
    cpu_ms: Option<f64>,
    cpu_least_ms: Option<f64>,
}

/// Name and version of a [`Line`]; see `docs/schemas`.
const SCHEMA: &str = "bench.change/1";

/// Medians, and the least of those figures that a release page has.
///
/// Medians of steps do not add up to the median of the whole, as rounds differ in which step was
/// slow.
fn print(fabric: &Fabric, cable: &str, way: &str, all: &[Took]) -> Result<(), Failure> {
    let times = |of: fn(&Took) -> Duration| all.iter().map(move |took| milliseconds(of(took)));
    let middle = |of: fn(&Took) -> Duration| median(times(of)).map(round);
    let smallest = |of: fn(&Took) -> Duration| least(times(of)).map(round);
    let line = Line {
        schema: SCHEMA,
        fabric: &fabric.name,
        cable,
        way,
        publishable: all.iter().all(|took| took.is_publishable),
        rounds: all.len(),
        read_ms: middle(|took| took.steps.read),
        route_ms: middle(|took| took.steps.route),
        check_ms: middle(|took| took.steps.check),
        build_ms: middle(|took| took.steps.build),
        compare_ms: middle(|took| took.steps.compare),
        publish_ms: middle(|took| took.publish),
        wall_ms: middle(|took| took.wall),
        wall_least_ms: smallest(|took| took.wall),
        cpu_ms: middle(|took| took.cpu),
        cpu_least_ms: smallest(|took| took.cpu),
    };
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&line)?)?;
    Ok(())
}

/// A tenth of a millisecond; more digits would be noise.
fn round(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}
