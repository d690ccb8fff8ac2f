//! The load: one worker core, one client core, every reply checked.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_bench::{
    ClosedLoop, ClosedReport, Expected, Generations, OpenLoop, OpenReport, PauseFloor, Pool,
    Request, clock, measure_pause_floor,
};
use sa_fastpath::affinity;
use sa_fastpath::port::ring::{RingClient, RingServer, ring};
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::punt_queue;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::{Idle, Worker};
use sa_snapshot::Snapshot;
use sa_wire::umad::Slot;
use sa_wire::{Gid, NodeType};
use sm_control::pipeline::Compiled;
use sm_control::request;
use sm_control::twin::Reply;
use zerocopy::IntoBytes;

use super::prepare::Prepared;
use super::show;
use crate::failure::{Failure, Outcome};

/// Different requests per workload.
const REQUESTS: usize = 65_536;
/// Slots of the ring.
const RING: usize = 1024;
/// Requests per publication.
const BATCH: usize = 32;

/// What a workload showed.
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) closed: ClosedReport,
    pub(super) open: OpenReport,
    /// CPU time of the worker, empty turns left out.
    pub(super) cpu_ns_per_query: f64,
    /// CPU time of the worker, empty turns included.
    pub(super) spun_ns_per_query: f64,
}

/// What all of it showed.
pub(super) struct Results {
    pub(super) workloads: Vec<Workload>,
    pub(super) floor: PauseFloor,
    pub(super) queries: u64,
    pub(super) lost: u64,
    pub(super) wrong: u64,
    /// From the publication until the worker answered from the new snapshot.
    pub(super) swap: Duration,
}

/// Runs the workloads, then swaps snapshots under load.
pub(super) fn run(prepared: &Prepared, seconds: f64) -> Outcome<Results> {
    let pools = pools(prepared);
    let mut bench = Bench::new(seconds)?;
    let bytes = prepared.mapped.as_bytes();
    bench.publisher.publish(copy(bytes)?);
    let mut results = Results {
        workloads: Vec::new(),
        floor: bench.pause_floor(),
        queries: 0,
        lost: 0,
        wrong: 0,
        swap: Duration::ZERO,
    };
    for (name, pool) in &pools {
        let workload = bench.workload(name, pool)?;
        results.queries += workload.closed.queries + workload.open.sent;
        results.lost += workload.closed.lost + workload.open.lost;
        results.wrong += workload.closed.wrong + workload.open.wrong;
        show::workload(&workload);
        results.workloads.push(workload);
    }
    if let Some((_, pool)) = pools.first() {
        let (closed, swap) = bench.swap(pool, copy(prepared.after.snapshot.as_bytes())?)?;
        show::swap(&closed, swap);
        results.queries += closed.queries;
        results.lost += closed.lost;
        results.wrong += closed.wrong;
        results.swap = swap;
    }
    Ok(results)
}

fn copy(bytes: &[u8]) -> Outcome<Snapshot> {
    Snapshot::from_bytes(bytes).map_err(Failure::failed)
}

/// Requests between hosts drawn at random with a fixed seed, and what the slow twins expect of the
/// snapshot before and after the change.
fn pools(prepared: &Prepared) -> Vec<(&'static str, Pool)> {
    let parts = &prepared.before.parts;
    let prefix = parts.options.subnet_prefix;
    let hosts: Vec<(u16, Gid)> = parts
        .topology
        .end_ports
        .iter()
        .filter(|end| end.node_type == NodeType::Ca)
        .map(|end| (end.lid.get(), Gid::unicast(prefix, end.guid)))
        .collect();
    let start = Instant::now();
    let mut random = Random(0x5eed);
    let mut draw = || {
        (
            hosts[random.below(hosts.len())],
            hosts[random.below(hosts.len())],
        )
    };
    let by_gid: Vec<Slot> = (0..REQUESTS)
        .map(|_| {
            let ((lid, from), (_, to)) = draw();
            request::path_by_gids(lid, from, to)
        })
        .collect();
    let by_lid: Vec<Slot> = (0..REQUESTS)
        .map(|_| {
            let ((from, _), (to, _)) = draw();
            request::path_by_lids(from, to)
        })
        .collect();
    let pools = vec![
        ("GID-GID", pool(&by_gid, prepared)),
        ("LID-LID", pool(&by_lid, prepared)),
    ];
    println!(
        "expected    {} replies by the slow twins in {:.1} s",
        4 * REQUESTS,
        start.elapsed().as_secs_f64()
    );
    pools
}

fn pool(requests: &[Slot], prepared: &Prepared) -> Pool {
    let expected = [&prepared.before, &prepared.after]
        .iter()
        .map(|compiled| expected(requests, compiled))
        .collect();
    let requests = requests.iter().map(|slot| Request {
        lid: slot.header.lid.get(),
        mad: Box::new(slot.mad),
    });
    Pool {
        requests: requests.collect(),
        expected,
    }
}

fn expected(requests: &[Slot], compiled: &Compiled) -> Vec<Expected> {
    let twin = compiled.parts.twin();
    let answers = requests.iter().map(|slot| {
        match twin.respond(slot.header.lid.get(), &slot.mad) {
            Some(Reply::Records(records)) => Expected::Records(records.as_bytes().to_vec()),
            Some(Reply::Error(status)) => Expected::Error(status.get()),
            // Never right: the workloads hold nothing that gets no reply.
            Some(Reply::NotMine) | None => Expected::Error(u16::MAX),
        }
    });
    answers.collect()
}

/// xorshift64: the same draws on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or(0)
    }
}

/// A worker behind a ring, and the cores for both ends.
struct Bench {
    publisher: Publisher,
    client: RingClient,
    worker: Worker<RingServer>,
    stats: Arc<WorkerStats>,
    cores: Vec<usize>,
    seconds: f64,
    /// CPU time of a turn that finds nothing. Units: ns.
    empty_turn_ns: f64,
}

impl Bench {
    fn new(seconds: f64) -> Outcome<Self> {
        let publisher = Publisher::new();
        let (client, server, _) = ring(RING);
        let (_, sender) = punt_queue(64);
        let stats = Arc::new(WorkerStats::default());
        let reader = publisher
            .reader()
            .ok_or_else(|| Failure::failed("no reader place"))?;
        let worker = Worker::new(server, reader, sender(0), Arc::clone(&stats));
        let cores = affinity::cores();
        let mut bench = Self {
            publisher,
            client,
            worker,
            stats,
            cores,
            seconds,
            empty_turn_ns: 0.0,
        };
        bench.measure_empty_turns()?;
        Ok(bench)
    }

    /// What it costs to look and find nothing, so that waiting is not booked as answering.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn measure_empty_turns(&mut self) -> Outcome {
        let before = self.stats.snapshot().empty;
        let ((), cpu) = self.with_worker(|_, _| std::thread::sleep(Duration::from_millis(50)))?;
        let turns = self.stats.snapshot().empty - before;
        self.empty_turn_ns = cpu.as_nanos() as f64 / turns.max(1) as f64;
        Ok(())
    }

    /// With a core for each end both spin; else they give way to each other.
    fn idle(&self) -> Idle {
        if self.cores.len() > 1 {
            Idle::Spin
        } else {
            Idle::YieldAfter(10)
        }
    }

    fn pause_floor(&self) -> PauseFloor {
        let core = self.cores.first().copied();
        let measured = std::thread::spawn(move || {
            core.map(affinity::pin);
            measure_pause_floor(Duration::from_millis(300))
        });
        measured.join().unwrap_or_default()
    }

    fn workload(&mut self, name: &'static str, pool: &Pool) -> Outcome<Workload> {
        let generations = Generations::default();
        let seconds = Duration::from_secs_f64(self.seconds);
        let before = self.stats.snapshot();
        let (closed, cpu) = self.with_worker(|client, stats| {
            closed_loop(client, pool, &generations, seconds, |elapsed| {
                show::progress(name, elapsed, stats.snapshot().received - before.received);
            })
        })?;
        let empty = self.stats.snapshot().empty - before.empty;
        let rate = closed.mqps() * 1e6 / 2.0;
        let (open, _) = self.with_worker(|client, _| {
            let open = OpenLoop::new(client, pool, rate);
            open.map(|open| open.run(seconds.div_f64(2.0)))
        })?;
        let open = open.ok_or_else(|| Failure::failed("no histogram"))?;
        let (cpu_ns_per_query, spun_ns_per_query) = self.per_query(cpu, empty, closed.queries);
        Ok(Workload {
            name,
            closed,
            open,
            cpu_ns_per_query,
            spun_ns_per_query,
        })
    }

    /// CPU time per query without and with the turns that found nothing. Units: ns.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn per_query(&self, cpu: Duration, empty: u64, queries: u64) -> (f64, f64) {
        let (all, queries) = (cpu.as_nanos() as f64, queries.max(1) as f64);
        let waiting = (empty as f64 * self.empty_turn_ns).min(all);
        ((all - waiting) / queries, all / queries)
    }

    /// Publishes `next` in the middle of a closed loop.
    fn swap(&mut self, pool: &Pool, next: Snapshot) -> Outcome<(ClosedReport, Duration)> {
        let generations = Generations::default();
        let half = Duration::from_secs_f64(self.seconds / 2.0);
        let mut publisher = core::mem::take(&mut self.publisher);
        let mut next = Some(next);
        let mut swap = Duration::ZERO;
        let (closed, _) = self.with_worker(|client, stats| {
            closed_loop(client, pool, &generations, half * 2, |elapsed| {
                if elapsed < half {
                    return;
                }
                if let Some(next) = next.take() {
                    generations.begin_next();
                    let start = Instant::now();
                    let epoch = publisher.publish(next);
                    while stats.snapshot().epoch < epoch.get() {
                        core::hint::spin_loop();
                    }
                    swap = start.elapsed();
                    generations.finish_next();
                }
            })
        })?;
        publisher.reclaim();
        self.publisher = publisher;
        Ok((closed, swap))
    }

    /// Runs `drive` against the worker on its core. Returns also the CPU time of the worker.
    fn with_worker<T: Send>(
        &mut self,
        drive: impl FnOnce(&mut RingClient, &WorkerStats) -> T,
    ) -> Outcome<(T, Duration)> {
        let (stop, idle) = (AtomicBool::new(false), self.idle());
        let core = self.cores.get(1).copied();
        let (worker, client, stats) = (&mut self.worker, &mut self.client, &self.stats);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                core.map(affinity::pin);
                let start = clock::thread_cpu_time();
                let ended = worker.run(&stop, idle);
                ended.map(|()| clock::thread_cpu_time() - start)
            });
            let result = drive(client, stats);
            stop.store(true, Ordering::Relaxed);
            let cpu = running
                .join()
                .map_err(|_| Failure::failed("the worker panicked"))?;
            Ok((result, cpu.map_err(Failure::failed)?))
        })
    }
}

/// Sends for `duration` from the client core, calling `tick` every few milliseconds from this
/// thread.
fn closed_loop(
    client: &mut RingClient,
    pool: &Pool,
    generations: &Generations,
    duration: Duration,
    mut tick: impl FnMut(Duration),
) -> ClosedReport {
    let stop = AtomicBool::new(false);
    let core = affinity::cores().first().copied();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            core.map(affinity::pin);
            ClosedLoop::new(client, pool, generations, BATCH).run(&stop)
        });
        let start = Instant::now();
        while start.elapsed() < duration {
            std::thread::sleep(Duration::from_millis(20));
            tick(start.elapsed());
        }
        stop.store(true, Ordering::Relaxed);
        sending.join().unwrap_or_default()
    })
}
