//! A worker on its core, a client on another, a ring between them.
//!
//! Two threads, and a third where there is a slow lane:
//!
//! ```text
//! core 0: client  --requests-->  ring  --requests-->  worker :core 1     (third core: slow lane)
//!                 <--replies---        <--replies---    |
//!                                                       follows the publisher's snapshots
//! ```
//!
//! The worker is the daemon's own (`sa_fastpath::worker`), so that what is measured is what serves.
//! Its thread runs for the length of one measurement; between them nothing spins.
//!
//! CPU time per query is told twice: with all turns, and without those that found nothing. A worker
//! that spins is always busy, so the second is the cost of answering; the first equals it only at
//! full load. The cost of an empty turn is measured once, when the line is made.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_fastpath::affinity;
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::{PuntReceiver, punt_queue};
use sa_fastpath::stats::{StatsSnapshot, WorkerStats};
use sa_fastpath::worker::Worker;
use sa_port::ring::{RingClient, RingServer, ring};
use sa_snapshot::Snapshot;

use crate::clock::thread_cpu_time;
use crate::closed::{ClosedLoop, ClosedReport};
use crate::floor::{PauseFloor, measure_pause_floor};
use crate::fresh::Passes;
use crate::null::null_pool;
use crate::null_line::{Busy, NullLine};
use crate::open::{OpenLoop, OpenReport};
use crate::pace::Span;
use crate::pool::{Generations, Pool};
use crate::threads::{LineError, SLOTS, idle, on_client_core};

/// A worker behind a ring, and the cores for both ends.
pub struct Line {
    publisher: Publisher,
    client: RingClient,
    worker: Worker<RingServer>,
    punts: PuntReceiver,
    stats: Arc<WorkerStats>,
    cores: Vec<usize>,
    /// CPU time of a turn that finds nothing. Units: ns.
    empty_turn_ns: f64,
}

/// What is at hand while the worker runs.
///
/// Borrowed for the length of a drive; the worker itself is on its thread by then.
pub struct Ends<'a> {
    /// What the worker follows.
    pub publisher: &'a mut Publisher,
    /// The asking side.
    pub client: &'a mut RingClient,
    /// What the worker counts.
    pub stats: &'a WorkerStats,
}

/// What a closed loop over the ring showed.
///
/// `ns_per_query` by `null_ns` is the figure that is compared across machines.
#[derive(Debug, Clone)]
pub struct LineReport {
    /// The client's side.
    pub closed: ClosedReport,
    /// CPU time of the worker per query, turns that found nothing left out. Units: ns.
    pub ns_per_query: f64,
    /// The same, waiting included.
    pub ns_with_waiting: f64,
    /// CPU time of a server of null records per query, turns that found nothing left out. Units:
    /// ns.
    pub null_ns: f64,
    /// Null records that came back otherwise than they were written.
    pub null_wrong: u64,
}

impl Line {
    /// A worker that has no snapshot yet. Errors: [`LineError`].
    pub fn new() -> Result<Self, LineError> {
        let publisher = Publisher::new();
        let (client, server, _) = ring(SLOTS);
        let (punts, sender) = punt_queue(64);
        let stats = Arc::new(WorkerStats::default());
        let reader = publisher.reader().ok_or(LineError::NoReader)?;
        let worker = Worker::new(server, reader, sender(0), Arc::clone(&stats));
        let mut line = Self {
            publisher,
            client,
            worker,
            punts,
            stats,
            cores: affinity::cores(),
            empty_turn_ns: 0.0,
        };
        line.measure_empty_turns()?;
        Ok(line)
    }

    /// Puts a snapshot into service.
    pub fn publish(&mut self, snapshot: Snapshot) {
        self.publisher.publish(snapshot);
    }

    /// What the worker counted.
    pub fn stats(&self) -> StatsSnapshot {
        self.stats.snapshot()
    }

    /// Where the worker leaves what it does not answer.
    pub(crate) fn punts(&self) -> PuntReceiver {
        self.punts.clone()
    }

    /// Where a third thread is to run; anywhere when there are two cores.
    pub(crate) fn third_core(&self) -> Option<usize> {
        self.cores.get(2).copied()
    }

    /// Where the asking side is to run.
    pub(crate) fn client_core(&self) -> Option<usize> {
        self.cores.first().copied()
    }

    /// What it costs to look and find nothing, so that waiting is not booked as answering.
    ///
    /// 50 ms of nothing: many turns where a worker spins.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn measure_empty_turns(&mut self) -> Result<(), LineError> {
        let before = self.stats().empty;
        let ((), cpu) = self.with_worker(|_| std::thread::sleep(Duration::from_millis(50)))?;
        let turns = self.stats().empty - before;
        self.empty_turn_ns = cpu.as_nanos() as f64 / turns.max(1) as f64;
        Ok(())
    }

    /// CPU time per query without and with the turns that found nothing. Units: ns.
    ///
    /// Where empty turns would take more than all, they count as all: never below 0.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn per_query(&self, cpu: Duration, empty: u64, queries: u64) -> (f64, f64) {
        let (all, queries) = (cpu.as_nanos() as f64, queries.max(1) as f64);
        let waiting = (empty as f64 * self.empty_turn_ns).min(all);
        ((all - waiting) / queries, all / queries)
    }

    /// The pauses of the client's core.
    ///
    /// 300 ms on a thread of its own, pinned where the client will be.
    pub fn pause_floor(&self) -> PauseFloor {
        let core = self.cores.first().copied();
        let measured = std::thread::spawn(move || {
            core.map(affinity::pin);
            measure_pause_floor(Duration::from_millis(300))
        });
        measured.join().unwrap_or_default()
    }

    /// As fast as it goes, pass by pass, for about the span and at least once, with as many null
    /// records in turn; `batch` requests per publication. Errors: [`LineError`].
    pub fn closed(
        &mut self,
        null: &mut NullLine,
        passes: &mut Passes<'_>,
        batch: usize,
        span: impl Into<Span>,
    ) -> Result<LineReport, LineError> {
        let span = span.into();
        let (start, before) = (Instant::now(), self.stats().empty);
        let (mut closed, mut worker) = (ClosedReport::default(), Duration::ZERO);
        let mut nulls = Busy::default();
        // At least one pass, however short the time: a figure of no queries is none.
        while closed.queries == 0 || !span.is_over(start) {
            passes.next(|pool| {
                let (seen, cpu) = self.pass(pool, batch)?;
                worker += cpu;
                closed.add(&seen);
                // In turn with the passes that count, so that what disturbs the machine disturbs
                // both.
                nulls.add(null.pass(&null_pool(pool), batch)?);
                Ok::<_, LineError>(())
            })??;
        }
        let empty = self.stats().empty - before;
        let (ns_per_query, ns_with_waiting) = self.per_query(worker, empty, closed.queries);
        Ok(LineReport {
            closed,
            ns_per_query,
            ns_with_waiting,
            null_ns: nulls.ns_per_query(null.empty_turn_ns()),
            null_wrong: nulls.wrong(),
        })
    }

    /// Each request of the pool once. Returns also the CPU time of the worker.
    ///
    /// The client runs on its own core, this thread waits.
    fn pass(&mut self, pool: &Pool, batch: usize) -> Result<(ClosedReport, Duration), LineError> {
        let generations = Generations::default();
        let (seen, cpu) = self.with_worker(|ends| {
            on_client_core(|| {
                let closed = ClosedLoop::new(ends.client, pool, &generations, batch);
                closed.once().run(&AtomicBool::new(false))
            })
        })?;
        Ok((seen?, cpu))
    }

    /// At `rate` requests per second for the span; see [`OpenLoop`].
    pub fn open(
        &mut self,
        pool: &Pool,
        rate: f64,
        span: impl Into<Span>,
    ) -> Result<OpenReport, LineError> {
        let span = span.into();
        let (report, _) = self.with_worker(|ends| {
            on_client_core(|| OpenLoop::new(ends.client, pool, rate).map(|open| open.run(span)))
        })?;
        report?.ok_or(LineError::NoHistogram)
    }

    /// Runs `drive` against the worker on its core. Returns also the CPU time of the worker.
    ///
    /// Returns when the worker's thread has ended. Errors: it panicked, or its port failed.
    pub fn with_worker<T>(
        &mut self,
        drive: impl FnOnce(Ends<'_>) -> T,
    ) -> Result<(T, Duration), LineError> {
        self.with_worker_among(2, drive)
    }

    /// The same beside others: so many busy threads in all.
    pub(crate) fn with_worker_among<T>(
        &mut self,
        threads: usize,
        drive: impl FnOnce(Ends<'_>) -> T,
    ) -> Result<(T, Duration), LineError> {
        let (stop, idle) = (AtomicBool::new(false), idle(&self.cores, threads));
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
                let start = thread_cpu_time();
                // CPU time of this thread alone: it does nothing else between the two looks at the
                // clock.
                let ended = worker.run(&stop, idle);
                ended.map(|()| thread_cpu_time() - start)
            });
            let result = drive(ends);
            stop.store(true, Ordering::Relaxed);
            let cpu = running.join().map_err(|_| LineError::Panicked)?;
            Ok((result, cpu?))
        })
    }
}

/// Sends from the client's core until `meanwhile`, on this thread, is through. Returns both
/// results.
///
/// For measurements that do something to the worker meanwhile, such as publishing.
pub fn closed_loop<T>(
    client: &mut RingClient,
    pool: &Pool,
    generations: &Generations,
    batch: usize,
    meanwhile: impl FnOnce() -> T,
) -> Result<(ClosedReport, T), LineError> {
    let stop = AtomicBool::new(false);
    let core = affinity::cores().first().copied();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            core.map(affinity::pin);
            ClosedLoop::new(client, pool, generations, batch).run(&stop)
        });
        let result = meanwhile();
        stop.store(true, Ordering::Relaxed);
        let report = sending.join().map_err(|_| LineError::Panicked)?;
        Ok((report, result))
    })
}
