//! The daemon: ports and workers that never stop for a reload, and one thread that compiles.
//!
//! Before the first successful load the workers take requests, drop and count them, as an SM in
//! standby does; clients try again.

mod attach;
mod counters;
mod placement;
mod publication;
mod reports;
mod ring;
mod rmpp;
mod signals;
mod slow_lane;
mod sources;

use core::sync::atomic::{AtomicBool, Ordering};
use std::io::Write;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use sa_fastpath::port::umad::SmFlag;
use sa_fastpath::publish::{EpochId, Publisher};
use sa_fastpath::punt::punt_queue;
use sa_fastpath::sampling::Sampling;
use sa_fastpath::stats::WorkerStats;
use sa_wire::Guid;
use signal_hook::consts::{SIGHUP, SIGUSR1};
use thiserror::Error;
use tracing::{error, info, warn};

use crate::config::{Config, Role};
use crate::pipeline::{self, Compiled, Inputs, Parts, PipelineError};
use crate::sa_db::{JournalError, Now, SaDatabase};

pub use attach::AttachError;
pub use placement::PlacementError;
pub use ring::RingSectionError;
use sources::Fingerprint;

/// How often the main thread frees old snapshots and, until the sources were read once, looks
/// whether they changed.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// What is said when the sources never lay still.
const UNSETTLED: &str = "the source files change faster than they can be read; reload when their \
                         writer is done";

/// Name of the snapshot file in the state directory.
const STATE_FILE: &str = "current.snap";

/// Name of the file there that has what clients have set.
const JOURNAL_FILE: &str = "sa.journal";

/// A daemon that cannot run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A port cannot be attached.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// A thread or signal handler cannot be set up.
    #[error("cannot {what}: {source}")]
    Os {
        /// What was attempted.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// More ports than readers.
    #[error("more than {} ports", sa_fastpath::publish::MAX_READERS - 1)]
    TooManyPorts,
    /// What clients have set cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Every worker lost its port.
    #[error("every port is gone; see the messages above")]
    PortsGone,
}

/// Validates everything a start or reload would read. Errors: what a load would report.
pub fn check(config: &Config) -> Result<Compiled, PipelineError> {
    let compiled = pipeline::compile(&Inputs::from_config(config), pipeline::Stamp::default())?;
    compiled.publishable()?;
    Ok(compiled)
}

/// Whether this machine can do what `[workers]` says. Gives what an operator should know of it, one
/// sentence each. Errors: [`PlacementError`].
pub fn check_workers(config: &Config) -> Result<Vec<String>, PlacementError> {
    placement::check(config)
}

/// Whether this machine can do what `[[port]]` says of rings. Errors: [`RingSectionError`].
pub fn check_rings(config: &Config) -> Result<(), RingSectionError> {
    ring::check(config)
}

/// Runs until SIGTERM or SIGINT. Errors: [`ServerError`]; a failed load is none.
pub fn run(config: &Config) -> Result<(), ServerError> {
    let signals = signals::channel()?;
    let mut server = Server::start(config)?;
    server.warm_start();
    server.load("start");
    let result = server.serve(&signals);
    server.stop();
    result
}

/// What a snapshot was compiled from.
struct State {
    /// The snapshot's.
    epoch: u64,
    parts: Arc<Parts>,
}

/// The newest [`State`].
type StateInService = ArcSwapOption<State>;

/// Alias GUIDs that clients have set, each with the GUID of its port, ascending.
type AliasesOfClients = ArcSwap<Vec<(Guid, Guid)>>;

struct Server<'a> {
    config: &'a Config,
    publisher: Publisher,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
    slow_lane: Option<JoinHandle<()>>,
    stats: Vec<Arc<WorkerStats>>,
    flags: Vec<SmFlag>,
    /// Sockets where processes of this node get rings.
    rings: Vec<ring::Service>,
    /// What the last failed load said, so that retries do not repeat it.
    last_failure: Option<String>,
    /// The sources as the last load found them.
    tried: Option<Fingerprint>,
    /// The last fabric that the engine routed: what the switches hold when it refuses.
    accepted: Option<Arc<Parts>>,
    /// What the snapshot in service was compiled from, for the slow lane.
    state: Arc<StateInService>,
    /// Those that are to be in service.
    aliases: Arc<AliasesOfClients>,
    /// Those that are.
    served_aliases: Arc<Vec<(Guid, Guid)>>,
    /// The snapshot in service comes from the sources, not from the state directory.
    loaded: bool,
    announced: bool,
}

impl<'a> Server<'a> {
    fn start(config: &'a Config) -> Result<Self, ServerError> {
        let publisher = Publisher::starting_at(publication::first_epoch(config));
        let stop = Arc::new(AtomicBool::new(false));
        let (punted, sender) = punt_queue(config.workers.punt_queue);
        let (mut workers, mut stats, mut replies) = (Vec::new(), Vec::new(), Vec::new());
        let (mut flags, mut rings) = (Vec::new(), Vec::new());
        let mut placement = placement::Placement::new(config);
        placement.complain(&config.ports);
        for (number, section) in config.ports.iter().enumerate() {
            let reader = publisher.reader().ok_or(ServerError::TooManyPorts)?;
            let sampling = config.workers.sample_every.map(Sampling::new);
            let counters = sampling.map_or_else(WorkerStats::default, WorkerStats::sampled);
            let counters = Arc::new(counters);
            let seat = attach::Seat {
                number,
                core: None,
                idle: config.workers.idle(),
                reader,
                punt: sender(number),
                stats: Arc::clone(&counters),
                stop: Arc::clone(&stop),
                access: config.sa.access.into(),
                limits: config.overload.limits(),
                role: config.sa.role,
            };
            let attached = attach::attach(section, seat, &mut placement)?;
            workers.push(attached.worker);
            replies.push(attached.reply);
            flags.extend(attached.flag);
            rings.extend(attached.ring);
            stats.push(counters);
        }
        let reader = publisher.reader().ok_or(ServerError::TooManyPorts)?;
        let state = Arc::new(StateInService::empty());
        let aliases = Arc::new(AliasesOfClients::default());
        let keeper = database(config)?
            .map(|database| slow_lane::Keeper::new(database, Arc::clone(&aliases)));
        let rules = slow_lane::Rules::from(config);
        let supply = slow_lane::Supply {
            punted,
            reader,
            newest: Arc::clone(&state),
        };
        let lane = slow_lane::SlowLane::new(supply, replies, rules, keeper);
        let slow_lane = slow_lane::spawn(lane, Arc::clone(&stop))?;
        Ok(Self {
            config,
            publisher,
            stop,
            workers,
            slow_lane: Some(slow_lane),
            stats,
            flags,
            rings,
            last_failure: None,
            tried: None,
            accepted: None,
            state,
            aliases,
            served_aliases: Arc::default(),
            loaded: false,
            announced: false,
        })
    }

    /// Compiles and publishes; on failure the snapshot in service stays.
    fn load(&mut self, cause: &str) -> bool {
        match self.compile_settled() {
            Ok(compiled) => {
                self.take(compiled, cause);
                true
            }
            Err(failure) => {
                self.report_failure(&failure, cause);
                false
            }
        }
    }

    /// Compiles sources that lie still. Errors: in words.
    fn compile_settled(&mut self) -> Result<Compiled, String> {
        let settled = sources::settled(|| Fingerprint::of(self.config), || self.compile());
        let (tried, compiled) = settled.unzip();
        self.tried = tried;
        compiled.map_or_else(
            || Err(UNSETTLED.to_owned()),
            |compiled| compiled.map_err(|failure| failure.to_string()),
        )
    }

    fn compile(&self) -> Result<Compiled, PipelineError> {
        let epoch = self.publisher.next_epoch();
        let stamp = pipeline::Stamp {
            epoch: epoch.get(),
            built_unix: pipeline::unix_time(),
        };
        let inputs = Inputs::from_config(self.config);
        let compiled = pipeline::compile_after(&inputs, stamp, self.accepted.as_deref())?;
        compiled.publishable().map(|()| compiled)
    }

    fn take(&mut self, compiled: Compiled, cause: &str) {
        for warning in &compiled.warnings {
            warn!("{warning}");
        }
        for change in &compiled.changes {
            info!("{change}");
        }
        if !self.loaded {
            self.judge_key(compiled.parts.options.sa_key);
        }
        let summary = compiled.summary();
        let parts = Arc::new(compiled.parts);
        if parts.refusal.is_none() {
            self.accepted = Some(Arc::clone(&parts));
        }
        let snapshot = self.with_aliases_of_clients(&parts, compiled.snapshot);
        let epoch = self.publish(parts, snapshot);
        info!(%epoch, cause, "{summary}");
        self.last_failure = None;
        self.loaded = true;
        self.announce(epoch);
    }

    /// One line on standard output: what scripts and service managers wait for.
    fn announce(&mut self, epoch: EpochId) {
        let word = if self.announced { "reloaded" } else { "ready" };
        let mut out = std::io::stdout().lock();
        // A closed standard output is the caller's choice.
        let _ = writeln!(out, "{word} epoch={epoch}").and_then(|()| out.flush());
        if !self.announced {
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        }
        self.announced = true;
    }

    fn report_failure(&mut self, failure: &str, cause: &str) {
        if self.last_failure.as_deref() == Some(failure) && cause == "retry" {
            return;
        }
        match self.publisher.current() {
            Some(current) => {
                error!(epoch = %current.epoch, cause, "{failure}; the snapshot in service stays");
            }
            None => error!(cause, "{failure}; no snapshot yet, requests are dropped"),
        }
        self.last_failure = Some(failure.to_owned());
    }

    fn serve(&mut self, signals: &Receiver<i32>) -> Result<(), ServerError> {
        loop {
            match signals.recv_timeout(HEARTBEAT) {
                Ok(SIGHUP) => self.reload("SIGHUP"),
                Ok(SIGUSR1) => counters::log(&self.stats),
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => self.heartbeat()?,
            }
        }
    }

    fn reload(&mut self, cause: &str) {
        if !self.load(cause) {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "reload failed").and_then(|()| out.flush());
        }
    }

    fn heartbeat(&mut self) -> Result<(), ServerError> {
        self.publisher.reclaim();
        if !self.loaded && self.tried != Some(Fingerprint::of(self.config)) {
            self.load("retry");
        } else if self.loaded && self.policy_changed() {
            self.reload("the policy file changed");
        }
        self.follow_aliases();
        if self.workers.iter().all(JoinHandle::is_finished) {
            return Err(ServerError::PortsGone);
        }
        Ok(())
    }

    /// Whether the policy file is another one than at the last attempt to load, where it is to be
    /// watched.
    fn policy_changed(&self) -> bool {
        let policy = &self.config.policy;
        let seen = self.tried.as_ref().map(Fingerprint::policy);
        policy.watch && seen.is_none_or(|seen| *seen != sources::policy(self.config))
    }

    fn stop(&mut self) {
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.workers.drain(..).chain(self.slow_lane.take()) {
            if thread.join().is_err() {
                error!("a serving thread ended by a panic");
            }
        }
        self.flags.clear();
        self.rings.clear();
        counters::log(&self.stats);
    }
}

/// What this SA keeps for its clients; none where another SM does.
fn database(config: &Config) -> Result<Option<SaDatabase>, JournalError> {
    if config.sa.role == Role::Reader {
        return Ok(None);
    }
    warn!(
        "role = \"test\": joins to multicast groups are granted, but no switch is programmed for \
         them; not for production"
    );
    let directory = config.state.directory.as_ref();
    let path = directory.map(|directory| directory.join(JOURNAL_FILE));
    if path.is_none() {
        warn!("no [state] directory: what clients set is lost at a restart");
    }
    let now = Now {
        steady: Duration::ZERO,
        unix: pipeline::unix_time(),
    };
    let database = SaDatabase::open(path.as_deref(), now)?;
    Ok(Some(database.with_access(config.sa.access.into())))
}
