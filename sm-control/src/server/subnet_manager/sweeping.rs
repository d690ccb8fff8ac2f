//! One sweep: whether it may look, the attempt, and what came of it.
//!
//! ```text
//!  may_look ──> attempted: find ─> plan ─> write ──> groups, findings, the log ──> in_force
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::options::ManagerOptions;
use sa_sm::mastership::Action;
use sa_sm::sm_info::SmState;
use sa_sm::sweep::Progress;
use sa_source::When;
use sm_plan::{PlanError, Planned, Planner, Planning, Unheld};
use tracing::{debug, info, warn};

use super::attempt::Attempt;
use super::handover::Unfit;
use super::maintenance::{AskedEngine, Guard};
use super::others::Others;
use super::standby::Standby;
use super::{Manager, SweepError, lids};

impl Manager {
    /// Finds, plans and writes, and gives what is held afterwards. None where `when` asks for
    /// changes alone, nothing was written and what was found is as before. Errors: [`SweepError`].
    pub(super) fn swept(
        &mut self,
        inputs: &Inputs,
        options: &ManagerOptions,
        when: When,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Option<Compiled>, SweepError> {
        let inputs = &Inputs {
            drained: self.drains.wanted(),
            ..inputs.clone()
        };
        self.is_refused = false;
        self.may_look(inputs, options)?;
        let begun = Instant::now();
        let attempted = self.attempted(inputs, options, when, before, stamp)?;
        let Some((mut planned, progress)) = attempted else {
            self.said.end_change();
            return Ok(None);
        };
        planned.changed(progress.drained);
        self.tell_waited(&planned);
        let own = self.identity.now().info;
        let of_keys = self.key_ring.findings(&self.swept.subnet);
        // Once: all tables of all switches are compared. Groups have others.
        let missing = planned.not_held(&self.swept.subnet);
        let swept = &self.swept.subnet;
        self.said.tell(&own, swept, (&planned, &missing), of_keys);
        // Without a Set no old port has gone.
        let rest = planned.trees_rest();
        self.groups.rest(rest.filter(|_| progress.counts.sets > 0));
        self.follow_groups(&planned.compiled.parts);
        let found = planned.provenance();
        let last = self.found.replace(found.clone());
        self.carried_out(&planned, &missing);
        let is_new = last.is_none_or(|last| last != found);
        // Of what nobody ordered only where something came of it: a line each 10 s would bury the others.
        let has_written = progress.counts.sets > 0;
        if is_new || has_written || when == When::Always {
            tell_end(&progress, &planned, begun.elapsed());
        }
        self.is_quiet = missing.is_empty() && !self.is_undone();
        self.again_in = self.pause_after(progress.failed);
        if when == When::Changed && !is_new && !has_written {
            return Ok(None);
        }
        Ok(Some(self.in_force(planned, &missing, before, stamp)?))
    }

    /// What options change at once, and whether this SM is to look at the subnet at all. Errors: it
    /// waits for another one.
    fn may_look(&mut self, inputs: &Inputs, options: &ManagerOptions) -> Result<(), SweepError> {
        let its = pipeline::options(inputs)?;
        self.inheritance.sa_key = its.sa_key;
        // Before anything else: priority and key count for who asks now.
        let is_other = self.identity.follow(its.sm_key, options);
        self.traps.follow(options.sweeps.on_trap);
        if options.mastership.inactive && !self.has_begun {
            self.listen()?;
            self.identity.rests();
        }
        self.has_begun = true;
        self.stand_by(options, is_other)?;
        self.inherits(options);
        Ok(())
    }

    /// The sweep itself. None where nothing is new, so that nothing was planned. Errors:
    /// [`SweepError`].
    fn attempted(
        &mut self,
        inputs: &Inputs,
        options: &ManagerOptions,
        when: When,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Option<(Planned, Progress)>, SweepError> {
        let planner = self.planner(inputs, options)?;
        let planner = planner.with_groups(self.groups.members());
        let mut planner = planner.with_aliases(self.groups.aliases());
        // Who orders a sweep has mended something, most likely.
        if when == When::Always {
            self.swept.memory.try_again();
        }
        // `Changed` is asked for where no file is other than at the last sweep, so with the same inputs what is found decides.
        let may_skip = core::mem::take(&mut self.is_quiet) && when == When::Changed;
        let mut key_ring = core::mem::take(&mut self.key_ring);
        let keys = key_ring.follow(self.directory.as_deref(), options);
        let guard = Guard::of(self, inputs, before);
        let untouched = guard.is_strict().then(|| planner.clone());
        let mut attempt = Attempt {
            planning: Planning::new(&mut planner, before, stamp),
            identity: Arc::clone(&self.identity),
            directory: self.directory.clone(),
            key_ring: &mut key_ring,
            ignores_others: options.mastership.ignore_other_sm,
            unfit: self
                .unfit
                .as_ref()
                .filter(|it| it.stands())
                .map(|it| it.guid),
            may_skip,
            is_skipped: false,
            is_cut: false,
            others: Others::default(),
            action: Action::Nothing,
            is_handed_over: core::mem::take(&mut self.is_handed_over),
            predecessor: None,
            forwarded: self.inheritance.looks_for_joins(),
            guard,
            not_admitted: None,
        };
        let scope = self.scope(options, when);
        let swept = self.run(options, (&scope, keys), &mut attempt);
        let Attempt {
            planning,
            is_skipped,
            is_cut,
            others,
            action,
            predecessor,
            forwarded,
            not_admitted,
            ..
        } = attempt;
        let planned = planning.into_planned();
        key_ring.after_sets(self.directory.as_deref(), &self.swept.subnet);
        self.key_ring = key_ring;
        if swept.is_ok() && planned.as_ref().is_some_and(Result::is_ok) {
            planner.swept(&self.swept.subnet);
            self.inheritance.is_over(forwarded);
        }
        // What was planned and not admitted leaves nothing behind.
        self.planner = Some(match &not_admitted {
            Some(_) => untouched.unwrap_or(planner),
            None => planner,
        });
        let progress = swept?;
        if let Some(why) = not_admitted {
            self.is_refused = true;
            return Err(why);
        }
        if let Some(other) = predecessor.and_then(|place| others.get(place)) {
            let left = Standby::before(other, SmState::Standby, options);
            self.inheritance.is_handed_by(left);
            (self.just_found, self.is_handed_over) = (Some(Instant::now()), true);
            return Err(SweepError::NotTaken);
        }
        self.tell_observers(action, is_skipped);
        // One that is gone does not stand in the way any more.
        let has_gone = |unfit: &mut Unfit| unfit.guid.is_none_or(|guid| !others.has(guid));
        self.unfit.take_if(has_gone);
        if let Some(error) = self.leaves(action, &others, options) {
            return Err(error);
        }
        if is_cut {
            self.identity.cut_off();
            return Err(SweepError::NoLink);
        }
        if is_skipped {
            debug!(
                smps = progress.counts.sent,
                "nothing is new: not planned again"
            );
            self.is_quiet = true;
            return Ok(None);
        }
        let planned = planned.ok_or(SweepError::Stopped)??;
        self.asked_engine = Some(AskedEngine::of(inputs));
        Ok(Some((planned, progress)))
    }

    /// Who looks after links is told what was found, or that this SM has no say in them.
    fn tell_observers(&self, action: Action, is_skipped: bool) {
        let Some(observed) = &self.observed else {
            return;
        };
        match (action, is_skipped) {
            (Action::Manage, true) => observed.looked(),
            (Action::Manage, false) => observed.swept(&self.swept.subnet),
            _ => observed.rest(),
        }
    }

    /// Why this SM does not manage what it has found; none where it does.
    fn leaves(
        &mut self,
        action: Action,
        others: &Others,
        options: &ManagerOptions,
    ) -> Option<SweepError> {
        match action {
            Action::Manage => None,
            Action::HandOver(place) => Some(self.hand_over(place, others, options)),
            Action::StandBy(place) | Action::Wait(place) => {
                let state = self.identity.state();
                let other = others.get(place)?;
                let standby = Standby::before(other, state, options);
                let again_in = self.unfit.as_ref().map(Unfit::again_in);
                self.just_found = (state == SmState::Standby).then(Instant::now);
                let own = self.identity.now().info;
                let is_unknown = state == SmState::Standby && own.is_greater_than(other.0);
                let stays = self.yields(standby.not_later(again_in));
                if let Some(standby) = self.standby.take() {
                    self.follows_clients((&standby, other.0), options);
                    self.standby = Some(standby);
                }
                // It may have asked while this SM was not waiting yet, and would not ask again before its next sweep.
                if is_unknown {
                    self.remind(options);
                }
                Some(stays)
            }
            // It was told to do nothing while it looked.
            Action::Nothing | Action::Discover | Action::Remind => Some(SweepError::NotActive),
        }
    }

    /// Who was without a path while routes changed. A sweep of which nobody can say so leaves what
    /// the one before has told.
    fn tell_waited(&self, planned: &Planned) {
        let waited = planned.waited(&self.swept.drained);
        if waited.is_empty() {
            return;
        }
        for one in waited.iter().take(MOST_TOLD) {
            info!("{one}");
        }
        if let Some(more) = waited.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            info!("and so for {more} LIDs more: sapphire status --json");
        }
        self.sweeps.waited(waited);
    }

    /// Something beside routes, as of the groups' tables that follow them, is not held and has to
    /// be tried again.
    fn is_undone(&self) -> bool {
        self.swept.memory.has_refused()
            || !self.groups.standing().is_empty()
            || self.key_ring.is_behind()
            // It failed while tables of groups were written.
            || self.port.is_none()
    }

    /// What answers: the plan where all of it is held, and of devices what they acknowledged.
    fn in_force(
        &self,
        planned: Planned,
        missing: &[Unheld],
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Compiled, PlanError> {
        let after = &self.swept.subnet;
        let mut compiled = planned.answering(missing, after, before, stamp)?;
        compiled.parts.devices = Some(Arc::new(sm_plan::held_records(after)));
        self.multicast.set(sm_plan::held_multicast(after));
        compiled.parts.multicast = Some(Arc::clone(&self.multicast));
        Ok(compiled)
    }

    /// The planner with the inputs of now: what it remembers stays. Errors: options that cannot be
    /// read.
    fn planner(
        &mut self,
        inputs: &Inputs,
        manager: &ManagerOptions,
    ) -> Result<Planner, SweepError> {
        let remembered = match self.planner.take() {
            Some(planner) => {
                let planner = planner.with_inputs(inputs.clone(), manager.clone());
                return Ok(planner.with_inherited_clients(self.inheritance.from));
            }
            None => {
                let options = pipeline::options(inputs)?;
                // Numbers from 1 on: what was remembered counts no more than what ports have. And who has stood by takes LIDs
                // as the master before has left them.
                let is_old = self.has_stood_by && !manager.honor_guid2lid_file;
                let directory = self.directory.as_ref();
                let directory = directory.filter(|_| !options.reassign_lids && !is_old);
                let path = directory.map(|directory| directory.join(lids::FILE));
                lids::read(path.as_deref(), options.lmc.unwrap_or_default())
            }
        };
        let planner = Planner::new(inputs.clone(), manager.clone(), remembered);
        let planner = planner.with_restored_clients(self.groups.are_restored());
        Ok(planner.with_inherited_clients(self.inheritance.from))
    }
}

/// Lines of one sweep about hosts without a path: more bury the others.
const MOST_TOLD: usize = 64;

/// As OpenSM's log has it.
fn tell_end(progress: &Progress, planned: &Planned, took: Duration) {
    let Progress { nodes, failed, .. } = *progress;
    let (smps, sets, ms) = (progress.counts.sent, progress.counts.sets, took.as_millis());
    // Of changed routes, where they could not all change at once.
    let stages = Some(planned.transition.stages.len()).filter(|stages| *stages > 0);
    // Without a path meanwhile.
    let drained_lids = progress.drained.map(|drained| drained.lids);
    let drained_ms = progress.drained.map(|drained| drained.took.as_millis());
    match failed {
        0 => info!(
            nodes,
            smps, sets, stages, drained_lids, drained_ms, ms, "SUBNET UP"
        ),
        _ => warn!(
            nodes,
            smps,
            sets,
            stages,
            drained_lids,
            drained_ms,
            failed,
            ms,
            "Errors during initialization: what failed is tried again"
        ),
    }
}
