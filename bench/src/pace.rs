//! When requests go out, and how long replies are waited for.
//!
//! A closed loop sends as soon as a reply has come; an open loop has a time for each request,
//! whatever became of those before. What both kinds of loop, over a ring and on a running SA, have
//! in common lies here, so that their figures mean the same.

use core::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long something is measured: for a time, and no longer once it is told to stop.
///
/// A measurement that was stopped is as good as one that was to be so short: what it counted, it
/// counted to the end.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// How long.
    pub time: Duration,
    /// Set when it is to stop; none where nobody would.
    pub stop: Option<&'static AtomicBool>,
}

impl From<Duration> for Span {
    fn from(time: Duration) -> Self {
        Self { time, stop: None }
    }
}

impl Span {
    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        // Relaxed: nothing else is read through the flag.
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Whether it is through, for what began at `start`.
    pub fn is_over(&self, start: Instant) -> bool {
        self.is_stopped() || start.elapsed() >= self.time
    }
}

/// How requests follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// So many are always under way: as fast as the SA goes. Latency counts from sending, so that a
    /// stalled SA stalls the requests that would have shown it.
    Closed {
        /// Units: requests.
        window: usize,
    },
    /// Request n is due at start + n / rate, whatever became of those before. Latency counts from
    /// then, sent late or not.
    Open {
        /// Units: requests per second.
        rate: f64,
    },
}

/// When the n-th request of an open loop is due, from 0, since the start. Units: of `rate`,
/// requests per second.
///
/// From the number and not from the request before, so that errors do not add up.
#[expect(
    clippy::cast_precision_loss,
    reason = "request numbers stay far below 2^53"
)]
pub(crate) fn due_after(n: u64, rate: f64) -> Duration {
    Duration::from_secs_f64(n as f64 / rate)
}

/// How long replies over a ring may take after the last request before they count as lost.
///
/// Long: on a busy machine a core may be gone for seconds, and a lost reply voids the run.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long after its end an open loop may still send what was due before.
pub const CATCH_UP: Duration = Duration::from_millis(100);
