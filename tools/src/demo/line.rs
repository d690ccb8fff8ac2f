//! One worker core, one client core, a ring between them.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_bench::{
    ClosedLoop, ClosedReport, Generations, PauseFloor, Pool, clock, measure_pause_floor,
};
use sa_fastpath::affinity;
use sa_fastpath::port::ring::{RingClient, RingServer, ring};
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::punt_queue;
use sa_fastpath::stats::{StatsSnapshot, WorkerStats};
use sa_fastpath::worker::{Idle, Worker};
use sa_snapshot::Snapshot;

use crate::failure::{Failure, Outcome};

/// Slots of the ring.
const RING: usize = 1024;
/// Requests per publication.
const BATCH: usize = 32;

/// A worker behind a ring, and the cores for both ends.
pub(super) struct Line {
    publisher: Publisher,
    client: RingClient,
    worker: Worker<RingServer>,
    stats: Arc<WorkerStats>,
    cores: Vec<usize>,
    /// CPU time of a turn that finds nothing. Units: ns.
    empty_turn_ns: f64,
}

/// What is at hand while the worker runs.
pub(super) struct Ends<'a> {
    pub(super) publisher: &'a mut Publisher,
    pub(super) client: &'a mut RingClient,
    pub(super) stats: &'a WorkerStats,
}

impl Line {
    pub(super) fn new() -> Outcome<Self> {
        let publisher = Publisher::new();
        let (client, server, _) = ring(RING);
        let (_, sender) = punt_queue(64);
        let stats = Arc::new(WorkerStats::default());
        let reader = publisher
            .reader()
            .ok_or_else(|| Failure::failed("no reader place"))?;
        let worker = Worker::new(server, reader, sender(0), Arc::clone(&stats));
        let mut line = Self {
            publisher,
            client,
            worker,
            stats,
            cores: affinity::cores(),
            empty_turn_ns: 0.0,
        };
        line.measure_empty_turns()?;
        Ok(line)
    }

    /// Puts a snapshot into service.
    pub(super) fn publish(&mut self, snapshot: Snapshot) {
        self.publisher.publish(snapshot);
    }

    /// What the worker counted.
    pub(super) fn stats(&self) -> StatsSnapshot {
        self.stats.snapshot()
    }

    /// What it costs to look and find nothing, so that waiting is not booked as answering.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn measure_empty_turns(&mut self) -> Outcome {
        let before = self.stats().empty;
        let ((), cpu) = self.with_worker(|_| std::thread::sleep(Duration::from_millis(50)))?;
        let turns = self.stats().empty - before;
        self.empty_turn_ns = cpu.as_nanos() as f64 / turns.max(1) as f64;
        Ok(())
    }

    /// CPU time per query without and with the turns that found nothing. Units: ns.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub(super) fn per_query(&self, cpu: Duration, empty: u64, queries: u64) -> (f64, f64) {
        let (all, queries) = (cpu.as_nanos() as f64, queries.max(1) as f64);
        let waiting = (empty as f64 * self.empty_turn_ns).min(all);
        ((all - waiting) / queries, all / queries)
    }

    /// With a core for each end both spin; else they give way to each other.
    fn idle(&self) -> Idle {
        if self.cores.len() > 1 {
            Idle::Spin
        } else {
            Idle::YieldAfter(10)
        }
    }

    pub(super) fn pause_floor(&self) -> PauseFloor {
        let core = self.cores.first().copied();
        let measured = std::thread::spawn(move || {
            core.map(affinity::pin);
            measure_pause_floor(Duration::from_millis(300))
        });
        measured.join().unwrap_or_default()
    }

    /// Runs `drive` against the worker on its core. Returns also the CPU time of the worker.
    pub(super) fn with_worker<T>(
        &mut self,
        drive: impl FnOnce(Ends<'_>) -> T,
    ) -> Outcome<(T, Duration)> {
        let (stop, idle) = (AtomicBool::new(false), self.idle());
        let core = self.cores.get(1).copied();
        let worker = &mut self.worker;
        let ends = Ends {
            publisher: &mut self.publisher,
            client: &mut self.client,
            stats: &self.stats,
        };
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                core.map(affinity::pin);
                let start = clock::thread_cpu_time();
                let ended = worker.run(&stop, idle);
                ended.map(|()| clock::thread_cpu_time() - start)
            });
            let result = drive(ends);
            stop.store(true, Ordering::Relaxed);
            let cpu = running
                .join()
                .map_err(|_| Failure::failed("the worker panicked"))?;
            Ok((result, cpu.map_err(Failure::failed)?))
        })
    }
}

/// Sends from the client core until `meanwhile`, on this thread, is through. Returns both results.
pub(super) fn closed_loop<T>(
    client: &mut RingClient,
    pool: &Pool,
    generations: &Generations,
    meanwhile: impl FnOnce() -> T,
) -> Outcome<(ClosedReport, T)> {
    let stop = AtomicBool::new(false);
    let core = affinity::cores().first().copied();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            core.map(affinity::pin);
            ClosedLoop::new(client, pool, generations, BATCH).run(&stop)
        });
        let result = meanwhile();
        stop.store(true, Ordering::Relaxed);
        let report = sending.join();
        let report = report.map_err(|_| Failure::failed("the load generator panicked"))?;
        Ok((report, result))
    })
}

/// Waits for `duration`, calling `tick` every few milliseconds.
pub(super) fn wait(duration: Duration, mut tick: impl FnMut(Duration)) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::thread::sleep(Duration::from_millis(20));
        tick(start.elapsed());
    }
}
