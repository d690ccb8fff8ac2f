//! Requests that wait to be sent again, each for a time that doubles with its tries.
//!
//! The pauses begin where a burst that was too much is over, and end where an operator would not
//! notice that a daemon has its first snapshot.

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// The first pause.
const FIRST: Duration = Duration::from_millis(1);
/// How often a pause doubles: up to 64 ms.
const DOUBLINGS: u32 = 6;

/// One try of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Try {
    /// Number of the request in its job.
    pub(super) nth: usize,
    /// How often it was sent before.
    pub(super) before: u32,
}

/// Those that wait, the next first.
#[derive(Debug, Default)]
pub(super) struct Again(BinaryHeap<Reverse<(Instant, Try)>>);

impl Again {
    /// After a try that came back without an answer.
    pub(super) fn wait(&mut self, tried: Try, now: Instant) {
        let pause = FIRST * (1 << tried.before.min(DOUBLINGS));
        self.0.push(Reverse((now + pause, next(tried))));
    }

    /// After a try that never reached anybody who would answer.
    pub(super) fn at_once(&mut self, tried: Try, now: Instant) {
        self.0.push(Reverse((now, next(tried))));
    }

    /// The next one whose pause is over.
    pub(super) fn due(&mut self, now: Instant) -> Option<Try> {
        let Reverse((when, _)) = self.0.peek()?;
        if *when > now {
            return None;
        }
        self.0.pop().map(|Reverse((_, tried))| tried)
    }

    /// All that are left, in no order.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = Try> {
        self.0.drain().map(|Reverse((_, tried))| tried)
    }
}

/// One try more.
const fn next(tried: Try) -> Try {
    Try {
        nth: tried.nth,
        before: tried.before.saturating_add(1),
    }
}
