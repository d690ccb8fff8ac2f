//! Metrics of the ports: what workers have done with requests, and what lies below the workers.
//!
//! `queries` has a row for each outcome of a request; `refused`, `drops` and `slow_lane` say of
//! three of them why.
//!
//! | function | families, without `sapphire_` |
//! |---|---|
//! | `requests` | `received`, `queries` by result |
//! | `reasons` | `refused`, `drops`, `slow_lane` by reason, `unsent` |
//! | `workers` | `turns`, `port_epoch`, `port_served` |
//! | `handles` | `port_attached`, `port_attachments`, `port_mads` by kind |
//! | `times` | `batch_seconds`, `query_seconds` by attribute and method |

use core::fmt;

use sa_answer::{DropReason, PuntReason, Reject};
use sa_fastpath::publish::EpochId;
use sa_fastpath::sampling::{Asked, Sampling, Times};
use sa_fastpath::stats::StatsSnapshot;

use super::page::{Histogram, Labels, Page, number, truth};
use crate::server::operators::status::Status;

/// The counters of each port, by its number.
///
/// Read once for each port.
type Now = [(String, StatsSnapshot)];

/// Every family of ports. Counters of one port are read once, so that its families agree: the
/// reasons of refusals add up to the refusals.
pub(super) fn write(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    let ports = status.ports.iter().enumerate();
    let now: Vec<_> = ports
        .map(|(nth, port)| (nth.to_string(), port.stats.snapshot()))
        .collect();
    requests(&now, page)?;
    reasons(&now, page)?;
    workers(status, &now, page)?;
    handles(status, page)?;
    times(status, page)
}

/// The label of a port: its number in the configuration, from 0.
fn of_port(port: &str) -> Labels<1> {
    [("port", port.to_owned())]
}

/// What came in, and what the worker did with it.
fn requests(now: &Now, page: &mut Page<'_>) -> fmt::Result {
    let received = now.iter().map(|(port, now)| (of_port(port), now.received));
    page.counter("received", "Requests taken from the port", received)?;
    let results = now.iter().flat_map(|(port, now)| {
        let sum = |counts: &[u64]| counts.iter().sum();
        let all = [
            ("answered", now.answered),
            ("refused", sum(&now.refused)),
            ("dropped", sum(&now.dropped)),
            ("slow_lane", sum(&now.punted)),
        ];
        all.map(|(word, count)| ([("port", port.clone()), ("result", word.to_owned())], count))
    });
    page.counter(
        "queries",
        "Requests, by what the worker did with them",
        results,
    )
}

/// The same by reason.
///
/// All reasons are told, 0 too.
fn reasons(now: &Now, page: &mut Page<'_>) -> fmt::Result {
    let rows = |names: Vec<&'static str>, counts: fn(&StatsSnapshot) -> &[u64]| {
        let rows = now.iter().flat_map(move |(port, now)| {
            let counted = names.clone().into_iter().zip(counts(now).iter().copied());
            counted.map(move |(name, count)| {
                ([("port", port.clone()), ("reason", name.to_owned())], count)
            })
        });
        rows.collect::<Vec<_>>()
    };
    let refused = rows(Reject::ALL.map(|(_, name)| name).into(), |now| &now.refused);
    page.counter("refused", "Replies with an error status", refused)?;
    // A request without a reply is seen by its client as a timeout.
    let dropped = rows(DropReason::ALL.map(|(_, name)| name).into(), |now| {
        &now.dropped
    });
    page.counter("drops", "Requests without a reply", dropped)?;
    let punted = rows(PuntReason::ALL.map(|(_, name)| name).into(), |now| {
        &now.punted
    });
    page.counter("slow_lane", "Requests given to the slow lane", punted)?;
    let unsent = now.iter().map(|(port, now)| (of_port(port), now.unsent));
    page.counter("unsent", "Replies that the port could not send", unsent)
}

/// What workers are at: how busy, on which snapshot, alive or not.
fn workers(status: &Status, now: &Now, page: &mut Page<'_>) -> fmt::Result {
    // Their quotient is how busy a worker is: one that spins always turns.
    let turns = now.iter().flat_map(|(port, now)| {
        let turn = |word: &str| [("port", port.clone()), ("found", word.to_owned())];
        [(turn("some"), now.batches), (turn("none"), now.empty)]
    });
    page.counter(
        "turns",
        "Turns of the worker, by whether it found requests",
        turns,
    )?;
    // A worker whose epoch stays behind the snapshot's keeps an old snapshot in memory.
    let epochs = now
        .iter()
        .map(|(port, now)| (of_port(port), number(EpochId::raw(now.epoch))));
    page.gauge(
        "port_epoch",
        "Epoch of the snapshot that the worker uses",
        epochs,
    )?;
    let served = status.ports.iter().enumerate().map(|(nth, port)| {
        let labels = [
            ("port", nth.to_string()),
            ("transport", port.transport.to_owned()),
            ("place", port.place.clone()),
        ];
        (labels, truth(port.is_served()))
    });
    page.gauge("port_served", "1 while the port has a worker", served)
}

/// What lies below the workers: whether the port is attached, and what its handles counted, with
/// the slow lane's.
fn handles(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    let entries: Vec<_> = status
        .ports
        .iter()
        .enumerate()
        .map(|(nth, port)| (nth.to_string(), port.summary()))
        .collect();
    // Gone for now: it is attached again by itself, see `supervised`.
    let attached = entries
        .iter()
        .map(|(port, entry)| (of_port(port), if entry.away.is_none() { 1.0 } else { 0.0 }));
    page.gauge(
        "port_attached",
        "1 while the port is attached, 0 while its device is gone",
        attached,
    )?;
    let attachments = entries
        .iter()
        .map(|(port, entry)| (of_port(port), entry.attachments));
    page.counter(
        "port_attachments",
        "Times the port was attached",
        attachments,
    )?;
    let mads = entries.iter().flat_map(|(port, entry)| {
        let counts = entry.counters.iter().flat_map(|counters| counters.each());
        counts.map(|(kind, count)| {
            let labels = [("port", port.clone()), ("kind", kind.to_owned())];
            (labels, count)
        })
    });
    page.counter(
        "port_mads",
        "MADs that the port received, sent, or kept from the worker, the slow lane's included",
        mads,
    )
}

/// How long batches took, and requests waited for their replies. Only where batches are sampled
/// (`sample_every`), since a clock is read for each of those.
fn times(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    let ports = status.ports.iter().enumerate();
    let sampled = ports.filter_map(|(nth, port)| Some((nth.to_string(), port.stats.sampling()?)));
    let sampled: Vec<(String, &Sampling)> = sampled.collect();
    let batches = sampled
        .iter()
        .map(|(port, sampling)| (of_port(port), histogram(&sampling.snapshot())));
    page.histogram(
        "batch_seconds",
        "Time of a sampled batch of requests",
        batches,
    )?;
    let replies = sampled.iter().flat_map(|(port, sampling)| {
        Asked::ALL.map(|asked| {
            let (attribute, method) = asked.names();
            let labels = [
                ("port", port.clone()),
                ("attribute", attribute.to_owned()),
                ("method", method.to_owned()),
            ];
            (labels, histogram(&sampling.replies_to(asked)))
        })
    });
    page.histogram(
        "query_seconds",
        "Time from looking for requests to handing over the replies, of the replies in sampled batches",
        replies,
    )
}

/// From 256 ns to 67 ms, each bound twice the one before: these are exact.
fn histogram(times: &Times) -> Histogram {
    let below: [_; 19] = times.below_powers(8);
    let mut before = 0;
    let buckets = below.into_iter().map(|(limit, count)| {
        let between = count - before;
        before = count;
        (limit.as_secs_f64(), between)
    });
    let mut buckets: Vec<(f64, u64)> = buckets.collect();
    buckets.push((f64::INFINITY, times.count() - before));
    Histogram {
        sum: times.sum().as_secs_f64(),
        count: times.count(),
        buckets,
    }
}
