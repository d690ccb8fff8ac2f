//! One dry run, from the sources to its report.
//!
//! ```text
//!  what is in force ──> its number and time ──> the same content gives the same bytes
//!  sources ──settle──> attempt ──> snapshot, parts ──┬─ ports, pairs, levels: snapshot_change
//!                                                    └─ policy: policy_change
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use policy::Query;
use sa_compiler::pipeline::{self, Stamp, Timings};
use sa_compiler::snapshot_change::{Asked, Comparison, between, name_in};
use sa_compiler::state::FabricState;
use sa_fabric::display;
use sa_fastpath::publish::Published;
use sa_snapshot::Snapshot;
use sa_source::When;
use sa_text::Remark;
use sa_wire::Guid;

use super::turn::Run;
use super::{Ground, policy as changes};
use crate::checks::copy;
use crate::server::operators::control::{DryRunReport, Refusal, Steps};
use crate::server::reload::attempt::{Attempt, Way, attempt};
use crate::server::reload::compiled::LoadError;
use crate::server::reload::reconfigured;
use crate::server::reload::settled::{Settled, Sources, Teller};
use crate::server::state::State;

/// Pairs of hosts that are asked about.
const PAIRS: u64 = 2_000_000;

/// Sentences of a list; the number beside it counts all.
const LISTED: usize = 100;

/// What is in service when a run begins.
struct Before {
    published: Arc<Published>,
    /// None where it was compiled elsewhere, or by an earlier process.
    state: Option<Arc<State>>,
}

/// What a load would put into service.
struct After {
    snapshot: Snapshot,
    /// None where it was compiled elsewhere.
    parts: Option<FabricState>,
    summary: String,
    warnings: Vec<Remark>,
    changes: Vec<String>,
    entries_changed: Option<u64>,
    timings: Timings,
}

/// Errors: a reload would fail, in its words; something else came into force meanwhile.
pub(super) fn run(ground: &Ground, run: &Run) -> Result<DryRunReport, Refusal> {
    let begun = Instant::now();
    let before = Before::of(ground);
    let made = made(ground, run, stamp(before.as_ref()));
    let made = made.map_err(|error| ground.failed(&error))?;
    // Of what an SA told before nobody is told: this reader has read nothing before.
    let nothing = || Refusal::failed("the SA tells what it told before");
    let after = After::of(made).ok_or_else(nothing)?;
    let mut report = after.report(before.as_ref());
    report.warn(reconfigured::difference(&ground.config));
    if let Some(before) = &before {
        let asked = Asked {
            numbers: Query::default().numbers(),
            most: PAIRS,
            watch: run.watch(),
        };
        let (was, is) = (&before.published.snapshot, &after.snapshot);
        let change = between((was, is), &asked);
        let change = change.map_err(|stopped| Refusal::failed(stopped.to_string()))?;
        let name = |port: Guid| name(port, before, &after);
        report.comparison = Some(Comparison::of(&change, &name));
        changes::tell(&mut report, before.parts(), after.parts.as_ref());
    }
    // An answer about what is not in force any more would mislead.
    let epoch = ground.in_force.published().map(|now| now.epoch.get());
    if epoch != report.epoch {
        return Err(Refusal::busy(
            "another snapshot came into force meanwhile; try again",
        ));
    }
    report.took_ms = ms(begun.elapsed());
    Ok(report)
}

/// What is in service keeps its number and time, so that the same content has the same digest.
fn stamp(before: Option<&Before>) -> Stamp {
    let now = Stamp {
        epoch: None,
        built_unix: pipeline::unix_time(),
    };
    before.map_or(now, |before| {
        let snapshot = &before.published.snapshot;
        Stamp {
            epoch: snapshot.epoch(),
            built_unix: snapshot.info().built_unix,
        }
    })
}

/// The load itself. Errors: as of a load.
fn made(ground: &Ground, run: &Run, stamp: Stamp) -> Result<Attempt, LoadError> {
    let accepted = ground.accepted.load_full();
    let way = Way {
        stamp,
        before: accepted.as_deref(),
        watch: run.watch(),
    };
    let teller = ground.reader(run).map_or(Teller::Nobody, Teller::Sa);
    let make = |settled: Settled<'_>| attempt(&ground.config, settled, way);
    let is_of_no_use = |_: &Result<Attempt, LoadError>| run.watch().is_stopped();
    let settled = Sources::new(teller).settle(&ground.config, When::Always, make, is_of_no_use);
    settled.unwrap_or_else(|unsettled| Err(unsettled.into()))
}

impl Before {
    /// None where nothing is in service.
    fn of(ground: &Ground) -> Option<Self> {
        let published = ground.in_force.published()?;
        let force = ground.in_force.force().ok();
        let state = force.filter(|force| force.published.epoch == published.epoch);
        Some(Self {
            published,
            state: state.map(|force| force.state),
        })
    }

    fn parts(&self) -> Option<&FabricState> {
        self.state.as_ref().map(|state| &*state.parts)
    }
}

impl After {
    fn of(made: Attempt) -> Option<Self> {
        match made {
            Attempt::AsBefore => None,
            Attempt::Copy(snapshot) => Some(Self {
                summary: copy::summary(&snapshot.info()),
                snapshot: *snapshot,
                parts: None,
                warnings: Vec::new(),
                changes: Vec::new(),
                entries_changed: None,
                timings: Timings::default(),
            }),
            Attempt::Compiled(compiled) => {
                let summary = compiled.summary();
                Some(Self {
                    summary,
                    snapshot: compiled.snapshot,
                    parts: Some(compiled.parts),
                    warnings: [compiled.warnings, compiled.arbitration].concat(),
                    changes: compiled.changes,
                    entries_changed: compiled.entries_changed.map(|it| it.entries),
                    timings: compiled.timings,
                })
            }
        }
    }

    /// Without what needs a comparison.
    fn report(&self, before: Option<&Before>) -> DryRunReport {
        let digest = self.snapshot.digest();
        let was = before.map(|before| before.published.snapshot.digest());
        let hex = |digest: u64| format!("{digest:016x}");
        DryRunReport {
            epoch: before.map(|before| before.published.epoch.get()),
            digest_in_service: was.map(hex),
            digest: hex(digest),
            same: was == Some(digest),
            summary: self.summary.clone(),
            warnings_count: self.warnings.len(),
            warnings: display::told(&self.warnings),
            changes: self.changes.iter().take(LISTED).cloned().collect(),
            entries_changed: self.entries_changed,
            policy: None,
            not_compared: Vec::new(),
            comparison: None,
            took_ms: 0,
            steps_ms: Steps::of(&self.timings),
        }
    }
}

/// By whichever of the two fabrics has it.
fn name(port: Guid, before: &Before, after: &After) -> String {
    let fabrics = [after.parts.as_ref(), before.parts()];
    let mut names = fabrics.into_iter().flatten();
    names
        .find_map(|parts| name_in(parts, port))
        .unwrap_or_else(|| port.to_string())
}

impl DryRunReport {
    /// What is no warning of the compilation, and stands before these.
    fn warn(&mut self, warning: Option<String>) {
        if let Some(warning) = warning {
            self.warnings.insert(0, warning);
            self.warnings_count += 1;
        }
    }
}

impl Steps {
    fn of(timings: &Timings) -> Self {
        Self {
            read: ms(timings.read),
            route: ms(timings.route),
            check: ms(timings.check),
            build: ms(timings.build),
            compare: ms(timings.compare),
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
