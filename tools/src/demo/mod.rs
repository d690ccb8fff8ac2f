//! `sapphire demo`: the whole line in memory, in front of the reader's eyes.
//!
//! Nothing in it is a stand-in: files are written and read back, routes are proved, every reply is
//! compared with the slow twin.

mod changes;
mod damage;
mod load;
mod pools;
mod prepare;
mod show;

use std::time::Duration;

use clap::Args;
use policy::model::criterion::{Field, Numbers};
use serde::Serialize;

use crate::explain::{self, Pair};
use crate::failure::{Failure, Outcome};
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
    /// Print one JSON line at the end
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(verb: &Demo) -> Outcome {
    if !(0.1..=3600.0).contains(&verb.seconds) {
        return Err(Failure::usage("--seconds: expected 0.1 to 3600".to_owned()));
    }
    let prepared = prepare::prepare(verb.radix)?;
    let results = load::run(&prepared, verb.seconds)?;
    outln!("\none pair explained");
    explain::print(&explain::account(&prepared.before, &pair(&prepared), None)?);
    show::totals(&results);
    if verb.json {
        print_json(&prepared, &results)?;
    }
    judge(&results)
}

fn judge(results: &load::Results) -> Outcome {
    let (lost, wrong) = (results.lost, results.wrong);
    if lost + wrong > 0 {
        return Err(Failure::failed(format!(
            "{lost} replies lost, {wrong} wrong"
        )));
    }
    let failures = results.changes.failures.iter();
    let is_bad = |difference: &Difference| difference.pairs_lost + difference.sl_changes > 0;
    match failures
        .map(|failed| &failed.difference)
        .find(|it| is_bad(it))
    {
        None => Ok(()),
        Some(difference) => Err(Failure::failed(format!(
            "after a failure {} wired pairs lost their path and {} changed SL",
            difference.pairs_lost, difference.sl_changes
        ))),
    }
}

/// Two hosts far apart, one of them a file server of the sample policy, asking as NVMe does.
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
        silent: None,
        names: policy::UlpNames::default(),
    }
}

/// All of it for programs. `lost` and `wrong` count replies.
#[derive(Debug, Serialize)]
struct Report<'a> {
    workloads: Vec<Workload>,
    lost: u64,
    wrong: u64,
    build_ms: f64,
    route_ms: f64,
    check_ms: f64,
    /// From the publication of the changed policy until the worker answered from it.
    swap_us: f64,
    snapshot_bytes: usize,
    hosts: usize,
    switches: usize,
    failures: Vec<Failed<'a>>,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.demo/1";
}

#[derive(Debug, Serialize)]
struct Workload {
    name: &'static str,
    mqps: f64,
    /// Of the worker, turns that found nothing left out.
    cpu_ns_per_query: f64,
    cpu_ns_per_query_with_waiting: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
}

/// What a failure showed.
#[derive(Debug, Serialize)]
struct Failed<'a> {
    what: &'a str,
    reroute_ms: f64,
    check_ms: f64,
    build_ms: f64,
    swap_us: f64,
    hosts_cut_off: &'a [String],
    pairs_cut_off: u64,
    pairs_lost: u64,
    sl_changes: u64,
    lost: u64,
    wrong: u64,
}

fn print_json(prepared: &prepare::Prepared, results: &load::Results) -> Outcome {
    let workloads = results.workloads.iter().map(|load| Workload {
        name: load.name,
        mqps: load.closed.mqps(),
        cpu_ns_per_query: load.cpu_ns_per_query,
        cpu_ns_per_query_with_waiting: load.spun_ns_per_query,
        p50_ns: load.open.quantile_ns(0.50),
        p99_ns: load.open.quantile_ns(0.99),
        p999_ns: load.open.quantile_ns(0.999),
    });
    let failures = results.changes.failures.iter().map(|failed| Failed {
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
    let (info, timings) = (prepared.before.snapshot.info(), prepared.before.timings);
    json::print(&Report {
        workloads: workloads.collect(),
        lost: results.lost,
        wrong: results.wrong,
        build_ms: ms(timings.build),
        route_ms: ms(timings.route),
        check_ms: ms(timings.check),
        swap_us: ms(results.changes.policy_swap) * 1e3,
        snapshot_bytes: info.bytes,
        hosts: info.hosts,
        switches: info.switches,
        failures: failures.collect(),
    })
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
