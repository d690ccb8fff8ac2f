//! The start: everything that serves and the thread that loads, put together in the order in which
//! each needs the one before.
//!
//! What cannot work is said here, before anybody is answered: a port that cannot be attached or a
//! directory that another daemon has ends the start. What may come later (a device beside an
//! OpenSM, a readable fabric) does not.
//!
//! ```text
//!  descriptors ─> EarlierRun ─> publisher ─> OpenSM beside ─> ports, workers ─> slow lane
//!    ─> state directory ─> operators ─> shadow ─> local service ─> comparison ─> watchdog ─> Loader
//! ```
//!
//! Epochs come from the earlier run, so the publisher needs it first; workers need a reader of the
//! publisher; the slow lane needs the way out of every port. Operators come after what they ask
//! about.

use core::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use sa_compiler::pipeline;
use sa_fastpath::gate::Gate as FleetGate;
use sa_fastpath::publish::{Publisher, Reader};
use sa_fastpath::punt::{PuntReceiver, PuntSender, Requesters, punt_queue_of};
use sa_fastpath::sampling::Sampling;
use sa_fastpath::stats::WorkerStats;
use sa_port::ibsim::{SmpInbox, SmpRelay, smp_relay};
use sa_port::{Counter, ReplyPort};
use sa_service::sa_db::{JournalError, Now, SaDatabase};
use sa_source::SaReader;
use sm_port::OverRelay;
use tracing::warn;

use super::agreement::{self, Doubts};
use super::fleet::{self, Inside};
use super::health::{self, Observed};
use super::opensm::{self, Beside, Gate};
use super::operators::admin;
use super::operators::control::DryRun;
use super::operators::in_force::InForce;
use super::operators::page::{self, Page};
use super::operators::port_history::PortHistory;
use super::operators::status::Status;
use super::ports::attach::{Attached, WorkerSetup, attach};
use super::ports::{descriptors, ring};
use super::reload::reading::{InService, Readings};
use super::reload::{Accepted, DryRuns, Loader, Outlets, Sm, Teller, Turn};
use super::services::{LongLoad, Services, Watchdog};
use super::slow_lane::{LaneTally, OpenSmProxy, Rules, SlowLane, StateStore, Supply};
use super::state::{AliasesOfClients, BeforeInService, SetByClients, StateInService};
use super::state_directory::EarlierRun;
use super::subnet_manager::{Manager, Traps};
use super::{JOURNAL_FILE, ServerError, local_service, shadow, slow_lane};
use crate::checks::placement::Placement;
use crate::config::{Config, FleetSection, PortSection, RingSection, Role, Source};

/// A daemon that serves, and has nothing to answer from yet. Its parts go to two threads: the
/// loader stays in this one, the services go to the main thread.
pub(super) struct Started<'a> {
    pub(super) loader: Loader<'a>,
    pub(super) services: Services,
    /// What the loader begins with.
    pub(super) earlier: EarlierRun,
}

/// What threads share. Every field is an `Arc` of something that is swapped or counted; there is no
/// lock around them together.
#[derive(Default)]
struct Shared {
    /// The order to end, for everything that serves.
    stop: Arc<AtomicBool>,
    /// Whether what is in service may be answered from.
    doubts: Arc<Doubts>,
    /// Until when, and from which generation; none on a host that follows no fleet. Everything that
    /// answers from snapshots has it, nothing that only shows them to operators.
    fleet_gate: Option<Arc<FleetGate>>,
    /// What the snapshot in service was compiled from: written by the loader, read by the slow lane
    /// and the comparisons.
    state: Arc<StateInService>,
    /// What a rollback returns to: written by the loader, read by the page.
    before: Arc<BeforeInService>,
    /// Written by the slow lane, read by the loader.
    aliases: Arc<AliasesOfClients>,
    /// Likewise.
    groups: Arc<SetByClients>,
    /// What devices tell the Subnet Manager of this process.
    traps: Arc<Traps>,
    /// When what is in service was read.
    readings: Readings,
    /// Of the slow lane, for the watchdog.
    turns: Arc<Counter>,
    /// What it does, for operators.
    tally: Arc<LaneTally>,
    /// The OpenSM that shares a port; none without `[opensm]`.
    beside: Option<Arc<Beside>>,
}

/// The counters of a port's worker, and those of its handles over all its attachments.
type Counted = (Arc<WorkerStats>, Arc<PortHistory>);

/// What the `[[port]]` sections come to. Shape: in their order, but for gates and rings, which only
/// some have.
#[derive(Default)]
struct Ports {
    /// One thread a port.
    workers: Vec<JoinHandle<()>>,
    /// Of each port, for the status and the watchdog.
    counts: Vec<Counted>,
    /// The slow lane's ways out; taken by it.
    replies: Vec<Box<dyn ReplyPort>>,
    /// To be shut at the end.
    gates: Vec<Arc<Gate>>,
    /// Of ring ports alone.
    rings: Vec<ring::Service>,
    /// What others send to the SM of this process, where that is on a simulated port; taken by it.
    smps: Option<OverRelay>,
}

/// Starts everything. What has begun stays when a later step fails: the process ends then. Errors:
/// [`ServerError`].
pub(super) fn start(config: &Config) -> Result<Started<'_>, ServerError> {
    // First: everything after this opens files.
    descriptors::raise(config)?;
    let mut earlier = EarlierRun::open(config)?;
    // An epoch that an earlier run has served must not come again for other bytes.
    let publisher = Publisher::starting_at(earlier.first_epoch());
    // Only now: before this line nothing of this daemon can be seen from outside but its lock.
    let mut shared = Shared {
        fleet_gate: fleet_gate(config),
        ..Shared::default()
    };
    shared.beside = opensm::start(config, &shared.doubts)?.map(Arc::new);
    let (punted, mut ports) = attach_all(config, &publisher, &shared)?;
    let replies = core::mem::take(&mut ports.replies);
    let slow_lane = start_slow_lane(config, (punted, replies), reader(&publisher)?, &shared)?;
    let status = Status::new(config, ports.counts.clone());
    status.has_lane(Arc::clone(&shared.tally));
    let state_directory = earlier.keep(&status).map_err(|source| ServerError::Os {
        what: "start the thread of the state directory",
        source,
    })?;
    let observed = Arc::new(Observed::new(config.health));
    let teller = teller(config, (&shared, &observed), ports.smps.take());
    let mut identity = None;
    if let Teller::Sweep(manager) = &teller {
        status.manages(manager.sweeps());
        status.observes(Arc::clone(&observed));
        identity = Some(manager.identity());
    }
    let health = health::start(config, reader(&publisher)?, &observed, &shared.stop)?;
    let in_force = in_force(config, &publisher, &shared)?;
    let page = page(config, in_force.as_ref(), (&status, &shared))?;
    let tries = (Arc::default(), Turn::new());
    let dry_run = dry_run(config, in_force.as_ref(), &tries, &shared);
    let (admin, commands) = admin::start(config, &status, page, (in_force, dry_run))?;
    let shadow = shadow::start(config, reader(&publisher)?, &shared.state, &status)?;
    let origin = InService {
        readings: shared.readings.clone(),
        muted: shared.doubts.muted(),
    };
    let gated = (reader(&publisher)?, shared.fleet_gate.clone());
    let local = local_service::start(config, gated, origin, &status)?;
    let compared = start_agreement(config, reader(&publisher)?, &shared, &status)?;
    let inside = Inside {
        reader: reader(&publisher)?,
        gate: shared.fleet_gate.clone(),
        doubts: &shared.doubts,
        readings: shared.readings.clone(),
        status: &status,
    };
    let (fleet, followed) = fleet::start(config, inside)?;
    let watchdog = Watchdog::new(ports.counts, Arc::clone(&shared.turns), local.as_ref());
    // Two threads have it: the one that loads gives rings their LID, the one that ends takes them
    // down.
    let rings = Arc::new(Mutex::new(ports.rings));
    let outlets = Outlets {
        publisher,
        state: shared.state,
        before: shared.before,
        readings: shared.readings,
        aliases: shared.aliases,
        groups: shared.groups,
        rings: Arc::clone(&rings),
        state_directory,
    };
    let (beside, doubts) = (shared.beside.clone(), Arc::clone(&shared.doubts));
    // Only where there is a manager, which keeps the other end: whoever waits for a channel without one does nothing else.
    let is_sm = config.fabric.source == Source::Sweep;
    let told = compared.or_else(|| is_sm.then(|| shared.traps.changes()));
    let sm = Sm::new(config, beside, doubts, told);
    let loader = Loader::new(
        config,
        &status,
        (sm, teller),
        (commands, followed),
        outlets,
        tries,
    );
    let services = Services {
        stop: shared.stop,
        workers: ports.workers,
        slow_lane: Some(slow_lane),
        gates: ports.gates,
        beside: shared.beside,
        rings,
        local,
        status,
        admin,
        health,
        shadow,
        watchdog,
        long_load: LongLoad::default(),
        identity,
        doubts: shared.doubts,
        fleet,
    };
    Ok(Started {
        loader,
        services,
        earlier,
    })
}

/// The gate of the fleet that this host follows, shut; none where it follows none. Made here alone:
/// who talks to the fleet opens it, and the daemon's answers end with it.
fn fleet_gate(config: &Config) -> Option<Arc<FleetGate>> {
    let follows = config.fleet.as_ref().is_some_and(FleetSection::follows);
    follows.then(|| Arc::new(FleetGate::new()))
}

/// Another reader of what is published. Each thread that looks at snapshots has one of its own,
/// whose epoch the publisher waits for. Errors: [`ServerError::TooManyPorts`].
fn reader(publisher: &Publisher) -> Result<Reader, ServerError> {
    publisher.reader().ok_or(ServerError::TooManyPorts)
}

/// What page and control socket explain; none where there is neither. Errors:
/// [`ServerError::TooManyPorts`].
fn in_force(
    config: &Config,
    publisher: &Publisher,
    shared: &Shared,
) -> Result<Option<Arc<InForce>>, ServerError> {
    let has_page = config.http.as_ref().is_some_and(|section| section.ui);
    let is_asked = config.control.is_some() || has_page;
    let made = || -> Result<_, ServerError> {
        let state = Arc::clone(&shared.state);
        Ok(Arc::new(InForce::new(reader(publisher)?, state)))
    };
    is_asked.then(made).transpose()
}

/// Whoever tries loads; none without a control socket, where they are ordered.
fn dry_run(
    config: &Config,
    in_force: Option<&Arc<InForce>>,
    (accepted, turn): &(Arc<Accepted>, &'static Turn),
    shared: &Shared,
) -> Option<Box<dyn DryRun>> {
    config.control.as_ref()?;
    let shown = (Arc::clone(accepted), *turn);
    let tries = DryRuns::new(config, Arc::clone(in_force?), shown, shared.beside.clone());
    Some(Box::new(tries))
}

/// The page for people; none without `[http] ui`. Errors: its token cannot be used.
fn page(
    config: &Config,
    in_force: Option<&Arc<InForce>>,
    (status, shared): (&Arc<Status>, &Shared),
) -> Result<Option<Arc<Page>>, ServerError> {
    let section = config.http.as_ref().filter(|section| section.ui);
    let Some((section, in_force)) = section.zip(in_force) else {
        return Ok(None);
    };
    let sight = page::Sight {
        in_force: Arc::clone(in_force),
        status: Arc::clone(status),
        before: Arc::clone(&shared.before),
    };
    let page = Page::new(config, section, sight)?;
    Ok(Some(Arc::new(page)))
}

/// Attaches every port, and gives where requests come out that workers do not answer. A shadow asks
/// at its ports, and answers nobody. Errors: [`ServerError`]; workers that run end with the
/// process.
fn attach_all(
    config: &Config,
    publisher: &Publisher,
    shared: &Shared,
) -> Result<(PuntReceiver, Ports), ServerError> {
    let requesters: Vec<Requesters> = config.ports.iter().map(requesters).collect();
    let (punted, sender) = punt_queue_of(config.workers.punt_queue, &requesters);
    let mut placement = Placement::new(config);
    placement.complain(&config.ports);
    let mut ports = Ports::default();
    let mut relayed = relayed(config)?;
    let served = config
        .ports
        .iter()
        .filter(|_| config.role() != Role::Shadow);
    // In the order of the sections: cores are handed out in it, and the slow lane knows ports by
    // their places.
    for (number, section) in served.enumerate() {
        let counted = counters(config);
        let reader = reader(publisher)?;
        let (place, ways) = ((number, section), (reader, sender(number)));
        // One port alone: an SM is on one, and others go on dropping what is no request to an SA.
        let relayed = relayed.take_if(|_| section.way_to_fabric().is_some());
        let (relay, inbox) = relayed.unzip();
        let mut setup = worker_setup(config, place, ways, &counted, shared);
        setup.smps = relay;
        let mut attached = attach(section, setup, &mut placement)?;
        let smps = inbox.zip(attached.smp_reply.take());
        ports.smps = ports
            .smps
            .or_else(|| smps.map(|(inbox, reply)| OverRelay::new(inbox, reply)));
        ports.add(attached, counted);
    }
    Ok((punted, ports))
}

/// The way of SMPs from the SM's port to the SM, where that is this process: the first port that
/// leads to the fabric takes it. Errors: the system has no sockets to give.
fn relayed(config: &Config) -> Result<Option<(SmpRelay, SmpInbox)>, ServerError> {
    let is_sm = config.fabric.source == Source::Sweep;
    let relay = is_sm.then(smp_relay).transpose();
    relay.map_err(|source| ServerError::Os {
        what: "make a way for SMPs",
        source,
    })
}

/// How those who ask at a port are told apart when the slow lane is shared out: by LIDs, or by
/// rings.
fn requesters(port: &PortSection) -> Requesters {
    let rings = |ring: &RingSection| Requesters::Rings(ring.clients.into());
    port.ring().map_or(Requesters::Lids, rings)
}

/// Counters of a new port, with batch times where the configuration samples them.
fn counters(config: &Config) -> Counted {
    let sampling = config.workers.sample_every.map(Sampling::new);
    let stats = sampling.map_or_else(WorkerStats::default, WorkerStats::sampled);
    (Arc::new(stats), Arc::default())
}

/// What the worker of one port gets. Cores are chosen later, when the device is known.
fn worker_setup(
    config: &Config,
    (number, section): (usize, &PortSection),
    (reader, punt): (Reader, PuntSender),
    (stats, history): &Counted,
    shared: &Shared,
) -> WorkerSetup {
    let beside = shared.beside.as_ref();
    WorkerSetup {
        number,
        core: None,
        idle: config.workers.idle(),
        reader,
        punt,
        stats: Arc::clone(stats),
        history: Arc::clone(history),
        stop: Arc::clone(&shared.stop),
        access: config.sa.access.into(),
        limits: config.overload.limits(),
        role: config.role(),
        gate: beside.and_then(|beside| beside.gate_of(section)),
        lender: beside.and_then(|beside| beside.lender_of(section, stats)),
        muted: shared.doubts.muted(),
        fleet_gate: shared.fleet_gate.clone(),
        smps: None,
    }
}

impl Ports {
    /// Notes what was attached, in the order of the sections.
    fn add(&mut self, attached: Attached, counted: Counted) {
        self.workers.push(attached.worker);
        self.replies.push(attached.reply);
        self.gates.extend(attached.gate);
        self.rings.extend(attached.ring);
        self.counts.push(counted);
    }
}

/// The slow lane has what workers give away, and everything that a reply may need besides the
/// snapshot.
fn start_slow_lane(
    config: &Config,
    (punted, replies): (PuntReceiver, Vec<Box<dyn ReplyPort>>),
    reader: Reader,
    shared: &Shared,
) -> Result<JoinHandle<()>, ServerError> {
    let state_store = database(config)?.map(|database| {
        let (aliases, groups) = (Arc::clone(&shared.aliases), Arc::clone(&shared.groups));
        if database.has_clients() {
            groups.restored();
        }
        StateStore::new(database, aliases, groups, Arc::clone(&shared.traps))
    });
    let supply = Supply {
        punted,
        reader,
        newest: Arc::clone(&shared.state),
        muted: shared.doubts.muted(),
        gate: shared.fleet_gate.clone(),
        tally: Arc::clone(&shared.tally),
    };
    let beside = shared.beside.as_ref();
    let opensm_proxy = beside.map(|beside| OpenSmProxy::new(Arc::clone(&beside.link)));
    let rules = Rules::from(config);
    let lane = SlowLane::new(supply, replies, rules, (state_store, opensm_proxy));
    slow_lane::spawn(lane, Arc::clone(&shared.stop), Arc::clone(&shared.turns))
}

/// What this SA keeps for its clients; none where another SM does.
fn database(config: &Config) -> Result<Option<SaDatabase>, JournalError> {
    // In every other role another SM keeps what clients set; two keepers would grant the same MLID
    // twice.
    if !config.role().keeps() {
        return Ok(None);
    }
    if config.role() == Role::Test {
        warn!(
            "role = \"test\": joins to multicast groups are granted, but no switch is programmed for \
             them; not for production"
        );
    }
    let directory = config.state.directory.as_ref();
    // In the directory that is locked already, so no other daemon writes the same journal.
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

/// Who tells the fabric. Nothing is asked yet.
fn teller(
    config: &Config,
    (shared, observed): (&Shared, &Arc<Observed>),
    smps: Option<OverRelay>,
) -> Teller<SaReader, Box<Manager>> {
    let inside = (&shared.stop, &shared.groups, &shared.traps);
    if let Some(manager) = Manager::of(config, inside, shared.doubts.muted(), smps) {
        return Teller::Sweep(Box::new(manager.watched_by(observed)));
    }
    live_source(config, shared.beside.as_deref()).map_or(Teller::Nobody, Teller::Sa)
}

/// The running SA that a configuration has the fabric from; none where it is in files. Nothing is
/// asked yet.
fn live_source(config: &Config, beside: Option<&Beside>) -> Option<SaReader> {
    match (config.fabric.source, beside) {
        // Through the library's socket and not by umad: the port is OpenSM's, which does not answer
        // itself there.
        (Source::OpenSm, Some(beside)) => {
            let section = config.fabric.sa.clone().unwrap_or_default();
            Some(section.live_source(Box::new(beside.ask())))
        }
        _ => config.live_source(),
    }
}

/// The comparison of what is in service with the SM's answers; none where there is nobody to ask,
/// or it tells of differences together with OpenSM's library.
fn start_agreement(
    config: &Config,
    reader: Reader,
    shared: &Shared,
    status: &Arc<Status>,
) -> Result<Option<crossbeam_channel::Receiver<opensm::Change>>, ServerError> {
    let context = agreement::Context {
        reader,
        newest: Arc::clone(&shared.state),
        status: Arc::clone(status),
        doubts: Arc::clone(&shared.doubts),
    };
    agreement::start(config, shared.beside.as_deref(), context)
}
