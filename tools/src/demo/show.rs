//! What a person watching sees.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use sa_bench::ClosedReport;

use super::load::{Results, Workload};

/// A line that overwrites itself while a workload runs; nothing when nobody watches.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn progress(name: &str, elapsed: Duration, answered: u64) {
    let mut out = std::io::stdout().lock();
    if !out.is_terminal() {
        return;
    }
    let seconds = elapsed.as_secs_f64();
    let rate = answered as f64 / seconds.max(1e-9) / 1e6;
    // A closed terminal is no reason to stop.
    let _ = write!(out, "\r{name:<12}{seconds:4.1} s, {rate:6.2} M queries/s")
        .and_then(|()| out.flush());
}

/// The result of a workload.
pub(super) fn workload(load: &Workload) {
    if std::io::stdout().is_terminal() {
        print!("\r\x1b[K");
    }
    let us = |quantile: f64| load.open.latency.value_at_quantile(quantile) as f64 / 1e3;
    println!(
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

/// The result of the swap.
pub(super) fn swap(closed: &ClosedReport, swap: Duration) {
    println!(
        "swap        changed policy published under {:.2} M queries/s, in use after {:.1} us; {} \
         lost, {} wrong",
        closed.mqps(),
        swap.as_secs_f64() * 1e6,
        closed.lost,
        closed.wrong
    );
}

/// Everything together, and how far latencies can be trusted on this machine.
pub(super) fn totals(results: &Results) {
    println!(
        "\n{} queries, {} lost, {} wrong (every reply compared whole with the slow twins)",
        results.queries, results.lost, results.wrong
    );
    println!(
        "this machine paused a spinning thread {} times in 0.3 s, up to {:.0} us: tails below that \
         are not the server's",
        results.floor.gaps,
        results.floor.longest.as_secs_f64() * 1e6
    );
}
