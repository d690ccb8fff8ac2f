//! Whether every thread that serves still moves, for the watchdog of the service manager.
//!
//! A worker moves at least every 50 ms, also where nobody asks, and where its port is away or an
//! OpenSM has the methods: then it waits in turns. One that stands still hangs.
//!
//! ```text
//!  worker      batches + empty turns + looks at a port that is away      at least 20 a second
//!  slow lane   turns                                                     at least 500 a second
//!  local       turns                                                     at least 1 a second
//! ```
//!
//! systemd is told that all is well only when every number has changed within half of its
//! `WatchdogSec=`. Threads that may block (loads, disks, operators) are not watched: a load may
//! take an hour.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sa_fastpath::stats::WorkerStats;
use sa_local::service::ServiceCounts;
use sa_port::Counter;
use tracing::error;

use super::super::local_service::LocalService;
use crate::server::operators::port_history::PortHistory;

/// What a thread has done, as a number that changes while it moves. It is read from counters that
/// exist anyway, so watching costs the watched nothing.
type Count = Box<dyn Fn() -> u64 + Send>;

/// One thread, and when it was last seen to move.
struct Watched {
    /// For people.
    name: String,
    count: Count,
    /// The number at the last look at which it had changed.
    last: u64,
    /// When that was.
    moved: Instant,
    /// It stands still, and that was said.
    is_missed: bool,
}

/// All of them.
pub(in crate::server) struct Watchdog {
    /// In the order of the ports.
    workers: Vec<Watched>,
    /// It is never idle for longer than two milliseconds.
    slow_lane: Watched,
    /// What answers this host's kernel, and whether it does.
    local: Option<(Watched, Arc<ServiceCounts>)>,
    /// How long a thread may stand still; none where no service manager wants to know.
    most: Option<Duration>,
}

impl Watched {
    /// Counts as moving just now: a thread that has not begun yet is no thread that hangs.
    fn new(name: String, count: Count) -> Self {
        Self {
            name,
            last: count(),
            count,
            moved: Instant::now(),
            is_missed: false,
        }
    }

    /// Whether it moved not so long ago; says it once when it did not.
    fn is_alive(&mut self, most: Duration) -> bool {
        let now = (self.count)();
        if now != self.last {
            (self.last, self.moved, self.is_missed) = (now, Instant::now(), false);
        }
        let still = self.moved.elapsed();
        let is_alive = still < most;
        if !is_alive && !self.is_missed {
            self.is_missed = true;
            let seconds = still.as_secs();
            error!(
                "{} has not moved for {seconds} s; the watchdog of the service manager is not fed",
                self.name
            );
        }
        is_alive
    }
}

impl Watchdog {
    /// Of workers, by what they and their ports count, and of the others, by their turns. Reads
    /// from the environment whether a service manager wants to know.
    pub(in crate::server) fn new(
        workers: Vec<(Arc<WorkerStats>, Arc<PortHistory>)>,
        slow_lane: Arc<Counter>,
        local: Option<&LocalService>,
    ) -> Self {
        let workers = (0..).zip(workers).map(|(number, (stats, history))| {
            let turns = move || {
                let counted = stats.snapshot();
                counted
                    .batches
                    .wrapping_add(counted.empty)
                    .wrapping_add(history.looks())
            };
            Watched::new(format!("the worker of port {number}"), Box::new(turns))
        });
        let turns = Box::new(move || slow_lane.get());
        let local = local.map(|local| {
            let (counts, counted) = (local.counts(), local.counts());
            let turns = Box::new(move || counted.turns.load(Ordering::Relaxed));
            (Watched::new("the local service".to_owned(), turns), counts)
        });
        Self {
            workers: workers.collect(),
            slow_lane: Watched::new("the slow lane".to_owned(), turns),
            local,
            // Half of what the manager waits for: a thread that hangs is given up in time.
            most: sd_notify::watchdog_enabled().map(|most| most / 2),
        }
    }

    /// Tells the service manager that all is well, unless a thread stands still. One that has ended
    /// does not hang: others say so.
    pub(in crate::server) fn take(
        &mut self,
        workers: &[JoinHandle<()>],
        slow_lane: Option<&JoinHandle<()>>,
    ) {
        let Some(most) = self.most else {
            return;
        };
        let mut is_well = slow_lane.is_none_or(|lane| !lane.is_finished());
        is_well &= self.slow_lane.is_alive(most);
        for (watched, worker) in self.workers.iter_mut().zip(workers) {
            // Both are asked of each, without a short cut past the rest: every thread that hangs is
            // to be named in the log.
            is_well &= worker.is_finished() || watched.is_alive(most);
        }
        if let Some((watched, counts)) = &mut self.local {
            is_well &= !counts.is_served.load(Ordering::Relaxed) || watched.is_alive(most);
        }
        if is_well {
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
        }
    }
}
