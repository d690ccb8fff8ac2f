//! What was seen, for people and machines.
//!
//! Latencies are told by quantiles, and beside them the pauses of a thread that does nothing but
//! read the clock on the same machine: a tail that is no longer than these pauses says nothing
//! about the SA.
//!
//! ```text
//! answered  40000 of 40000 sent, 3998 a second; 0 timed out after 1000 ms, 0 came too late
//! status    0x0000: 40000
//! wrong     0, every answer compared whole with the snapshot's
//! p50       212.4 us
//! ```
//!
//! The text says for each loop from when a latency counts, as figures of both look alike and mean
//! different things.

use std::time::Duration;

use sa_bench::PauseFloor;
use sa_bench::live::LiveReport;
use sa_fabric::display;
use sa_source::{Ask, Client};
use sa_wire::Lid;
use serde::Serialize;

use super::Load;
use crate::bench::Pauses;
use crate::failure::Outcome;
use crate::interrupt;
use crate::json::{self, Document, Pairs};

/// Prints it.
/// Printed also for a run that is void.
pub(super) fn report(
    verb: &Load,
    client: &Client,
    hosts: usize,
    report: &LiveReport,
    pauses: PauseFloor,
) -> Outcome {
    if verb.json {
        return json::print(&Line::new(verb, client, hosts, report, pauses));
    }
    text(verb, client, hosts, report, pauses);
    Ok(())
}

/// Name for people, quantile. Shape: as the last fields of [`Line`].
const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// The same for machines.
/// One line for the whole run; a null is for what this kind of loop does not have.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// `open` or `closed`.
    r#loop: &'static str,
    /// `gid` or `lid`.
    workload: &'static str,
    /// As it was given.
    via: &'a str,
    /// None over a ring.
    sa_lid: Option<u16>,
    /// Of an open loop. Units: requests per second.
    rate: Option<f64>,
    /// Of a closed loop: requests under way.
    window: Option<u32>,
    /// As asked for.
    seconds: f64,
    /// Between which pairs were drawn.
    hosts: usize,
    /// Different requests.
    pairs: u32,
    /// Without those that were due and never sent.
    sent: u64,
    /// Of an open loop that could not keep up; each is a latency up to the end.
    unsent: u64,
    /// In time, whatever the status.
    answered: u64,
    /// Without an answer in time; each is a latency of that time.
    timeouts: u64,
    /// Answers after their timeout; not among `answered`.
    late: u64,
    /// Answers by status.
    statuses: Pairs<String, u64>,
    /// Above 0 the run is void.
    wrong: u64,
    /// Answers were compared with a snapshot's.
    compared: bool,
    /// A signal ended the load early; left out where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<Interrupted>,
    /// Answers per second, by wall time.
    qps: f64,
    /// Latencies, without the first tenth of the time.
    /// How many.
    samples: u64,
    /// The longest of them.
    max_ns: u64,
    /// Behind its time, the latest request of an open loop.
    sent_late_ns: Option<u64>,
    /// Of the thread that measures, before and after.
    pauses: Pauses,
    /// Units of all: ns.
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    p9999_ns: u64,
}

/// What a signal cut short.
#[derive(Debug, Serialize)]
struct Interrupted {
    /// Sent, and neither answered nor timed out by then.
    under_way: u64,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.load/1";
}

/// Saturates after 584 years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl<'a> Line<'a> {
    fn new(
        verb: &'a Load,
        client: &Client,
        hosts: usize,
        report: &LiveReport,
        pauses: PauseFloor,
    ) -> Self {
        // In hexadecimal, as specifications have them; 0x0000 is success.
        let statuses = report.statuses.iter();
        let statuses = statuses.map(|(status, count)| (format!("{status:#06x}"), *count));
        let [p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns] =
            QUANTILES.map(|(_, quantile)| report.latency.quantile_ns(quantile));
        Self {
            r#loop: if verb.rate.is_some() {
                "open"
            } else {
                "closed"
            },
            workload: verb.workload.name(),
            via: &verb.via,
            sa_lid: client.sa_lid().map(Lid::get),
            rate: verb.rate,
            // The option has a default, which an open loop does not use.
            window: verb.rate.is_none().then_some(verb.window),
            seconds: verb.seconds,
            hosts,
            pairs: verb.pairs,
            sent: report.sent,
            unsent: report.unsent,
            answered: report.answered,
            timeouts: report.timeouts,
            late: report.late,
            statuses: Pairs(statuses.collect()),
            wrong: report.wrong,
            compared: verb.expect.is_some(),
            interrupted: interrupt::came().then_some(Interrupted {
                under_way: report.under_way,
            }),
            qps: report.rate(),
            samples: report.latency.samples(),
            max_ns: report.latency.longest_ns(),
            sent_late_ns: report.latest.map(nanoseconds),
            pauses: pauses.into(),
            p50_ns,
            p90_ns,
            p99_ns,
            p999_ns,
            p9999_ns,
        }
    }
}

/// Says what a number does not: from when latencies count, and what answers were compared with.
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
    if interrupt::came() {
        outln!(
            "interrupted before the time was over; what became of {} under way, nobody knows",
            display::count(report.under_way, "request", "requests")
        );
    }
    outln!(
        "answered  {} of {} sent, {:.0} a second; {} timed out after {} ms, {} came too late",
        report.answered,
        report.sent,
        report.rate(),
        report.timeouts,
        verb.timeout.as_millis(),
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
    // For people; the document has nanoseconds.
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    // Of a load that a signal ended early: no figure is better than 0.
    if report.latency.samples() == 0 {
        outln!("latency   none: the first tenth of the time does not count");
    }
    for (name, quantile) in QUANTILES.iter().filter(|_| report.latency.samples() > 0) {
        outln!(
            "{name:<10}{:.1} us",
            us(report.latency.quantile_ns(*quantile))
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
