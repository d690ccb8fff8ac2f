//! Latencies, counted into buckets of at most 0.1 %.
//!
//! HdrHistogram with three digits: from 1 ns to ten minutes in some hundred kilobytes, with a fixed
//! cost per entry. A list of all times would be larger than the caches that are measured.

use std::time::Duration;

use hdrhistogram::Histogram;

/// How long things took.
///
/// One per run; runs are not added up, since a percentile of several runs hides the worst of them.
#[derive(Debug, Clone)]
pub struct Latency(Histogram<u64>);

/// Longest time kept apart. Units: ns.
const LONGEST: u64 = 600_000_000_000;

impl Latency {
    /// An empty one. None when the histogram cannot be made.
    pub fn new() -> Option<Self> {
        Histogram::new_with_bounds(1, LONGEST, 3).ok().map(Self)
    }

    /// Counts one.
    ///
    /// Cost: some nanoseconds and no allocation.
    pub fn record(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(LONGEST);
        // Within bounds by construction; a saturated value is still the longest.
        self.0.saturating_record(nanoseconds.clamp(1, LONGEST));
    }

    /// A quantile, 0.0 to 1.0; 0 when nothing was counted. Units: ns.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    /// The longest. Units: ns.
    pub fn longest_ns(&self) -> u64 {
        self.0.max()
    }

    /// How many were counted.
    pub fn samples(&self) -> u64 {
        self.0.len()
    }
}
