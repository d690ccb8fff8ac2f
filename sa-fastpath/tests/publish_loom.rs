//! Every interleaving of publisher and readers, by loom:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p sa-fastpath --test publish_loom --target-dir target/loom
//! ```
//!
//! The slot is a lock here (`src/sync/model.rs`), so this proves the protocol of epochs around it,
//! not arc-swap's inside. `tests/publish_mutants` breaks the protocol in several ways and expects
//! this to fail each time.

#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::{Arc, Mutex};

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread::{self, ThreadId};
use sa_fastpath::publish::{Pretouch, Publisher, Reader};

/// Says who destroyed it, and notices use after that and use that the end is not ordered behind.
struct Payload {
    number: AtomicU64,
    ends: Arc<Mutex<Vec<ThreadId>>>,
}

impl Payload {
    fn new(number: u64, ends: &Arc<Mutex<Vec<ThreadId>>>) -> Self {
        Self {
            number: AtomicU64::new(number),
            ends: Arc::clone(ends),
        }
    }

    fn look(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        // Fails unless every look happened before, by the protocol's own orderings.
        self.number.with_mut(|number| *number = FREED);
        self.ends.lock().unwrap().push(thread::current().id());
    }
}

impl Pretouch for Payload {
    fn pretouch(&self) {}
}

const FREED: u64 = u64::MAX;

/// One batch: the same snapshot throughout. Returns its number, 0 before the first.
fn batch(reader: &mut Reader<Payload>) -> u64 {
    let Some(published) = reader.refresh() else {
        return 0;
    };
    let epoch = published.epoch.get();
    for _ in 0..2 {
        assert_eq!(published.snapshot.look(), epoch, "one batch, one epoch");
    }
    epoch
}

/// So many batches, none older than the one before.
fn work(mut reader: Reader<Payload>, batches: usize) {
    let mut last = 0;
    for _ in 0..batches {
        let epoch = batch(&mut reader);
        assert!(epoch >= last, "never back to an older snapshot");
        last = epoch;
    }
}

/// Ends the publisher; everything was destroyed here, once.
fn settle(mut publisher: Publisher<Payload>, ends: &Mutex<Vec<ThreadId>>, published: usize) {
    assert_eq!(publisher.reclaim(), 0, "every reader is gone");
    drop(publisher);
    let here = thread::current().id();
    let ends = ends.lock().unwrap();
    assert_eq!(ends.len(), published);
    assert!(ends.iter().all(|thread| *thread == here));
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(model);
}

#[test]
fn two_readers_and_reclaim() {
    check(|| {
        let ends = Arc::default();
        let mut publisher = Publisher::new();
        publisher.publish(Payload::new(1, &ends));
        let readers = [publisher.reader().unwrap(), publisher.reader().unwrap()];
        let threads = readers.map(|reader| thread::spawn(move || work(reader, 2)));
        publisher.publish(Payload::new(2, &ends));
        publisher.reclaim();
        for thread in threads {
            thread.join().unwrap();
        }
        settle(publisher, &ends, 2);
    });
}

#[test]
fn a_reader_that_goes_on_while_snapshots_pile_up() {
    check(|| {
        let ends = Arc::default();
        let mut publisher = Publisher::new();
        let reader = publisher.reader().unwrap();
        let thread = thread::spawn(move || work(reader, 3));
        for number in 1..=3 {
            publisher.publish(Payload::new(number, &ends));
        }
        thread.join().unwrap();
        settle(publisher, &ends, 3);
    });
}

#[test]
fn a_reader_that_starts_late_and_one_that_is_dropped() {
    check(|| {
        let ends = Arc::default();
        let mut publisher = Publisher::new();
        publisher.publish(Payload::new(1, &ends));
        let early = publisher.reader().unwrap();
        let early = thread::spawn(move || work(early, 1));
        publisher.publish(Payload::new(2, &ends));
        // Perhaps in the place of the first, which may be gone by now.
        let late = publisher.reader().unwrap();
        let late = thread::spawn(move || work(late, 2));
        publisher.publish(Payload::new(3, &ends));
        early.join().unwrap();
        late.join().unwrap();
        settle(publisher, &ends, 3);
    });
}
