//! What serves, apart from the thread that loads: an end is an end, and a hung worker is seen,
//! whatever a load waits for.
//!
//! The main thread owns all of it from the moment it runs. Every half second it looks: whether
//! workers are alive, for the status; whether they turn, for the watchdog of the service manager;
//! whether anybody is served at all. At the end it takes the parts down in the order in which
//! others rely on them: first what would make the kernel or OpenSM send requests here, then the
//! workers, last what operators read.
//!
//! ```text
//!  SIGTERM  another SM takes over, where there is one      250 ms at most; another 3 s where it reads what clients have set
//!           flag, doubts, OpenSM withdrawn, gates shut     nothing new is taken
//!           workers, slow lane, local service              400 ms at most, together
//!           OpenSM hung up on                              takes its methods back
//!           rings, counters into the log, operators        the rest of 700 ms
//! ```

mod long_load;
mod watchdog;

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use tracing::{error, warn};

use super::ServerError;
use super::agreement::Doubts;
use super::fleet::Fleet;
use super::health::HealthWatch;
use super::local_service::LocalService;
use super::opensm::{Beside, Gate};
use super::shadow::Shadow;
use crate::server::operators::admin::Admin;
use crate::server::operators::counters;
use crate::server::operators::status::Status;
use crate::server::ports::ring;
use crate::server::subnet_manager::Identity;
use crate::server::succession::{LAST_ANSWER, LONGEST_READING};

pub(super) use long_load::LongLoad;
pub(super) use watchdog::Watchdog;

/// How long threads that serve are waited for at the end; those of a healthy daemon take some 50
/// ms. One that hangs in a system call of its driver would not end at all.
const LAST_TURNS: Duration = Duration::from_millis(400);

/// How long everything else may take besides.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long another SM may take to answer that it takes over.
const HANDOVER: Duration = Duration::from_millis(250);

/// The same, and to read what clients have set, half a second for nothing where it does not.
const SUCCESSION: Duration = HANDOVER
    .saturating_add(LONGEST_READING)
    .saturating_add(LAST_ANSWER);

/// Sockets where processes of this node get rings.
pub(super) type Rings = Arc<Mutex<Vec<ring::Service>>>;

/// Everything that serves. Exists from the end of the start on; the main thread drops it only by
/// [`Self::stop`].
pub(super) struct Services {
    /// The order to end, for workers and the slow lane.
    pub(super) stop: Arc<AtomicBool>,
    /// Shape: in the order of the ports.
    pub(super) workers: Vec<JoinHandle<()>>,
    pub(super) slow_lane: Option<JoinHandle<()>>,
    /// Shut when the server stops.
    pub(super) gates: Vec<Arc<Gate>>,
    /// The OpenSM that has the fabric.
    pub(super) beside: Option<Arc<Beside>>,
    pub(super) rings: Rings,
    /// What answers this host's kernel.
    pub(super) local: Option<LocalService>,
    /// What operators see.
    pub(super) status: Arc<Status>,
    /// Where it is served.
    pub(super) admin: Admin,
    /// What looks after links, where this process is the Subnet Manager.
    pub(super) health: Option<HealthWatch>,
    /// What compares, in that role.
    pub(super) shadow: Option<Shadow>,
    /// Whether what is in service is what the SM answers.
    pub(super) doubts: Arc<Doubts>,
    /// Of every thread that must never stand still.
    pub(super) watchdog: Watchdog,
    /// Of the thread that loads.
    pub(super) long_load: LongLoad,
    /// This host's part in a fleet.
    pub(super) fleet: Option<Fleet>,
    /// The Subnet Manager of this process, as others see it.
    pub(super) identity: Option<Arc<Identity>>,
}

impl Services {
    /// Looks after everything, and tells the service manager that all is well where it is. Errors:
    /// nobody is served any more, nor will be.
    pub(super) fn look(&mut self) -> Result<(), ServerError> {
        let alive = self.workers.iter().map(|worker| !worker.is_finished());
        self.status.served(alive);
        self.watchdog.take(&self.workers, self.slow_lane.as_ref());
        self.long_load.look(self.status.loading());
        let serves_the_kernel = self.local.as_ref().is_some_and(LocalService::is_served);
        // A port that is away has a thread that waits, so a finished thread is a port that will not
        // come back.
        let no_port = self.workers.iter().all(JoinHandle::is_finished);
        if !self.status.is_shadow && no_port && !serves_the_kernel {
            return Err(ServerError::PortsGone);
        }
        Ok(())
    }

    /// SIGUSR1.
    pub(super) fn log_counters(&self) {
        counters::log(&self.status);
        if let Some(local) = &self.local {
            local.log();
        }
    }

    /// Ends everything, in order, and within a second, or some where another SM takes over: what
    /// hangs in the kernel, or waits for somebody who does not answer, is left behind.
    pub(super) fn stop(self) {
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        // In a thread of its own, which is left behind where it takes too long: a service manager kills
        // what does not end, and then nothing is taken down in order.
        let (done, ended) = bounded(1);
        let thread = std::thread::Builder::new().name("sa-end".into());
        let thread = thread.spawn(move || {
            self.end();
            // Nobody waits any more.
            let _ = done.send(());
        });
        let ended = thread.map(|_| ended.recv_timeout(SUCCESSION + LAST_TURNS + LAST_WORDS));
        if !matches!(ended, Ok(Ok(()))) {
            warn!("a thread still waits for an answer or a disk; ending without it");
        }
    }

    /// Takes everything down in order; may hang, and is left behind then.
    fn end(mut self) {
        // First, while everybody is answered: the next master begins before this one is gone.
        if let Some(identity) = &self.identity {
            identity.leave(SUCCESSION);
        }
        // The kernel asks the SA from now on, while there may be one here.
        // Relaxed: each thread looks again within its turn, and nothing is handed over by the flag.
        self.stop.store(true, Ordering::Relaxed);
        self.doubts.stop();
        // Hosts go on until their deadlines, or ask the next leader; this one says nothing more.
        let fleet = self.fleet.take();
        if let Some(beside) = &self.beside {
            beside.withdraw();
        }
        // Who waits for its gate to open must be woken to see that it is over.
        for gate in &self.gates {
            gate.set(false);
        }
        let local = self.local.take().inspect(LocalService::log);
        // In its own thread: the local service answers what still waits, and may wait for an SA.
        let leaving = std::thread::Builder::new().name("sa-leave".into());
        let leaving = leaving.spawn(move || drop((local, fleet)));
        let threads = self.workers.drain(..).chain(self.slow_lane.take());
        let threads = threads.chain(self.health.take().map(HealthWatch::into_thread));
        join_within(LAST_TURNS, threads.chain(leaving.ok()));
        if let Some(beside) = &self.beside {
            beside.hang_up();
        }
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.clear();
        drop(rings);
        // After the workers: the last figures are whole.
        counters::log(&self.status);
        drop(self.admin);
        drop(self.shadow);
    }
}

/// Waits for threads to end, all together for so long at most.
fn join_within(most: Duration, threads: impl Iterator<Item = JoinHandle<()>>) {
    // One deadline for all: they end side by side.
    let last = Instant::now() + most;
    for thread in threads {
        while !thread.is_finished() && Instant::now() < last {
            std::thread::sleep(Duration::from_millis(1));
        }
        let name = thread.thread().name().unwrap_or("a thread").to_owned();
        if !thread.is_finished() {
            warn!("{name} does not end; ending without it");
        } else if thread.join().is_err() {
            error!("{name} ended by a panic");
        }
    }
}
