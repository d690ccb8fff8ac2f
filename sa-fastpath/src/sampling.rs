//! How long batches take, of some of them: a histogram with one writer, on cache lines of its own.
//!
//! Off, a turn pays for one branch; on, one turn in so many reads the clock twice.
//!
//! Buckets: 0 to 127 ns have one each; from there every doubling has 64, so a bucket is at most
//! 1/64 of its time wide.
//!
//! ```text
//!  time, ns     0 1 2 … 127 | 128 130 132 … 254 | 256 260 … 508 | 512 …
//!  bucket       0 1 2 … 127 | 128 129 130 … 191 | 192 193 … 255 | 256 …
//! ```
//!
//! Up to 4.3 s that is 1,728 counters, 13.5 KiB a worker. Writing is one addition to one line;
//! whoever asks for percentiles adds them up.

use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Times of one worker's batches, each from looking for requests to handing over the last reply.
/// Written by the worker, read by anyone at any time: a reader may miss the newest sample, and sees
/// no torn number.
#[derive(Debug)]
pub struct Sampling {
    every: NonZeroU32,
    /// Counters by bucket. Shape: [`BUCKETS`] in all.
    buckets: Box<[Line]>,
}

/// Counters of one cache line, aligned so that nothing else shares it.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([AtomicU64; LINE]);

impl Sampling {
    /// Of every so many batches one. Allocates nothing afterwards.
    pub fn new(every: NonZeroU32) -> Self {
        let lines = (0..BUCKETS / LINE).map(|_| Line::default());
        Self {
            every,
            buckets: lines.collect(),
        }
    }

    /// Of how many batches one is timed.
    pub const fn every(&self) -> NonZeroU32 {
        self.every
    }

    /// Counts one. Only for the owning thread.
    pub(crate) fn record(&self, time: Duration) {
        let bucket = bucket(time);
        let line = self.buckets.get(bucket / LINE);
        if let Some(counter) = line.and_then(|line| line.0.get(bucket % LINE)) {
            // Load and store, not `fetch_add`: there is one writer, so nothing can come between,
            // and a locked instruction would cost as much as a request.
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// What was counted so far, each counter read once.
    pub fn snapshot(&self) -> Times {
        let counters = self.buckets.iter().flat_map(|line| &line.0);
        Times {
            counts: counters.map(|one| one.load(Ordering::Relaxed)).collect(),
        }
    }
}

/// Times of batches that were sampled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// Shape: [`BUCKETS`], or none.
    counts: Vec<u64>,
}

impl Times {
    /// How many batches were timed.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
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

/// Which turns of a worker are timed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sampler {
    /// Every so many batches one is timed; 0 for none.
    every: u32,
    /// Batches until the next that is.
    left: u32,
}

impl Sampler {
    /// The first batch is timed, then one in so many.
    pub(crate) fn new(sampling: Option<&Sampling>) -> Self {
        let every = sampling.map_or(0, |sampling| sampling.every().get());
        Self { every, left: 1 }
    }

    /// The time, if this turn is one of them.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Option<Instant> {
        if self.every == 0 { None } else { self.time() }
    }

    /// The time, where this batch is to be timed. Out of line: with sampling off there is only a
    /// branch.
    #[cold]
    fn time(&self) -> Option<Instant> {
        (self.left <= 1).then(Instant::now)
    }

    /// A turn is over that began at `begun` and found requests.
    #[inline(always)]
    pub(crate) fn end(&mut self, begun: Option<Instant>, sampling: Option<&Sampling>) {
        if self.every != 0 {
            self.count(begun, sampling);
        }
    }

    /// Notes the time of a batch, and begins to count anew.
    #[cold]
    fn count(&mut self, begun: Option<Instant>, sampling: Option<&Sampling>) {
        match (begun, sampling) {
            (Some(begun), Some(sampling)) => {
                sampling.record(begun.elapsed());
                self.left = self.every;
            }
            _ => self.left = self.left.saturating_sub(1),
        }
    }
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
        let sampling = Sampling::new(NonZeroU32::MIN);
        assert_eq!(sampling.snapshot().per_mille(500), None);
        for time in 1..=1000 {
            sampling.record(Duration::from_nanos(time * 100));
        }
        let times = sampling.snapshot();
        assert_eq!(times.count(), 1000);
        for (of_thousand, exact) in [(1, 100), (500, 50_000), (990, 99_000), (1000, 100_000)] {
            let found = times.per_mille(of_thousand).unwrap().as_nanos();
            assert!((exact..exact + exact / 60 + 1).contains(&found), "{found}");
        }
    }

    #[test]
    fn one_batch_in_so_many_is_timed() {
        let sampling = Sampling::new(NonZeroU32::new(10).unwrap());
        let mut sampler = Sampler::new(Some(&sampling));
        let mut timed = 0;
        for turn in 0..1000 {
            let begun = sampler.begin();
            timed += u32::from(begun.is_some());
            // A turn that finds nothing leaves it to the next.
            if turn % 2 == 0 {
                sampler.end(begun, Some(&sampling));
            }
        }
        assert_eq!(sampling.snapshot().count(), 50);
        assert!(timed >= 50);
        let off = Sampler::new(None);
        assert!(off.begin().is_none());
    }
}
