//! A thousand new snapshots a second under load: every reply is, to the last byte, that of the
//! snapshot that its batch was answered from, and none is lost.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use super::fabric::{compiled, compiled_otherwise, requests};
use sa_answer::{Outcome, answer};
use sa_fastpath::publish::{EpochId, Publisher, Reader};
use sa_fastpath::punt::punt_queue;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::{Idle, Worker};
use sa_port::ring::{RingClient, RingServer, reply_length, ring};
use sa_snapshot::Snapshot;
use sa_wire::mad::method;
use sa_wire::umad::Slot;

const SWAPS: u64 = 3_000;
const EVERY: Duration = Duration::from_millis(1);
/// Clients, each with a worker of its own.
const PAIRS: usize = 2;
/// For all of it; a machine that is that slow proves nothing.
const DEADLINE: Duration = Duration::from_secs(120);

/// Requests, and the whole reply to each from the one snapshot and from the other.
struct Corpus {
    requests: Vec<Slot>,
    replies: [Vec<Slot>; 2],
}

impl Corpus {
    /// Of what a worker answers itself, from both.
    fn new(requests: &[Slot], snapshots: [&Snapshot; 2]) -> Self {
        let reply = |snapshot: &Snapshot, request: &Slot| {
            let mut slot = *request;
            match answer(snapshot, &mut slot) {
                Outcome::Answered(length) | Outcome::Refused(length, _) => {
                    slot.header.length = length.into();
                    Some(slot)
                }
                Outcome::Dropped(_) | Outcome::Punt(_) => None,
            }
        };
        let mut corpus = Self {
            requests: Vec::new(),
            replies: [Vec::new(), Vec::new()],
        };
        for request in requests {
            let both = snapshots.map(|snapshot| reply(snapshot, request));
            if let [Some(one), Some(other)] = both {
                corpus.requests.push(*request);
                corpus.replies[0].push(one);
                corpus.replies[1].push(other);
            }
        }
        corpus
    }

    /// How many replies the two snapshots give differently; of them, how many of several records.
    fn differing(&self) -> (usize, usize) {
        let [ones, others] = &self.replies;
        let pairs = ones.iter().zip(others);
        let unlike = pairs.filter(|(one, other)| whole(one) != whole(other));
        let unlike: Vec<_> = unlike.collect();
        let is_table = |one: &Slot| one.mad[3] != method::GET_RESP && one.header.length > 184;
        let tables = unlike.iter().filter(|(one, _)| is_table(one)).count();
        (unlike.len(), tables)
    }
}

/// All bytes of a reply.
fn whole(slot: &Slot) -> Option<&[u8]> {
    slot.mad.get(..reply_length(slot)?)
}

/// A reply is that of the first snapshot (1), of the second (2), of both (3) or of none (0).
fn kind(corpus: &Corpus, nth: usize, slot: &Slot) -> u8 {
    let is = |replies: &Vec<Slot>| whole(slot).is_some() && whole(&replies[nth]) == whole(slot);
    u8::from(is(&corpus.replies[0])) | u8::from(is(&corpus.replies[1])) << 1
}

/// Asks until told to stop, and then waits for what is out. Gives the kind of each reply, in order.
fn ask(corpus: &Corpus, mut client: RingClient, stop: &AtomicBool) -> Vec<u8> {
    let count = corpus.requests.len();
    let (mut next, mut back) = (0, 0);
    let mut kinds = Vec::new();
    let deadline = Instant::now() + DEADLINE;
    loop {
        let stopping = stop.load(Ordering::Relaxed);
        if stopping && client.in_flight() == 0 {
            return kinds;
        }
        if !stopping {
            let claimed = client.claim(48);
            let claimed_count = claimed.len();
            for slot in claimed {
                *slot = corpus.requests[next];
                next = (next + 1) % count;
            }
            client.publish(claimed_count);
        }
        let replies = client.replies();
        for slot in replies {
            kinds.push(kind(corpus, back, slot));
            back = (back + 1) % count;
        }
        let returned = replies.len();
        client.release(returned);
        if returned == 0 {
            assert!(Instant::now() < deadline, "replies are missing");
            yield_now();
        }
    }
}

/// Batches of one worker: how many requests, and the epoch they were answered from.
type Batches = Vec<(usize, u64)>;

/// Turns until told to stop.
fn serve(server: RingServer, reader: Reader, stop: &AtomicBool) -> Batches {
    let (_, sender) = punt_queue(16);
    let stats = Arc::new(WorkerStats::default());
    let mut worker = Worker::new(server, reader, sender(0), Arc::clone(&stats));
    worker.run(&AtomicBool::new(true), Idle::Spin).unwrap();
    let mut batches = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match worker.turn().unwrap() {
            0 => yield_now(),
            count => batches.push((count, EpochId::raw(stats.snapshot().epoch))),
        }
    }
    batches
}

/// What publishing saw.
#[derive(Debug)]
struct Storm {
    took: Duration,
    most_retired: usize,
}

/// Publishes the two in turn, by the clock: odd epochs are the first's. A reader that comes and goes
/// has its part in it.
fn publish(publisher: &mut Publisher, bytes: [&[u8]; 2]) -> Storm {
    let start = Instant::now();
    let mut most_retired = 0;
    let mut guest = None;
    for nth in 2..=SWAPS + 1 {
        let fresh = Snapshot::from_bytes(bytes[usize::from(nth % 2 == 0)]).unwrap();
        let due = EVERY * u32::try_from(nth - 1).unwrap();
        while start.elapsed() < due {
            yield_now();
        }
        assert_eq!(publisher.publish(fresh).get(), nth);
        most_retired = most_retired.max(publisher.retired());
        match nth % 16 {
            0 => guest = publisher.reader(),
            5 => assert!(guest.as_mut().is_none_or(|guest| guest.refresh().is_some())),
            11 => guest = None,
            _ => {}
        }
        assert!(start.elapsed() < DEADLINE, "too slow to say anything");
    }
    Storm {
        took: start.elapsed(),
        most_retired,
    }
}

#[test]
fn no_reply_is_mixed_or_lost_in_a_storm_of_snapshots() {
    let _turn = sa_tests::turn::heavy();
    let (one, other) = (compiled(), compiled_otherwise());
    let all = requests(&one);
    let corpus = Corpus::new(&all, [&one.snapshot, &other.snapshot]);
    let (differing, tables) = corpus.differing();
    assert!(differing > corpus.requests.len() / 2, "{differing}");
    assert!(tables > 0, "a table of several records that differ");
    let bytes = [one.snapshot.as_bytes(), other.snapshot.as_bytes()];

    let mut publisher = Publisher::new();
    let first = Snapshot::from_bytes(bytes[0]).unwrap();
    assert_eq!(publisher.publish(first).get(), 1);
    let (asked_enough, answered_all) = (AtomicBool::new(false), AtomicBool::new(false));
    let (storm, results) = std::thread::scope(|scope| {
        let pairs: [_; PAIRS] = std::array::from_fn(|_| {
            let (client, server, _) = ring(256);
            let reader = publisher.reader().unwrap();
            let serving = scope.spawn(|| serve(server, reader, &answered_all));
            let asking = scope.spawn(|| ask(&corpus, client, &asked_enough));
            (serving, asking)
        });
        let storm = publish(&mut publisher, bytes);
        asked_enough.store(true, Ordering::Relaxed);
        let asked = pairs.map(|(serving, asking)| (serving, asking.join()));
        answered_all.store(true, Ordering::Relaxed);
        let results = asked.map(|(serving, kinds)| (serving.join().unwrap(), kinds.unwrap()));
        (storm, results)
    });

    let mut queries = 0;
    for (batches, kinds) in &results {
        check(batches, kinds);
        queries += kinds.len();
    }
    assert_eq!(publisher.reclaim(), 0, "every reader is gone");
    // What waits to be freed is what came while some worker did not run, not what ever came.
    assert!(storm.most_retired < 1000, "{storm:?}");
    let rate = |count: f64| count / storm.took.as_secs_f64();
    let _ = writeln!(
        std::io::stderr(),
        "{:.0} swaps/s, {:.0} queries/s by {PAIRS} workers, at most {} retired at once",
        rate(f64::from(u32::try_from(SWAPS).unwrap())),
        rate(f64::from(u32::try_from(queries).unwrap())),
        storm.most_retired
    );
}

/// Every reply of a batch is that of the batch's epoch.
fn check(batches: &Batches, kinds: &[u8]) {
    let answered: usize = batches.iter().map(|(count, _)| count).sum();
    assert_eq!(answered, kinds.len(), "none is lost, none comes twice");
    let mut rest = kinds;
    let mut swaps_seen = 0;
    let mut last = 0;
    for (count, epoch) in batches {
        let (batch, behind) = rest.split_at(*count);
        let wanted = if epoch % 2 == 1 { 1 } else { 2 };
        let strange = batch.iter().position(|kind| kind & wanted == 0);
        assert_eq!(strange, None, "of {count} in epoch {epoch}: {batch:?}");
        assert!(*epoch >= last);
        swaps_seen += u64::from(*epoch != last);
        (last, rest) = (*epoch, behind);
    }
    assert!(
        swaps_seen > SWAPS / 100,
        "{swaps_seen} swaps came between batches"
    );
}
