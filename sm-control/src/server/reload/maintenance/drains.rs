//! `drain` and `undrain`: routes leave a part while it is still there, and take it again.
//!
//! A drain costs nobody a path while it stands: what only the part can carry goes over it. It is
//! refused for what would be lost when the part is pulled, which is what it is drained for.
//!
//! | refused where | unless |
//! |---|---|
//! | hosts have no way but the part | forced |
//! | routes without it have no path for some pairs, or are another engine's | forced |
//! | there are no routes that leave it and reach its hosts | forced: then it is severed, with routes as if it had failed |
//! | there are none then either, or this SM is behind it | never |
//!
//! ```text
//!  rehearsal ──┬─ routes leave it ─────────────────────────────> admitted ──> written
//!              └─ they do not ──> forced? ──> severed: again ──┬─ they do ──^
//!                                                              └─ they do not: refused
//! ```

use sa_compiler::drained::Cost;

use super::super::Loader;
use super::{Change, Rehearsed, report};
use crate::server::operators::control::Refusal;
use crate::server::operators::control::maintenance::{
    DrainReport, PlanReport, Report, UndrainReport,
};
use crate::server::subnet_manager::maintenance::{Drains, resolve};

impl Loader<'_> {
    /// Routes leave a part. Errors: it costs somebody a path, or there are no such routes.
    pub(super) fn drain(&mut self, word: &str, force: bool) -> Result<Report, Refusal> {
        let manager = self.manager()?;
        let part = resolve(word, manager.subnet()).map_err(Refusal::refused)?;
        let name = part.word();
        let drains = manager.drains().with(part).map_err(Refusal::refused)?;
        let standing = manager.drains().wanted();
        let (change, rehearsed, plan, severed) = self.leaving(&name, drains, force)?;
        let parts = &rehearsed.planned.compiled.parts;
        let topology = parts.subnet.topology(&parts.options);
        // What is drained already is paid for.
        let cost = change.drains.wanted().cost(&topology);
        let before = standing.cost(&topology);
        let more = Cost {
            hosts: cost.hosts.saturating_sub(before.hosts),
            pairs: cost.pairs.saturating_sub(before.pairs),
        };
        if !force {
            admit(&name, more, &plan)?;
        }
        // As large as the subnet, and of no use to the sweep.
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
            severed,
            kept: !self.manager()?.drains().is_in_memory(),
        }))
    }

    /// Routes that leave the last one of what is drained, and whether they cut its hosts off.
    /// Errors: there are none, or nobody has said that hosts may be cut off.
    fn leaving(
        &mut self,
        name: &str,
        drains: Drains,
        force: bool,
    ) -> Result<(Change, Rehearsed, PlanReport, bool), Refusal> {
        let as_change = |drains| Change {
            config: None,
            drains,
            words: Vec::new(),
        };
        let severed = drains.with_last_severed();
        let change = as_change(drains);
        let (rehearsed, plan) = self.rehearse(&change)?;
        let Some(why) = report::set_aside(&rehearsed) else {
            return Ok((change, rehearsed, plan, false));
        };
        let words = format!("routes would not leave {name}: {why}");
        let Some(severed) = severed else {
            return Err(Refusal::refused(words));
        };
        if self.is_behind(&severed)? {
            return Err(Refusal::refused(format!(
                "{words}\nNor can it be severed, as this Subnet Manager is on it"
            )));
        }
        if !force {
            return Err(Refusal::refused(format!(
                "{words}\nWith --force routes are as if {name} had failed: its hosts lose all of their paths at once, and not when it is pulled"
            )));
        }
        drop(rehearsed);
        let change = as_change(severed);
        let (rehearsed, plan) = self.rehearse(&change)?;
        match report::set_aside(&rehearsed) {
            None => Ok((change, rehearsed, plan, true)),
            Some(why) => Err(Refusal::refused(format!(
                "{words}\nNor would they as if it had failed: {why}"
            ))),
        }
    }

    /// The port of this SM is on a severed switch: then nobody would reach the SA any more. Errors:
    /// this daemon is no SM.
    fn is_behind(&mut self, drains: &Drains) -> Result<bool, Refusal> {
        let severed = drains.wanted().severed;
        let subnet = self.manager()?.subnet();
        let own = subnet.sm();
        let far = own.and_then(|at| subnet.peer(at));
        let mut nodes = [own, far].into_iter().flatten();
        Ok(nodes.any(|at| {
            let node = subnet.node(at.node);
            node.is_some_and(|node| severed.contains(&node.guid()))
        }))
    }

    /// Routes may take a part again. Errors: it is not drained.
    pub(super) fn undrain(&mut self, word: &str) -> Result<Report, Refusal> {
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
    pub(super) fn keep_drains(&mut self) -> Result<(), Refusal> {
        let kept = self.manager()?.drains().keep();
        kept.map_err(|error| Refusal::failed(format!("{error}; nothing has changed")))
    }
}

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
