//! What a sweep costs the Subnet Manager: SMPs, CPU time, memory, and the time that it would take
//! on hardware.
//!
//! ```text
//! sweep                               fat trees of 1,024 and 43,904 hosts, a torus of 4,096 switches with QoS
//! sweep fat-tree:16                   another fabric
//! ```
//!
//! The fabric is simulated in this process, node by node, and so is time: an SMP takes as long as
//! its hops and the processor of the node that answers. CPU time is that of the Subnet Manager
//! alone, without the simulator's, taken batch by batch. Each line of JSON is a sweep: the first
//! one, one after which nothing changed, that of a new process with the same LIDs, one after both
//! ends of a cable have told that it failed, one after they told that it is back, one after a
//! switch with hosts was rebooted, one by a new policy that gives all hosts other VL arbitration.
//! After each the run looks whether every switch holds what was planned and every link is up, or
//! ends with an error.

#![forbid(unsafe_code)]

mod fabric;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use fabric_simulator::{Simulator, Timing};
use sa_bench::shapes::first_host;
use sa_bench::sweeps::{Manager, Took};
use sa_fabric::options::ManagerOptions;
use sa_sm::lids::Remembered;
use serde::Serialize;
use sm_plan::Planner;

/// As the daemon has it.
// The planner allocates most of what a sweep costs in memory; another allocator would be another figure.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures sweeps over a simulated fabric.
#[derive(Debug, Parser)]
struct Arguments {
    /// torus:XxYxZxHOSTS, or a shape as `sapphire bench` takes it: fat-tree:PORTS
    #[arg(default_values = ["fat-tree:16", "fat-tree:56", "torus:16x16x16x1"])]
    fabrics: Vec<String>,
    /// What a node's processor needs for an SMP, in microseconds
    #[arg(long, default_values_t = [50, 1000], value_name = "US")]
    service: Vec<u64>,
    /// Program SL2VL and VL arbitration too, as torus-2QoS needs it
    #[arg(long)]
    qos: bool,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir()?;
    for name in &arguments.fabrics {
        for service in &arguments.service {
            // torus-2QoS needs QoS; a run without it would measure a plan that is refused.
            let is_torus = name.starts_with("torus:");
            // The whole run again for each: simulated time follows the slowest node, so it cannot be scaled afterwards.
            let service = Duration::from_micros(*service);
            measure(name, service, arguments.qos || is_torus, folder.path())?;
        }
    }
    Ok(())
}

/// One fabric, event after event. Errors: a sweep fails, or leaves the subnet other than planned.
fn measure(name: &str, service: Duration, qos: bool, folder: &Path) -> Result<(), Failure> {
    let (fabric, inputs) = fabric::named(name, qos, folder)?;
    let timing = Timing {
        hop: Duration::from_micros(1),
        service,
    };
    let planner = Planner::new(
        inputs.clone(),
        ManagerOptions::default(),
        Remembered::default(),
    );
    // Events go on from each other, as they do in a subnet that lives: each line needs the one before.
    let sm = first_host(&fabric).ok_or("the fabric has no host")?;
    let (cable, leaf) = fabric::to_fail(&fabric)?;
    let far = fabric.port(cable).peer.ok_or("the cable has no far end")?;
    // The first host: where it is decides how long directed routes are.
    let mut manager = Manager::new(Simulator::new(&fabric, timing), planner, sm);
    let step =
        |manager: &mut Manager, event| print(name, service, event, &whole(manager.sweep()?)?);
    step(&mut manager, "first")?;
    step(&mut manager, "nothing")?;
    // What the process knew is gone, what devices hold is not: the sweep of a restart.
    manager.restart();
    step(&mut manager, "restarted")?;
    manager.simulator.unplug(cable);
    // Both ends tell: a cable that fails has two switches that see it.
    let ends = [cable, far].map(|end| fabric.node(end.node).guid);
    let trap =
        |manager: &mut Manager, event| print(name, service, event, &whole(manager.told(&ends)?)?);
    trap(&mut manager, "cable")?;
    manager.simulator.plug(cable, far);
    trap(&mut manager, "cable back")?;
    // A reboot loses tables, and the sweep has to find that out by itself: no trap comes of it.
    manager.simulator.reboot(leaf);
    step(&mut manager, "leaf rebooted")?;
    manager = manager.with_inputs(fabric::with_policy(inputs, folder)?);
    step(&mut manager, "new policy")
}

/// Errors: a table is not as planned, or a link is not up.
///
/// Every line is of a subnet that works: a fast sweep that leaves a block unwritten would be no
/// figure.
fn whole(took: Took) -> Result<Took, Failure> {
    match (took.not_held, took.links_down) {
        (0, 0) => Ok(took),
        (blocks, links) => {
            Err(format!("{blocks} blocks are not held, {links} ports are not up").into())
        }
    }
}

/// Units: in the names. Names are an interface, as of the other programs here.
#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    fabric: &'a str,
    /// What a node's processor needs for an SMP.
    service_us: u128,
    /// What happened before the sweep.
    event: &'a str,
    /// All that were sent.
    smps: u64,
    /// Of these, Sets.
    sets: u64,
    /// Of all, those that were sent again because no answer came.
    repeated: u64,
    /// On hardware, by the simulated time, without the plan.
    simulated_s: f64,
    /// LIDs, routes, proof, snapshot, tables: by the clock on the wall.
    plan_ms: f64,
    /// The same of all threads.
    plan_cpu_ms: f64,
    /// Finding and writing, without the plan: of the one thread that does it.
    core_ms: f64,
    /// The same for each SMP, its answer included.
    core_ns_per_smp: f64,
    /// Of this process, the simulator's nodes included.
    peak_mb: f64,
}

/// A line of JSON. Errors: standard output, or no /proc.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^52 SMPs")]
fn print(name: &str, service: Duration, event: &str, took: &Took) -> Result<(), Failure> {
    let line = Line {
        schema: "bench.sweep/1",
        fabric: name,
        service_us: service.as_micros(),
        event,
        smps: took.counts.sent,
        sets: took.counts.sets,
        repeated: took.counts.repeated,
        simulated_s: took.simulated.as_secs_f64(),
        plan_ms: took.plan.as_secs_f64() * 1e3,
        plan_cpu_ms: took.plan_cpu.as_secs_f64() * 1e3,
        core_ms: took.core.as_secs_f64() * 1e3,
        core_ns_per_smp: took.core.as_secs_f64() * 1e9 / took.counts.sent.max(1) as f64,
        peak_mb: peak_mb()?,
    };
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&line)?)?;
    Ok(())
}

/// `VmHWM` of proc(5).
///
/// It never falls, so the first line of a process is the only one whose peak is of that sweep
/// alone.
fn peak_mb() -> Result<f64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: f64 = number.ok_or("no VmHWM in /proc/self/status")?.parse()?;
    Ok(kilobytes / 1e3)
}
