//! Policy, a cable, a switch: changes in the middle of one closed loop.
//!
//! The state of the fabric that a reply must come from is counted in generations, which the pool of
//! requests has expected replies for:
//!
//! ```text
//! generation 0   as prepared
//!            1   the policy changed
//!            2   and a cable failed
//!            3   and a switch failed
//! ```
//!
//! While one snapshot takes over from another, a reply of either is right, as a whole; a reply that
//! mixes two is wrong. Before and after that only one is.
//!
//! A change goes through the same steps each time:
//!
//! ```text
//! compile        the next state, from the routes in force       (worker answers meanwhile)
//! begin_next     replies of either generation are right
//! publish        one pointer
//! .. epoch       the worker has answered by it                   <- `swap` ends here
//! finish_next    requests from now on: the new generation alone
//! reclaim        the old snapshot is given back
//! ```

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
/// One run of one closed loop: load never stops between the changes.
pub(super) struct Changes {
    /// All generations together.
    pub(super) closed: ClosedReport,
    /// From the publication of the changed policy until the worker answered from it.
    pub(super) policy_swap: Duration,
    /// What was seen from the new policy on.
    pub(super) policy_seen: Seen,
    /// In the order in which they come: each is on top of those before.
    pub(super) failures: Vec<Failed>,
}

/// What a failure showed.
/// What people are told about one change, and what the verdict is made from.
pub(super) struct Failed {
    /// For people: which cable or switch.
    pub(super) what: String,
    /// Of the compilation that served, which went on from the routes before.
    pub(super) timings: Timings,
    /// From publication until the worker has answered by it.
    pub(super) swap: Duration,
    /// From the fabric with nothing failed, and all the rest as it is.
    /// Compared with `Prepared::after` and not with the failure before, so that what adds up shows.
    pub(super) difference: Difference,
    /// Ordered pairs with a host that is cut off.
    /// They are no loss: there is no cable left that could carry them.
    pub(super) pairs_cut_off: u64,
    /// Ordered pairs of hosts that are left.
    pub(super) pairs_left: u64,
    /// Requests of the pool that got a path before and get none now.
    pub(super) requests_without: usize,
    /// Replies, lost ones and wrong ones, of this generation.
    pub(super) seen: Seen,
}

/// Changes the policy, fails a cable, fails a switch, with `each` between one and the next.
/// Blocks for about `each` times four, and for the compilations in between. Errors: a thread or a
/// compilation fails; a state is refused.
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
            // Shared with the client, which judges replies by it.
            generations: &generations,
            each,
        };
        // The loop runs on a thread of its own for as long as the closure plays.
        closed_loop(client, pool, &generations, BATCH, || live.play(prepared))
    });
    let (run, _) = or_fail(run)?;
    let (closed, played) = or_fail(run)?;
    let (policy_swap, swapped) = played?;
    let seen = |generation| {
        let seen = closed.by_generation.get(generation);
        seen.copied().unwrap_or_default()
    };
    // Generation 0 is as prepared and 1 the policy, so failures begin at 2.
    let failures = prepared.damages.iter().zip(swapped).zip(2..);
    let failures = failures.map(|((damage, (compiled, swap)), generation)| {
        // Of hosts that the snapshot has: a host whose switch failed is not in it.
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
/// Of the sample that is asked, how many are cut off: what clients notice of it.
fn requests_without(pool: &Pool, generation: usize) -> usize {
    let [before, after] = [1, generation].map(|it| pool.expected.get(it).into_iter().flatten());
    let has_path = |expected: &&Expected| matches!(expected, Expected::Records(_));
    before
        .zip(after)
        .filter(|(before, after)| has_path(before) && !has_path(after))
        .count()
}

/// The fabric while it is asked.
/// Lives for the time of the loop, on the thread that changes things; the worker and the client
/// have theirs.
struct Live<'a> {
    /// The one way to the worker: a pointer is swapped, nothing is stopped.
    publisher: &'a mut Publisher,
    /// What the worker counts; the epoch in it says by what it answers.
    stats: &'a WorkerStats,
    generations: &'a Generations,
    /// How long every state stays, so that people can watch and replies add up.
    each: Duration,
}

/// What went into service, and how long the worker took to take it up.
type Swapped = (Compiled, Duration);

impl Live<'_> {
    /// The changes one after the other.
    /// Stops at the first that fails: the states after it would have other generations than the
    /// pool expects.
    fn play(&mut self, prepared: &Prepared) -> Outcome<(Duration, Vec<Swapped>)> {
        self.wait("no change");
        let policy_swap = self.swap(&prepared.after)?;
        self.wait("new policy");
        let mut failed: Vec<Swapped> = Vec::new();
        for damage in &prepared.damages {
            // In operation the last routes are at hand, and they spare some of the work.
            let before = failed.last().map_or(&prepared.after, |(last, _)| last);
            let next = self.fail(damage, before)?;
            failed.push(next);
            self.wait(&damage.what);
        }
        Ok((policy_swap, failed))
    }

    /// What an SM does about a failure: routes, proves, compiles, publishes.
    /// In `swap` only the publication counts; compiling is told apart from it.
    fn fail(&mut self, damage: &Damage, before: &Compiled) -> Outcome<Swapped> {
        let compiled = damage.compile_after(&before.parts)?;
        let swap = self.swap(&compiled)?;
        Ok((compiled, swap))
    }

    /// Publishes. Returns how long it took until the worker answered from it.
    /// The time has in it that the worker ends the batch at hand, because it looks for a snapshot
    /// once per batch.
    fn swap(&mut self, next: &Compiled) -> Outcome<Duration> {
        // A copy of its own: the publisher gives old ones back when no reader has them any more.
        let next = Snapshot::from_bytes(next.snapshot.as_bytes()).map_err(Failure::failed)?;
        // Before publication: from then on a reply may be of either.
        self.generations.begin_next();
        let start = Instant::now();
        let epoch = self.publisher.publish(next);
        // Spinning, because a sleep would be longer than what is measured.
        while self.stats.snapshot().epoch < Some(epoch) {
            // The worker may be waiting for this very core.
            std::thread::yield_now();
        }
        let swap = start.elapsed();
        // After the worker has changed over: whatever is sent from now on must be answered by the
        // new one.
        self.generations.finish_next();
        self.publisher.reclaim();
        Ok(swap)
    }

    /// Progress counts from the beginning of this state.
    fn wait(&self, state: &str) {
        let before = self.stats.snapshot().received;
        wait(self.each, |elapsed| {
            show::progress(state, elapsed, self.stats.snapshot().received - before);
        });
    }
}
