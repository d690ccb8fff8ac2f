//! The daemon: ports and workers that never stop for a reload, and one thread that compiles.
//!
//! Before the first successful load the workers take requests, drop and count them, as an SM in
//! standby does; clients try again.

mod house;
mod kept;
mod local_service;
mod opensm;
mod operators;
mod ports;
mod reload;
mod shadow;
mod signals;
mod slow_lane;
mod tries;
mod vigil;

use core::sync::atomic::AtomicBool;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use crossbeam_channel::{Receiver, Sender, bounded, select, tick};
use sa_fastpath::publish::{EpochId, Publisher};
use sa_fastpath::punt::{Requesters, punt_queue_of};
use sa_fastpath::sampling::Sampling;
use sa_fastpath::stats::{Counter, WorkerStats};
use sa_wire::Guid;
use signal_hook::consts::{SIGHUP, SIGUSR1};
use thiserror::Error;
use tracing::{error, info, warn};

use crate::checks::CheckError;
use crate::checks::placement::Placement;
use crate::config::{Config, PortSection, Role, Source};
use sa_compiler::pipeline;
use sa_compiler::state::Parts;
use sa_service::sa_db::{JournalError, Now, SaDatabase};
use sa_source::LiveSource;

use self::operators::admin;
use self::ports::{attach, descriptors};
use self::reload::{changes, loading, reading, reconfigured, sources};
use house::{House, Pulse, Rings};
use kept::{Earlier, Shelf};
use opensm::Beside;
use operators::board::Board;
use operators::control::Command;
use operators::ledger::Ledger;
pub use ports::attach::AttachError;
use reload::reading::Readings;
use reload::rollback::Past;
use reload::sources::Fingerprint;
use vigil::Doubts;

/// How often the main thread frees old snapshots and, until the sources were read once, looks
/// whether they changed.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// The cause of a load that nobody asked for, after one that failed.
const RETRY: &str = "retry";

/// A reading after a while in which nobody told of a change.
const REGULAR: &str = "a regular look";

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
    /// Operators cannot be served.
    #[error("{0}")]
    Admin(String),
    /// This process may not have as many file descriptors as it may need.
    #[error("{0}")]
    Descriptors(String),
    /// This host's kernel cannot be served.
    #[error("[local_service]: {0}")]
    LocalService(String),
    /// The thread that loads ended by a panic.
    #[error("the thread that loads is gone; see the messages above")]
    LoaderGone,
    /// Another daemon has the state directory.
    #[error("{0}")]
    State(String),
    /// Every worker lost its port.
    #[error("every port is gone; see the messages above")]
    PortsGone,
}

/// Whether this process may have as many file descriptors as it may need. Errors:
/// [`ServerError::Descriptors`].
pub fn check_descriptors(config: &Config) -> Result<(), ServerError> {
    descriptors::check(config).map_err(ServerError::Descriptors)
}

/// Tries on this machine what would end a start: directories, sockets, addresses, devices. Gives what an operator
/// should know, one sentence each; what a running sapphired has is among it and no error. Errors: in words.
pub fn check_start(config: &Config) -> Result<Vec<String>, CheckError> {
    tries::all(config).map_err(CheckError::Words)
}

/// How often this looks after what serves.
const LOOK: Duration = Duration::from_millis(500);

/// How long the thread that loads may take to end when it is at nothing.
const FAREWELL: Duration = Duration::from_millis(100);

/// What the thread that loads tells.
enum Told {
    /// Everything serves.
    Built(Box<House>),
    /// It ends.
    Ended(Result<(), ServerError>),
}

/// Runs until SIGTERM or SIGINT. Errors: [`ServerError`]; a failed load is none.
///
/// Loads have a thread of their own: they may wait for a disk or a server without end, and this
/// does not.
pub fn run(config: &Config) -> Result<(), ServerError> {
    let signals = signals::channel()?;
    // One that waits stands for every order to reload until it begins.
    let (reload, reloads) = bounded(1);
    let (tell, told) = bounded(2);
    // Where it hangs it is left behind, so what it uses stays for as long as the process.
    let config: &'static Config = Box::leak(Box::new(config.clone()));
    let thread = std::thread::Builder::new().name("sa-load".into());
    let thread = thread.spawn(move || {
        let result = work(config, &tell, &reloads);
        // Nobody listens any more where the end was an order.
        let _ = tell.send(Told::Ended(result));
    });
    thread.map_err(|source| ServerError::Os {
        what: "start the thread that loads",
        source,
    })?;
    let mut house = None;
    let result = supervise(&signals, &told, &reload, &mut house);
    if let Some(house) = house {
        house.stop();
    }
    drop(reload);
    let _ = told.recv_timeout(FAREWELL);
    result
}

/// Starts everything, loads, and goes on until nobody can order a reload any more.
fn work(
    config: &'static Config,
    tell: &Sender<Told>,
    reloads: &Receiver<()>,
) -> Result<(), ServerError> {
    let (mut server, house) = Server::start(config)?;
    if tell.send(Told::Built(Box::new(house))).is_err() {
        return Ok(());
    }
    server.warm_start();
    if server.is_held() {
        info!("the sources wait for `sapphire reload` or SIGHUP");
    } else if server.can_load() {
        server.load("start");
    } else if config.fabric.source == Source::None {
        server.announce_none();
    } else {
        info!("waiting for OpenSM on this host to be the master");
    }
    server.serve(reloads);
    if let Some(shelf) = server.shelf.take() {
        shelf.close();
    }
    Ok(())
}

/// Until SIGTERM or SIGINT. Errors: nothing serves any more.
fn supervise(
    signals: &Receiver<i32>,
    told: &Receiver<Told>,
    reload: &Sender<()>,
    house: &mut Option<Box<House>>,
) -> Result<(), ServerError> {
    let looks = tick(LOOK);
    loop {
        select! {
            recv(signals) -> signal => match signal {
                Ok(SIGHUP) => drop(reload.try_send(())),
                Ok(SIGUSR1) => house.iter().for_each(|house| house.log_counters()),
                Ok(_) | Err(_) => return Ok(()),
            },
            recv(told) -> told => match told {
                Ok(Told::Built(built)) => *house = Some(built),
                Ok(Told::Ended(result)) => return result,
                Err(_) => return Err(ServerError::LoaderGone),
            },
            recv(looks) -> _ => if let Some(house) = house {
                house.look()?;
            },
        }
    }
}

/// What a snapshot was compiled from.
struct State {
    /// The snapshot's.
    epoch: u64,
    parts: Arc<Parts>,
}

/// The newest [`State`].
type StateInService = ArcSwapOption<State>;

/// What the snapshot of that epoch was compiled from; none while the newest is another's.
fn state_of(newest: &StateInService, epoch: u64) -> Option<Arc<State>> {
    newest.load_full().filter(|state| state.epoch == epoch)
}

/// Alias GUIDs that clients have set, each with the GUID of its port, ascending.
type AliasesOfClients = ArcSwap<Vec<(Guid, Guid)>>;

struct Server<'a> {
    config: &'a Config,
    publisher: Publisher,
    /// The OpenSM that has the fabric.
    beside: Option<Arc<Beside>>,
    /// Something changed: when the sources are to be read, and why.
    due: Option<changes::Due>,
    /// When the sources were last read.
    looked: Instant,
    /// The fabric, where a running SA tells it.
    live: Option<LiveSource>,
    /// Sockets where processes of this node get rings.
    rings: Rings,
    /// Failed readings of a running SA in a row.
    retries: u32,
    /// What the last failed load said, so that retries do not repeat it.
    last_failure: Option<String>,
    /// The sources as the last load found them.
    tried: Option<Fingerprint>,
    /// The last fabric that the engine routed: what the switches hold when it refuses.
    accepted: Option<Arc<Parts>>,
    /// What the snapshot in service was compiled from, for the slow lane.
    state: Arc<StateInService>,
    /// And when that was read.
    readings: Readings,
    /// Those that are to be in service.
    aliases: Arc<AliasesOfClients>,
    /// Those that are.
    served_aliases: Arc<Vec<(Guid, Guid)>>,
    /// The snapshot in service comes from the sources, not from the state directory.
    loaded: bool,
    announced: bool,
    /// What operators see.
    board: Arc<Board>,
    /// What an earlier run has left, until it was looked at.
    earlier: Earlier,
    /// Where this one keeps what is in service.
    shelf: Option<Shelf>,
    /// What they order.
    commands: Receiver<Command>,
    past: Past,
    /// The last load failed: it is tried again whatever looks as it did.
    refused: bool,
    /// For what the SA answered.
    differs: bool,
    /// Whether the SM goes by what is in service.
    doubts: Arc<Doubts>,
    /// What is said of that, where no OpenSM is beside.
    vigil: Option<Receiver<opensm::Change>>,
}

impl<'a> Server<'a> {
    fn start(config: &'a Config) -> Result<(Self, House), ServerError> {
        descriptors::raise(config).map_err(ServerError::Descriptors)?;
        let mut earlier = Earlier::open(config)?;
        let publisher = Publisher::starting_at(earlier.first_epoch());
        let stop = Arc::new(AtomicBool::new(false));
        let requesters: Vec<Requesters> = config.ports.iter().map(requesters).collect();
        let (punted, sender) = punt_queue_of(config.workers.punt_queue, &requesters);
        let (mut workers, mut counts, mut replies) = (Vec::new(), Vec::new(), Vec::new());
        let (mut gates, mut rings) = (Vec::new(), Vec::new());
        let doubts = Arc::<Doubts>::default();
        let beside = opensm::start(config, &doubts)?.map(Arc::new);
        let mut placement = Placement::new(config);
        placement.complain(&config.ports);
        // A shadow asks there, and answers nobody.
        let served = config
            .ports
            .iter()
            .filter(|_| config.sa.role != Role::Shadow);
        for (number, section) in served.enumerate() {
            let reader = publisher.reader().ok_or(ServerError::TooManyPorts)?;
            let sampling = config.workers.sample_every.map(Sampling::new);
            let counters = sampling.map_or_else(WorkerStats::default, WorkerStats::sampled);
            let (counters, ledger) = (Arc::new(counters), Arc::<Ledger>::default());
            let seat = attach::Seat {
                number,
                core: None,
                idle: config.workers.idle(),
                reader,
                punt: sender(number),
                stats: Arc::clone(&counters),
                ledger: Arc::clone(&ledger),
                stop: Arc::clone(&stop),
                access: config.sa.access.into(),
                limits: config.overload.limits(),
                role: config.sa.role,
                gate: beside.as_ref().and_then(|beside| beside.gate_of(section)),
                lender: beside
                    .as_ref()
                    .and_then(|beside| beside.lender_of(section, &counters)),
                muted: doubts.muted(),
            };
            let attached = attach::attach(section, seat, &mut placement)?;
            workers.push(attached.worker);
            replies.push(attached.reply);
            gates.extend(attached.gate);
            rings.extend(attached.ring);
            counts.push((counters, ledger));
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
            muted: doubts.muted(),
        };
        let owner = beside
            .as_ref()
            .map(|beside| slow_lane::Owner::new(Arc::clone(&beside.link)));
        let lane = slow_lane::SlowLane::new(supply, replies, rules, (keeper, owner));
        let turns = Arc::<Counter>::default();
        let slow_lane = slow_lane::spawn(lane, Arc::clone(&stop), Arc::clone(&turns))?;
        let counted = counts.clone();
        let board = Board::new(config, counts);
        let shelf = earlier.keep(&board).map_err(|source| ServerError::Os {
            what: "start the thread of the state directory",
            source,
        })?;
        let live = loading::live_source(config, beside.as_deref());
        let (admin, commands) = admin::start(config, &board)?;
        let reader = publisher.reader().ok_or(ServerError::TooManyPorts)?;
        let shadow = shadow::start(config, reader, &state, &board)?;
        let reader = publisher.reader().ok_or(ServerError::TooManyPorts)?;
        let readings = Readings::default();
        let origin = reading::InService {
            readings: readings.clone(),
            muted: doubts.muted(),
        };
        let local = local_service::start(config, reader, origin, &board)?;
        let ground = vigil::Ground {
            reader: publisher.reader().ok_or(ServerError::TooManyPorts)?,
            newest: Arc::clone(&state),
            board: Arc::clone(&board),
            doubts: Arc::clone(&doubts),
        };
        let vigil = vigil::start(config, beside.as_deref(), ground)?;
        let pulse = Pulse::new(counted, turns, local.as_ref());
        let rings = Rings::new(Mutex::new(rings));
        let house = House {
            stop,
            workers,
            slow_lane: Some(slow_lane),
            gates,
            beside: beside.clone(),
            rings: Arc::clone(&rings),
            local,
            board: Arc::clone(&board),
            admin,
            shadow,
            pulse,
            doubts: Arc::clone(&doubts),
        };
        let server = Self {
            config,
            publisher,
            beside,
            due: None,
            looked: Instant::now(),
            live,
            rings,
            retries: 0,
            last_failure: None,
            tried: None,
            accepted: None,
            state,
            readings,
            aliases,
            served_aliases: Arc::default(),
            loaded: false,
            announced: false,
            board,
            earlier,
            shelf,
            commands,
            past: Past::default(),
            refused: false,
            differs: false,
            doubts,
            vigil,
        };
        Ok((server, house))
    }

    /// One line on standard output: what scripts and service managers wait for.
    ///
    /// Not before all who ask are answered: what has just said in the log why they are not.
    fn announce(&mut self, epoch: EpochId) {
        if !self.announced && self.board.muted().is_some() {
            return;
        }
        let word = if self.announced { "reloaded" } else { "ready" };
        say(&format!("{word} epoch={epoch}"));
        if !self.announced {
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        }
        self.announced = true;
    }

    /// The same where there never is a snapshot.
    fn announce_none(&mut self) {
        say("ready epoch=0");
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        self.board.loaded();
    }

    fn report_failure(&mut self, failure: &str, cause: &str) {
        // While nothing changed, trying again is one failure, not one a moment.
        let is_by_itself = [RETRY, REGULAR].contains(&cause);
        let is_same = self.last_failure.as_deref() == Some(failure) && is_by_itself;
        self.board.failed(failure, cause, !is_same);
        if is_same {
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

    fn serve(&mut self, reloads: &Receiver<()>) {
        let changes = self.changes();
        let commands = self.commands.clone();
        loop {
            select! {
                recv(reloads) -> order => match order {
                    Ok(()) => self.reload("SIGHUP"),
                    Err(_) => return,
                },
                recv(changes) -> change => {
                    if let Ok(change) = change {
                        self.note(&change);
                        // While changes come one after the other there is no heartbeat.
                        self.follow_changes();
                    }
                }
                recv(commands) -> command => {
                    if let Ok(command) = command {
                        self.obey(command);
                    }
                }
                default(self.patience()) => self.heartbeat(),
            }
        }
    }

    fn reload(&mut self, cause: &str) {
        reconfigured::look(self.config, &self.board);
        if !self.load(cause) {
            say("reload failed");
        }
    }

    fn heartbeat(&mut self) {
        self.publisher.reclaim();
        if !self.loaded && !self.is_held() && self.is_worth_a_retry() {
            self.load(RETRY);
        } else if self.loaded && !self.is_held() && self.policy_changed() {
            self.reload("the policy file changed");
        } else if self.loaded && !self.is_held() && self.files_beside_changed() {
            self.reload("files of the SM changed");
        }
        self.follow_changes();
        self.write_up();
        self.follow_aliases();
    }

    /// A running SA may answer at any time; files that have not changed say what they said.
    fn is_worth_a_retry(&self) -> bool {
        if !self.can_load() {
            return false;
        }
        self.live.is_some() || self.tried != Some(Fingerprint::of(self.config))
    }

    /// Whether the policy, with the names in it, is another one than at the last attempt to load, where it is to be
    /// watched.
    fn policy_changed(&self) -> bool {
        let policy = &self.config.policy;
        let seen = self.tried.as_ref().map(Fingerprint::policy);
        policy.watch && seen.is_none_or(|seen| *seen != sources::policy(self.config))
    }
}

/// How those who ask at a port are told apart.
fn requesters(port: &PortSection) -> Requesters {
    match port {
        PortSection::Ring(ring) => Requesters::Rings(ring.clients.into()),
        PortSection::Ibsim { .. } | PortSection::Umad { .. } => Requesters::Lids,
    }
}

/// A line on standard output, for scripts. A closed one is the caller's choice.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// What this SA keeps for its clients; none where another SM does.
fn database(config: &Config) -> Result<Option<SaDatabase>, JournalError> {
    if config.sa.role != Role::Test {
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
