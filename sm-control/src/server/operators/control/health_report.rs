//! How the links of the subnet are, as an object for programs.
//!
//! Fields are only ever added under one [`SCHEMA`]; what is absent is null. What single ports count
//! is told of one node at a time: a large subnet has hundreds of thousands.
//!
//! ```text
//!  {"verb": "health"}                    findings, the worst first, and sums
//!  {"verb": "health", "node": "L0"}      the same, and each port of that node with its counters
//! ```
//!
//! Places are told in parts (GUID, port, name), so that a program need not take sentences apart;
//! `what`, `cause` and `remedy` are for people. Times are ages, as the daemon counts time from its
//! own start.

use core::time::Duration;

use serde::Serialize;
use sm_health::counters::Counter;
use sm_health::{Finding, Place, PortReport, Report, Severity};

use super::status_report::Pairs;
use crate::server::health::Observed;

/// Name and version of what [`HealthReport`] is.
pub(super) const SCHEMA: &str = "sapphired.health/1";

/// All that is known of links.
///
/// Units are in the names: seconds end with `_s`.
#[derive(Debug, Serialize)]
pub(in crate::server) struct HealthReport {
    /// Each port is read once in this time; none: ports are not asked.
    period_s: Option<u64>,
    /// Why they cannot be asked.
    problem: Option<String>,
    /// That have a link; switches and hosts.
    devices: usize,
    /// Ends of links.
    ports: usize,
    /// Of these, those that were read at least once.
    read: usize,
    /// How long ago the port was read that waits for the longest.
    oldest_s: Option<u64>,
    /// Gets and Sets that were sent.
    requests: u64,
    /// Of these, answered with success.
    answered: u64,
    /// Given up after their tries.
    unanswered: u64,
    /// Answered with an error status.
    refused: u64,
    /// Sets that cleared counters.
    cleared: u64,
    /// Readings that showed that somebody else has cleared a counter.
    resets: u64,
    /// What all ports have counted since the start.
    totals: Pairs<&'static str, u64>,
    /// Findings that somebody has to mend.
    faults: usize,
    /// The others.
    hints: usize,
    /// The worst first; of very many the worst.
    findings: Vec<FindingReport>,
    /// Those of the node that was asked for; none where none was.
    node: Option<Vec<OfPort>>,
}

/// A finding.
///
/// `kind` is stable, the sentences are not.
#[derive(Debug, Serialize)]
struct FindingReport {
    /// A word that stays from version to version.
    kind: &'static str,
    /// `fault` or `hint`.
    severity: &'static str,
    /// Where it was found.
    at: At,
    /// The far end of the link.
    peer: Option<At>,
    /// What was seen, in a sentence.
    what: String,
    /// Errors counted here; none where it is no matter of counters.
    count: Option<u64>,
    /// The same at the far end.
    peer_count: Option<u64>,
    /// Of the link, where it can be told.
    bit_error_rate: Option<f64>,
    /// Why that is likely.
    cause: &'static str,
    /// What to do.
    remedy: &'static str,
    /// How long it stands.
    age_s: u64,
}

/// A port, or a device.
///
/// Three fields, so that a program can join it with what it knows by any of them.
#[derive(Debug, Serialize)]
struct At {
    /// Of the node: 16 hexadecimal digits.
    guid: String,
    /// None for a device as a whole.
    port: Option<u8>,
    /// NodeDescription.
    name: String,
}

/// A port with its counters.
#[derive(Debug, Serialize)]
struct OfPort {
    /// This end.
    at: At,
    /// The other; none where it is not known.
    peer: Option<At>,
    /// As `4x` and `EDR`; none where the port tells none that there is.
    width: Option<String>,
    /// Likewise.
    speed: Option<String>,
    /// The best that the port can do.
    can_width: Option<String>,
    /// Likewise.
    can_speed: Option<String>,
    /// How long ago it was read.
    read_s: Option<u64>,
    /// Those that the port has.
    counters: Pairs<&'static str, u64>,
    /// Those of them that are at their largest value.
    full: Vec<&'static str>,
    /// What was counted in the last hour.
    hour: Pairs<&'static str, u64>,
}

// Made in the thread of the control socket; the lock is the one that the watcher takes turn by turn.
impl HealthReport {
    /// As it is now. `node`: a name or GUID, whose ports are told too.
    ///
    /// None of an unknown node: its list is empty, and the caller says so.
    pub(super) fn new(observed: &Observed, node: Option<&str>) -> Self {
        let now = sm_port::now();
        // Both of one moment, and the lock is given back before anything is made of them.
        let (report, ports) = {
            let health = observed.health();
            let ports = node.map(|name| health.ports_of(name, now));
            (health.report(now), ports)
        };
        let Report { asked, .. } = report;
        let faults = report.faults();
        let shown = report.findings.iter().take(MOST_FINDINGS);
        Self {
            period_s: observed.period().map(|period| period.as_secs()),
            problem: observed.problem().map(|why| why.to_string()),
            devices: report.devices,
            ports: report.ports,
            read: report.read,
            oldest_s: report.oldest.map(|age| age.as_secs()),
            requests: asked.requests,
            answered: asked.answered,
            unanswered: asked.unanswered,
            refused: asked.refused,
            cleared: asked.cleared,
            resets: report.resets,
            // All counters by name, those at 0 too: a program need not know which there are.
            totals: Pairs(
                Counter::ALL
                    .into_iter()
                    .map(Counter::name)
                    .zip(report.totals)
                    .collect(),
            ),
            faults,
            hints: report.findings.len() - faults,
            findings: shown.map(|it| FindingReport::new(it, now)).collect(),
            node: ports.map(|ports| ports.iter().map(OfPort::new).collect()),
        }
    }
}

impl FindingReport {
    fn new(finding: &Finding, now: Duration) -> Self {
        let kind = finding.kind;
        Self {
            kind: kind.name(),
            severity: match kind.severity() {
                Severity::Fault => "fault",
                Severity::Hint => "hint",
            },
            at: At::new(&finding.place),
            peer: finding.peer.as_ref().map(At::new),
            what: finding.what.clone(),
            count: finding.count,
            peer_count: finding.peer_count,
            bit_error_rate: finding.bit_error_rate,
            cause: kind.cause(),
            remedy: kind.remedy(),
            age_s: now.saturating_sub(finding.since).as_secs(),
        }
    }
}

impl At {
    fn new(place: &Place) -> Self {
        Self {
            guid: format!("{:016x}", place.guid.get()),
            port: place.port,
            name: place.name.to_string(),
        }
    }
}

impl OfPort {
    fn new(port: &PortReport) -> Self {
        let (width, speed) = port.end.active.unzip();
        let can = port.end.supported;
        let reading = port.read.as_ref().map(|(_, reading)| *reading);
        // A counter that the port does not have is left out, not 0.
        let value = |counter: Counter| Some((counter.name(), reading?.get(counter)?));
        let full = |counter: &Counter| reading.is_some_and(|it| it.is_full(*counter));
        Self {
            at: At::new(&port.place),
            peer: port.peer.as_ref().map(At::new),
            width: width.map(|it| it.to_string()),
            speed: speed.map(|it| it.to_string()),
            can_width: can.width().map(|it| it.to_string()),
            can_speed: can.speed().map(|it| it.to_string()),
            read_s: port.read.as_ref().map(|(age, _)| age.as_secs()),
            counters: Pairs(Counter::ALL.into_iter().filter_map(value).collect()),
            full: Counter::ALL
                .into_iter()
                .filter(full)
                .map(Counter::name)
                .collect(),
            hour: Pairs(
                port.hour
                    .iter()
                    .map(|(it, sum)| (it.name(), *sum))
                    .collect(),
            ),
        }
    }
}

/// More than that nobody reads at once; the sums count them all.
const MOST_FINDINGS: usize = 1000;
