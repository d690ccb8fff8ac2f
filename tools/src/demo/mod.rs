//! `sapphire demo`: the whole line in memory, in front of the reader's eyes.
//!
//! Nothing in it is a stand-in: files are written and read back, routes are proved, every reply is
//! compared with the reference.
//!
//! What it shows, in order, in a minute or so:
//!
//! ```text
//! prepare   torus files -> route -> prove -> compile -> file -> read back     before
//! load      closed and open loop: GID to GID, LID to LID, MultiPath           before
//! changes   one closed loop, in which: new policy, a cable fails,             before -> after
//!           a switch fails                                                    -> damages
//! show      one pair explained, totals
//! ```
//!
//! It is also a test: it fails where a reply is lost or wrong, or where a failure costs a wired
//! pair its path or changes an SL. Rates and latencies are what this machine gives in two seconds,
//! and are no benchmark; `sapphire bench` is.
//!
//! Ctrl-C ends it at once: what was shown until then is summed up, and `--json` has it with
//! `interrupted`.
//!
//! `demo --sm` shows the Subnet Manager instead ([`sm`]).

mod changes;
mod damage;
mod load;
mod pools;
mod prepare;
mod show;
mod sm;

use std::time::Duration;

use clap::Args;
use policy::model::criterion::{Field, Numbers};
use sa_compiler::account::{Pair, account};
use sa_compiler::pipeline::Timings;
use serde::Serialize;

use crate::explain;
use crate::failure::{Failure, Outcome};
use crate::interrupt::{self, Seen};
use crate::json::{self, Document};
use crate::simulate::compare::Difference;

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Seconds of closed-loop load per workload
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// Switches along each axis; a ring takes three, and only rings lead around what fails
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(3..=14))]
    radix: u8,
    /// Show the Subnet Manager instead: it brings up a subnet of simulated devices, and keeps it
    /// through failures
    #[arg(long, conflicts_with = "seconds")]
    sm: bool,
    /// Print one JSON line at the end
    #[arg(long)]
    json: bool,
}

/// Errors: wrong options; a state that does not compile; replies lost or wrong, told after all has
/// been shown.
pub(crate) fn run(verb: &Demo) -> Outcome {
    if verb.sm {
        return sm::run(verb.radix, verb.json);
    }
    if !(0.1..=3600.0).contains(&verb.seconds) {
        return Err(Failure::usage("--seconds: expected 0.1 to 3600".to_owned()));
    }
    let prepared = prepare::prepare(verb.radix)?;
    let (json, built) = (verb.json, Built::of(&prepared));
    let tell = move |results: &load::Results, is_interrupted| {
        show::totals(results, is_interrupted);
        if json {
            print_json(&built, results, is_interrupted)?;
        }
        judge(results)
    };
    let so_far = move |results: &load::Results| tell(results, true);
    let results = interrupt::telling(so_far, |seen: &Seen<_>| {
        load::run(&prepared, verb.seconds, seen)?;
        outln!("\none pair explained");
        let before = &prepared.before;
        let explained = account(&before.snapshot, &before.parts, &pair(&prepared), None);
        explain::print(&explained.map_err(Failure::failed)?);
        Ok(())
    })?;
    tell(&results, false)
}

/// What the run has to keep: no reply lost or wrong, and of wired pairs no path lost and no SL
/// changed.
fn judge(results: &load::Results) -> Outcome {
    let (lost, wrong) = (results.lost, results.wrong);
    if lost + wrong > 0 {
        return Err(Failure::failed(format!(
            "{lost} replies lost, {wrong} wrong"
        )));
    }
    let failures = results.changes.iter().flat_map(|it| &it.failures);
    let is_bad = |difference: &Difference| difference.pairs_lost + difference.sl_changes > 0;
    let mut differences = failures.map(|failed| &failed.difference);
    match differences.find(|it| is_bad(it)) {
        None => Ok(()),
        Some(difference) => Err(Failure::failed(format!(
            "after a failure {} wired pairs lost their path and {} changed SL",
            difference.pairs_lost, difference.sl_changes
        ))),
    }
}

/// Two hosts far apart, one of them a file server of the sample policy, asking as NVMe does. The
/// destination lies in the range of port GUIDs that a group of that policy names, so that a rule
/// shows.
fn pair(prepared: &prepare::Prepared) -> Pair {
    let ends = &prepared.before.parts.topology.end_ports;
    let host = |guid: u64| {
        ends.iter()
            .position(|end| end.guid.get() == guid)
            .unwrap_or(0)
    };
    let hosts = prepared.plan.hosts.len();
    let far = prepared
        .plan
        .hosts
        .get(hosts * 5 / 8)
        .map_or(0, |host| host.guid + 1);
    let mut numbers = Numbers::default();
    numbers[Field::ServiceId] = Some(0x0106_4e51);
    Pair {
        source: host(far),
        destination: host(0x10_0001),
        numbers,
        sl: None,
        silent: None,
        names: policy::UlpNames::default(),
    }
}

/// All of it for programs. `lost` and `wrong` count replies.
/// Printed when all is done, behind the lines for people.
#[derive(Debug, Serialize)]
struct Report<'a> {
    workloads: Vec<Workload>,
    lost: u64,
    wrong: u64,
    /// Of the healthy fabric, like the two below.
    build_ms: f64,
    /// torus-2QoS from scratch.
    route_ms: f64,
    /// The proof.
    check_ms: f64,
    /// From the publication of the changed policy until the worker answered from it.
    /// None where a signal came before.
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_us: Option<f64>,
    /// Of the healthy fabric.
    snapshot_bytes: usize,
    hosts: usize,
    switches: usize,
    failures: Vec<Failed<'a>>,
    /// A signal came before all was shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
}

/// What is told of the healthy fabric.
#[derive(Debug, Clone, Copy)]
struct Built {
    timings: Timings,
    snapshot_bytes: usize,
    hosts: usize,
    switches: usize,
}

impl Built {
    fn of(prepared: &prepare::Prepared) -> Self {
        let info = prepared.before.snapshot.info();
        Self {
            timings: prepared.before.timings,
            snapshot_bytes: info.bytes,
            hosts: info.hosts,
            switches: info.switches,
        }
    }
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.demo/1";
}

/// Rate and CPU time are of the closed loop, quantiles of an open one at half its rate.
#[derive(Debug, Serialize)]
struct Workload {
    name: &'static str,
    /// By wall time, so worker and client both have a part in it.
    mqps: f64,
    /// Of the worker, turns that found nothing left out.
    cpu_ns_per_query: f64,
    cpu_ns_per_query_with_waiting: f64,
    /// Since a request was due.
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
}

/// What a failure showed.
/// The figures are of this failure alone; the fabric is that of the failure before, with one thing
/// less.
#[derive(Debug, Serialize)]
struct Failed<'a> {
    /// As `cable S2_2_2 to S3_2_2`.
    what: &'a str,
    /// From the routes that were in force.
    reroute_ms: f64,
    check_ms: f64,
    build_ms: f64,
    swap_us: f64,
    /// Those of a failed switch; a failed cable cuts nobody off.
    hosts_cut_off: &'a [String],
    pairs_cut_off: u64,
    /// Wired pairs without a path: must be 0.
    pairs_lost: u64,
    /// Pairs whose SL is another one: must be 0, as applications keep the SL that they were told.
    sl_changes: u64,
    /// Replies while this state was in service.
    lost: u64,
    wrong: u64,
}

/// The same values as the lines for people, without rounding.
fn print_json(built: &Built, results: &load::Results, interrupted: bool) -> Outcome {
    let workloads = results.workloads.iter().map(|load| Workload {
        name: load.name,
        mqps: load.closed.mqps(),
        cpu_ns_per_query: load.cpu_ns_per_query,
        cpu_ns_per_query_with_waiting: load.spun_ns_per_query,
        p50_ns: load.open.quantile_ns(0.50),
        p99_ns: load.open.quantile_ns(0.99),
        p999_ns: load.open.quantile_ns(0.999),
    });
    let changes = results.changes.as_ref();
    let failures = changes.into_iter().flat_map(|it| &it.failures);
    let failures = failures.map(|failed| Failed {
        what: &failed.what,
        reroute_ms: ms(failed.timings.route),
        check_ms: ms(failed.timings.check),
        build_ms: ms(failed.timings.build),
        swap_us: ms(failed.swap) * 1e3,
        hosts_cut_off: &failed.difference.cut_off,
        pairs_cut_off: failed.pairs_cut_off,
        pairs_lost: failed.difference.pairs_lost,
        sl_changes: failed.difference.sl_changes,
        lost: failed.seen.lost,
        wrong: failed.seen.wrong,
    });
    let timings = built.timings;
    json::print(&Report {
        workloads: workloads.collect(),
        lost: results.lost,
        wrong: results.wrong,
        build_ms: ms(timings.build),
        route_ms: ms(timings.route),
        check_ms: ms(timings.check),
        swap_us: changes.map(|it| ms(it.policy_swap) * 1e3),
        snapshot_bytes: built.snapshot_bytes,
        hosts: built.hosts,
        switches: built.switches,
        failures: failures.collect(),
        interrupted,
    })
}

/// Milliseconds, for people and documents.
fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
