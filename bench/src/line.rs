//! A worker on its core, a client on another, a ring between them.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_fastpath::affinity;
use sa_fastpath::port::ring::{RingClient, RingServer, reply_length, ring};
use sa_fastpath::port::{BATCH, MadPort, PortError, Verdict};
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::{PuntReceiver, punt_queue};
use sa_fastpath::stats::{StatsSnapshot, WorkerStats};
use sa_fastpath::worker::{Idle, Worker};
use sa_snapshot::Snapshot;
use thiserror::Error;

use crate::clock::thread_cpu_time;
use crate::closed::{ClosedLoop, ClosedReport};
use crate::floor::{PauseFloor, measure_pause_floor};
use crate::open::{OpenLoop, OpenReport};
use crate::pool::{Generations, Pool};

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
pub struct Ends<'a> {
    /// What the worker follows.
    pub publisher: &'a mut Publisher,
    /// The asking side.
    pub client: &'a mut RingClient,
    /// What the worker counts.
    pub stats: &'a WorkerStats,
}

/// What a closed loop over the ring showed.
#[derive(Debug, Clone)]
pub struct LineReport {
    /// The client's side.
    pub closed: ClosedReport,
    /// CPU time of the worker per query, turns that found nothing left out. Units: ns.
    pub ns_per_query: f64,
    /// The same, waiting included.
    pub ns_with_waiting: f64,
}

/// Why nothing was measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LineError {
    /// The publisher has no place left for a reader.
    #[error("no reader place")]
    NoReader,
    /// No memory for a histogram.
    #[error("no memory for a histogram")]
    NoHistogram,
    /// A thread panicked.
    #[error("a thread of the measurement panicked")]
    Panicked,
    /// The ring failed.
    #[error(transparent)]
    Port(#[from] PortError),
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
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn measure_empty_turns(&mut self) -> Result<(), LineError> {
        let before = self.stats().empty;
        let ((), cpu) = self.with_worker(|_| std::thread::sleep(Duration::from_millis(50)))?;
        let turns = self.stats().empty - before;
        self.empty_turn_ns = cpu.as_nanos() as f64 / turns.max(1) as f64;
        Ok(())
    }

    /// CPU time per query without and with the turns that found nothing. Units: ns.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn per_query(&self, cpu: Duration, empty: u64, queries: u64) -> (f64, f64) {
        let (all, queries) = (cpu.as_nanos() as f64, queries.max(1) as f64);
        let waiting = (empty as f64 * self.empty_turn_ns).min(all);
        ((all - waiting) / queries, all / queries)
    }

    /// The pauses of the client's core.
    pub fn pause_floor(&self) -> PauseFloor {
        let core = self.cores.first().copied();
        let measured = std::thread::spawn(move || {
            core.map(affinity::pin);
            measure_pause_floor(Duration::from_millis(300))
        });
        measured.join().unwrap_or_default()
    }

    /// As fast as it goes for `duration`, `batch` requests per publication.
    pub fn closed(
        &mut self,
        pool: &Pool,
        batch: usize,
        duration: Duration,
    ) -> Result<LineReport, LineError> {
        let before = self.stats().empty;
        let generations = Generations::default();
        let (run, cpu) = self.with_worker(|ends| {
            closed_loop(ends.client, pool, &generations, batch, || {
                std::thread::sleep(duration);
            })
        })?;
        let (closed, ()) = run?;
        let empty = self.stats().empty - before;
        let (ns_per_query, ns_with_waiting) = self.per_query(cpu, empty, closed.queries);
        Ok(LineReport {
            closed,
            ns_per_query,
            ns_with_waiting,
        })
    }

    /// At `rate` requests per second for `duration`; see [`OpenLoop`].
    pub fn open(
        &mut self,
        pool: &Pool,
        rate: f64,
        duration: Duration,
    ) -> Result<OpenReport, LineError> {
        let core = self.cores.first().copied();
        let (report, _) = self.with_worker(|ends| {
            std::thread::scope(|scope| {
                let sending = scope.spawn(|| {
                    core.map(affinity::pin);
                    OpenLoop::new(ends.client, pool, rate).map(|open| open.run(duration))
                });
                sending.join().map_err(|_| LineError::Panicked)
            })
        })?;
        report?.ok_or(LineError::NoHistogram)
    }

    /// Runs `drive` against the worker on its core. Returns also the CPU time of the worker.
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

/// Sends from the client's core until `meanwhile`, on this thread, is through. Returns both results.
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

/// With a core for each thread they spin; else they give way to each other.
fn idle(cores: &[usize], threads: usize) -> Idle {
    if cores.len() >= threads {
        Idle::Spin
    } else {
        Idle::YieldAfter(10)
    }
}

/// How many requests a second go through the ring to a server that sends them back untouched; of
/// each no more is written and read than a transaction and a length. No rate over the ring can be
/// above that. Units: millions.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub fn echo_floor(batch: usize, duration: Duration) -> Result<f64, LineError> {
    let (mut client, mut server, _) = ring(SLOTS);
    let cores = affinity::cores();
    let (stop, idle) = (AtomicBool::new(false), idle(&cores, 2));
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            cores.get(1).copied().map(affinity::pin);
            while !stop.load(Ordering::Relaxed) {
                let count = server.recv()?.len();
                server.send(
                    [Verdict::Reply(120); BATCH]
                        .get(..count)
                        .unwrap_or_default(),
                )?;
                give_way(idle, count);
            }
            Ok::<_, PortError>(())
        });
        let sending = scope.spawn(|| {
            cores.first().copied().map(affinity::pin);
            let (start, mut echoed) = (Instant::now(), 0_u64);
            while start.elapsed() < duration {
                let slots = client.claim(batch);
                let count = slots.len();
                for slot in slots {
                    slot.mad[8..16].copy_from_slice(&echoed.to_be_bytes());
                }
                client.publish(count);
                let replies = client.replies();
                let back = replies.len();
                let whole = replies.iter().filter(|slot| reply_length(slot).is_some());
                echoed += whole.count() as u64;
                client.release(back);
                give_way(idle, back);
            }
            echoed as f64 / start.elapsed().as_secs_f64() / 1e6
        });
        let rate = sending.join().map_err(|_| LineError::Panicked);
        stop.store(true, Ordering::Relaxed);
        serving.join().map_err(|_| LineError::Panicked)??;
        rate
    })
}

fn give_way(idle: Idle, done: usize) {
    match idle {
        Idle::YieldAfter(_) if done == 0 => std::thread::yield_now(),
        _ => {}
    }
}

/// Requests that may be in flight.
const SLOTS: usize = 1024;
