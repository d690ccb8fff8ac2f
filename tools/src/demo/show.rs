//! What a person watching sees.
//!
//! Everything is one line per thing, with a word of twelve columns in front. While a workload runs
//! its line is written over and over, on a terminal only: in a file or a pipe each of these would
//! be a line of its own.
//!
//! What is wrong is never shown by a missing line: lost and wrong replies are told with every
//! result, and are 0 where all is well.

use std::time::Duration;

use sa_bench::Seen;
use sa_fabric::display::first_few;

use super::changes::{Changes, Failed};
use super::load::{Results, Workload};
use crate::output;

/// A line that overwrites itself while a workload runs; nothing when nobody watches.
/// Rate since the workload began, not since the last look, so that it settles.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn progress(name: &str, elapsed: Duration, answered: u64) {
    if !output::is_terminal() {
        return;
    }
    let seconds = elapsed.as_secs_f64();
    // Never by zero: the first look may come at once.
    let rate = answered as f64 / seconds.max(1e-9) / 1e6;
    out!("\r{name:<12}{seconds:4.1} s, {rate:6.2} M queries/s");
    // Standard output is buffered by lines, and this is none yet.
    output::show();
}

/// The result of a workload.
/// CPU time is the worker's; the rate is that of both ends together, each on its core.
///
/// Latency is that of the open loop at half the rate, since a closed loop hides the queue.
pub(super) fn workload(load: &Workload) {
    clear();
    // The histogram counts nanoseconds.
    let us = |quantile: f64| load.open.latency.value_at_quantile(quantile) as f64 / 1e3;
    outln!(
        "{:<12}{:6.2} M queries/s, {:.0} ns of worker CPU each ({:.0} with waiting); at half that \
         rate p50 {:.2} us, p99 {:.1} us, p99.9 {:.1} us; {} lost, {} wrong",
        load.name,
        load.closed.mqps(),
        load.cpu_ns_per_query,
        load.spun_ns_per_query,
        us(0.5),
        us(0.99),
        us(0.999),
        load.closed.lost + load.open.lost,
        load.closed.wrong + load.open.wrong
    );
}

/// What happened while everything changed.
/// Printed when the loop is over: what each state lost or got wrong is only known then.
pub(super) fn changes(changes: &Changes) {
    clear();
    outln!(
        "changes     {:.2} M queries/s, by GIDs and by LIDs, while all of this happens:",
        changes.closed.mqps()
    );
    outln!(
        "policy      changed, in use after {:.1} us; {}",
        changes.policy_swap.as_secs_f64() * 1e6,
        counted(changes.policy_seen)
    );
    changes.failures.iter().for_each(failure);
}

/// Two lines: how long it took, and what became of the pairs.
/// What is cut off is named, since it is no loss of the routing.
fn failure(failed: &Failed) {
    let (difference, timings) = (&failed.difference, &failed.timings);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    outln!(
        "failed      {}: re-routed in {:.1} ms, proved in {:.1} ms, compiled in {:.1} ms, in use \
         after {:.1} us",
        failed.what,
        ms(timings.route),
        ms(timings.check),
        ms(timings.build),
        failed.swap.as_secs_f64() * 1e6,
    );
    let pairs = match difference.cut_off.as_slice() {
        // A cable took nobody with it, so all pairs count.
        [] => format!("of the {} pairs of hosts", failed.pairs_left),
        hosts => format!(
            "{} cut off with their {} pairs ({} of the requests); of the {} other pairs",
            first_few(hosts),
            failed.pairs_cut_off,
            failed.requests_without,
            failed.pairs_left
        ),
    };
    outln!(
        "            {pairs} {} lost their path, {} changed SL; {}",
        difference.pairs_lost,
        difference.sl_changes,
        counted(failed.seen)
    );
}

/// What was seen of one generation.
fn counted(seen: Seen) -> String {
    format!(
        "{} replies, {} lost, {} wrong",
        seen.queries, seen.lost, seen.wrong
    )
}

/// Makes way for a line that stays.
/// To the beginning of the line, and to its end with blanks (ECMA-48, EL).
fn clear() {
    if output::is_terminal() {
        out!("\r\x1b[K");
    }
}

/// Everything together, and how far latencies can be trusted on this machine.
/// Told last, since it is what the run is judged by; the pauses are told so that nobody takes the
/// machine's for the server's.
pub(super) fn totals(results: &Results, is_interrupted: bool) {
    clear();
    if is_interrupted {
        let changes = match results.changes {
            Some(_) => "all changes are",
            None => "no change is",
        };
        outln!(
            "\ninterrupted: {} workloads are through, {changes}; what was under way does not count",
            results.workloads.len()
        );
    }
    outln!(
        "\n{} queries, {} lost, {} wrong (every reply compared whole with the reference)",
        results.queries,
        results.lost,
        results.wrong
    );
    outln!(
        "this machine paused a spinning thread {} times in 0.3 s, up to {:.0} us: tails below that \
         are not the server's",
        results.floor.gaps,
        results.floor.longest.as_secs_f64() * 1e6
    );
}
