//! The Subnet Manager of this process, where `[fabric] source = "sweep"`.
//!
//! ```text
//!  due (the thread that loads) ──> Manager::sweep ──> find ─> plan ─> write ──> all acknowledged? ── yes ──> the plan's snapshot
//!                                       │                                                     └─ no ──> compiled from what is held
//!                                       └── guid2lid, findings in the log
//! ```
//!
//! A sweep is this source's reading: what it comes to is published like any other, and a sweep that fails (the port, a plan that
//! is refused) leaves what is in service and, where there is no plan, the subnet as it was. It is tried again like the reading
//! of a running SA.
//!
//! What is kept between two sweeps: what nodes acknowledged, Sets that are in vain, LIDs and P_Key indices. LIDs outlive the
//! process in `guid2lid` of the `[state]` directory.
//!
//! # What happens when
//!
//! | what | the subnet | answers | the next sweep |
//! |---|---|---|---|
//! | the port cannot be attached, or fails | holds what was acknowledged so far | as before | soon, over a port that is attached anew |
//! | the plan is refused | as before | as before | soon |
//! | some blocks are not acknowledged | holds what it holds | follow what is held | writes them again |
//! | nothing is new, and nothing was written | as before | the same snapshot | after the interval |
//! | an order, and nothing is new | as before | a new snapshot of the same | after the interval |
//! | the daemon ends | what is on the wire may still arrive | none | a start reads all again, and writes what differs |
//!
//! # The log
//!
//! Progress each second of a long sweep; `SUBNET UP` at the end of one that was ordered or changed something, `Errors during
//! initialization` where a Set of it was refused or not answered; each finding once, and once more when it is over. A failure is told by the thread that loads, as of any source.
//!
//! Multicast tables follow joins between two sweeps (`groups`).
//!
//! A trap of a device orders a sweep (`traps`).
//!
//! Not here yet: handover between Subnet Managers.

mod attempt;
mod driving;
mod error;
mod groups;
mod identity;
mod lids;
mod responder;
mod said;
mod standby;
#[cfg(test)]
mod tests;
mod traps;
mod way;

use core::sync::atomic::AtomicBool;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::options::ManagerOptions;
use sa_fabric::sa_records::MulticastTables;
use sa_sm::executor::Limits;
use sa_sm::sm_info::SmState;
use sa_sm::sweep::{Progress, Swept};
use sa_source::When;
use sm_plan::{PlanError, Planned, Planner, Planning};
use sm_port::{OverRelay, SmpPort};
use tracing::{debug, info, warn};

use self::attempt::Attempt;
pub(in crate::server) use self::error::SweepError;
use self::groups::Groups;
use self::identity::Identity;
use self::responder::Responder;
use self::said::Said;
use self::standby::Standby;
use self::way::Way;

pub(super) use self::traps::Traps;
pub(super) use self::way::with_its_port;
use crate::config::Config;
use crate::server::operators::sweeps::Sweeps;
use crate::server::state::SetByClients;

/// A Subnet Manager and what it knows.
pub(in crate::server) struct Manager {
    way: Way,
    /// Attached; none before the first sweep, and after the port failed.
    port: Option<Box<dyn SmpPort>>,
    planner: Option<Planner>,
    swept: Swept,
    /// What the last sweep found, as its provenance says it; none before the first that was planned.
    found: Option<String>,
    /// Of the next SMP: answers to an earlier sweep are no answers to this one.
    transaction: u32,
    guid2lid: Option<PathBuf>,
    said: Said,
    /// What this SM is to others.
    identity: Arc<Identity>,
    /// For operators.
    sweeps: Arc<Sweeps>,
    /// Who answers them; none before the first sweep.
    responder: Option<Responder>,
    /// The master that this SM stands by for; none where it is the master, or does not know yet.
    standby: Option<Standby>,
    /// It stood by once: what it remembers of LIDs may be old.
    has_stood_by: bool,
    /// The last sweep planned, wrote nothing and left nothing undone: another one that finds the same need not plan.
    is_quiet: bool,
    stop: Arc<AtomicBool>,
    /// How SMPs are sent, as the last sweep had it.
    limits: Limits,
    groups: Groups,
    traps: Arc<Traps>,
    /// For those who ask: what switches hold by now.
    multicast: Arc<MulticastTables>,
}

impl Manager {
    /// Where the configuration says that this process is the Subnet Manager; none elsewhere. Nothing is opened yet. `smps`:
    /// what comes to the client of a simulator that serves the SA.
    pub(in crate::server) fn of(
        config: &Config,
        (stop, groups, traps): (&Arc<AtomicBool>, &Arc<SetByClients>, &Arc<Traps>),
        smps: Option<OverRelay>,
    ) -> Option<Self> {
        let way = Way::of(config, smps)?;
        let directory = config.state.directory.as_ref();
        if directory.is_none() {
            warn!(
                "no [state] directory: LIDs are those that ports have, or new ones, after a restart"
            );
        }
        Some(Self {
            way,
            port: None,
            planner: None,
            swept: Swept::default(),
            found: None,
            transaction: std::process::id() << 12,
            guid2lid: directory.map(|directory| directory.join(lids::FILE)),
            said: Said::default(),
            identity: Arc::new(Identity::new()),
            sweeps: Arc::clone(traps.sweeps()),
            responder: None,
            standby: None,
            has_stood_by: false,
            is_quiet: false,
            stop: Arc::clone(stop),
            limits: Limits::default(),
            groups: Groups::new(groups),
            traps: Arc::clone(traps),
            multicast: Arc::default(),
        })
    }

    /// As after a restart: what was in memory may be half of something. The subnet is found and its tables are read by the next
    /// sweep, so what is held already is not written again; LIDs are in their file.
    pub(in crate::server) fn begin_anew(&mut self) {
        (self.port, self.planner, self.found) = (None, None, None);
        (self.swept, self.is_quiet) = (Swept::default(), false);
        // Answers to what was sent are none to what comes.
        self.transaction = self.transaction.wrapping_add(1 << 20);
        // Whom it stood by for is found again too.
        if self.standby.take().is_none() && self.identity.now().info.state != SmState::Standby {
            return;
        }
        self.identity.becomes(SmState::Discovering);
    }

    /// What operators are told of its sweeps.
    pub(in crate::server) fn sweeps(&self) -> Arc<Sweeps> {
        Arc::clone(&self.sweeps)
    }

    /// What only a Subnet Manager follows of the configuration. Errors: `opensm.conf` cannot be read.
    pub(in crate::server) fn options(config: &Config) -> Result<ManagerOptions, SweepError> {
        Ok(pipeline::manager_options(&config.inputs())?)
    }

    /// [`Self::swept`], with what came of it told to operators.
    pub(in crate::server) fn sweep(
        &mut self,
        inputs: &Inputs,
        options: &ManagerOptions,
        when: When,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Option<Compiled>, SweepError> {
        let begun = Instant::now();
        self.sweeps.begin();
        let swept = self.swept(inputs, options, when, before, stamp);
        match &swept {
            Ok(_) => {
                let nodes = self.swept.subnet.nodes().len();
                self.sweeps.end(nodes, begun.elapsed());
            }
            // Another SM manages the subnet, as it should.
            Err(SweepError::Standby { .. }) => self.sweeps.wait(),
            Err(_) => self.sweeps.fail(),
        }
        swept
    }

    /// Finds, plans and writes, and gives what is held afterwards. None where `when` asks for changes alone, nothing was written
    /// and what was found is as before. Errors: [`SweepError`].
    fn swept(
        &mut self,
        inputs: &Inputs,
        options: &ManagerOptions,
        when: When,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Option<Compiled>, SweepError> {
        let sm_key = pipeline::options(inputs)?.sm_key;
        // Before anything else: priority and key count for who asks now.
        self.identity.follow(sm_key, options);
        self.traps.follow(options.sweeps.on_trap);
        self.stand_by(options)?;
        let planner = self.planner(inputs, options)?;
        let planner = planner.with_groups(self.groups.members());
        let mut planner = planner.with_aliases(self.groups.aliases());
        // Who orders a sweep has mended something, most likely.
        if when == When::Always {
            self.swept.memory.try_again();
        }
        let begun = Instant::now();
        // `Changed` is asked for where no file is other than at the last sweep, so with the same inputs what is found decides.
        let may_skip = core::mem::take(&mut self.is_quiet) && when == When::Changed;
        let mut attempt = Attempt {
            planning: Planning::new(&mut planner, before, stamp),
            identity: Arc::clone(&self.identity),
            guid2lid: self.guid2lid.clone(),
            ignores_others: options.mastership.ignore_other_sm,
            may_skip,
            is_skipped: false,
            yields: None,
        };
        let swept = self.run(options, &mut attempt);
        let Attempt {
            planning,
            is_skipped,
            yields,
            ..
        } = attempt;
        let planned = planning.into_planned();
        if swept.is_ok() && planned.as_ref().is_some_and(Result::is_ok) {
            planner.swept(&self.swept.subnet);
        }
        self.planner = Some(planner);
        let progress = swept?;
        if let Some(standby) = yields {
            return Err(self.yields(standby));
        }
        if is_skipped {
            debug!(
                smps = progress.counts.sent,
                "nothing is new: not planned again"
            );
            self.is_quiet = true;
            return Ok(None);
        }
        let Some(planned) = planned else {
            return Err(SweepError::Stopped);
        };
        let mut planned = planned?;
        planned.changed(progress.drained);
        let own = self.identity.now().info;
        self.said.tell(&own, &self.swept.subnet, &planned);
        self.follow_groups(&planned.compiled.parts);
        self.sweeps
            .find(self.said.standing() | self.groups.standing());
        let found = planned.provenance();
        let is_new = self
            .found
            .replace(found.clone())
            .is_none_or(|last| last != found);
        // Of what nobody ordered only where something came of it: a line each 10 s would bury the others.
        let has_written = progress.counts.sets > 0;
        if is_new || has_written || when == When::Always {
            tell_end(&progress, &planned, begun.elapsed());
        }
        self.is_quiet = !has_written && !self.is_undone(&planned);
        if when == When::Changed && !is_new && !has_written {
            return Ok(None);
        }
        Ok(Some(self.in_force(planned, before, stamp)?))
    }

    /// Something of the plan, or of the groups' tables that follow it, is not held and has to be tried again.
    fn is_undone(&self, planned: &Planned) -> bool {
        self.swept.memory.has_refused()
            || !planned.not_held(&self.swept.subnet).is_empty()
            || !self.groups.standing().is_empty()
            // It failed while tables of groups were written.
            || self.port.is_none()
    }

    /// What answers: the plan where all of it is held, and of devices what they acknowledged.
    fn in_force(
        &self,
        planned: Planned,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Compiled, PlanError> {
        let after = &self.swept.subnet;
        let mut compiled = match planned.not_held(after).is_empty() {
            true => planned.compiled,
            false => planned.held(after, before, stamp)?,
        };
        compiled.parts.devices = Some(Arc::new(sm_plan::held_records(after)));
        self.multicast.set(sm_plan::held_multicast(after));
        compiled.parts.multicast = Some(Arc::clone(&self.multicast));
        Ok(compiled)
    }

    /// The planner with the inputs of now: what it remembers stays. Errors: options that cannot be read.
    fn planner(
        &mut self,
        inputs: &Inputs,
        manager: &ManagerOptions,
    ) -> Result<Planner, SweepError> {
        let remembered = match self.planner.take() {
            Some(planner) => return Ok(planner.with_inputs(inputs.clone(), manager.clone())),
            None => {
                let options = pipeline::options(inputs)?;
                // Numbers from 1 on: what was remembered counts no more than what ports have. And who has stood by takes LIDs
                // as the master before has left them.
                let is_old = self.has_stood_by && !manager.honor_guid2lid_file;
                let path = self.guid2lid.as_deref();
                let path = path.filter(|_| !options.reassign_lids && !is_old);
                lids::read(path, options.lmc.unwrap_or_default())
            }
        };
        let planner = Planner::new(inputs.clone(), manager.clone(), remembered);
        Ok(planner.with_restored_clients(self.groups.are_restored()))
    }
}

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
