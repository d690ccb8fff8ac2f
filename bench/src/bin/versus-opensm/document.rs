//! What `--json` prints: a line of what is measured and on what, a line for each load, and the
//! verdict.
//!
//! Each line begins with its name and version, which `docs/schemas` has a file for.
//!
//! Figures are in the units that their names say, without rounding: rounding is left to whoever
//! shows them. A ratio is made per round and then reduced to median, least and most, so that a
//! machine that slows down over the run does not shift it.
//!
//! ```text
//! {"schema":"bench.versus-opensm-head/1", ..}     once
//! {"schema":"bench.versus-opensm-load/1", ..}     for each workload and pace
//! {"schema":"bench.versus-opensm/1", ..}          once
//! ```

use sa_bench::pace::Pace;
use serde::Serialize;

use crate::figures::{Sample, Spread, kernel_share};
use crate::machine::Machine;
use crate::rounds::Cell;
use crate::side::Who;

/// The first line.
///
/// What figures depend on: two documents can be compared only where these agree.
#[derive(Debug, Serialize)]
pub(crate) struct Head {
    pub(crate) schema: &'static str,
    pub(crate) machine: Machine,
    /// As `torus:8x8x8`.
    pub(crate) fabric: String,
    pub(crate) hosts_per_switch: u8,
    pub(crate) switches: usize,
    pub(crate) hosts: usize,
    /// Of the policy, 0 for none.
    pub(crate) rules: u64,
    /// Of hosts, asked about.
    pub(crate) pairs: usize,
    pub(crate) seed: u64,
    pub(crate) rounds: u16,
    pub(crate) seconds: f64,
    /// What sapphired's workers do while nobody asks.
    pub(crate) idle: String,
}

impl Head {
    pub(crate) const SCHEMA: &'static str = "bench.versus-opensm-head/1";
}

/// One kind of load, over all rounds.
///
/// Both sides have the same number of rounds: one that fails ends the run.
#[derive(Debug, Serialize)]
pub(crate) struct Load {
    schema: &'static str,
    workload: &'static str,
    r#loop: &'static str,
    /// Of a closed loop: requests under way.
    window: Option<usize>,
    /// Of an open loop. Units: requests per second.
    rate: Option<f64>,
    rounds: usize,
    opensm: Side,
    sapphired: Side,
    ratio: Ratio,
}

/// What one of the two did.
///
/// Latencies are per round and then spread, not pooled: a bad round shows as a wide spread.
#[derive(Debug, Serialize)]
struct Side {
    qps: Figures,
    p50_ns: Figures,
    p99_ns: Figures,
    /// Of all threads of the SA.
    cpu_ns_per_query: Figures,
    /// Of that; none when there were no ticks.
    kernel_share: Option<f64>,
    ibsim_cpu_ns_per_query: Figures,
    client_cpu_ns_per_query: Figures,
    answered: u64,
    timeouts: u64,
    late: u64,
    /// Always 0: a wrong answer ends the run.
    wrong: u64,
    /// Answers with other bytes in a header.
    headers_differ: u64,
    /// The latest request of an open loop behind its time.
    sent_late_ns: Option<f64>,
}

/// sapphired's figures by OpenSM's, round by round.
///
/// Above 1 is more of sapphired: good for the rate, bad for the others.
#[derive(Debug, Serialize)]
struct Ratio {
    qps: Figures,
    p50: Figures,
    p99: Figures,
    cpu: Figures,
}

/// One figure over the rounds.
///
/// Of the rounds, in the unit of the name that it stands behind.
#[derive(Debug, Serialize)]
struct Figures {
    median: f64,
    min: f64,
    max: f64,
}

/// The last line.
///
/// Left to the caller is what to think of it; goals are only in the text for people.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) schema: &'static str,
    /// In closed loops; none without one.
    pub(crate) least_rate_ratio: Option<f64>,
    pub(crate) most_cpu_ratio: f64,
    pub(crate) sides: [Whole; 2],
    /// In words.
    pub(crate) sapphired_counters: String,
    /// Load average of the last minute.
    pub(crate) load: Option<f64>,
}

impl Verdict {
    pub(crate) const SCHEMA: &'static str = "bench.versus-opensm/1";
}

/// One of the two, over all loads.
#[derive(Debug, Serialize)]
pub(crate) struct Whole {
    pub(crate) who: &'static str,
    pub(crate) answered: u64,
    /// Always 0: a wrong answer ends the run.
    pub(crate) wrong: u64,
    pub(crate) headers_differ: u64,
    /// Of a core, while nobody asks.
    pub(crate) idle_share: f64,
    /// In words.
    pub(crate) first_difference: Option<String>,
}

impl Load {
    pub(crate) fn new(cell: &Cell) -> Self {
        let (window, rate) = match cell.pace {
            Pace::Closed { window } => (Some(window), None),
            Pace::Open { rate } => (None, Some(rate)),
        };
        // Of pairs, not of medians: rounds are neighbours in time.
        let ratio =
            |figure: fn(&Sample) -> f64| Figures::from(Spread::ratio(&cell.samples, figure));
        Self {
            schema: "bench.versus-opensm-load/1",
            workload: cell.workload,
            r#loop: if rate.is_some() { "open" } else { "closed" },
            window,
            rate,
            rounds: cell.samples[0].len(),
            opensm: Side::new(cell, Who::OpenSm),
            sapphired: Side::new(cell, Who::Sapphired),
            ratio: Ratio {
                qps: ratio(|it| it.rate),
                p50: ratio(|it| it.p50),
                p99: ratio(|it| it.p99),
                cpu: ratio(|it| it.sa),
            },
        }
    }
}

impl Side {
    fn new(cell: &Cell, who: Who) -> Self {
        let samples = &cell.samples[who.index()];
        let all = |figure: fn(&Sample) -> f64| Figures::from(Spread::over(samples, figure));
        // Sums for counts, spreads for figures: a count over rounds means the same as of one long round.
        let sum = |count: fn(&Sample) -> u64| samples.iter().map(count).sum::<u64>();
        // None in a closed loop, so none at all where no round was open.
        let latest = samples.iter().filter_map(|it| it.sent_late);
        Self {
            qps: all(|it| it.rate),
            p50_ns: all(|it| it.p50),
            p99_ns: all(|it| it.p99),
            cpu_ns_per_query: all(|it| it.sa),
            kernel_share: kernel_share(samples),
            ibsim_cpu_ns_per_query: all(|it| it.ibsim),
            client_cpu_ns_per_query: all(|it| it.client),
            answered: sum(|it| it.answered),
            timeouts: sum(|it| it.timeouts),
            late: sum(|it| it.late),
            // A run with a wrong answer ends before it comes here.
            wrong: 0,
            headers_differ: cell.differences[who.index()].headers,
            sent_late_ns: latest.reduce(f64::max),
        }
    }
}

impl From<Spread> for Figures {
    fn from(spread: Spread) -> Self {
        Self {
            median: spread.median,
            min: spread.least,
            max: spread.most,
        }
    }
}
