//! A worker on its core, a client on another, a ring between them.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_fastpath::affinity;
use sa_fastpath::port::ring::{RingClient, RingServer, reply_length, ring};
use sa_fastpath::port::{BATCH, MadPort, PortError, Verdict};
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::punt_queue;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::{Idle, Worker};
use sa_snapshot::Snapshot;
use thiserror::Error;

use crate::clock::thread_cpu_time;
use crate::closed::{ClosedLoop, ClosedReport};
use crate::open::{OpenLoop, OpenReport};
use crate::pool::{Generations, Pool};

/// A worker behind a ring.
pub struct Line {
    client: RingClient,
    worker: Worker<RingServer>,
    stats: Arc<WorkerStats>,
    /// Kept: the worker follows it.
    _publisher: Publisher,
    cores: Vec<usize>,
    /// CPU time of a turn that finds nothing. Units: ns.
    empty_turn_ns: f64,
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
    /// A worker that serves the snapshot. Errors: [`LineError`].
    pub fn new(snapshot: Snapshot) -> Result<Self, LineError> {
        let mut publisher = Publisher::new();
        let (client, server, _) = ring(SLOTS);
        let (_, sender) = punt_queue(64);
        let stats = Arc::new(WorkerStats::default());
        let reader = publisher.reader().ok_or(LineError::NoReader)?;
        publisher.publish(snapshot);
        let worker = Worker::new(server, reader, sender(0), Arc::clone(&stats));
        let mut line = Self {
            client,
            worker,
            stats,
            _publisher: publisher,
            cores: affinity::cores(),
            empty_turn_ns: 0.0,
        };
        line.measure_empty_turns()?;
        Ok(line)
    }

    /// What it costs to look and find nothing, so that waiting is not booked as answering.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn measure_empty_turns(&mut self) -> Result<(), LineError> {
        let before = self.stats.snapshot().empty;
        let ((), cpu) = self.with_worker(|_, _| std::thread::sleep(Duration::from_millis(50)))?;
        let turns = self.stats.snapshot().empty - before;
        self.empty_turn_ns = cpu.as_nanos() as f64 / turns.max(1) as f64;
        Ok(())
    }

    /// As fast as it goes for `duration`, `batch` requests per publication.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn closed(
        &mut self,
        pool: &Pool,
        batch: usize,
        duration: Duration,
    ) -> Result<LineReport, LineError> {
        let before = self.stats.snapshot().empty;
        let generations = Generations::default();
        let (closed, cpu) = self.with_worker(|client, core| {
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let sending = scope.spawn(|| {
                    core.map(affinity::pin);
                    ClosedLoop::new(client, pool, &generations, batch).run(&stop)
                });
                std::thread::sleep(duration);
                stop.store(true, Ordering::Relaxed);
                sending.join().map_err(|_| LineError::Panicked)
            })
        })?;
        let closed = closed?;
        let empty = self.stats.snapshot().empty - before;
        let (all, queries) = (cpu.as_nanos() as f64, closed.queries.max(1) as f64);
        let waiting = (empty as f64 * self.empty_turn_ns).min(all);
        Ok(LineReport {
            closed,
            ns_per_query: (all - waiting) / queries,
            ns_with_waiting: all / queries,
        })
    }

    /// At `rate` requests per second for `duration`; see [`OpenLoop`].
    pub fn open(
        &mut self,
        pool: &Pool,
        rate: f64,
        duration: Duration,
    ) -> Result<OpenReport, LineError> {
        let (report, _) = self.with_worker(|client, core| {
            std::thread::scope(|scope| {
                let sending = scope.spawn(|| {
                    core.map(affinity::pin);
                    OpenLoop::new(client, pool, rate).map(|open| open.run(duration))
                });
                sending.join().map_err(|_| LineError::Panicked)
            })
        })?;
        report?.ok_or(LineError::NoHistogram)
    }

    /// Runs `drive`, which gets the client's end and its core, against the worker on its own core.
    /// Returns also the CPU time of the worker.
    fn with_worker<T>(
        &mut self,
        drive: impl FnOnce(&mut RingClient, Option<usize>) -> T,
    ) -> Result<(T, Duration), LineError> {
        let (stop, idle) = (AtomicBool::new(false), idle(&self.cores));
        let (worker, client) = (&mut self.worker, &mut self.client);
        let (client_core, core) = (self.cores.first().copied(), self.cores.get(1).copied());
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                core.map(affinity::pin);
                let start = thread_cpu_time();
                let ended = worker.run(&stop, idle);
                ended.map(|()| thread_cpu_time() - start)
            });
            let result = drive(client, client_core);
            stop.store(true, Ordering::Relaxed);
            let cpu = running.join().map_err(|_| LineError::Panicked)?;
            Ok((result, cpu?))
        })
    }
}

/// With a core for each end both spin; else they give way to each other.
fn idle(cores: &[usize]) -> Idle {
    if cores.len() > 1 {
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
    let (stop, idle) = (AtomicBool::new(false), idle(&cores));
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
