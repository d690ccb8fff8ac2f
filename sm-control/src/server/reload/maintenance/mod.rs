//! Maintenance of the subnet, as operators order it: between two loads, on the thread that loads.
//!
//! ```text
//!  plan    ──> rehearsal ──> report, and the plan is kept: one, for an hour
//!  apply N ──> is it that plan? ──> promise ──> load ──> written as promised, or not at all
//!  drain   ──> rehearsal ──> does it cost anybody a path? ──> kept in its file ──> load ──> acknowledged
//! ```
//!
//! What is refused changes nothing. What fails while it is written stands, is shown as not acknowledged, and is tried again by the next
//! sweep, like everything that a sweep is to write.

mod applied;
mod lids;
mod report;

use std::time::{Duration, Instant};

use sa_compiler::drained::Cost;
use sa_compiler::pipeline::{self, Stamp};

use super::due::{Cause, Due};
use super::{Loader, Outcome};
use crate::config::Config;
use crate::server::operators::control::maintenance::{
    AppliedReport, Done, DrainReport, PlanReport, Report, Task, UndrainReport, Wish,
};
use crate::server::operators::control::{Answer, Order, Refusal};
use crate::server::subnet_manager::Manager;
use crate::server::subnet_manager::maintenance::{Drains, Rehearsed, resolve};

pub(super) use self::applied::restored;

/// A plan that may be carried out. There is one at most, and it holds no table: it is made again and compared.
pub(super) struct Plan {
    /// As operators name it.
    number: String,
    /// Of its Sets.
    digest: u64,
    /// None: the one in force.
    config: Option<Box<Config>>,
    drains: Drains,
    made: Instant,
}

/// How long a plan is kept.
const KEPT: Duration = Duration::from_secs(3600);

/// What is to be other than it is.
struct Change {
    config: Option<Box<Config>>,
    drains: Drains,
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

    /// Makes a plan, and keeps it in the place of the one before.
    fn plan(&mut self, wish: &Wish) -> Result<Report, Refusal> {
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
            digest: rehearsed.digest,
            config: change.config,
            drains: change.drains,
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
    fn apply(&mut self, number: &str) -> Result<Report, Refusal> {
        let plan = self
            .planned
            .take()
            .filter(|plan| plan.made.elapsed() < KEPT);
        let plan = plan.filter(|plan| plan.number == number).ok_or_else(|| {
            Refusal::refused(format!(
                "there is no plan {number} any more, or never was; plan again"
            ))
        })?;
        let before = (self.applied.take(), self.manager()?.drains().clone());
        self.applied = plan.config.or_else(|| before.0.clone());
        // What the configuration says anyway is no change to it.
        self.applied
            .take_if(|applied| applied::is_same(applied, self.config));
        let manager = self.manager()?;
        manager.set_drains(plan.drains);
        manager.promise(Some(plan.digest));
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

    /// Routes leave a part. Errors: it costs somebody a path, or there are no such routes.
    fn drain(&mut self, word: &str, force: bool) -> Result<Report, Refusal> {
        let manager = self.manager()?;
        let part = resolve(word, manager.subnet()).map_err(Refusal::refused)?;
        let name = part.word();
        let drains = manager.drains().with(part).map_err(Refusal::refused)?;
        let change = Change {
            config: None,
            drains,
            words: Vec::new(),
        };
        let standing = manager.drains().wanted();
        let (rehearsed, plan) = self.rehearse(&change)?;
        if let Some(why) = report::set_aside(&rehearsed) {
            return Err(Refusal::refused(format!(
                "routes would not leave {name}: {why}"
            )));
        }
        let parts = &rehearsed.planned.compiled.parts;
        let topology = parts.subnet.topology(&parts.options);
        let cost = change.drains.wanted().cost(&topology);
        let before = standing.cost(&topology);
        let more = Cost {
            hosts: cost.hosts.saturating_sub(before.hosts),
            pairs: cost.pairs.saturating_sub(before.pairs),
        };
        if !force {
            admit(&name, more, &plan)?;
        }
        drop(rehearsed);
        let before = self.manager()?.drains().clone();
        self.manager()?.set_drains(change.drains);
        if let Err(refusal) = self.keep_drains() {
            self.manager()?.set_drains(before);
            return Err(refusal);
        }
        let done = self.sweep("sapphire drain")?;
        Ok(Report::Drain(DrainReport {
            part: name,
            done,
            entries_changed: plan.entries_changed,
            pairs: plan.pairs,
            hosts_without_another_way: more.hosts,
            pairs_without_another_way: more.pairs,
            kept: !self.manager()?.drains().is_in_memory(),
        }))
    }

    /// Routes may take a part again. Errors: it is not drained.
    fn undrain(&mut self, word: &str) -> Result<Report, Refusal> {
        let manager = self.manager()?;
        let before = manager.drains().clone();
        let (drains, part) = before
            .without(word, manager.subnet())
            .map_err(Refusal::refused)?;
        manager.set_drains(drains);
        if let Err(refusal) = self.keep_drains() {
            self.manager()?.set_drains(before);
            return Err(refusal);
        }
        Ok(Report::Undrain(UndrainReport {
            part: part.word(),
            done: self.sweep("sapphire undrain")?,
        }))
    }

    /// Errors: the file cannot be written.
    fn keep_drains(&mut self) -> Result<(), Refusal> {
        let kept = self.manager()?.drains().keep();
        kept.map_err(|error| Refusal::failed(format!("{error}; nothing has changed")))
    }

    /// Loads now. Errors: that failed, in its own words; the next sweep tries again.
    fn sweep(&mut self, verb: &'static str) -> Result<Done, Refusal> {
        let sets = self.sets_so_far()?;
        let outcome = self.load(Due::ordered(Cause::Order(Order::Maintain(verb))));
        if outcome != Outcome::Done {
            let what = self.status.failure().map(|failure| failure.what.clone());
            let what = what.unwrap_or_else(|| "the sweep failed".to_owned());
            self.report.reload_failed();
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

    fn sets_so_far(&mut self) -> Result<u64, Refusal> {
        let sweeps = self.manager()?.sweeps();
        Ok(sweeps.sets.load(core::sync::atomic::Ordering::Relaxed))
    }
}

/// More than that nobody reads.
const MOST_LACKING: usize = 20;

/// Errors: somebody would lose a path when the part is pulled.
fn admit(name: &str, more: Cost, plan: &PlanReport) -> Result<(), Refusal> {
    let Cost { hosts, pairs } = more;
    if pairs > 0 {
        let whose = match hosts {
            0 => String::new(),
            hosts => format!(" ({hosts} hosts hang on it)"),
        };
        return Err(Refusal::refused(format!(
            "{pairs} pairs of hosts have no way but {name}{whose}, and lose it when that is pulled; with --force routes leave it but for these"
        )));
    }
    if plan.pairs.lost > 0 {
        let lost = plan.pairs.lost;
        return Err(Refusal::refused(format!(
            "{lost} pairs of hosts would have no path on the routes that leave {name}; --force drains it all the same"
        )));
    }
    if plan.engine != plan.engine_before {
        let (before, now) = (&plan.engine_before, &plan.engine);
        return Err(Refusal::refused(format!(
            "without {name} the engine would be {now} instead of {before}, which writes every table; --force does it"
        )));
    }
    Ok(())
}
