//! Whether every thread that serves still moves, for the watchdog of the service manager.
//!
//! A worker moves at least every 50 ms, also where nobody asks, and where its port is away or an
//! OpenSM has the methods: then it waits in turns. One that stands still hangs.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sa_fastpath::stats::{Counter, WorkerStats};
use sa_local::service::ServiceCounts;
use tracing::error;

use super::super::local_service::LocalService;
use crate::server::operators::ledger::Ledger;

/// What a thread has done, as a number that grows while it moves.
type Count = Box<dyn Fn() -> u64 + Send>;

/// One thread.
struct Beat {
    name: String,
    count: Count,
    last: u64,
    moved: Instant,
    is_missed: bool,
}

/// All of them.
pub(in crate::server) struct Pulse {
    beats: Vec<Beat>,
    slow_lane: Beat,
    /// What answers this host's kernel, and whether it does.
    local: Option<(Beat, Arc<ServiceCounts>)>,
    /// How long a thread may stand still; none where no service manager wants to know.
    most: Option<Duration>,
}

impl Beat {
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
                "{} has not moved for {seconds} s; the service manager is not told that all is well",
                self.name
            );
        }
        is_alive
    }
}

impl Pulse {
    /// Of workers, by what they and their ports count, and of the others, by their turns.
    pub(in crate::server) fn new(
        workers: Vec<(Arc<WorkerStats>, Arc<Ledger>)>,
        slow_lane: Arc<Counter>,
        local: Option<&LocalService>,
    ) -> Self {
        let beats = (0..).zip(workers).map(|(number, (stats, ledger))| {
            let turns = move || {
                let counted = stats.snapshot();
                counted
                    .batches
                    .wrapping_add(counted.empty)
                    .wrapping_add(ledger.looks())
            };
            Beat::new(format!("the worker of port {number}"), Box::new(turns))
        });
        let turns = Box::new(move || slow_lane.get());
        let local = local.map(|local| {
            let (counts, counted) = (local.counts(), local.counts());
            let turns = Box::new(move || counted.turns.load(Ordering::Relaxed));
            (Beat::new("the local service".to_owned(), turns), counts)
        });
        Self {
            beats: beats.collect(),
            slow_lane: Beat::new("the slow lane".to_owned(), turns),
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
        for (beat, worker) in self.beats.iter_mut().zip(workers) {
            is_well &= worker.is_finished() || beat.is_alive(most);
        }
        if let Some((beat, counts)) = &mut self.local {
            is_well &= !counts.is_served.load(Ordering::Relaxed) || beat.is_alive(most);
        }
        if is_well {
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
        }
    }
}
