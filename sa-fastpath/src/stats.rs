//! What a worker did: counters with one writer, on cache lines of their own.
//!
//! Each counter has one writer, the worker, so adding is a load and a store without a locked
//! instruction. Readers (metrics, `sapphire status`, the watchdog) read when they like; the
//! counters of one snapshot may be a batch apart from each other, so sums can differ by as much.

use crossbeam_utils::CachePadded;
use sa_answer::{DropReason, Outcome, PuntReason, Reject};
use sa_port::Counter;
use sa_snapshot::EpochId;

use crate::sampling::{Sampling, Times};

/// Counters of one worker.
#[derive(Debug, Default)]
pub struct WorkerStats {
    inner: CachePadded<Inner>,
    sampling: Option<Sampling>,
}

/// The counters themselves, on cache lines that nobody else writes.
#[derive(Debug, Default)]
struct Inner {
    received: Counter,
    batches: Counter,
    empty: Counter,
    answered: Counter,
    refused: [Counter; Reject::COUNT],
    dropped: [Counter; DropReason::COUNT],
    punted: [Counter; PuntReason::COUNT],
    unsent: Counter,
    epoch: Counter,
}

/// The counters at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatsSnapshot {
    /// Requests taken from the port.
    pub received: u64,
    /// Turns that found any.
    pub batches: u64,
    /// Turns that found none.
    pub empty: u64,
    /// Replies with records, or empty tables.
    pub answered: u64,
    /// Error replies by reason.
    pub refused: [u64; Reject::COUNT],
    /// Requests without reply by reason.
    pub dropped: [u64; DropReason::COUNT],
    /// Requests given to the slow lane by reason.
    pub punted: [u64; PuntReason::COUNT],
    /// Replies that the port could not send.
    pub unsent: u64,
    /// Epoch that the worker holds; none before its first.
    pub epoch: Option<EpochId>,
    /// Times of the batches that were sampled.
    pub times: Times,
}

impl WorkerStats {
    /// Counters of a worker that times some of its batches.
    pub fn sampled(sampling: Sampling) -> Self {
        Self {
            sampling: Some(sampling),
            ..Self::default()
        }
    }

    /// Which batches are timed, and where their times go; none: none is.
    pub const fn sampling(&self) -> Option<&Sampling> {
        self.sampling.as_ref()
    }

    /// Counts one outcome, by its reason where it has one.
    #[inline(always)]
    pub fn count(&self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::Answered(_) => Some(&self.inner.answered),
            Outcome::Refused(_, reject) => self.inner.refused.get(reject as usize),
            Outcome::Dropped(reason) => self.inner.dropped.get(reason as usize),
            Outcome::Punt(reason) => self.inner.punted.get(reason as usize),
        };
        if let Some(counter) = counter {
            counter.add(1);
        }
    }

    /// Counts a turn that found `requests`, and how many replies could not be sent.
    #[inline(always)]
    pub(crate) fn batch(&self, requests: u64, unsent: u64) {
        self.inner.received.add(requests);
        self.inner.batches.add(1);
        if unsent != 0 {
            self.inner.unsent.add(unsent);
        }
    }

    /// Counts a turn that found nothing.
    #[inline(always)]
    pub(crate) fn empty(&self) {
        self.inner.empty.add(1);
    }

    /// Turns so far, with and without requests: a worker that lives goes on turning.
    pub fn turns(&self) -> u64 {
        // Wrapping: only whether it changed is asked.
        self.inner
            .batches
            .get()
            .wrapping_add(self.inner.empty.get())
    }

    /// Notes the epoch held.
    #[inline(always)]
    pub(crate) fn epoch(&self, epoch: Option<EpochId>) {
        self.inner.epoch.set(EpochId::raw(epoch));
    }

    /// All counters, each read once.
    pub fn snapshot(&self) -> StatsSnapshot {
        let inner = &*self.inner;
        StatsSnapshot {
            received: inner.received.get(),
            batches: inner.batches.get(),
            empty: inner.empty.get(),
            answered: inner.answered.get(),
            refused: inner.refused.each_ref().map(Counter::get),
            dropped: inner.dropped.each_ref().map(Counter::get),
            punted: inner.punted.each_ref().map(Counter::get),
            unsent: inner.unsent.get(),
            epoch: EpochId::new(inner.epoch.get()),
            times: self
                .sampling
                .as_ref()
                .map_or_else(Times::default, Sampling::snapshot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_share_no_cache_line_with_anything() {
        let line = 64;
        assert!(align_of::<WorkerStats>() >= line);
        assert_eq!(core::mem::offset_of!(WorkerStats, inner) % line, 0);
        // Padded to whole lines, so nothing lies behind it on the last one either.
        assert_eq!(size_of::<CachePadded<Inner>>() % line, 0);
    }
}
