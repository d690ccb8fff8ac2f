//! The fast-path contract: a worker's turn neither allocates nor frees, whatever it is asked and
//! however often snapshots change under it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use policy::model::criterion::Field;
use policy::{Dialect, Echo, Ranges, ServiceIdEncoding};
use sa_answer::access::Access;
use sa_answer::{DropReason, PuntReason, Reject};
use sa_compiler::pipeline::{self, Compiled, Stamp};
use sa_fastpath::overload::{Limits, Share};
use sa_fastpath::publish::{EpochId, Pretouch, Publisher};
use sa_fastpath::punt::{PuntReceiver, punt_queue};
use sa_fastpath::sampling::Sampling;
use sa_fastpath::stats::{StatsSnapshot, WorkerStats};
use sa_fastpath::worker::{Idle, Worker};
use sa_port::ring::{RingClient, RingServer, ring};
use sa_port::{BATCH, MadPort, PortError, Verdict};
use sa_rig::counting::counted;
use sa_snapshot::Snapshot;
use sa_text::{Span, Spanned};
use sa_wire::umad::Slot;

use super::fabric::{compiled, compiled_without_sls, requests};

/// Allocator calls of `work` on this thread.
fn calls_of(work: impl FnOnce()) -> u64 {
    counted(work).0
}

/// What OpenSM's dialect cannot say: levels without SL and of one path bit, rules by traffic class
/// and by ends that must be named, service ids in another place, and classes that come back.
fn beyond_opensm(mut compiled: Compiled, encoding: ServiceIdEncoding) -> Compiled {
    let policy = compiled.parts.policy.as_mut().unwrap();
    policy.dialect = Dialect::Rfc01Xml;
    policy.semantics.echo = Echo::TClass;
    policy.semantics.endpoint_mask_required = true;
    policy.semantics.service_id_encoding = encoding;
    let here = Span::START;
    let default = usize::from(policy.default_level.0);
    for (place, level) in policy.levels.iter_mut().enumerate() {
        level.sl = None;
        if place != default {
            level.path_bits = Some(Spanned::new(Ranges::single(1), here));
            level.tclass = Some(Spanned::new(9, here));
        }
    }
    for rule in &mut policy.rules {
        rule.fields[Field::TClass] = Some(Spanned::new(Ranges::single(7), here));
    }
    compiled.snapshot = pipeline::build(&compiled.parts, Vec::new(), Stamp::default()).unwrap();
    assert!(!compiled.snapshot.is_plain());
    compiled
}

struct Bench {
    publisher: Publisher,
    client: RingClient,
    worker: Worker<RingServer>,
    stats: Arc<WorkerStats>,
    punted: PuntReceiver,
}

impl Bench {
    fn new(punt_capacity: usize) -> Self {
        Self::with(punt_capacity, WorkerStats::default())
    }

    fn with(punt_capacity: usize, stats: WorkerStats) -> Self {
        let publisher = Publisher::new();
        let (client, server, _) = ring(64);
        let (punted, sender) = punt_queue(punt_capacity);
        let stats = Arc::new(stats);
        let reader = publisher.reader().unwrap();
        let worker = Worker::new(server, reader, sender(0), Arc::clone(&stats));
        Self {
            publisher,
            client,
            worker,
            stats,
            punted,
        }
    }

    /// Asks, lets the worker turn, and returns the allocator calls of its turns.
    fn ask(&mut self, requests: &[Slot]) -> u64 {
        let mut calls = 0;
        let mut rest = requests;
        while !rest.is_empty() {
            let claimed = self.client.claim(rest.len().min(16));
            let count = claimed.len();
            claimed.copy_from_slice(&rest[..count]);
            self.client.publish(count);
            rest = &rest[count..];
            let worker = &mut self.worker;
            calls += calls_of(|| assert_eq!(worker.turn().unwrap(), count));
            let back = self.client.replies().len();
            self.client.release(back);
        }
        calls
    }

    fn stats(&self) -> StatsSnapshot {
        self.stats.snapshot()
    }
}

#[test]
fn no_request_makes_a_worker_allocate() {
    let compiled = compiled();
    let mut bench = Bench::new(512);
    let requests = requests(&compiled);
    assert_eq!(bench.ask(&requests), 0, "without a snapshot");
    bench.publisher.publish(compiled.snapshot);
    assert_eq!(bench.ask(&requests), 0, "with one");
    bench.publisher.publish(compiled_without_sls().snapshot);
    assert_eq!(bench.ask(&requests), 0, "with one that knows no SL");
    let stats = bench.stats();
    assert!(stats.answered > 80, "{stats:?}");
    // The list of requests really reaches every outcome; the full queue has its own test.
    for (reason, name) in Reject::ALL {
        let reached = stats.refused[reason as usize] > 0;
        // A table without records is a success, so only Get says that there are none.
        assert!(reached, "no request was refused as {name}");
    }
    for (reason, name) in PuntReason::ALL {
        assert!(
            stats.punted[reason as usize] > 0,
            "no request was punted as {name}"
        );
    }
    for (reason, name) in DropReason::ALL {
        let reached = stats.dropped[reason as usize] > 0;
        assert!(
            reached || matches!(name, "queue_full" | "rmpp" | "access" | "age" | "share"),
            "no request was dropped as {name}"
        );
    }
}

#[test]
fn no_policy_of_the_rfcs_makes_a_worker_allocate() {
    for encoding in ServiceIdEncoding::ALL {
        let compiled = beyond_opensm(compiled(), encoding);
        let mut bench = Bench::new(256);
        let requests = requests(&compiled);
        bench.publisher.publish(compiled.snapshot);
        assert_eq!(bench.ask(&requests), 0);
        let stats = bench.stats();
        assert!(stats.answered > 80, "{stats:?}");
        let half = stats.refused[Reject::InsufficientComponents as usize];
        let strange_keys = stats.dropped[DropReason::Key as usize];
        // Without counts there is no MultiPathRecord request.
        let expected = match encoding {
            ServiceIdEncoding::Standard => (3, 1),
            ServiceIdEncoding::LegacyA => (3, 0),
            ServiceIdEncoding::LegacyB => (1, 1),
        };
        assert_eq!((half, strange_keys), expected, "{encoding}");
    }
}

#[test]
fn a_full_punt_queue_does_not_make_a_worker_allocate() {
    let compiled = compiled();
    let requests = requests(&compiled);
    let mut bench = Bench::new(2);
    bench.publisher.publish(compiled.snapshot);
    assert_eq!(bench.ask(&requests), 0);
    // Of each kind; one requester alone has half.
    assert!((2..=2 * 2).contains(&bench.punted.len()));
    assert!(bench.stats().dropped[DropReason::QueueFull as usize] > 0);
}

/// A ring that says that requests may wait in it for any time.
struct Piling(RingServer);

impl MadPort for Piling {
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        self.0.recv()
    }

    fn piles_up(&self) -> bool {
        true
    }

    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        self.0.send(verdicts)
    }
}

#[test]
fn neither_access_nor_limits_make_a_worker_allocate() {
    let compiled = compiled();
    let requests = requests(&compiled);
    let share = Some(Share {
        per_second: 1,
        burst: 100,
    });
    let limits = Limits {
        oldest: Some(Duration::from_nanos(1)),
        gets: share,
        others: share,
        busy_reply: true,
    };
    let mut publisher = Publisher::new();
    let (mut client, server, _) = ring(BATCH);
    let (_punted, sender) = punt_queue(64);
    let stats = Arc::new(WorkerStats::default());
    let reader = publisher.reader().unwrap();
    let worker = Worker::new(Piling(server), reader, sender(0), Arc::clone(&stats));
    let mut worker = worker.with_access(Access::Strict).with_limits(limits);
    publisher.publish(compiled.snapshot);
    let mut calls = 0;
    for first in 0..200 {
        let claimed = client.claim(BATCH);
        assert_eq!(claimed.len(), BATCH, "so that batches are full");
        let some = requests.iter().cycle().skip(first);
        for (place, request) in claimed.iter_mut().zip(some) {
            *place = *request;
        }
        client.publish(BATCH);
        calls += calls_of(|| assert_eq!(worker.turn().unwrap(), BATCH));
        let back = client.replies().len();
        client.release(back);
    }
    assert_eq!(calls, 0);
    let stats = stats.snapshot();
    for reason in [DropReason::Access, DropReason::Age, DropReason::Share] {
        assert!(stats.dropped[reason as usize] > 0, "{reason:?}: {stats:?}");
    }
}

#[test]
fn a_thousand_publications_make_a_worker_neither_allocate_nor_free() {
    let compiled = compiled();
    let requests = requests(&compiled);
    let mut bench = Bench::new(4096 * 4);
    let bytes = compiled.snapshot.as_bytes().to_vec();
    let mut calls = 0;
    for nth in 1..=1000 {
        // Building and freeing snapshots happens here, outside what is counted.
        let epoch = bench
            .publisher
            .publish(Snapshot::from_bytes(&bytes).unwrap());
        assert_eq!(epoch.get(), nth);
        calls += bench.ask(&requests[..20]);
        assert_eq!(
            bench.stats().epoch,
            Some(epoch),
            "the worker took it up at its next turn"
        );
        assert!(bench.publisher.retired() <= 1);
    }
    assert_eq!(calls, 0);
    assert_eq!(bench.publisher.reclaim(), 0);
}

/// What arc-swap keeps for each thread is made as the thread begins, not with its first new snapshot.
#[test]
fn the_first_new_snapshot_of_a_thread_does_not_make_it_allocate() {
    let compiled = compiled();
    let bytes = compiled.snapshot.as_bytes().to_vec();
    let mut bench = Bench::new(256);
    let meet = Barrier::new(2);
    let (worker, publisher) = (&mut bench.worker, &mut bench.publisher);
    publisher.publish(compiled.snapshot);
    let calls = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            worker.run(&AtomicBool::new(true), Idle::Spin).unwrap();
            meet.wait();
            meet.wait();
            calls_of(|| assert_eq!(worker.turn().unwrap(), 0))
        });
        meet.wait();
        publisher.publish(Snapshot::from_bytes(&bytes).unwrap());
        meet.wait();
        thread.join().unwrap()
    });
    assert_eq!(calls, 0);
    assert_eq!(EpochId::raw(bench.stats().epoch), 2, "it took it up");
}

#[test]
fn sampling_does_not_make_a_worker_allocate() {
    let compiled = compiled();
    let requests = requests(&compiled);
    let mut bench = Bench::with(256, WorkerStats::sampled(Sampling::new(NonZeroU32::MIN)));
    bench.publisher.publish(compiled.snapshot);
    assert_eq!(bench.ask(&requests), 0);
    let stats = bench.stats();
    assert_eq!(stats.times.count(), stats.batches, "every batch was timed");
    let most = stats.times.per_mille(1000).unwrap();
    assert!(most > Duration::ZERO, "and took some time");
}

#[test]
fn the_counter_counts() {
    assert!(calls_of(|| drop(std::hint::black_box(vec![1u8; 100]))) >= 2);
}

/// Notes on which thread it is destroyed.
struct Payload(Arc<Mutex<Vec<ThreadId>>>);

impl Pretouch for Payload {
    fn pretouch(&self) {}
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(std::thread::current().id());
    }
}

#[test]
fn no_reader_ever_runs_a_destructor() {
    let drops = Arc::new(Mutex::new(Vec::new()));
    let stop = AtomicBool::new(false);
    let mut publisher = Publisher::<Payload>::new();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let mut reader = publisher.reader().unwrap();
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::black_box(reader.refresh().map(|published| published.epoch));
                }
            });
        }
        for _ in 0..1000 {
            publisher.publish(Payload(Arc::clone(&drops)));
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(publisher.reclaim(), 0, "every reader is gone");
    drop(publisher);
    let drops = drops.lock().unwrap();
    assert_eq!(drops.len(), 1000);
    assert!(
        drops
            .iter()
            .all(|thread| *thread == std::thread::current().id())
    );
}
