//! The Subnet Manager of this process, where `[fabric] source = "sweep"`.
//!
//! ```text
//!  due (the thread that loads) ──> Manager::sweep ──> find ─> plan ─> write ──> all acknowledged? ── yes ──> the plan's snapshot
//!                                       │                                                     └─ no ──> compiled from what is held
//!                                       └── guid2lid, guid2mkey, findings in the log
//! ```
//!
//! A sweep is this source's reading: what it comes to is published like any other, and a sweep that
//! fails (the port, a plan that is refused) leaves what is in service and, where there is no plan,
//! the subnet as it was. It is tried again like the reading of a running SA.
//!
//! What is kept between two sweeps: what nodes acknowledged, Sets that are in vain, LIDs and P_Key
//! indices. LIDs outlive the process in `guid2lid` of the `[state]` directory.
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
//! Progress each second of a long sweep; `SUBNET UP` at the end of one that was ordered or changed
//! something, `Errors during initialization` where a Set of it was refused or not answered; each
//! finding once, and once more when it is over. A failure is told by the thread that loads, as of
//! any source.
//!
//! Multicast tables follow joins between two sweeps (`groups`).
//!
//! A trap of a device orders a sweep (`traps`), which reads again what may have changed; so do
//! those of each `sweep_interval`, by what switches say of their ports. Everything is found anew at
//! a start, an order, changed files, and after a sweep that failed. What nodes were written is read
//! back, a part after each sweep (`audit`).
//!
//! Others that manage subnets, or may: who of them is the master is decided by `sa_sm::mastership`;
//! `identity` has the state, `others` whom a sweep has found, `standby` polls, `inherited` reads
//! what clients have set there, `handover` hands over.

mod attempt;
mod audit;
mod driving;
mod error;
mod groups;
mod handover;
mod identity;
mod inherited;
mod keys;
mod lids;
pub(in crate::server) mod maintenance;
mod others;
mod pace;
mod responder;
mod said;
mod standby;
mod sweeping;
#[cfg(test)]
mod tests;
mod traps;
mod way;

use core::sync::atomic::AtomicBool;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::options::ManagerOptions;
use sa_fabric::sa_records::MulticastTables;
use sa_sm::executor::Limits;
use sa_sm::mastership::Event;
use sa_sm::sweep::Swept;
use sa_source::When;
use sm_plan::Planner;
use sm_port::{OverRelay, SmpPort};
use tracing::warn;

use self::audit::Auditing;
pub(in crate::server) use self::error::SweepError;
use self::groups::Groups;
use self::handover::Unfit;
pub(in crate::server) use self::identity::Identity;
use self::inherited::Inheritance;
use self::keys::KeyRing;
use self::maintenance::{AskedEngine, Drains, LastSeen, Promise};
use self::responder::Responder;
use self::said::Said;
use self::standby::Standby;
use self::way::Way;

pub(super) use self::traps::Traps;
pub(super) use self::way::with_its_port;
use crate::config::Config;
use crate::server::health::Observed;
use crate::server::operators::sweeps::Sweeps;
use crate::server::state::SetByClients;

/// A Subnet Manager and what it knows.
pub(in crate::server) struct Manager {
    way: Way,
    /// Attached; none before the first sweep, and after the port failed.
    port: Option<Box<dyn SmpPort>>,
    planner: Option<Planner>,
    swept: Swept,
    /// What the last sweep found, as its provenance says it; none before the first that was
    /// planned.
    found: Option<String>,
    /// Of the next SMP: answers to an earlier sweep are no answers to this one.
    transaction: u32,
    /// `[state]`, for what outlives the process.
    directory: Option<PathBuf>,
    /// M_Keys of ports.
    key_ring: KeyRing,
    said: Said,
    /// What this SM is to others.
    identity: Arc<Identity>,
    /// For operators.
    sweeps: Arc<Sweeps>,
    /// Who answers them; none before the first sweep.
    responder: Option<Responder>,
    /// The master that this SM stands by for, or another one that is to hand over; none where it
    /// manages, or does not know yet.
    standby: Option<Standby>,
    /// What clients have set there.
    inheritance: Inheritance,
    /// One that was told to take over and did not.
    unfit: Option<Unfit>,
    /// The first look at the options was taken.
    has_begun: bool,
    /// It stood by once: what it remembers of LIDs may be old.
    has_stood_by: bool,
    /// The last sweep that planned left nothing undone: another one that finds what it has left
    /// need not plan.
    is_quiet: bool,
    /// When all switches were asked last.
    looked: Option<Instant>,
    /// When a sweep has found all and wrote nothing, as another SM has the subnet, or handed over
    /// meanwhile.
    just_found: Option<Instant>,
    /// One has handed over to this SM while the sweep before looked.
    is_handed_over: bool,
    /// When another sweep is to try what this one has left undone, and after what pause.
    again_in: Option<Duration>,
    /// A light sweep was due when devices told something: it comes right after that.
    owes_light: bool,
    /// The pause before this sweep, where it is such another one.
    pause: Duration,
    stop: Arc<AtomicBool>,
    /// How SMPs are sent, as the last sweep had it.
    limits: Limits,
    groups: Groups,
    traps: Arc<Traps>,
    auditing: Auditing,
    /// For those who ask: what switches hold by now.
    multicast: Arc<MulticastTables>,
    /// Who looks after the links that sweeps find.
    observed: Option<Arc<Observed>>,
    /// What routes are to leave.
    drains: Drains,
    /// What keeps routes where they are not to be, in words, as of the last plan.
    lacking: BTreeSet<String>,
    /// The only Sets that may be written; none: any.
    promise: Option<Promise>,
    /// The last sweep wrote nothing, as it would not have been what was planned.
    is_refused: bool,
    /// What the inputs of the last plan said of the engine; none before the first plan of this
    /// process.
    asked_engine: Option<AskedEngine>,
    last_seen: LastSeen,
}

impl Manager {
    /// Where the configuration says that this process is the Subnet Manager; none elsewhere.
    /// Nothing is opened yet. `smps`: what comes to the client of a simulator that serves the SA.
    /// `muted` is set while another SM has the subnet.
    pub(in crate::server) fn of(
        config: &Config,
        (stop, groups, traps): (&Arc<AtomicBool>, &Arc<SetByClients>, &Arc<Traps>),
        muted: Arc<AtomicBool>,
        smps: Option<OverRelay>,
    ) -> Option<Self> {
        let way = Way::of(config, smps)?;
        let directory = config.state.directory.as_ref();
        if directory.is_none() {
            warn!(
                "no [state] directory: LIDs are those that ports have, or new ones, after a restart, and M_Keys are not written down"
            );
        }
        let manager = Self {
            way,
            port: None,
            planner: None,
            swept: Swept::default(),
            found: None,
            transaction: std::process::id() << 12,
            directory: directory.cloned(),
            key_ring: KeyRing::default(),
            said: Said::default(),
            identity: Arc::new(Identity::new(muted, Arc::clone(groups.succession()))),
            sweeps: Arc::clone(traps.sweeps()),
            responder: None,
            standby: None,
            inheritance: Inheritance::default(),
            unfit: None,
            has_begun: false,
            has_stood_by: false,
            is_quiet: false,
            looked: None,
            just_found: None,
            is_handed_over: false,
            again_in: None,
            owes_light: false,
            pause: Duration::ZERO,
            stop: Arc::clone(stop),
            limits: Limits::default(),
            groups: Groups::new(groups),
            traps: Arc::clone(traps),
            auditing: Auditing::new(config.sm.audit_interval),
            multicast: Arc::default(),
            observed: None,
            drains: Drains::read(directory.map(PathBuf::as_path)),
            lacking: BTreeSet::new(),
            promise: None,
            is_refused: false,
            asked_engine: None,
            last_seen: LastSeen::read(directory.map(PathBuf::as_path)),
        };
        // What an earlier run has left counts from now on, and not only after the first sweep.
        manager.show_drains();
        Some(manager)
    }

    /// As after a restart: what was in memory may be half of something. The subnet is found and its
    /// tables are read by the next sweep, so what is held already is not written again; LIDs are in
    /// their file.
    pub(in crate::server) fn begin_anew(&mut self) {
        (self.port, self.planner, self.found) = (None, None, None);
        (self.swept, self.is_quiet) = (Swept::default(), false);
        (self.just_found, self.is_handed_over) = (None, false);
        // Answers to what was sent are none to what comes.
        self.transaction = self.transaction.wrapping_add(1 << 20);
        // Whom it stood by for is found again too.
        self.standby = None;
        self.identity.step(Event::Silent);
        self.identity.leaving.sweeps(false);
    }

    /// What it is to others: whoever ends the daemon says so there.
    pub(in crate::server) fn identity(&self) -> Arc<Identity> {
        Arc::clone(&self.identity)
    }

    /// What a sweep came to is in service.
    pub(in crate::server) fn serves(&self) {
        self.identity.serves();
    }

    /// The same, whose sweeps are told to who looks after links.
    pub(in crate::server) fn watched_by(self, observed: &Arc<Observed>) -> Self {
        Self {
            observed: Some(Arc::clone(observed)),
            ..self
        }
    }

    /// What operators are told of its sweeps.
    pub(in crate::server) fn sweeps(&self) -> Arc<Sweeps> {
        Arc::clone(&self.sweeps)
    }

    /// What only a Subnet Manager follows of the configuration. Errors: `opensm.conf` cannot be
    /// read.
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
        let pause = self.again_in.take();
        self.pause = pause.unwrap_or_default();
        self.sweeps.begin();
        let mut swept = self.swept(inputs, options, when, before, stamp);
        // Nothing was written yet, and this SM is still the master, or is to be it.
        if matches!(swept, Err(SweepError::NotTaken)) {
            swept = self.swept(inputs, options, when, before, stamp);
        }
        let swept = swept.map(|first| {
            // What is other than it was written is written again at once.
            let again = self.reads_back(options).then(|| {
                self.is_quiet = false;
                self.swept(inputs, options, When::Changed, before, stamp)
            });
            match again {
                Some(Ok(again)) => again.or(first),
                // What is in doubt now is tried again by the next sweep, which is not quiet.
                Some(Err(error)) => {
                    warn!("what was read back is mended later: {error}");
                    first
                }
                None => first,
            }
        });
        self.sweeps.find(self.standing());
        match &swept {
            Ok(_) => {
                let nodes = self.swept.subnet.nodes().len();
                self.sweeps.end(nodes, begun.elapsed());
            }
            // Another SM manages the subnet, as it should; or there is none.
            Err(SweepError::Standby { .. } | SweepError::NotActive | SweepError::NoLink) => {
                self.sweeps.wait();
            }
            Err(_) => self.sweeps.fail(),
        }
        swept
    }

    /// All that a person should know now.
    fn standing(&self) -> BTreeSet<String> {
        let mut all = self.said.standing() | self.groups.standing();
        all.extend(self.identity.refused());
        all.extend(self.unfit.as_ref().and_then(Unfit::words));
        all
    }
}
