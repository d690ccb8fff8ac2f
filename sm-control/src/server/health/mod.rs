//! How the links of the subnet are, where this process is its Subnet Manager: the thread
//! `sa-health`.
//!
//! ```text
//!  a sweep ──> Observed::swept                        Observed::report ──> control socket, metrics
//!                   │                                        ^
//!                   v                                        │
//!  turn: what is new of links? ─> requests that are due ─> answers ─> what ran out of time ─> news into the log ─> sleep
//!                                       │ SL of the path, from the snapshot in service
//!                                       v
//!                                  CounterPort: a client or file of its own
//! ```
//!
//! It has a port of its own, so that neither a sweep nor the SA waits for a device that is slow to
//! tell its counters.
//!
//! | what happens | then |
//! |---|---|
//! | the port cannot be opened, or fails | told once; it is opened again after the next sweep |
//! | there is no path to a port | as if it did not answer: its device rests after some tries |
//! | another SM becomes the master | nobody is asked, and nothing is found any more |
//! | the thread panics | it ends, and what was found last stays; `sapphire fabric health` says so |
//!
//! Packets go on the SL that the snapshot gives the path: on a subnet whose engine needs SLs a
//! packet on another one could close a credit loop.

mod observed;

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use sa_answer::whole;
use sa_fastpath::publish::Reader;
use sa_port::{PortError, ibsim};
use sa_snapshot::Snapshot;
use sa_source::SaTransport;
use sa_wire::request::{parse, path_by_lids};
use sa_wire::{Lid, Sl};
use sm_health::{Ask, News, Seen, Severity};
use sm_port::{Came, CounterPort, now};
use tracing::{debug, info, warn};

pub(in crate::server) use self::observed::Observed;
use super::ServerError;
use crate::config::{Config, PortSection, Source};

/// The thread; it ends with the daemon.
pub(super) struct HealthWatch(JoinHandle<()>);

impl HealthWatch {
    /// Whether it still watches.
    /// The thread itself, to be waited for.
    pub(super) fn into_thread(self) -> JoinHandle<()> {
        self.0
    }
}

/// Starts it where this process is the Subnet Manager. Errors: [`ServerError::Os`].
///
/// Also none where no port leads to a fabric: a daemon with rings alone has nobody to ask through.
pub(super) fn start(
    config: &Config,
    reader: Reader,
    observed: &Arc<Observed>,
    stop: &Arc<AtomicBool>,
) -> Result<Option<HealthWatch>, ServerError> {
    let way = config.ports.iter().find_map(PortSection::way_to_fabric);
    let Some(way) = way.filter(|_| config.fabric.source == Source::Sweep) else {
        return Ok(None);
    };
    let watcher = Watcher {
        way,
        port: None,
        tried_at: None,
        reader,
        observed: Arc::clone(observed),
        seen: None,
        told: BTreeSet::new(),
    };
    let stop = Arc::clone(stop);
    let thread = std::thread::Builder::new().name("sa-health".into());
    let thread = thread.spawn(move || watcher.run(&stop));
    let thread = thread.map_err(|source| ServerError::Os {
        what: "start the thread that looks after links",
        source,
    })?;
    Ok(Some(HealthWatch(thread)))
}

/// The state of the thread.
///
/// All of it is this thread's but `observed`.
struct Watcher {
    /// How devices are reached.
    way: SaTransport,
    /// Opened when there is somebody to ask; none before, and after it failed.
    port: Option<CounterPort>,
    /// The number of sweeps when it was opened last.
    tried_at: Option<u64>,
    /// The snapshot in service, for the SLs of requests.
    reader: Reader,
    /// What others see of it.
    observed: Arc<Observed>,
    /// What is looked at.
    seen: Option<Arc<Seen>>,
    /// Faults that stand, in words.
    told: BTreeSet<String>,
}

impl Watcher {
    /// Until the daemon ends.
    ///
    /// One turn after the other, none of which waits but the last step.
    fn run(mut self, stop: &AtomicBool) {
        // Dropped however this ends, so that a panic is told too.
        let _ended = Ended(Arc::clone(&self.observed));
        // Relaxed: nothing else is read through the flag.
        while !stop.load(Ordering::Relaxed) {
            self.look();
            self.attach();
            let outcome = self.turn();
            self.tell();
            match outcome {
                Ok(nap) => self.sleep(nap),
                Err(error) => self.lose(&error),
            }
        }
    }

    /// Takes in what sweeps have found since.
    fn look(&mut self) {
        let seen = self.observed.seen();
        // By identity: a sweep that found the same gives the same value.
        let is_same = match (&seen, &self.seen) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return;
        }
        let mut health = self.observed.health();
        match &seen {
            Some(seen) => health.follow(Arc::clone(seen), now()),
            None => health.rest(now()),
        }
        // Given back before anything else is done: reports wait for it.
        drop(health);
        self.seen = seen;
    }

    /// Opens the port, where there is somebody to ask. Once a sweep: a simulator that returns must
    /// have its SA and SM before it has this client, as it gives requests to the first one.
    fn attach(&mut self) {
        let sweeps = self.observed.sweeps();
        let is_wanted = self.seen.is_some() && self.observed.period().is_some();
        if self.port.is_some() || !is_wanted || self.tried_at == Some(sweeps) {
            return;
        }
        // Noted before it is tried: a failure counts as this sweep's try too.
        let is_first = self.tried_at.replace(sweeps).is_none();
        match open(&self.way) {
            Ok(port) => {
                self.port = Some(port);
                if self.observed.problem().is_some() {
                    info!("ports are asked for their counters again");
                }
                self.observed.fail(None);
            }
            Err(why) => {
                // Once: a device that stays away would else fill the log, sweep by sweep.
                if is_first || self.observed.problem().is_none() {
                    warn!("ports are not asked for their counters: {why}");
                }
                self.observed.fail(Some(why));
            }
        }
    }

    /// Sends what is due and takes what has come. Gives how long there is nothing to do, if nothing
    /// comes. Errors: the port failed.
    ///
    /// Bounded by [`PORTION`] in both directions.
    fn turn(&mut self) -> Result<Duration, PortError> {
        let snapshot = self.reader.refresh_shared().map(Arc::clone);
        let own = self.seen.as_ref().map_or(0, |seen| seen.own_lid);
        let mut health = self.observed.health();
        // Under one lock for the whole turn: it neither waits nor logs.
        // First, so that a device that is given up can be asked again in this turn.
        health.wake(now());
        let (Some(port), Some(snapshot)) = (&mut self.port, snapshot) else {
            return Ok(LONGEST_NAP);
        };
        for _ in 0..PORTION {
            let Some(ask) = health.send(now()) else {
                break;
            };
            // No room or no path: nobody waits for it here, and the next round tries again.
            if !sent(port, &snapshot.snapshot, own, &ask)? {
                health.failed(ask.transaction, now());
            }
        }
        // Twice as many: answers and what was returned, so that a queue does not grow from turn to turn.
        for _ in 0..2 * PORTION {
            match port.receive()? {
                Some(Came::Mad(lid, mad)) => health.received(lid, mad, now()),
                Some(Came::Returned(transaction)) => health.failed(transaction, now()),
                None => break,
            }
        }
        let wakes = health.wakes_at();
        Ok(wakes.map_or(LONGEST_NAP, |at| at.saturating_sub(now())))
    }

    /// Not longer than a stop may wait.
    fn sleep(&mut self, nap: Duration) {
        let nap = nap.min(LONGEST_NAP);
        match &mut self.port {
            // Awake at once where something comes. An error is met again where the next thing is received.
            Some(port) => drop(port.wait(nap)),
            None => std::thread::sleep(nap),
        }
    }

    /// The port is attached anew after the next sweep; links are judged by the sweeps alone until
    /// then.
    fn lose(&mut self, error: &PortError) {
        warn!("ports are not asked for their counters until the next sweep: {error}");
        self.observed.fail(Some(error.to_string()));
        self.port = None;
        self.tried_at = Some(self.observed.sweeps());
    }

    /// What has begun and what is over, each once.
    ///
    /// Faults into the log as warnings; hints only where debug is on.
    fn tell(&mut self) {
        // The lock is given back before anything is written: a log may wait for its disk.
        let news = self.observed.health().take_news();
        if news.is_empty() {
            return;
        }
        for News {
            has_begun,
            severity,
            words,
        } in news
        {
            match (has_begun, severity) {
                (true, Severity::Fault) => warn!("{words}"),
                (false, Severity::Fault) => info!("no more: {words}"),
                // Every link may have one, as where all of them are configured to be narrow.
                (true, Severity::Hint) => debug!("{words}"),
                (false, Severity::Hint) => debug!("no more: {words}"),
            }
            // `told` is what stands, for the status: it is kept here so that the lock is not needed for words.
            match has_begun && severity == Severity::Fault {
                true => drop(self.told.insert(words)),
                false => drop(self.told.remove(&words)),
            }
        }
        self.observed.stand(self.told.clone());
    }
}

/// Says that nobody looks any more, however that came.
///
/// On drop, so that also a panic is told.
struct Ended(Arc<Observed>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0
            .fail(Some("its thread has ended; see the log".to_owned()));
    }
}

/// Opens the way. Errors: in words, with a next step.
///
/// A client of the simulator, or a file of the device, of its own: answers come here and nowhere
/// else.
fn open(way: &SaTransport) -> Result<CounterPort, String> {
    match way {
        SaTransport::Ibsim { node, sockname } => {
            let mut options = ibsim::Options::on(node);
            if let Some(sockname) = sockname {
                sockname.clone_into(&mut options.base);
            }
            CounterPort::over_ibsim(&options).map_err(|error| error.to_string())
        }
        SaTransport::Umad { device, port } => {
            let opened = CounterPort::over_umad(device.as_deref(), *port);
            opened.map_err(|error| error.to_string())
        }
        SaTransport::Ring { .. } => Err("a ring leads to no fabric".to_owned()),
    }
}

/// False where it could not be sent: there is no path, or no room. Errors: the port failed.
fn sent(
    port: &mut CounterPort,
    snapshot: &Snapshot,
    own: u16,
    ask: &Ask,
) -> Result<bool, PortError> {
    let Ok(lid) = Lid::new(ask.lid) else {
        return Ok(false);
    };
    match sl(snapshot, own, ask.lid) {
        Some(sl) => port.send(lid, sl, &ask.mad),
        None => Ok(false),
    }
}

/// On which the path to a LID goes; none where there is no path.
///
/// From the snapshot in service, as any client would be answered.
fn sl(snapshot: &Snapshot, own: u16, lid: u16) -> Option<Sl> {
    let reply = whole::respond(snapshot, &path_by_lids(own, lid))?;
    let (_, paths) = parse(&reply).ok()?;
    Some(paths.first()?.qos_class_sl.sl())
}

/// Requests in one turn: who asks for a report waits for it.
///
/// Also what one turn holds the lock for.
const PORTION: usize = 32;
/// A stop, and what a sweep has found, are seen within this and what one turn takes.
const LONGEST_NAP: Duration = Duration::from_millis(100);
