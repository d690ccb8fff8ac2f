//! RESOLVE per second of the local service's agent, over a socket pair with an emulated kernel.
//!
//! ```text
//! netlink                    loads with windows of 1, 16 and 128 queries, agent and kernel's side
//!                            on one core and on two
//! netlink --seconds 5        longer
//! netlink --window 64        this window
//! ```
//!
//! The resolver grants every query a record made of its own fields: what is measured is sockets,
//! codec and rules. Prints a JSON line per load.

use std::time::Duration;

use clap::Parser;
use sa_bench::netlink::{NetlinkError, Plan, Report, measure};
use sa_fastpath::affinity;
use sa_wire::netlink_ls::{IpResolve, PathFlags, PathUse, Resolve};
use sa_wire::path_record::PathRecord;
use sa_wire::{Gid, ServiceId};
use serde_json::json;
use sm_control::local_service::agent::{Reason, Records, Resolver, Verdict};

/// Measures the agent of the local service.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long each load lasts
    #[arg(long, default_value_t = 1, value_name = "N")]
    seconds: u64,
    /// Queries that wait at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=200))]
    window: Option<u16>,
}

fn main() -> Result<(), NetlinkError> {
    let arguments = Arguments::parse();
    let windows = arguments
        .window
        .map_or_else(|| vec![1, 16, 128], |window| vec![window]);
    let cores = affinity::cores();
    let (first, second) = (cores.first().copied(), cores.get(1).copied());
    for (kernel_core, name) in [(first, "one core"), (second, "two cores")] {
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
            print(name, *window, &measure(Grants, &queries(), &plan)?);
        }
    }
    Ok(())
}

fn print(cores: &str, window: u16, report: &Report) {
    let line = json!({
        "cores": cores,
        "window": window,
        "queries": report.queries,
        "accepted": report.accepted,
        "per_second": report.rate().round(),
        "agent_cpu_ns": report.agent_ns().round(),
        "per_second_of_agent_cpu": (1e9 / report.agent_ns()).round(),
        "p50_us": micros(report.latency.quantile_ns(0.5)),
        "p99_us": micros(report.latency.quantile_ns(0.99)),
    });
    println!("{line}");
}

#[expect(clippy::cast_precision_loss, reason = "times are short")]
fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// As rdma_cm asks, to 256 destinations.
fn queries() -> Vec<Resolve<'static>> {
    (0..=u8::MAX)
        .map(|last| Resolve {
            seq: 0,
            device: b"mlx5_0",
            port: 1,
            path_use: PathUse::All,
            service_id: Some(ServiceId(0x0106_1234)),
            dgid: Some(gid(last)),
            sgid: Some(gid(3)),
            tclass: None,
            pkey: Some(0xffff),
            qos_class: Some(0),
        })
        .collect()
}

const fn gid(last: u8) -> Gid {
    Gid([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0, 1, last])
}

/// Grants every query.
struct Grants;

impl Resolver for Grants {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        let record = PathRecord {
            dgid: question.dgid.map_or([0; 16], |gid| gid.0),
            sgid: question.sgid.map_or([0; 16], |gid| gid.0),
            pkey: question.pkey.unwrap_or(0xffff).into(),
            ..PathRecord::default()
        };
        match records.push(PathFlags::for_main(question.path_use), record) {
            Ok(()) => Verdict::Resolved,
            Err(_) => Verdict::Unresolved(Reason::NoRecord),
        }
    }

    fn gid_of(&mut self, _: &IpResolve) -> Result<Gid, Reason> {
        Err(Reason::UnknownAddress)
    }
}
