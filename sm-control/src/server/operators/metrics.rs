//! The board in the text format of Prometheus (OpenMetrics 1.0).
//!
//! Workers count for themselves; here their counters are only read, when somebody asks.

use core::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use sa_answer::{DropReason, PuntReason, Reject};
use sa_fastpath::stats::StatsSnapshot;
use sa_local::agent::{Counted, Reason};

use super::board::Board;
use crate::logging;

/// The page.
pub(in crate::server) struct Metrics(Registry);

impl Metrics {
    pub(in crate::server) const CONTENT_TYPE: &'static str =
        "application/openmetrics-text; version=1.0.0; charset=utf-8";

    pub(in crate::server) fn new(board: Arc<Board>) -> Self {
        let mut registry = Registry::with_prefix("sapphire");
        registry.register_collector(Box::new(OfBoard(board)));
        Self(registry)
    }

    /// Everything, as it is now.
    pub(in crate::server) fn text(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode(&mut page, &self.0)?;
        Ok(page)
    }
}

#[derive(Debug)]
struct OfBoard(Arc<Board>);

impl Collector for OfBoard {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let board = &self.0;
        let mut page = Page(encoder);
        let version = [("version", env!("CARGO_PKG_VERSION").to_owned())];
        page.gauge("build_info", "Always 1", [(version, 1.0)])?;
        of_daemon(board, &mut page)?;
        of_shadow(board, &mut page)?;
        of_snapshot(board, &mut page)?;
        of_local(board, &mut page)?;
        of_ports(board, &mut page)
    }
}

fn of_daemon(board: &Board, page: &mut Page<'_>) -> fmt::Result {
    let counts = &board.counts;
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let result = |word: &str| [("result", word.to_owned())];
    page.gauge(
        "uptime_seconds",
        "Time since the start",
        [(NO_LABELS, seconds(board.uptime()))],
    )?;
    let loads = [
        (result("ok"), get(&counts.loads)),
        (result("failed"), get(&counts.failed_loads)),
    ];
    page.counter("reload", "Times the sources were read", loads)?;
    of_state(board, page)?;
    let rollbacks = [(NO_LABELS, get(&counts.rollbacks))];
    page.counter("rollback", "Returns to the snapshot before", rollbacks)?;
    let control = [
        (result("ok"), get(&counts.control)),
        (result("refused"), get(&counts.control_refused)),
    ];
    page.counter(
        "control_requests",
        "Requests on the control socket",
        control,
    )?;
    let cut = [(NO_LABELS, get(&counts.connections_cut))];
    page.counter(
        "admin_connections_cut",
        "Connections that were slow and had to go for others",
        cut,
    )?;
    let suppressed = [(NO_LABELS, logging::suppressed())];
    page.counter(
        "log_suppressed",
        "Log lines that were only counted",
        suppressed,
    )?;
    let truth = |it: bool| [(NO_LABELS, if it { 1.0 } else { 0.0 })];
    page.gauge(
        "ready",
        "1 if requests are answered from the sources",
        truth(board.readiness().is_ok()),
    )?;
    let standing = board.standing();
    page.gauge(
        "active",
        "1 if requests are to be answered",
        truth(board.passive().is_none()),
    )?;
    let facts = standing.facts.iter();
    let facts = facts.map(|(name, value)| {
        (
            [("name", (*name).to_owned()), ("value", value.clone())],
            1.0,
        )
    });
    page.gauge(
        "standing",
        "How the daemon stands to the SM; always 1",
        facts,
    )?;
    let is_held = board.history().held.is_some();
    page.gauge(
        "rollback_held",
        "1 if a rollback keeps automatic reloads off",
        truth(is_held),
    )
}

/// What a restart would find.
fn of_state(board: &Board, page: &mut Page<'_>) -> fmt::Result {
    let truth = |it: bool| [(NO_LABELS, if it { 1.0 } else { 0.0 })];
    page.gauge(
        "configuration_changed",
        "1 if the configuration file at the last reload was not what is in force",
        truth(board.reconfigured().is_some()),
    )?;
    if board.state_directory.is_none() {
        return Ok(());
    }
    let kept = board.kept();
    page.gauge(
        "state_stored_epoch",
        "Epoch of the snapshot in the state directory, 0 for none",
        [(NO_LABELS, seconds(kept.stored.unwrap_or(0)))],
    )?;
    page.gauge(
        "state_failing",
        "1 if the state directory does not have what is in service",
        truth(kept.problem.is_some()),
    )?;
    page.counter(
        "state_failures",
        "Writes to the state directory that failed",
        [(NO_LABELS, kept.failures)],
    )
}

/// Only in that role.
fn of_shadow(board: &Board, page: &mut Page<'_>) -> fmt::Result {
    if !board.is_shadow {
        return Ok(());
    }
    let counts = &board.counts;
    let all = [
        (
            "shadow_asked",
            "Questions to the SA that answers",
            &counts.shadow_asked,
        ),
        (
            "shadow_answered",
            "Those that it answered",
            &counts.shadow_answered,
        ),
        (
            "shadow_different",
            "Those where the snapshot has another answer",
            &counts.shadow_different,
        ),
    ];
    for (name, help, counter) in all {
        page.counter(name, help, [(NO_LABELS, counter.load(Ordering::Relaxed))])?;
    }
    Ok(())
}

fn of_snapshot(board: &Board, page: &mut Page<'_>) -> fmt::Result {
    let Some(service) = board.service() else {
        return page.gauge("snapshot_epoch", EPOCH, [(NO_LABELS, 0.0)]);
    };
    let size = |number: usize| {
        [(
            NO_LABELS,
            u32::try_from(number).map_or(f64::INFINITY, f64::from),
        )]
    };
    page.gauge(
        "snapshot_epoch",
        EPOCH,
        [(NO_LABELS, seconds(service.epoch))],
    )?;
    page.gauge(
        "snapshot_age_seconds",
        "Time since it was compiled",
        [(NO_LABELS, seconds(service.age()))],
    )?;
    page.gauge(
        "snapshot_built_seconds",
        "When it was compiled, since 1970",
        [(NO_LABELS, seconds(service.built_unix))],
    )?;
    page.gauge("snapshot_bytes", "Its size", size(service.bytes))?;
    page.gauge("switches", "Switches of the fabric", size(service.switches))?;
    page.gauge(
        "hosts",
        "CA and router ports of the fabric",
        size(service.hosts),
    )?;
    let rules = service.rules.unwrap_or(0);
    page.gauge(
        "policy_rules",
        "Rules of the policy",
        [(NO_LABELS, f64::from(rules))],
    )
}

fn of_ports(board: &Board, page: &mut Page<'_>) -> fmt::Result {
    let now: Vec<(String, StatsSnapshot)> = board
        .ports
        .iter()
        .enumerate()
        .map(|(nth, port)| (nth.to_string(), port.stats.snapshot()))
        .collect();
    let of_port = |port: &str| [("port", port.to_owned())];
    let each = |value: fn(&StatsSnapshot) -> u64| {
        now.iter()
            .map(move |(port, now)| (of_port(port), value(now)))
    };
    page.counter(
        "received",
        "Requests taken from the port",
        each(|now| now.received),
    )?;
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
        "Requests by what became of them at the worker",
        results,
    )?;
    let reasons = |names: Vec<&'static str>, counts: fn(&StatsSnapshot) -> &[u64]| {
        let rows = now.iter().flat_map(move |(port, now)| {
            let counted = names.clone().into_iter().zip(counts(now).iter().copied());
            counted.map(move |(name, count)| {
                ([("port", port.clone()), ("reason", name.to_owned())], count)
            })
        });
        rows.collect::<Vec<_>>()
    };
    let refused = reasons(Reject::ALL.map(|(_, name)| name).into(), |now| &now.refused);
    page.counter("refused", "Replies with an error status", refused)?;
    let dropped = reasons(DropReason::ALL.map(|(_, name)| name).into(), |now| {
        &now.dropped
    });
    page.counter("drops", "Requests without a reply", dropped)?;
    let punted = reasons(PuntReason::ALL.map(|(_, name)| name).into(), |now| {
        &now.punted
    });
    page.counter("slow_lane", "Requests given to the slow lane", punted)?;
    page.counter(
        "unsent",
        "Replies that the port could not send",
        each(|now| now.unsent),
    )?;
    let turns = now.iter().flat_map(|(port, now)| {
        let turn = |word: &str| [("port", port.clone()), ("found", word.to_owned())];
        [(turn("some"), now.batches), (turn("none"), now.empty)]
    });
    page.counter(
        "turns",
        "Turns of the worker, by whether it found requests",
        turns,
    )?;
    let epochs = now
        .iter()
        .map(|(port, now)| (of_port(port), seconds(now.epoch)));
    page.gauge("port_epoch", "Epoch that the worker holds", epochs)?;
    let served = board.ports.iter().enumerate().map(|(nth, port)| {
        let labels = [
            ("port", nth.to_string()),
            ("transport", port.transport.to_owned()),
            ("place", port.place.clone()),
        ];
        (labels, if port.is_served() { 1.0 } else { 0.0 })
    });
    page.gauge("port_served", "1 while the worker lives", served)?;
    of_handles(board, page)?;
    of_times(board, page)
}

/// What lies below the workers.
fn of_handles(board: &Board, page: &mut Page<'_>) -> fmt::Result {
    let entries: Vec<_> = board
        .ports
        .iter()
        .enumerate()
        .map(|(nth, port)| (nth.to_string(), port.entry()))
        .collect();
    let of_port = |port: &str| [("port", port.to_owned())];
    let attached = entries
        .iter()
        .map(|(port, entry)| (of_port(port), if entry.away.is_none() { 1.0 } else { 0.0 }));
    page.gauge(
        "port_attached",
        "0 while what the port is attached to is gone",
        attached,
    )?;
    let attachments = entries
        .iter()
        .map(|(port, entry)| (of_port(port), entry.attachments));
    page.counter("port_attachments", "Times it was attached", attachments)?;
    let mads = entries.iter().flat_map(|(port, entry)| {
        let counts = entry.counters.iter().flat_map(|counters| counters.each());
        counts.map(|(kind, count)| {
            let labels = [("port", port.clone()), ("kind", kind.to_owned())];
            (labels, count)
        })
    });
    page.counter(
        "port_mads",
        "MADs that the port took, sent, or hid from the worker, the slow lane's included",
        mads,
    )
}

/// Only with a local service.
fn of_local(board: &Board, page: &mut Page<'_>) -> fmt::Result {
    let Some(local) = board.local() else {
        return Ok(());
    };
    let messages = Counted::ALL.map(|what| {
        let label = [("result", what.name().to_owned())];
        (label, local.counters.of(what))
    });
    page.counter(
        "local_messages",
        "Messages of this host's kernel, by what became of them",
        messages,
    )?;
    let refused = Reason::ALL.map(|reason| {
        let label = [("reason", reason.name().to_owned())];
        (label, local.counters.refused_for(reason))
    });
    page.counter(
        "local_refused",
        "Path queries of the kernel that it was told to ask the SA",
        refused,
    )?;
    let counts = &local.counts;
    for (name, help, counter) in [
        (
            "local_overruns",
            "Times that the kernel had no room to queue requests",
            &counts.overruns,
        ),
        (
            "local_too_long",
            "Datagrams longer than any request",
            &counts.too_long,
        ),
        (
            "local_unsent",
            "Replies that the kernel did not take",
            &counts.unsent,
        ),
    ] {
        page.counter(name, help, [(NO_LABELS, counter.load(Ordering::Relaxed))])?;
    }
    let gauge = |counter: &AtomicU64| [(NO_LABELS, seconds(counter.load(Ordering::Relaxed)))];
    page.gauge(
        "local_kept",
        "Answers of SAs that are kept",
        gauge(&counts.kept),
    )?;
    page.gauge(
        "local_others",
        "Other programs that answer this host's kernel",
        gauge(&counts.others),
    )?;
    page.gauge(
        "local_served",
        "1 while this host's kernel is answered",
        [(NO_LABELS, if local.is_served() { 1.0 } else { 0.0 })],
    )
}

/// Only where batches are sampled.
fn of_times(board: &Board, page: &mut Page<'_>) -> fmt::Result {
    let sampled = board.ports.iter().enumerate();
    let sampled = sampled.filter(|(_, port)| port.stats.sampling().is_some());
    let rows = sampled.flat_map(|(nth, port)| {
        let times = port.stats.snapshot().times;
        let quantile = move |per_mille| {
            let time = times.per_mille(per_mille);
            let labels = [
                ("port", nth.to_string()),
                ("quantile", (f64::from(per_mille) / 1000.0).to_string()),
            ];
            (labels, time.map_or(0.0, |time| time.as_secs_f64()))
        };
        [500, 900, 990, 999, 1000].map(quantile)
    });
    let rows: Vec<_> = rows.collect();
    match rows.is_empty() {
        true => Ok(()),
        false => page.gauge("batch_seconds", "Time of a sampled batch of requests", rows),
    }
}

type Labels<const N: usize> = [(&'static str, String); N];

const NO_LABELS: Labels<0> = [];

const EPOCH: &str = "Number of the snapshot in service, 0 for none";

/// Exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "seconds and epochs are small")]
fn seconds(number: u64) -> f64 {
    number as f64
}

/// Writes families one by one.
struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn counter<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<N>, u64)>,
    ) -> fmt::Result {
        let rows = rows.into_iter();
        self.family(
            name,
            help,
            MetricType::Counter,
            rows.map(|(labels, value)| (labels, ConstCounter::new(value))),
        )
    }

    fn gauge<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<N>, f64)>,
    ) -> fmt::Result {
        let rows = rows.into_iter();
        self.family(
            name,
            help,
            MetricType::Gauge,
            rows.map(|(labels, value)| (labels, ConstGauge::new(value))),
        )
    }

    fn family<const N: usize, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl Iterator<Item = (Labels<N>, M)>,
    ) -> fmt::Result {
        let mut rows = rows.peekable();
        // A family without rows says nothing.
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, metric) in rows {
            if labels.is_empty() {
                return metric.encode(family);
            }
            metric.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
