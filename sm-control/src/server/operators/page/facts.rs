//! Values of the overview, out of the status.
//!
//! ```text
//!  Status, Sweeps, Observed, Readings, Window ──> problems | facts | workers | outcomes | by attribute | last events
//! ```
//!
//! Each is read as it is now; two may be of two moments, as with `sapphire status`.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::PoisonError;

use sa_answer::{DropReason, PuntReason, Reject};
use sa_fastpath::stats::StatsSnapshot;
use sa_page::overview::{Fact, Outcome, Overview, Problem, Worker};
use sa_page::{age, unix};
use sm_health::Severity;

use super::super::status::{PortRow, Status};
use super::super::sweeps::Sweeps;
use super::readings::Readings;
use super::{Page, fleet};

/// Problems that are shown; the log has all.
const SHOWN: usize = 50;

/// Events at the foot of the page.
const EVENTS: usize = 10;

/// Everything, as it is now.
pub(super) fn overview(page: &Page) -> Overview {
    let status = &page.status;
    let mut problems = problems(status);
    let more_problems = problems.len().saturating_sub(SHOWN);
    problems.truncate(SHOWN);
    let readings = page.readings.lock().unwrap_or_else(PoisonError::into_inner);
    let ports = status.ports.iter().enumerate();
    Overview {
        problems,
        more_problems,
        snapshot: snapshot(status),
        daemon: daemon(status),
        manager: status.sweeps().map(manager).unwrap_or_default(),
        workers: ports
            .map(|(nth, port)| worker(&readings, nth, port))
            .collect(),
        outcomes: outcomes(status, &readings),
        asked: readings.asked.asked(),
        happened: status.happening.last(EVENTS),
    }
}

/// What somebody should look at: the fleet's, the daemon's own, those of sweeps, those of links.
fn problems(status: &Status) -> Vec<Problem> {
    let told = |what: String| Problem {
        is_fault: true,
        what,
        cause: None,
        remedy: None,
        since: None,
        switch: None,
    };
    let mut problems: Vec<Problem> = fleet::problem(status).into_iter().collect();
    if let Some(failure) = status.failure() {
        problems.push(Problem {
            cause: Some(format!(
                "the load by {}, {}",
                failure.cause,
                unix(failure.unix)
            )),
            remedy: Some(
                "mend what it says; what is in force stays until a load succeeds".to_owned(),
            ),
            ..told(failure.what.clone())
        });
    }
    if let Some(difference) = status.reconfigured() {
        problems.push(Problem {
            is_fault: false,
            remedy: Some("restart the daemon to put the file into force".to_owned()),
            ..told(format!(
                "the configuration file differs from what is in force: {difference}"
            ))
        });
    }
    if let Some(problem) = &status.kept().problem {
        problems.push(told(format!(
            "the snapshot in force is not on the disk: {problem}"
        )));
    }
    if let Some(sweeps) = status.sweeps() {
        problems.extend(sweeps.findings().iter().cloned().map(told));
    }
    problems.extend(of_links(status));
    problems
}

/// Findings of links, with what they come from and what to do; the worst first.
fn of_links(status: &Status) -> Vec<Problem> {
    let Some(observed) = status.observed() else {
        return Vec::new();
    };
    let now = sm_port::now();
    let findings = observed.report().findings;
    let problems = findings.iter().map(|finding| {
        let far = finding
            .peer
            .as_ref()
            .map_or_else(String::new, |peer| format!(" to {peer}"));
        Problem {
            is_fault: finding.kind.severity() == Severity::Fault,
            what: format!("{}{far}: {}", finding.place, finding.what),
            cause: Some(finding.kind.cause().to_owned()),
            remedy: Some(finding.kind.remedy().to_owned()),
            since: Some(age(now.saturating_sub(finding.since).as_secs())),
            switch: Some(finding.place.guid.to_string()),
        }
    });
    problems.collect()
}

fn snapshot(status: &Status) -> Vec<Fact> {
    let Some(service) = status.service() else {
        return Vec::new();
    };
    let mut facts = vec![
        Fact::new("Epoch", service.epoch.to_string()),
        Fact::new("Compiled", unix(service.built_unix)),
        Fact::new("Age", age(service.age())),
        Fact::new("Engine", service.engine.clone()),
        Fact::new("Switches", service.switches.to_string()),
        Fact::new("Hosts", service.hosts.to_string()),
        Fact::new(
            "Rules",
            service
                .rules
                .map_or_else(|| "no policy".to_owned(), |rules| rules.to_string()),
        ),
    ];
    if let Some(held) = status.rollback().held {
        facts.push(Fact::new("Held by a rollback", held.to_string()));
    }
    facts
}

fn daemon(status: &Status) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("Role", status.role.clone()),
        Fact::new("Source", status.source.clone()),
        Fact::new("Version", env!("CARGO_PKG_VERSION")),
        Fact::new("Process", std::process::id().to_string()),
        Fact::new("Runs for", age(status.uptime())),
    ];
    if let Some(loading) = status.loading() {
        facts.push(Fact::new("Load under way for", age(loading.as_secs())));
    }
    if let Some(passive) = status.passive() {
        facts.push(Fact::new("Passive", passive));
    }
    facts.extend(fleet::fact(status));
    let standing = status.sm_facts();
    facts.extend(
        standing
            .facts
            .iter()
            .map(|(name, value)| Fact::new(name, value.clone())),
    );
    facts
}

fn manager(sweeps: &Sweeps) -> Vec<Fact> {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let last = match of(&sweeps.up_unix) {
        0 => "none yet".to_owned(),
        ended => format!("{}, in {} ms", unix(ended), of(&sweeps.last_ms)),
    };
    vec![
        Fact::new("At", sweeps.phase().word()),
        Fact::new("Last sweep", last),
        Fact::new("Nodes", of(&sweeps.nodes).to_string()),
        Fact::new(
            "Sweeps",
            format!("{}, {} failed", of(&sweeps.ended), of(&sweeps.failed)),
        ),
        Fact::new(
            "SMPs",
            format!("{}, {} of them Sets", of(&sweeps.smps), of(&sweeps.sets)),
        ),
        Fact::new("Traps answered", of(&sweeps.traps).to_string()),
        Fact::new("Drained", sweeps.drained().len().to_string()),
    ]
}

fn worker(readings: &Readings, nth: usize, port: &PortRow) -> Worker {
    let now = port.stats.snapshot();
    Worker {
        transport: port.transport,
        place: port.place.clone(),
        is_served: port.is_served(),
        away: port.summary().away,
        epoch: now.epoch.map(|epoch| epoch.get()),
        received: readings.rate(nth, |it| it.received),
        answered: readings.rate(nth, |it| it.answered),
        refused: readings.rate(nth, |it| it.refused.iter().sum()),
        dropped: readings.rate(nth, |it| it.dropped.iter().sum()),
        slow: readings.rate(nth, |it| it.punted.iter().sum()),
        total: now.received,
        unsent: now.unsent,
    }
}

/// What all ports have counted, and lately.
struct Counted<'a> {
    now: Vec<StatsSnapshot>,
    readings: &'a Readings,
}

impl Counted<'_> {
    fn outcome(
        &self,
        kind: &'static str,
        reason: &'static str,
        counter: impl Fn(&StatsSnapshot) -> u64,
    ) -> Outcome {
        Outcome {
            kind,
            reason,
            total: self.now.iter().map(&counter).sum(),
            rate: self.readings.total(counter),
        }
    }
}

/// Of all ports together; reasons that never happened are left out.
fn outcomes(status: &Status, readings: &Readings) -> Vec<Outcome> {
    let now: Vec<_> = status
        .ports
        .iter()
        .map(|port| port.stats.snapshot())
        .collect();
    let of = Counted { now, readings };
    let mut outcomes = vec![of.outcome("answered", "", |it| it.answered)];
    for (nth, (_, reason)) in Reject::ALL.into_iter().enumerate() {
        outcomes.push(of.outcome("refused", reason, |it| it.refused[nth]));
    }
    for (nth, (_, reason)) in DropReason::ALL.into_iter().enumerate() {
        outcomes.push(of.outcome("dropped", reason, |it| it.dropped[nth]));
    }
    for (nth, (_, reason)) in PuntReason::ALL.into_iter().enumerate() {
        outcomes.push(of.outcome("slow lane", reason, |it| it.punted[nth]));
    }
    outcomes.retain(|it| it.total > 0);
    outcomes
}
