//! Maintenance of the subnet, as operators order it: between two loads, on the thread that loads.
//!
//! ```text
//!  plan    ──> rehearsal ──> report, and the plan is kept: one, for an hour
//!  apply N ──> is it that plan? ──> promise ──> load ──> written as promised, or not at all
//!  drain   ──> rehearsal ──> does it cost anybody a path? ──> kept in its file ──> load ──> acknowledged
//! ```
//!
//! # Where an order ends
//!
//! | when | in memory | in `[state]` | the subnet | said |
//! |---|---|---|---|---|
//! | it is refused by its words, or by the rehearsal | as before | as before | as before | `refused` |
//! | its file cannot be written | as before | as before | as before | `failed` |
//! | the sweep is not what was planned (`apply` alone) | as before | as before | as before | `refused` |
//! | the port fails, a device does not answer | as ordered (`apply`: as before) | the same | in part; the next sweep goes on | `failed` |
//! | switches do not acknowledge all of it | as ordered | as ordered | in part; the next sweep goes on | done, with what is lacking |
//! | the process is killed | | as ordered | in part; the next start goes on | nothing |
//!
//! What is refused changes nothing. What fails while it is written stands, is shown as not
//! acknowledged, and is tried again by the next sweep, like everything that a sweep is to write.

mod applied;
mod drains;
mod lids;
mod plans;
mod report;

use sa_compiler::pipeline::{self, Stamp};

use super::due::{Cause, Due};
use super::{Loader, Outcome};
use crate::config::Config;
use crate::server::operators::control::maintenance::{Done, PlanReport, Task};
use crate::server::operators::control::{Answer, Order, Refusal};
use crate::server::subnet_manager::Manager;
use crate::server::subnet_manager::maintenance::{Drains, Rehearsed};

pub(super) use self::applied::restored;
pub(super) use self::plans::Plan;

/// What is to be other than it is.
struct Change {
    /// None: the one in force.
    config: Option<Box<Config>>,
    /// All that would be drained.
    drains: Drains,
    /// For operators.
    words: Vec<String>,
}

impl Loader<'_> {
    /// Does what was asked. Errors: it is refused, or failed.
    pub(super) fn maintain(&mut self, task: Task) -> Result<Answer, Refusal> {
        let report = match task {
            Task::Drain { part, force } => self.drain(&part, force)?,
            Task::Undrain { part } => self.undrain(&part)?,
            Task::Plan(wish) => self.plan(&wish)?,
            Task::Apply { plan } => self.apply(&plan)?,
            Task::Lids => self.lids()?,
            Task::Forget(ports) => self.forget_lids(&ports)?,
        };
        Ok(Answer::Maintained(Box::new(report)))
    }

    /// The configuration that sweeps go by.
    pub(super) fn in_force(&self) -> &Config {
        self.applied.as_deref().unwrap_or(self.config)
    }

    /// Errors: this daemon is none.
    fn manager(&mut self) -> Result<&mut Manager, Refusal> {
        self.sources.manager().ok_or_else(Refusal::no_manager)
    }

    /// Tries a change, and writes nothing. Errors: in words of the plan.
    fn rehearse(&mut self, change: &Change) -> Result<(Rehearsed, PlanReport), Refusal> {
        let config = change
            .config
            .as_deref()
            .unwrap_or_else(|| self.in_force())
            .clone();
        let options =
            Manager::options(&config).map_err(|error| Refusal::refused(error.to_string()))?;
        let (inputs, drained) = (config.inputs(), change.drains.wanted());
        let stamp = Stamp {
            epoch: Some(self.publication.outlook().epoch),
            built_unix: pipeline::unix_time(),
        };
        let manager = self.sources.manager().ok_or_else(Refusal::no_manager)?;
        let before = self.compiler.accepted();
        let rehearsed = manager.rehearse(&inputs, &options, drained.clone(), before, stamp);
        let rehearsed = rehearsed.map_err(|error| Refusal::refused(error.to_string()))?;
        let subnet = &rehearsed.planned.compiled.parts;
        let cost = drained.cost(&subnet.subnet.topology(&subnet.options));
        let report = report::of(
            &rehearsed,
            (before, self.publication.snapshot()),
            cost,
            change.words.clone(),
        );
        Ok((rehearsed, report))
    }

    /// Loads now. Errors: that failed, in its own words; the next sweep tries again.
    fn sweep(&mut self, verb: &'static str) -> Result<Done, Refusal> {
        // Joins and readings back are between sweeps, so all that is sent in this one is of it.
        let sets = self.sets_so_far()?;
        let outcome = self.load(Due::ordered(Cause::Order(Order::Maintain(verb))));
        if outcome != Outcome::Done {
            let what = self.status.failure().map(|failure| failure.what.clone());
            let what = what.unwrap_or_else(|| "the sweep failed".to_owned());
            self.report.reload_failed();
            // Whether anything was written decides between the two codes.
            return Err(match self.manager()?.has_refused() {
                true => Refusal::refused(what),
                false => Refusal::failed(what),
            });
        }
        let sets = self.sets_so_far()?.saturating_sub(sets);
        let epoch = self.publication.epoch().map(|epoch| epoch.get());
        let lacking: Vec<String> = self
            .manager()?
            .lacking()
            .iter()
            .take(MOST_LACKING)
            .cloned()
            .collect();
        Ok(Done {
            epoch,
            sets,
            acknowledged: lacking.is_empty(),
            lacking,
        })
    }

    /// Since the start. Errors: as [`Self::manager`].
    fn sets_so_far(&mut self) -> Result<u64, Refusal> {
        let sweeps = self.manager()?.sweeps();
        Ok(sweeps.sets.load(core::sync::atomic::Ordering::Relaxed))
    }
}

/// More than that nobody reads.
const MOST_LACKING: usize = 20;
