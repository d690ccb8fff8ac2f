//! One change of the fabric, from the word of it to the snapshot in service.
//!
//! ```text
//!   order, signal, file, SA, OpenSM
//!        v
//!   due        Schedule     why, since when, and whether it is worth a reading at all
//!        v  Due
//!   settled    Sources      files that stay as they are while they are read; the running SA, or our own SM
//!        v  Settled
//!   compiled   Compiler     what another process tries first, sa-compiler, what an SA agrees with
//!        v  Compiled
//!   published  Publication  state directory, readings, rings, publisher; aliases, history
//! ```
//!
//! Each step is a function that takes the value of the one before, and what it remembers between
//! two changes is a type that its file alone writes: no step reaches back into one before it.
//! [`Loader`] has one of each and carries the value from one to the next, in [`Loader::load`]. At
//! each end [`report`] says what became of it. A failure at any step leaves the snapshot in service
//! alone.
//!
//! One thread does all of this and nothing else: a load may wait for a disk or an SA for as long as
//! these like, while workers answer and operators ask.
//!
//! # What a change costs where
//!
//! | step | waits for | gives up when |
//! |---|---|---|
//! | due | the fabric to lie still, `settle_ms` | never: it moves on, 20 times at most |
//! | settled | 100 ms without a change of a file | 20 readings in a row met a change |
//! | compiled | a trial, the compiler, an SA | an error, or too little memory |
//! | published | half a second for the disk | never |
//!
//! # What fails
//!
//! Nothing of a load that fails can be seen from outside but the words of it. The fabric that was
//! accepted last stays what the next compilation goes on from, and the snapshot in service stays in
//! service. That holds for one that panics too ([`caught`]).
//!
//! A load that is only tried ([`dry_run`]) goes the first two of these steps on a thread of its
//! own; nothing of it is seen here.
//!
//! # One change in time
//!
//! ```text
//!     0 ms  OpenSM writes a forwarding table: Programmed          due at 50
//!    30 ms  and another                                           due at 80
//!    80 ms  due: the fabric is read from OpenSM, compiled, proved, compared with samples
//!   900 ms  state slot <- parts; snapshot and mark on the disk
//!   905 ms  the publisher's pointer: workers answer from it with their next batch
//!   905 ms  the log: epoch 8, cause "OpenSM has programmed the fabric", what changed
//! ```
//!
//! Compiling and writing take what they take; these times are an example.

mod aliases;
mod attempt;
pub(in crate::server) mod caught;
mod compiled;
mod dry_run;
mod due;
mod groups;
mod history;
mod maintenance;
mod orders;
mod published;
pub(in crate::server) mod reading;
mod reconfigured;
mod report;
mod settled;
mod sm;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, never, select};
use sa_source::SaReader;
use tracing::info;

use crate::checks::copy;
use crate::config::{Config, Source};
use crate::server::fleet::Followed;
use crate::server::opensm::Change;
use crate::server::operators::control::Command;
use crate::server::operators::status::Status;
use crate::server::state_directory::EarlierRun;
use crate::server::subnet_manager::Manager;

use self::caught::{Panicked, caught};
use self::compiled::{Compiled, Compiler, LoadError};
use self::due::{Cause, Due, Schedule, Situation};
use self::groups::GroupChanges;
use self::published::Publication;
use self::report::Report;
use self::settled::{Settled, Sources};

pub(in crate::server) use dry_run::{Accepted, DryRuns, Turn};
pub(in crate::server) use published::Outlets;
pub(in crate::server) use settled::Teller;
pub(in crate::server) use sm::Sm;

/// The thread that loads, `sa-load`, and all that it remembers. Everything in here is its own; what
/// others may see goes through [`Status`] or an outlet.
pub(in crate::server) struct Loader<'a> {
    config: &'a Config,
    status: Arc<Status>,
    /// Where the fabric is, and what is said of it.
    sm: Sm,
    /// What operators order.
    commands: Receiver<Command>,
    /// What the fleet announces; never anything where this host follows none.
    followed: Receiver<Followed>,
    /// When to read.
    schedule: Schedule,
    /// Joins and leaves that switches are not programmed for yet.
    groups: GroupChanges,
    /// What was read last.
    sources: Sources,
    /// What to go on from.
    compiler: Compiler,
    /// What is in service.
    publication: Publication,
    /// What was said.
    report: Report<'a>,
    /// The configuration with what `sapphire apply` has changed; none: as it was started with.
    applied: Option<Box<Config>>,
    /// The last plan, until it is applied or old.
    planned: Option<maintenance::Plan>,
}

/// What came of a load, for whoever decides whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// What the sources say is in service.
    Done,
    Failed {
        /// Not with the words of the load before.
        is_new: bool,
        /// Because the SA answers otherwise: the comparison with it says when it does not any more.
        is_difference: bool,
        /// When to try again, where the failure says so.
        again_in: Option<Duration>,
    },
}

impl<'a> Loader<'a> {
    /// `teller`: who tells the fabric. `tries`: for dry runs, what was accepted and whether a load
    /// is under way.
    pub(in crate::server) fn new(
        config: &'a Config,
        status: &Arc<Status>,
        (sm, teller): (Sm, Teller<SaReader, Box<Manager>>),
        (commands, followed): (Receiver<Command>, Receiver<Followed>),
        outlets: Outlets,
        tries: (Arc<Accepted>, &'static Turn),
    ) -> Self {
        Self {
            config,
            sm,
            commands,
            followed,
            schedule: Schedule::new(),
            groups: GroupChanges::new(Arc::clone(&outlets.groups)),
            sources: Sources::new(teller),
            compiler: Compiler::new(tries.0, tries.1),
            publication: Publication::new(config, outlets, Arc::clone(status)),
            report: Report::new(config, Arc::clone(status)),
            applied: maintenance::restored(config),
            planned: None,
            status: Arc::clone(status),
        }
    }

    /// Serves what an earlier run left, loads, and goes on until nobody can order a reload any
    /// more.
    pub(in crate::server) fn run(mut self, earlier: EarlierRun, reloads: &Receiver<()>) {
        if let Some(epoch) = self.publication.warm_start(self.config, earlier) {
            self.report.serving(epoch);
        }
        self.load_first();
        self.serve(reloads);
        self.publication.close();
    }

    /// The first load, unless nothing can or may be read yet.
    fn load_first(&mut self) {
        if self.publication.is_held() {
            info!("the sources wait for `sapphire reload` or SIGHUP");
        } else if self.sm.can_load() {
            self.attempt(Due::ordered(Cause::Start));
        } else if self.config.fabric.source == Source::Fleet {
            self.report.follows();
        } else if self.config.fabric.source == Source::None {
            self.report.nothing_to_load();
        } else {
            info!("waiting for OpenSM on this host to be the master");
        }
    }

    /// Waits for a reason to do something, until nobody can order a reload any more. Each reason is
    /// handled whole before the next is looked at, so there is one load at a time.
    fn serve(&mut self, reloads: &Receiver<()>) {
        let (changes, commands) = (self.sm.changes(), self.commands.clone());
        let followed = self.followed.clone();
        let groups = self.groups.changes();
        let others = self.sources.manager().map(|it| it.identity().calls());
        let others = others.unwrap_or_else(never);
        loop {
            let patience = self.schedule.patience(self.in_force(), self.sm.can_load());
            let patience = self.groups.patience(patience);
            select! {
                recv(reloads) -> order => match order {
                    Ok(()) => self.reload(Cause::Signal),
                    Err(_) => return,
                },
                recv(changes) -> change => {
                    if let Ok(change) = change {
                        let config = self.applied.as_deref().unwrap_or(self.config);
                        self.schedule.note(change, config);
                        // While changes come one after the other there is no heartbeat.
                        self.follow_changes();
                    }
                }
                recv(commands) -> command => {
                    if let Ok(command) = command {
                        self.obey(command);
                    }
                }
                recv(others) -> _ => {
                    self.schedule.note(Change::Commanded, self.config);
                    self.follow_changes();
                }
                recv(groups) -> _ => self.groups.note(),
                recv(followed) -> followed => {
                    if let Ok(followed) = followed {
                        self.follow_fleet(followed);
                    }
                }
                default(patience) => self.heartbeat(),
            }
            self.follow_groups();
        }
    }

    /// What is to be done twice a second where nothing else happens.
    fn heartbeat(&mut self) {
        // First: a snapshot that nobody holds is memory that a load may need.
        self.publication.reclaim();
        self.follow_files();
        self.follow_changes();
        self.sm.show(&self.status, self.publication.is_held());
        self.publication.follow_aliases();
    }

    /// Reads the sources when files changed that nobody tells of. A rollback holds all of these
    /// back.
    fn follow_files(&mut self) {
        if self.publication.is_held() {
            return;
        }
        // Until the first load succeeded each change of a file is a new chance, watched or not. Who tells the fabric is
        // asked again when the failure before says so, or at once where nobody was asked.
        if !self.publication.is_loaded() {
            let config = self.in_force();
            let is_due = self.sources.may_differ(config)
                && (self.sources.files_beside_changed(config) || !self.schedule.is_waiting());
            if self.sm.can_load() && is_due {
                self.attempt(Due::ordered(Cause::Retry));
            }
        } else if self.sources.policy_changed(self.in_force()) {
            self.reload(Cause::Policy);
        } else if self.sources.files_beside_changed(self.in_force()) {
            self.reload(Cause::BesideSa);
        }
    }

    /// Reads the sources when that is due, and when they have not been looked at for long. What is
    /// due waits for OpenSM where that is to be asked and cannot be.
    fn follow_changes(&mut self) {
        if !self.sm.can_load() {
            return;
        }
        // By fields, as others of them change meanwhile.
        let config = self.applied.as_deref().unwrap_or(self.config);
        let situation = Situation {
            is_loaded: self.publication.is_loaded(),
            is_held: self.publication.is_held(),
            look_the_same: || self.sources.lie_still(config),
        };
        let Some(due) = self.schedule.next(config, &situation) else {
            return;
        };
        let outcome = self.attempt(due);
        // Scripts wait for a line on standard output; a retry that fails in the same way is
        // no answer to them.
        if matches!(outcome, Outcome::Failed { is_new: true, .. }) {
            self.report.reload_failed();
        }
    }

    /// Puts into service what the fleet has announced; whether it is answered from is the gate's to
    /// say.
    fn follow_fleet(&mut self, followed: Followed) {
        self.status.load_begins();
        let summary = copy::summary(&followed.snapshot.info());
        let epoch = self.publication.follow(followed, Instant::now());
        self.status.load_ends();
        self.report.succeeded(Some(epoch), Cause::Fleet, &summary);
    }

    /// Loads, and sees to it that a load that failed is tried again.
    fn attempt(&mut self, due: Due) -> Outcome {
        let outcome = self.load(due);
        match outcome {
            Outcome::Done => self.schedule.succeeded(),
            // A standby knows itself when it is to look again.
            // Files that fail will fail again until they change; an SA may have been busy.
            // Where it disagrees, the comparison finds out when it does not.
            Outcome::Failed {
                is_difference,
                again_in,
                ..
            } if self.sources.are_told() && !is_difference => {
                let config = self.applied.as_deref().unwrap_or(self.config);
                self.schedule.retry(due, again_in, config);
            }
            Outcome::Failed { .. } => {}
        }
        outcome
    }

    /// Loads because somebody, or a file, asks for it.
    fn reload(&mut self, cause: Cause) {
        reconfigured::look(self.config, &self.status);
        let due = Due::ordered(cause);
        let outcome = self.load(due);
        // Who stands by from now on has somebody to poll. What fails otherwise waits for another order.
        if let Outcome::Failed {
            again_in: Some(again_in),
            ..
        } = outcome
        {
            let config = self.applied.as_deref().unwrap_or(self.config);
            self.schedule.retry(due, Some(again_in), config);
        }
        if outcome != Outcome::Done {
            self.report.reload_failed();
        }
    }

    /// The walk of one change: due, settled, compiled, published.
    fn load(&mut self, due: Due) -> Outcome {
        let read_at = self.schedule.begin();
        self.status.load_begins();
        let outcome = self.walk(due, read_at);
        self.status.load_ends();
        self.schedule.ended();
        let again_in = self
            .sources
            .manager()
            .and_then(|manager| manager.again_in());
        if let (Outcome::Done, Some(pause)) = (outcome, again_in) {
            self.schedule.again(pause);
        }
        outcome
    }

    fn walk(&mut self, due: Due, read_at: Instant) -> Outcome {
        // Before the reading: what an OpenSM invalidates meanwhile must not count as read.
        let generation = self.sm.generation();
        if due.cause.is_of_doubt() {
            self.sources.distrust();
        }
        let compiled = self.compile(due);
        // Before anybody is told: who hears of the end of a load may ask for a dry run.
        self.compiler.load_ends();
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error) => return self.failed(&error, due),
        };
        self.sm.disagrees(&[]);
        self.report.found(&compiled, !self.publication.is_loaded());
        if let Some(told) = compiled.told() {
            self.sources.accept(Arc::clone(told));
        }
        let summary = compiled.summary();
        let epoch = self.publication.publish(compiled, read_at);
        self.report.succeeded(epoch, due.cause, &summary);
        if let Some(manager) = self.sources.manager() {
            manager.serves();
            self.sm.rests(&self.status, None);
        }
        // Last: from here on the gate may open.
        self.sm.published(generation);
        Outcome::Done
    }

    /// What settled sources come to.
    fn compile(&mut self, due: Due) -> Result<Compiled, LoadError> {
        let Self {
            config,
            applied,
            compiler,
            ..
        } = self;
        let config = applied.as_deref().unwrap_or(config);
        let outlook = self.publication.outlook();
        let sources = &mut self.sources;
        let settled = caught(|| {
            let make = |settled: Settled<'_>| compiler.attempt(config, settled, outlook.epoch);
            // Nothing of it is published.
            let is_of_no_use =
                |made: &Result<_, LoadError>| made.as_ref().is_err_and(LoadError::is_silent);
            sources.settle(config, compiler.when(due), make, is_of_no_use)
        });
        let attempt = match settled {
            Ok(settled) => settled.unwrap_or_else(|unsettled| Err(unsettled.into())),
            Err(Panicked(words)) => {
                sources.begin_anew();
                Err(LoadError::Panicked(words))
            }
        };
        compiler.judge(attempt, due, outlook)
    }

    /// Notes a load that puts nothing into service.
    fn failed(&mut self, error: &LoadError, due: Due) -> Outcome {
        let differences = error.differences();
        self.sm.disagrees(differences);
        let in_service = self.publication.epoch();
        // What fails after such a failure lets nobody be answered either.
        if error.is_silent() || self.status.sm_facts().passive.is_some() {
            self.sm.rests(&self.status, Some(error.to_string()));
        }
        Outcome::Failed {
            is_new: self.report.failed(error, due.cause, in_service),
            is_difference: !differences.is_empty(),
            again_in: error.again_in(),
        }
    }
}
