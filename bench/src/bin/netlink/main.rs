//! RESOLVE per second of the local service, over a socket pair with an emulated kernel.
//!
//! ```text
//! netlink                    loads with windows of 1, 16 and 128 queries, agent and kernel's side
//!                            on one core and on two
//! netlink --seconds 5        longer
//! netlink --window 64        this window
//! ```
//!
//! A host of a 24x24x24 torus under 1,000 rules asks for destinations all over it. `snapshot` is
//! the agent with the snapshot behind it in a plain loop, whose CPU time is told; `service` is the
//! daemon's own thread. Prints a JSON line per load; a query that ends otherwise than by a record
//! or by a refusal makes the run void.

#![forbid(unsafe_code)]

mod host;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use clap::Parser;
use host::Host;
use kernel_emulator::link::pair;
use sa_bench::netlink::{Plan, Report, drive, measure};
use sa_fastpath::affinity;
use sa_local::service::{Service, Setting};
use sa_local::{Paths, Wake};
use serde::Serialize;

/// Measures the local service.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long each load lasts
    #[arg(long, default_value_t = 1, value_name = "N")]
    seconds: u64,
    /// Queries that wait at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=200))]
    window: Option<u16>,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    // One, some, and more than a datagram of replies holds.
    let windows = arguments
        .window
        .map_or_else(|| vec![1, 16, 128], |window| vec![window]);
    let host = Host::new()?;
    let cores = affinity::cores();
    let (first, second) = (cores.first().copied(), cores.get(1).copied());
    for (kernel_core, name) in [(first, "one core"), (second, "two cores")] {
        // With one core there is no second line to measure.
        if kernel_core.is_none() {
            continue;
        }
        for window in &windows {
            let plan = Plan {
                window: usize::from(*window),
                time: Duration::from_secs(arguments.seconds),
                agent_core: first,
                kernel_core,
            };
            let report = agent(&host, &plan)?;
            let cpu = Cpu {
                agent_cpu_ns: report.agent_ns().round(),
                per_second_of_agent_cpu: (1e9 / report.agent_ns()).round(),
            };
            print("snapshot", name, *window, &report, Some(cpu))?;
            print("service", name, *window, &service(&host, &plan)?, None)?;
        }
    }
    Ok(())
}

/// The agent in a plain loop: the cost of an answer without the daemon's thread around it.
fn agent(host: &Host, plan: &Plan) -> Result<Report, Failure> {
    let mut replica = host.replica()?;
    replica.look(&host.seen());
    Ok(measure(replica, &host.queries(), plan)?)
}

/// The daemon's thread as it runs, with its own waiting and its own looks at the ports.
fn service(host: &Host, plan: &Plan) -> Result<Report, Failure> {
    let (kernel_end, agent_end) = pair()?;
    let paths = Box::new(host.replica()?);
    let view = Arc::new(ArcSwap::new(host.seen()));
    let setting = Setting {
        timeout_ms: 2000,
        own_address: None,
        is_passed: true,
        look: Duration::from_millis(100),
    };
    // Its thread runs where this one does when it starts it.
    plan.agent_core.map(affinity::pin);
    let service = Service::start(agent_end, paths, view, Wake::new()?, setting)?;
    let report = drive(kernel_end, &host.queries(), plan);
    // Ends its thread before the result is looked at: a failed run leaves nothing behind.
    drop(service);
    Ok(report?)
}

/// A load.
///
/// The JSON of one load; `cpu` is missing for `service`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    schema: &'static str,
    /// `snapshot` or `service`.
    what: &'a str,
    cores: &'a str,
    /// Queries that wait at a time.
    window: u16,
    queries: u64,
    accepted: u64,
    refused: u64,
    per_second: f64,
    p50_us: f64,
    p99_us: f64,
    /// Of `snapshot` alone, whose agent turns on a thread of this program.
    #[serde(flatten)]
    cpu: Option<Cpu>,
}

/// CPU time of the agent, for a query.
#[derive(Debug, Serialize)]
struct Cpu {
    agent_cpu_ns: f64,
    per_second_of_agent_cpu: f64,
}

/// Name and version of a [`Line`]; see `docs/schemas`.
const SCHEMA: &str = "bench.netlink/1";

fn print(
    what: &str,
    cores: &str,
    window: u16,
    report: &Report,
    cpu: Option<Cpu>,
) -> Result<(), Failure> {
    let line = Line {
        schema: SCHEMA,
        what,
        cores,
        window,
        queries: report.queries,
        accepted: report.accepted,
        refused: report.refused,
        per_second: report.rate().round(),
        p50_us: micros(report.latency.quantile_ns(0.5)),
        p99_us: micros(report.latency.quantile_ns(0.99)),
        cpu,
    };
    println!("{}", serde_json::to_string(&line)?);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "times are short")]
fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
