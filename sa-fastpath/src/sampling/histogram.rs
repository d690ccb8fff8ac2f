//! A histogram of times with one writer, on cache lines of its own.
//!
//! Buckets: 0 to 127 ns have one each; from there every doubling has 64, so a bucket is at most
//! 1/64 of its time wide.
//!
//! ```text
//!  time, ns     0 1 2 … 127 | 128 130 132 … 254 | 256 260 … 508 | 512 …
//!  bucket       0 1 2 … 127 | 128 129 130 … 191 | 192 193 … 255 | 256 …
//! ```
//!
//! Up to 4.3 s that is 1,728 counters, 13.5 KiB. Writing is two additions, each to one line;
//! whoever asks for percentiles adds them up.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

/// Written by one thread, read by anyone at any time: a reader may miss the newest time, and sees
/// no torn number.
#[derive(Debug)]
pub(super) struct Histogram {
    /// Counters by bucket. Shape: [`BUCKETS`] in all.
    buckets: Box<[Line]>,
    /// Of all times. Units: ns, longer ones than the last bucket in full.
    sum: CachePadded<AtomicU64>,
}

/// Counters of one cache line, aligned so that nothing else shares it.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([AtomicU64; LINE]);

impl Histogram {
    /// Empty. Allocates nothing afterwards.
    pub(super) fn new() -> Self {
        let lines = (0..BUCKETS / LINE).map(|_| Line::default());
        Self {
            buckets: lines.collect(),
            sum: CachePadded::default(),
        }
    }

    /// Counts so many of the same time. Only for the owning thread.
    pub(super) fn record(&self, time: Duration, count: u64) {
        let bucket = bucket(time);
        let line = self.buckets.get(bucket / LINE);
        if let Some(counter) = line.and_then(|line| line.0.get(bucket % LINE)) {
            add(counter, count);
        }
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        add(&self.sum, time.saturating_mul(count));
    }

    /// What was counted so far, each counter read once.
    pub(super) fn snapshot(&self) -> Times {
        let counters = self.buckets.iter().flat_map(|line| &line.0);
        Times {
            counts: counters.map(|one| one.load(Ordering::Relaxed)).collect(),
            sum: Duration::from_nanos(self.sum.load(Ordering::Relaxed)),
        }
    }
}

/// Load and store, not `fetch_add`: there is one writer, so nothing can come between,
/// and a locked instruction would cost as much as a request.
fn add(counter: &AtomicU64, more: u64) {
    let so_far = counter.load(Ordering::Relaxed);
    counter.store(so_far.saturating_add(more), Ordering::Relaxed);
}

/// Times that were sampled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// Shape: [`BUCKETS`], or none.
    counts: Vec<u64>,
    /// Of all of them.
    sum: Duration,
}

impl Times {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All of them together.
    pub const fn sum(&self) -> Duration {
        self.sum
    }

    /// How many are shorter than each power of two, from 2^`first` ns on; longer ones than the last
    /// are in none. Shape: each has those of the one before too. Exact, as no bucket has times on
    /// both sides of a power of two.
    pub fn below_powers<const N: usize>(&self, first: u32) -> [(Duration, u64); N] {
        let mut below = [(Duration::ZERO, 0); N];
        for ((limit, count), power) in below.iter_mut().zip(first..) {
            let end = 1_u64.checked_shl(power).unwrap_or(u64::MAX);
            *limit = Duration::from_nanos(end);
            // The first bucket that is not below it is that of the power itself.
            let shorter = self.counts.iter().take(bucket(*limit));
            *count = shorter.sum();
        }
        below
    }

    /// What so many of a thousand do not exceed, at most 1.6 % too much; none without samples.
    ///
    /// Cost: one pass over the buckets. Called when metrics are read, never by a worker.
    pub fn per_mille(&self, of_thousand: u32) -> Option<Duration> {
        let most = self.count();
        // Rounded up: of 3 samples the median is the second.
        // In 128 bits: no count and no argument can overflow the product.
        let wanted = (u128::from(most) * u128::from(of_thousand)).div_ceil(1000);
        let mut seen = 0_u128;
        let found = self.counts.iter().position(|count| {
            seen += u128::from(*count);
            seen >= wanted.max(1)
        });
        found.map(longest)
    }
}

/// Counters of one cache line.
const LINE: usize = 8;
/// Buckets to each doubling of the time: none is wider than 1/64 of what it holds.
const PER_DOUBLING: u32 = 64;
/// Up to here each ns has a bucket of its own, and from there on [`PER_DOUBLING`] share a doubling.
const EXACT_BITS: u32 = PER_DOUBLING.ilog2() + 1;
/// Times from 4.3 s on are one.
const MOST: u64 = u32::MAX as u64;
/// How many there are.
const BUCKETS: usize = (32 - EXACT_BITS as usize + 2) * PER_DOUBLING as usize;

const _: () = assert!(BUCKETS.is_multiple_of(LINE));

/// The bucket of a time.
fn bucket(time: Duration) -> usize {
    let time = u64::try_from(time.as_nanos()).map_or(MOST, |time| time.min(MOST));
    // `| 1`, because zero has no logarithm; both have the bucket of their own value anyway.
    let doublings = (time | 1).ilog2().saturating_sub(EXACT_BITS - 1);
    let bucket = u64::from(doublings * PER_DOUBLING) + (time >> doublings);
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

/// The longest time of a bucket.
fn longest(bucket: usize) -> Duration {
    let bucket = bucket as u64;
    let per_doubling = u64::from(PER_DOUBLING);
    let doublings = (bucket / per_doubling).saturating_sub(1);
    let first = bucket - doublings * per_doubling;
    Duration::from_nanos(((first + 1) << doublings) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_has_a_bucket_that_is_narrow() {
        let mut times: Vec<u64> = (0..5000).collect();
        times.extend((0..33).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        for time in times {
            let bucket = bucket(Duration::from_nanos(time));
            assert!(bucket < BUCKETS);
            let longest = u64::try_from(longest(bucket).as_nanos()).unwrap();
            let counted = time.min(MOST);
            assert!(longest >= counted, "{time}: {longest}");
            assert!(longest - counted <= counted / 64, "{time}: {longest}");
        }
        assert_eq!(bucket(Duration::from_secs(1000)), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_of_what_was_counted() {
        let histogram = Histogram::new();
        assert_eq!(histogram.snapshot().per_mille(500), None);
        for time in 1..=1000 {
            histogram.record(Duration::from_nanos(time * 100), 1);
        }
        let times = histogram.snapshot();
        assert_eq!(times.count(), 1000);
        for (of_thousand, exact) in [(1, 100), (500, 50_000), (990, 99_000), (1000, 100_000)] {
            let found = times.per_mille(of_thousand).unwrap().as_nanos();
            assert!((exact..exact + exact / 60 + 1).contains(&found), "{found}");
        }
    }

    #[test]
    fn what_is_below_a_power_of_two_is_exact() {
        let histogram = Histogram::new();
        for (time, count) in [(255, 1), (256, 2), (511, 4), (512, 8), (1 << 40, 16)] {
            histogram.record(Duration::from_nanos(time), count);
        }
        let times = histogram.snapshot();
        let below: [(Duration, u64); 3] = times.below_powers(8);
        let ns = Duration::from_nanos;
        assert_eq!(below, [(ns(256), 1), (ns(512), 7), (ns(1024), 15)]);
        assert_eq!(times.count(), 31);
        let sum = 255 + 2 * 256 + 4 * 511 + 8 * 512 + (16 << 40);
        assert_eq!(times.sum(), ns(sum));
    }
}
