//! What a new snapshot costs: a batch of the worker that takes it up, the writer that puts it into
//! service, and those who build it. 24x24x24 torus, two hosts per switch.
//!
//! Prints one line per figure. Instructions are counted by valgrind where that is installed.
//!
//! A worker that takes up a new snapshot touches other memory from then on: its tables are cold.
//! What that costs one batch is the difference between two medians, timed in turn on the same
//! thread while another one publishes. The store alone is timed with a type that has nothing to
//! touch.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot start should say so"
)]

use std::fs;
use std::hint::{black_box, spin_loop};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sa_bench::synthetic::torus_model;
use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_fabric::generate::{TorusSpec, plan};
use sa_fastpath::affinity;
use sa_fastpath::publish::{Pretouch, Publisher};
use sa_fastpath::punt::punt_queue;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::Worker;
use sa_port::BATCH;
use sa_port::ring::{RingClient, RingServer, ring};
use sa_snapshot::{Builder, Snapshot};
use sa_wire::umad::Slot;
use sa_wire::{Gid, SubnetPrefix, request};

/// Batches timed with a new snapshot, and as many without.
const ROUNDS: usize = 2_000;
/// Batches between timed ones, so that tables are warm where nothing changed.
const BETWEEN: usize = 8;
/// Runs of what is timed whole.
const REPEATS: usize = 7;

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--turns") => turns(arguments.next().as_deref() == Some("swap")),
        _ => everything().expect("what is printed can be written"),
    }
}

fn everything() -> io::Result<()> {
    let model = torus_model([24; 3], 2).expect("fits the LIDs");
    let bytes = Builder::build(&model).expect("builds").as_bytes().to_vec();
    let mut out = io::stdout().lock();
    writeln!(out, "snapshot: {} bytes", bytes.len())?;
    let [still, swapped] = batches(&bytes);
    writeln!(out, "batch of {BATCH}, same snapshot: {}", spread(&still))?;
    writeln!(out, "batch of {BATCH}, new snapshot:  {}", spread(&swapped))?;
    let adds = median(&swapped).saturating_sub(median(&still));
    writeln!(out, "a new snapshot adds (medians): {adds:?}")?;
    writeln!(out, "store while a core reads: {}", spread(&stores()))?;
    writeln!(
        out,
        "publish, pre-touching included: {}",
        spread(&publications(&bytes))
    )?;
    match (instructions("still"), instructions("swap")) {
        (Some(still), Some(swap)) => {
            let per = (swap.saturating_sub(still)) / ROUNDS as u64;
            writeln!(out, "a new snapshot adds instructions to one batch: {per}")?;
        }
        _ => writeln!(out, "instructions: not counted, there is no valgrind")?,
    }
    build(&mut out)
}

/// A worker on a ring, and who asks it, on one thread.
struct Bed {
    client: RingClient,
    worker: Worker<RingServer>,
    requests: Vec<Slot>,
    next: usize,
}

impl Bed {
    fn new(publisher: &Publisher, snapshot: &Snapshot) -> Self {
        let (client, server, _) = ring(4 * BATCH);
        let (_, sender) = punt_queue(16);
        let reader = publisher.reader().expect("a place");
        let stats = Arc::new(WorkerStats::default());
        Self {
            client,
            worker: Worker::new(server, reader, sender(0), stats),
            requests: requests(snapshot),
            next: 0,
        }
    }

    /// Fills a batch.
    fn fill(&mut self) {
        for slot in self.client.claim(BATCH) {
            *slot = self.requests.get(self.next).copied().unwrap_or(Slot::EMPTY);
            self.next = (self.next + 1) % self.requests.len();
        }
        self.client.publish(BATCH);
    }

    /// Takes the replies.
    fn empty(&mut self) {
        let back = self.client.replies().len();
        assert_eq!(back, BATCH);
        self.client.release(back);
    }

    fn turn(&mut self) -> Duration {
        self.fill();
        let begun = Instant::now();
        one_turn(&mut self.worker);
        let took = begun.elapsed();
        self.empty();
        took
    }
}

/// What instructions are counted in.
#[inline(never)]
fn one_turn(worker: &mut Worker<RingServer>) {
    let count = worker.turn().expect("a ring does not fail");
    assert_eq!(black_box(count), BATCH);
}

fn requests(snapshot: &Snapshot) -> Vec<Slot> {
    let hosts = snapshot.ports().filter(|(_, port)| !port.is_switch());
    let hosts: Vec<(u16, Gid)> = hosts
        .map(|(_, port)| {
            let guid = port.guid().expect("not zero");
            (port.lid, Gid::unicast(SubnetPrefix::LINK_LOCAL, guid))
        })
        .collect();
    let at = |n: usize| {
        hosts
            .get(n % hosts.len())
            .copied()
            .expect("there are hosts")
    };
    let pairs = (0..16_384).map(|n| (at(n * 7919), at(n * 104_729 + 11)));
    pairs
        .map(|((lid, from), (_, to))| request::path_by_gids(lid, from, to))
        .collect()
}

/// Times of batches with the same snapshot and with a new one. Another thread publishes, on another
/// core where there is one, and is asked before each batch that is timed.
fn batches(bytes: &[u8]) -> [Vec<Duration>; 2] {
    let mut publisher = Publisher::new();
    publisher.publish(loaded(bytes));
    let current = publisher.current().map(Arc::clone).expect("published");
    let mut bed = Bed::new(&publisher, &current.snapshot);
    drop(current);
    let (asked, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let cores = affinity::cores();
    let rounds = 2 * ROUNDS as u64;
    std::thread::scope(|scope| {
        let publishing = scope.spawn(|| {
            cores.get(1).copied().map(affinity::pin);
            for round in 1..=rounds {
                // Made before it is asked for: building is not what is timed.
                let fresh = (round % 2 == 0).then(|| loaded(bytes));
                wait(&asked, round);
                fresh.map(|fresh| publisher.publish(fresh));
                done.store(round, Ordering::Release);
            }
        });
        let timing = scope.spawn(|| {
            cores.first().copied().map(affinity::pin);
            let mut times = [Vec::new(), Vec::new()];
            for round in 1..=rounds {
                asked.store(round, Ordering::Release);
                wait(&done, round);
                let took = bed.turn();
                if let Some(times) = times.get_mut(usize::from(round % 2 == 0)) {
                    times.push(took);
                }
                for _ in 0..BETWEEN {
                    bed.turn();
                }
            }
            times
        });
        publishing.join().expect("publishes");
        timing.join().expect("answers")
    })
}

fn wait(number: &AtomicU64, wanted: u64) {
    let mut looks = 0_u32;
    while number.load(Ordering::Acquire) < wanted {
        looks += 1;
        // The other end may be waiting for this core.
        if looks.is_multiple_of(1024) {
            std::thread::yield_now();
        }
        spin_loop();
    }
}

/// Checked and copied, as from a file.
fn loaded(bytes: &[u8]) -> Snapshot {
    Snapshot::from_bytes(bytes).expect("was built here")
}

/// Nothing to touch: what is left of publishing is the store.
struct Nothing;

impl Pretouch for Nothing {
    fn pretouch(&self) {}
}

/// Times of the store alone, with a reader that looks all the time.
fn stores() -> Vec<Duration> {
    let mut publisher = Publisher::new();
    let mut reader = publisher.reader().expect("a place");
    let stop = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while stop.load(Ordering::Relaxed) == 0 {
                black_box(reader.refresh().map(|published| published.epoch));
            }
        });
        let times = (0..20_000).map(|_| timed(|| publisher.publish(Nothing)).1);
        let times = times.collect();
        stop.store(1, Ordering::Relaxed);
        times
    })
}

fn publications(bytes: &[u8]) -> Vec<Duration> {
    let mut publisher = Publisher::new();
    let times = (0..200).map(|_| {
        let fresh = loaded(bytes);
        timed(|| publisher.publish(fresh)).1
    });
    times.collect()
}

/// The same number of batches with and without new snapshots, for valgrind.
fn turns(swap: bool) {
    let model = torus_model([8; 3], 2).expect("fits the LIDs");
    let snapshot = Builder::build(&model).expect("builds");
    let bytes = snapshot.as_bytes().to_vec();
    let mut publisher = Publisher::new();
    let mut bed = Bed::new(&publisher, &snapshot);
    publisher.publish(snapshot);
    bed.turn();
    for _ in 0..ROUNDS {
        if swap {
            publisher.publish(loaded(&bytes));
        }
        bed.turn();
    }
}

/// Instructions of all batches of [`turns`]; none without valgrind.
fn instructions(how: &str) -> Option<u64> {
    let this = std::env::current_exe().ok()?;
    let directory = tempfile::tempdir().ok()?;
    let file = directory.path().join("callgrind");
    let mut command = Command::new("valgrind");
    // Only inside `one_turn`: publishing and filling are left out.
    command.args(["--tool=callgrind", "--toggle-collect=*one_turn*"]);
    command.arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(this).args(["--turns", how]);
    let output = command.output().ok()?;
    if !output.status.success() {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let sum = text.lines().find_map(|line| {
        let sum = line
            .strip_prefix("summary:")
            .or_else(|| line.strip_prefix("totals:"));
        sum.and_then(|sum| sum.trim().parse().ok())
    });
    sum.filter(|sum| *sum > 0)
}

/// From routed tables to a verified snapshot, and what takes the time of that.
fn build(out: &mut impl Write) -> io::Result<()> {
    let directory = tempfile::tempdir()?;
    for rules in [0, 1000] {
        let parts = routed(directory.path(), rules);
        let mut whole = || pipeline::build(&parts, Vec::new(), Stamp::default()).expect("builds");
        let all = repeated(&mut whole);
        let bytes = whole().as_bytes().to_vec();
        let paths = repeated(|| {
            routing::paths::classes::compile(&parts.topology, &parts.routes, parts.qos())
                .expect("compiles")
        });
        let matching = parts.policy.as_ref().map_or(Duration::ZERO, |policy| {
            repeated(|| policy::compile(policy, &parts.facts, &parts.partitions).expect("compiles"))
        });
        let partitions = repeated(|| parts.partitions.rows());
        let verify = repeated(|| loaded(&bytes));
        let rest = all.saturating_sub(paths + matching + partitions + verify);
        writeln!(
            out,
            "build from routed tables, {rules} rules: {all:?} ({} bytes; path classes {paths:?}, \
             policy {matching:?}, partitions {partitions:?}, verifying with its copy {verify:?}, \
             rows, sorting and layout {rest:?})",
            bytes.len()
        )?;
    }
    Ok(())
}

fn routed(directory: &Path, rules: usize) -> sa_compiler::state::FabricState {
    let plan = plan(&TorusSpec::new([24; 3], 2)).expect("a torus");
    let file = |name: &str| directory.join(name);
    let write = |name: &str, text: String| fs::write(file(name), text).expect("written");
    write("net", plan.net());
    write("conf", plan.torus_conf());
    write("policy", policy_of(rules));
    let inputs = Inputs {
        fabric: file("net"),
        torus_conf: Some(file("conf")),
        policy: (rules > 0).then(|| file("policy")),
        ..Inputs::default()
    };
    let sources = pipeline::read(&inputs).expect("reads");
    pipeline::route(sources).expect("routes")
}

/// Nine of ten rules have a service id of their own, every tenth a class.
fn policy_of(rules: usize) -> String {
    let mut text = String::from("qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\n");
    text += "qos-level\nname: bulk\nsl: 8\nend-qos-level\nend-qos-levels\nqos-match-rules\n";
    for rule in 0..rules {
        text += "qos-match-rule\n";
        text += &match rule % 10 {
            9 => format!("qos-class: {rule}\n"),
            _ => format!("service-id: {}-{}\n", rule * 10, rule * 10 + 4),
        };
        text += "qos-level-name: bulk\nend-qos-match-rule\n";
    }
    text + "end-qos-match-rules\n"
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let result = work();
    (result, begun.elapsed())
}

/// The median of some runs.
fn repeated<T>(mut work: impl FnMut() -> T) -> Duration {
    let times: Vec<_> = (0..REPEATS).map(|_| timed(&mut work).1).collect();
    median(&times)
}

fn median(times: &[Duration]) -> Duration {
    per_mille(times, 500)
}

/// The nearest rank; the last one for 1000.
fn per_mille(times: &[Duration], of_thousand: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let place = times.len() * of_thousand / 1000;
    let last = times.len().saturating_sub(1);
    times.get(place.min(last)).copied().unwrap_or_default()
}

fn spread(times: &[Duration]) -> String {
    let at = |of_thousand| per_mille(times, of_thousand);
    format!(
        "p50 {:?}, p90 {:?}, p99 {:?}, most {:?} ({} samples)",
        at(500),
        at(900),
        at(990),
        at(1000),
        times.len()
    )
}
