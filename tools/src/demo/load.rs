//! The load, every reply checked: workloads one by one, then changes while it goes on.
//!
//! Each workload runs twice: in a closed loop, which finds out what rate worker and client reach
//! together, and in an open one at half that rate, which finds out latencies: in a closed loop a
//! stall holds back the very requests that would have shown it. Then one more closed loop, in which
//! everything changes ([`changes`]).
//!
//! ```text
//! closed loop   --seconds        rate R, CPU time per query
//! open loop     --seconds / 2    at R / 2: p50, p99, p99.9
//! ```

use std::time::{Duration, Instant};

use sa_bench::line::{Line, closed_loop};
use sa_bench::{ClosedReport, Generations, OpenLoop, OpenReport, PauseFloor, Pool};
use sa_snapshot::Snapshot;

use super::changes::{self, Changes};
use super::pools::Pools;
use super::prepare::Prepared;
use super::show;
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::interrupt::Seen;

/// Requests per publication.
pub(super) const BATCH: usize = 32;

/// What a workload showed.
/// Shown as soon as it is there, and kept for the totals.
pub(super) struct Workload {
    /// As people see it, such as `GID-GID`.
    pub(super) name: &'static str,
    /// For `--seconds`.
    pub(super) closed: ClosedReport,
    /// For half as long, at half the rate.
    pub(super) open: OpenReport,
    /// CPU time of the worker, empty turns left out.
    /// Of the closed loop, like the next. Units: ns.
    pub(super) cpu_ns_per_query: f64,
    /// CPU time of the worker, empty turns included.
    pub(super) spun_ns_per_query: f64,
}

/// What all of it showed, or what was through when a signal came.
/// The sums are over workloads and changes, closed loops and open ones.
#[derive(Default)]
pub(super) struct Results {
    /// In the order in which they ran.
    pub(super) workloads: Vec<Workload>,
    /// None until all of them are over: what each state lost is only known then.
    pub(super) changes: Option<Changes>,
    /// What this machine does to a thread by itself, measured before any load.
    pub(super) floor: PauseFloor,
    /// All that were sent.
    pub(super) queries: u64,
    /// Those without a reply in time.
    pub(super) lost: u64,
    /// Replies that are not the expected bytes.
    pub(super) wrong: u64,
}

/// Runs the workloads, then changes the fabric under load.
/// One line for all of it, with a worker that is stopped between workloads and never made anew.
/// Errors: threads or memory are missing, or a snapshot does not verify.
pub(super) fn run(prepared: &Prepared, seconds: f64, seen: &Seen<Results>) -> Outcome {
    let pools = Pools::new(prepared);
    let seconds = Duration::from_secs_f64(seconds);
    let mut line = or_fail(Line::new())?;
    // The one that was read back from its file, so that the file is what is shown to serve.
    line.publish(Snapshot::from_bytes(prepared.mapped.as_bytes()).map_err(Failure::failed)?);
    // While nothing else runs.
    let floor = line.pause_floor();
    seen.with(|results| results.floor = floor);
    for (name, pool) in &pools.workloads {
        let done = workload(&mut line, name, pool, seconds)?;
        seen.with(|results| results.add_workload(done));
    }
    let changes = changes::run(&mut line, prepared, &pools.changes, seconds.div_f64(2.0))?;
    seen.with(|results| results.add_changes(changes));
    Ok(())
}

// Shown and counted together, so that a signal in between tells no sum without its lines.
impl Results {
    fn add_workload(&mut self, done: Workload) {
        show::workload(&done);
        self.queries += done.closed.queries + done.open.sent;
        self.lost += done.closed.lost + done.open.lost;
        self.wrong += done.closed.wrong + done.open.wrong;
        self.workloads.push(done);
    }

    fn add_changes(&mut self, changes: Changes) {
        show::changes(&changes);
        self.queries += changes.closed.queries;
        self.lost += changes.closed.lost;
        self.wrong += changes.closed.wrong;
        self.changes = Some(changes);
    }
}

/// Errors: the line's threads; no memory for a histogram.
fn workload(
    line: &mut Line,
    name: &'static str,
    pool: &Pool,
    seconds: Duration,
) -> Outcome<Workload> {
    let generations = Generations::default();
    // Counters of the worker only grow; what counts is what was added.
    let before = line.stats();
    let closed = line.with_worker(|ends| {
        let stats = ends.stats;
        closed_loop(ends.client, pool, &generations, BATCH, || {
            wait(seconds, |elapsed| {
                let answered = stats.snapshot().received - before.received;
                show::progress(name, elapsed, answered);
            });
        })
    });
    let (closed, cpu) = or_fail(closed)?;
    let (closed, ()) = or_fail(closed)?;
    let empty = line.stats().empty - before.empty;
    // Half: full load would measure the queue that the client makes.
    let rate = closed.mqps() * 1e6 / 2.0;
    let open = line.with_worker(|ends| {
        let open = OpenLoop::new(ends.client, pool, rate);
        open.map(|open| open.run(seconds.div_f64(2.0)))
    });
    let (open, _) = or_fail(open)?;
    let open = open.ok_or_else(|| Failure::failed("no histogram"))?;
    let (cpu_ns_per_query, spun_ns_per_query) = line.per_query(cpu, empty, closed.queries);
    Ok(Workload {
        name,
        closed,
        open,
        cpu_ns_per_query,
        spun_ns_per_query,
    })
}

/// Waits for `duration`, calling `tick` every few milliseconds.
/// Sleeps on the thread that watches, which needs no core meanwhile; it may take one tick longer.
pub(super) fn wait(duration: Duration, mut tick: impl FnMut(Duration)) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::thread::sleep(Duration::from_millis(20));
        tick(start.elapsed());
    }
}
