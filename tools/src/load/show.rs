//! What was seen, for people and machines.

use sa_bench::PauseFloor;
use sa_bench::live::LiveReport;
use sa_source::{Ask, Client};
use sa_wire::Lid;
use serde_json::{Map, Value, json};

use super::Load;
use crate::failure::Outcome;
use crate::json;

/// Prints it.
pub(super) fn report(
    verb: &Load,
    client: &Client,
    hosts: usize,
    report: &LiveReport,
    pauses: PauseFloor,
) -> Outcome {
    if verb.json {
        return json::print(&value(verb, client, hosts, report, pauses));
    }
    text(verb, client, hosts, report, pauses);
    Ok(())
}

const QUANTILES: [(&str, &str, f64); 5] = [
    ("p50", "p50_ns", 0.5),
    ("p90", "p90_ns", 0.9),
    ("p99", "p99_ns", 0.99),
    ("p99.9", "p999_ns", 0.999),
    ("p99.99", "p9999_ns", 0.9999),
];

fn value(
    verb: &Load,
    client: &Client,
    hosts: usize,
    report: &LiveReport,
    pauses: PauseFloor,
) -> Value {
    let statuses = report.statuses.iter();
    let statuses: Map<String, Value> = statuses
        .map(|(status, count)| (format!("{status:#06x}"), json!(count)))
        .collect();
    let nanoseconds =
        |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let mut value = json!({
        "loop": if verb.rate.is_some() { "open" } else { "closed" },
        "workload": verb.workload.name(),
        "via": verb.via,
        "sa_lid": client.sa_lid().map(Lid::get),
        "rate": verb.rate,
        "window": verb.rate.is_none().then_some(verb.window),
        "seconds": verb.seconds,
        "hosts": hosts,
        "pairs": verb.pairs,
        "sent": report.sent,
        "unsent": report.unsent,
        "answered": report.answered,
        "timeouts": report.timeouts,
        "late": report.late,
        "statuses": statuses,
        "wrong": report.wrong,
        "compared": verb.expect.is_some(),
        "qps": report.rate(),
        "samples": report.latency.samples(),
        "max_ns": report.latency.longest_ns(),
        "sent_late_ns": report.latest.map(nanoseconds),
        "pauses": {
            "gaps": pauses.gaps,
            "longest_ns": nanoseconds(pauses.longest),
            "share": pauses.share,
        },
    });
    for (_, name, quantile) in QUANTILES {
        if let Some(place) = value.as_object_mut() {
            place.insert(name.to_owned(), json!(report.latency.quantile_ns(quantile)));
        }
    }
    value
}

fn text(verb: &Load, client: &Client, hosts: usize, report: &LiveReport, pauses: PauseFloor) {
    let pace = match verb.rate {
        Some(rate) => format!("open loop, {rate} requests/s, latency from the time each was due"),
        None => format!(
            "closed loop, {} under way, latency from sending: what a stall holds back is not in it",
            verb.window
        ),
    };
    outln!(
        "{} to {} via {}, {} pairs of {hosts} hosts, {} s\n{pace}",
        verb.workload.name(),
        client.whom(),
        verb.via,
        verb.pairs,
        verb.seconds
    );
    outln!(
        "answered  {} of {} sent, {:.0} a second; {} timed out after {} ms, {} came too late",
        report.answered,
        report.sent,
        report.rate(),
        report.timeouts,
        verb.timeout,
        report.late
    );
    for (status, count) in &report.statuses {
        outln!("status    {status:#06x}: {count}");
    }
    let compared = match verb.expect.is_some() {
        true => "every answer compared whole with the snapshot's",
        false => "no snapshot to compare with: only whose path it is was looked at",
    };
    outln!("wrong     {}, {compared}", report.wrong);
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    for (name, _, quantile) in QUANTILES {
        outln!(
            "{name:<10}{:.1} us",
            us(report.latency.quantile_ns(quantile))
        );
    }
    outln!(
        "longest   {:.1} us, {} latencies",
        us(report.latency.longest_ns()),
        report.latency.samples()
    );
    if let Some(latest) = report.latest {
        outln!(
            "sent      at most {:.1} us after its time",
            latest.as_secs_f64() * 1e6
        );
    }
    if report.unsent > 0 {
        outln!(
            "unsent    {} that were due: the SA, or this machine, does not keep up with the rate; \
             each counts as a latency up to the end",
            report.unsent
        );
    }
    outln!(
        "pauses    {:.1} us the longest of {} above 20 us of a thread that only reads the clock, \
         {:.2} % of its time; tails below that are the machine's",
        pauses.longest.as_secs_f64() * 1e6,
        pauses.gaps,
        pauses.share * 100.0
    );
}
