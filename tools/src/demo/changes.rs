//! Policy, a cable, a switch: changes in the middle of one closed loop.

use std::time::{Duration, Instant};

use sa_bench::line::{Ends, Line, closed_loop};
use sa_bench::{ClosedReport, Expected, Generations, Pool, Seen};
use sa_compiler::pipeline::{Compiled, Timings};
use sa_fastpath::publish::Publisher;
use sa_fastpath::stats::WorkerStats;
use sa_snapshot::Snapshot;

use super::damage::Damage;
use super::load::{BATCH, wait};
use super::prepare::Prepared;
use super::show;
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::simulate::compare::Difference;

/// What the changes showed.
pub(super) struct Changes {
    pub(super) closed: ClosedReport,
    /// From the publication of the changed policy until the worker answered from it.
    pub(super) policy_swap: Duration,
    /// What was seen from the new policy on.
    pub(super) policy_seen: Seen,
    pub(super) failures: Vec<Failed>,
}

/// What a failure showed.
pub(super) struct Failed {
    pub(super) what: String,
    pub(super) timings: Timings,
    pub(super) swap: Duration,
    /// From the fabric with nothing failed, and all the rest as it is.
    pub(super) difference: Difference,
    /// Ordered pairs with a host that is cut off.
    pub(super) pairs_cut_off: u64,
    /// Ordered pairs of hosts that are left.
    pub(super) pairs_left: u64,
    /// Requests of the pool that got a path before and get none now.
    pub(super) requests_without: usize,
    pub(super) seen: Seen,
}

/// Changes the policy, fails a cable, fails a switch, with `each` between one and the next.
pub(super) fn run(
    line: &mut Line,
    prepared: &Prepared,
    pool: &Pool,
    each: Duration,
) -> Outcome<Changes> {
    let generations = Generations::default();
    let run = line.with_worker(|ends| {
        let Ends {
            publisher,
            client,
            stats,
        } = ends;
        let mut live = Live {
            publisher,
            stats,
            generations: &generations,
            each,
        };
        closed_loop(client, pool, &generations, BATCH, || live.play(prepared))
    });
    let (run, _) = or_fail(run)?;
    let (closed, played) = or_fail(run)?;
    let (policy_swap, swapped) = played?;
    let seen = |generation| {
        let seen = closed.by_generation.get(generation);
        seen.copied().unwrap_or_default()
    };
    let failures = prepared.damages.iter().zip(swapped).zip(2..);
    let failures = failures.map(|((damage, (compiled, swap)), generation)| {
        let pairs = |compiled: &Compiled| {
            let hosts = compiled.snapshot.info().hosts as u64;
            hosts * hosts.saturating_sub(1)
        };
        Failed {
            what: damage.what.clone(),
            timings: compiled.timings,
            swap,
            difference: Difference::new(&prepared.after, &compiled),
            pairs_cut_off: pairs(&prepared.after) - pairs(&compiled),
            pairs_left: pairs(&compiled),
            requests_without: requests_without(pool, generation),
            seen: seen(generation),
        }
    });
    Ok(Changes {
        policy_swap,
        policy_seen: seen(1),
        failures: failures.collect(),
        closed,
    })
}

/// Requests that have a record before any failure and none in `generation`.
fn requests_without(pool: &Pool, generation: usize) -> usize {
    let [before, after] = [1, generation].map(|it| pool.expected.get(it).into_iter().flatten());
    let has_path = |expected: &&Expected| matches!(expected, Expected::Records(_));
    before
        .zip(after)
        .filter(|(before, after)| has_path(before) && !has_path(after))
        .count()
}

/// The fabric while it is asked.
struct Live<'a> {
    publisher: &'a mut Publisher,
    stats: &'a WorkerStats,
    generations: &'a Generations,
    each: Duration,
}

/// What went into service, and how long the worker took to take it up.
type Swapped = (Compiled, Duration);

impl Live<'_> {
    /// The changes one after the other.
    fn play(&mut self, prepared: &Prepared) -> Outcome<(Duration, Vec<Swapped>)> {
        self.wait("no change");
        let policy_swap = self.swap(&prepared.after)?;
        self.wait("new policy");
        let mut failed: Vec<Swapped> = Vec::new();
        for damage in &prepared.damages {
            let before = failed.last().map_or(&prepared.after, |(last, _)| last);
            let next = self.fail(damage, before)?;
            failed.push(next);
            self.wait(&damage.what);
        }
        Ok((policy_swap, failed))
    }

    /// What an SM does about a failure: routes, proves, compiles, publishes.
    fn fail(&mut self, damage: &Damage, before: &Compiled) -> Outcome<Swapped> {
        let compiled = damage.compile_after(&before.parts)?;
        let swap = self.swap(&compiled)?;
        Ok((compiled, swap))
    }

    /// Publishes. Returns how long it took until the worker answered from it.
    fn swap(&mut self, next: &Compiled) -> Outcome<Duration> {
        let next = Snapshot::from_bytes(next.snapshot.as_bytes()).map_err(Failure::failed)?;
        self.generations.begin_next();
        let start = Instant::now();
        let epoch = self.publisher.publish(next);
        while self.stats.snapshot().epoch < Some(epoch) {
            // The worker may be waiting for this very core.
            std::thread::yield_now();
        }
        let swap = start.elapsed();
        self.generations.finish_next();
        self.publisher.reclaim();
        Ok(swap)
    }

    fn wait(&self, state: &str) {
        let before = self.stats.snapshot().received;
        wait(self.each, |elapsed| {
            show::progress(state, elapsed, self.stats.snapshot().received - before);
        });
    }
}
