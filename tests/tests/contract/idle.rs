//! What an idle worker does that is told to sleep: next to nothing, and all that it owes others.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use super::fabric::{compiled, requests};
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::punt_queue;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::{Idle, LONGEST_SLEEP, Worker};
use sa_port::umad::{Umad, packet_pair};
use sa_snapshot::Snapshot;
use zerocopy::IntoBytes;

const SLEEPS: u32 = 100;
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        yield_now();
    }
}

#[test]
fn a_sleeping_worker_answers_lets_go_and_stops() {
    let _turn = sa_tests::turn::heavy();
    let compiled = compiled();
    let request = requests(&compiled)[0];
    let bytes = compiled.snapshot.as_bytes().to_vec();
    let mut publisher = Publisher::new();
    let (near, far) = packet_pair().unwrap();
    let mut far = File::from(far);
    let port = Umad::over_packets(near).unwrap().worker().unwrap();
    let stats = Arc::new(WorkerStats::default());
    let (_punted, sender) = punt_queue(16);
    let reader = publisher.reader().unwrap();
    let mut worker = Worker::new(port, reader, sender(0), Arc::clone(&stats));
    publisher.publish(compiled.snapshot);
    let stop = AtomicBool::new(false);
    let idle = Idle::SleepAfter {
        yields: 10,
        sleeps: SLEEPS,
    };
    let empty = || stats.snapshot().empty;
    let begun = Instant::now();
    let mut asked = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| worker.run(&stop, idle).unwrap());
        for _ in 0..3 {
            let before = empty();
            wait_until("it sleeps", || empty() > before + u64::from(SLEEPS));
            // A reply wakes this thread: the worker needs no help from others to wake up.
            far.write_all(request.as_bytes()).unwrap();
            let mut reply = [0; 512];
            assert!(far.read(&mut reply).unwrap() > 64);
            asked += 1;
            publisher.publish(Snapshot::from_bytes(&bytes).unwrap());
            wait_until("it lets the old snapshot go", || publisher.reclaim() == 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
    // Else it would have made millions.
    let slept = begun.elapsed().as_millis() / LONGEST_SLEEP.as_millis();
    let most = (asked + 1) * u128::from(SLEEPS + 2) + slept;
    assert!(u128::from(empty()) <= most, "{} of {most}", empty());
    assert_eq!(stats.snapshot().answered, 3);
}
