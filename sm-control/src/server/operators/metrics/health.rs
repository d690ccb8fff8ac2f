//! Metrics of the links of the subnet.
//!
//! What to watch: `sapphire_health_findings` by kind, above 0 for a `fault`;
//! `sapphire_health_oldest_seconds` far above the period (ports are not reached);
//! `sapphire_health_unanswered_total` that rises.
//!
//! | to see | look at |
//! |---|---|
//! | that links get worse | `sapphire_health_counted_total` of `symbol_errors`, `link_downed`, `receive_errors`, as rates |
//! | congestion | the same of `xmit_wait` beside `xmit_data` |
//! | that somebody clears counters | `sapphire_health_resets_total` |
//! | whether the rate is enough | `sapphire_health_oldest_seconds` beside `period_s` |
//!
//! Series are as many as there are kinds and counters, however large the subnet is: no port has one
//! of its own. What a port has counted, `sapphire fabric health --node` tells.

use core::fmt;
use core::time::Duration;

use sm_health::counters::Counter;
use sm_health::{Kind, Report, Severity};

use super::page::{Page, number};
use crate::server::operators::status::Status;

/// Nothing where another SM has the subnet.
///
/// One report for all families, so that they agree with each other.
pub(super) fn write(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    let Some(observed) = status.observed() else {
        return Ok(());
    };
    let report = observed.report();
    let asked = report.asked;
    for (name, help, count) in [
        (
            "health_requests",
            "Requests for counters of ports",
            asked.requests,
        ),
        (
            "health_unanswered",
            "Of these, those without an answer",
            asked.unanswered,
        ),
        (
            "health_refused",
            "Of these, those that were refused",
            asked.refused,
        ),
        (
            "health_cleared",
            "Sets that cleared full counters",
            asked.cleared,
        ),
        (
            "health_resets",
            "Readings that showed a counter that somebody has cleared",
            report.resets,
        ),
    ] {
        page.count(name, help, count)?;
    }
    // As far as they are known: a full counter adds nothing.
    let totals = Counter::ALL.into_iter().zip(report.totals);
    page.counter(
        "health_counted",
        "What all ports have counted, as far as they told",
        totals.map(|(counter, total)| ([("counter", counter.name().to_owned())], total)),
    )?;
    // 0 too where no port was read: `health_ports_read` tells that apart.
    let oldest = report.oldest.as_ref().map_or(0.0, Duration::as_secs_f64);
    for (name, help, value) in [
        ("health_ports", "Ends of links", number(report.ports as u64)),
        (
            "health_ports_read",
            "Of these, those that were read",
            number(report.read as u64),
        ),
        (
            "health_oldest_seconds",
            "Since the port was read that waits for the longest",
            oldest,
        ),
    ] {
        page.value(name, help, value)?;
    }
    page.gauge(
        "health_findings",
        "What is wrong with links, by kind",
        Kind::ALL
            .into_iter()
            .map(|kind| (labels(kind), of(&report, kind))),
    )
}

/// A kind has one severity, so that the second label adds no series.
fn labels(kind: Kind) -> [(&'static str, String); 2] {
    let severity = match kind.severity() {
        Severity::Fault => "fault",
        Severity::Hint => "hint",
    };
    [
        ("kind", kind.name().to_owned()),
        ("severity", severity.to_owned()),
    ]
}

/// How many findings are of a kind; 0 is told too, so that a series does not come and go.
fn of(report: &Report, kind: Kind) -> f64 {
    let those = report
        .findings
        .iter()
        .filter(|finding| finding.kind == kind);
    number(those.count() as u64)
}
