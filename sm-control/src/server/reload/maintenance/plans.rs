//! `plan` and `apply`: a change is tried, and then that very one is carried out.
//!
//! ```text
//!  wished ──> rehearsal ──> report; kept: number, promise, configuration, drains
//!                              │ one, for an hour
//!  apply N ──> that number? ──> in force ──> promise ──> load ──┬─ the same Sets ──> written, and kept over restarts
//!                                                               └─ others ────────> all is as it was before, and what has changed
//! ```

use std::time::{Duration, Instant};

use sa_compiler::drained::Drained;

use super::super::Loader;
use super::{Change, applied, report};
use crate::config::Config;
use crate::server::operators::control::Refusal;
use crate::server::operators::control::maintenance::{AppliedReport, Report, Wish};
use crate::server::subnet_manager::SweepError;
use crate::server::subnet_manager::maintenance::{Drains, Promise, resolve};

/// A plan that may be carried out. There is one at most, and it holds no table: it is made again
/// and compared.
pub(in crate::server::reload) struct Plan {
    /// As operators name it.
    number: String,
    /// Its Sets, and what they were made from.
    promise: Promise,
    /// None: the one in force.
    config: Option<Box<Config>>,
    /// All that is drained with it.
    drains: Drains,
    /// What was drained when it was made.
    standing: Drained,
    /// Old ones are refused: who made it has seen another subnet.
    made: Instant,
}

/// How long a plan is kept.
pub(super) const KEPT: Duration = Duration::from_secs(3600);

impl Loader<'_> {
    /// Makes a plan, and keeps it in the place of the one before.
    pub(super) fn plan(&mut self, wish: &Wish) -> Result<Report, Refusal> {
        // Also where this one fails: two plans would leave doubt which one is meant.
        self.planned = None;
        let change = self.wished(wish).map_err(Refusal::refused)?;
        let (rehearsed, report) = self.rehearse(&change)?;
        if let Some(why) = report::set_aside(&rehearsed) {
            return Err(Refusal::refused(format!(
                "routes would not leave it: {why}"
            )));
        }
        self.planned = Some(Plan {
            number: report.plan.clone(),
            promise: rehearsed.promise,
            config: change.config,
            drains: change.drains,
            standing: self.manager()?.drains().wanted(),
            made: Instant::now(),
        });
        Ok(Report::Plan(report))
    }

    /// Errors: a file or a part is not what it should be, in words.
    fn wished(&mut self, wish: &Wish) -> Result<Change, String> {
        let mut words = Vec::new();
        let mut config: Option<Box<Config>> = None;
        if let Some(path) = &wish.change {
            let (changed, word) = applied::changed(self.in_force(), path)?;
            words.push(word);
            config = Some(Box::new(changed));
        }
        // Over the file: who names both means both.
        if let Some(engine) = &wish.engine {
            let base = config.as_deref().unwrap_or_else(|| self.in_force());
            let (changed, word) = applied::routed_by(base, engine)?;
            words.push(word);
            config = Some(Box::new(changed));
        }
        let manager = self
            .sources
            .manager()
            .ok_or("this daemon is not the Subnet Manager")?;
        let mut drains = manager.drains().clone();
        // By what the last sweep found; a part that has gone since is drained all the same.
        for part in &wish.drain {
            drains = drains.with(resolve(part, manager.subnet())?)?;
            words.push(format!("{part} is drained"));
        }
        for part in &wish.undrain {
            drains = drains.without(part, manager.subnet())?.0;
            words.push(format!("{part} is drained no more"));
        }
        Ok(Change {
            config,
            drains,
            words,
        })
    }

    /// Does the plan of that number, and nothing else.
    pub(super) fn apply(&mut self, number: &str) -> Result<Report, Refusal> {
        let plan = self
            .planned
            .take()
            // It is used up, whatever comes of it.
            .filter(|plan| plan.made.elapsed() < KEPT);
        let plan = plan.filter(|plan| plan.number == number).ok_or_else(|| {
            Refusal::refused(format!(
                "there is no plan {number} any more, or never was; plan again"
            ))
        })?;
        // It says all that is to be drained, so it would end what was drained since.
        if plan.standing != self.manager()?.drains().wanted() {
            let what = "what is drained".to_owned();
            let old = SweepError::PlanIsOld { what };
            return Err(Refusal::refused(old.to_string()));
        }
        let before = (self.applied.take(), self.manager()?.drains().clone());
        self.applied = plan.config.or_else(|| before.0.clone());
        // What the configuration says anyway is no change to it.
        self.applied
            .take_if(|applied| applied::is_same(applied, self.config));
        let manager = self.manager()?;
        manager.set_drains(plan.drains);
        manager.promise(Some(plan.promise));
        // Before the first Set: a restart in the middle goes on with what was begun.
        let kept = self.keep_drains();
        let done = match kept {
            Ok(()) => self.sweep("sapphire apply"),
            Err(error) => Err(error),
        };
        if let Ok(manager) = self.manager() {
            manager.promise(None);
        }
        let done = match done {
            Ok(done) => done,
            // Nothing was written, or the port failed: the next sweep goes by what was in force.
            Err(refusal) => {
                self.applied = before.0;
                self.manager()?.set_drains(before.1);
                self.keep_drains()?;
                return Err(refusal);
            }
        };
        let kept = applied::keep(self.config, self.applied.as_deref());
        Ok(Report::Applied(AppliedReport {
            plan: number.to_owned(),
            done,
            to_keep: self.to_keep(kept),
        }))
    }

    /// What is left to do for the operator.
    fn to_keep(&self, kept: Result<(), String>) -> Option<String> {
        self.applied.as_ref()?;
        let file = self.config.written.path.display();
        Some(match (kept, self.config.state.directory.is_some()) {
            (Err(error), _) => format!("a restart forgets it ({error}): change {file} too"),
            (Ok(()), false) => {
                format!("a restart forgets it, without a [state] directory: change {file} too")
            }
            (Ok(()), true) => {
                format!("change {file} too: it holds over restarts until that file is changed")
            }
        })
    }
}
