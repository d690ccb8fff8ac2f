//! How long batches take, of some of them, and how long the requests in them waited for their
//! replies.
//!
//! Off, a turn pays for two branches; on, one turn in so many reads the clock twice and looks once
//! more at its replies.
//!
//! ```text
//!  begin ──> look for requests ──> answer ──> note: what each reply is for ──> send ──> end: the time, once for the batch and
//!                                                                                       once for each of its replies
//! ```
//!
//! A request waits for the whole of its batch, as replies are handed over together: so that is its
//! time. What it waited at the port before is not in it, nor are requests that the slow lane
//! answers.

mod asked;
mod histogram;

use core::num::NonZeroU32;
use std::time::{Duration, Instant};

use sa_port::Verdict;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

use self::histogram::Histogram;

pub use self::asked::Asked;
pub use self::histogram::Times;

/// Times of one worker's batches, each from looking for requests to handing over the last reply.
#[derive(Debug)]
pub struct Sampling {
    every: NonZeroU32,
    batches: Histogram,
    /// Of replies. Shape: by [`Asked`].
    replies: [Histogram; Asked::ALL.len()],
}

impl Sampling {
    /// Of every so many batches one. Allocates nothing afterwards: 68 KiB by then.
    pub fn new(every: NonZeroU32) -> Self {
        Self {
            every,
            batches: Histogram::new(),
            replies: Asked::ALL.map(|_| Histogram::new()),
        }
    }

    /// Of how many batches one is timed.
    pub const fn every(&self) -> NonZeroU32 {
        self.every
    }

    /// Counts a batch and its replies. Only for the owning thread.
    fn record(&self, time: Duration, replies: &Replies) {
        self.batches.record(time, 1);
        for (histogram, count) in self.replies.iter().zip(replies) {
            if *count > 0 {
                histogram.record(time, u64::from(*count));
            }
        }
    }

    /// Times of batches.
    pub fn snapshot(&self) -> Times {
        self.batches.snapshot()
    }

    /// Times of replies to this.
    pub fn replies_to(&self, asked: Asked) -> Times {
        let histogram = self.replies.get(asked as usize);
        histogram.map_or_else(Times::default, Histogram::snapshot)
    }
}

/// Replies of a batch. Shape: by [`Asked`].
type Replies = [u32; Asked::ALL.len()];

/// Which turns of a worker are timed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sampler {
    /// Every so many batches one is timed; 0 for none.
    every: u32,
    /// Batches until the next that is.
    left: u32,
    /// Of the batch that is timed now.
    replies: Replies,
}

impl Sampler {
    /// The first batch is timed, then one in so many.
    pub(crate) fn new(sampling: Option<&Sampling>) -> Self {
        let every = sampling.map_or(0, |sampling| sampling.every().get());
        Self {
            every,
            left: 1,
            replies: Replies::default(),
        }
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

    /// The replies of this turn are made, and not handed over yet.
    #[inline(always)]
    pub(crate) fn note(&mut self, slots: &[Slot], verdicts: &[Verdict]) {
        if self.every != 0 {
            self.note_replies(slots, verdicts);
        }
    }

    /// Counts what they reply to, where this batch is timed.
    #[cold]
    fn note_replies(&mut self, slots: &[Slot], verdicts: &[Verdict]) {
        if self.left > 1 {
            return;
        }
        for (slot, verdict) in slots.iter().zip(verdicts) {
            if matches!(verdict, Verdict::Reply(_)) {
                let asked = Asked::of_reply(SaMad::from_bytes(&slot.mad));
                let count = self.replies.get_mut(asked as usize);
                count.into_iter().for_each(|count| *count += 1);
            }
        }
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
        let replies = core::mem::take(&mut self.replies);
        match (begun, sampling) {
            (Some(begun), Some(sampling)) => {
                sampling.record(begun.elapsed(), &replies);
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
