//! How long this machine stops a thread that only reads the clock: no tail latency below that says
//! anything about the server.
//!
//! A virtual machine loses its core for milliseconds at a time, which a p99.9 then shows as the
//! server's. This is measured before and after each latency, on the core of the client. Below the
//! longest gap a tail is a property of the machine.

use std::time::{Duration, Instant};

/// Gaps above this count. Units: us.
const GAP: Duration = Duration::from_micros(20);

/// Pauses of a spinning thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct PauseFloor {
    /// Gaps above 20 us.
    pub gaps: u64,
    /// Longest gap.
    pub longest: Duration,
    /// Share of the time lost in such gaps, 0.0 to 1.0.
    pub share: f64,
}

impl PauseFloor {
    /// Both measurements together, one before and one after, of equal duration.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            gaps: self.gaps + other.gaps,
            longest: self.longest.max(other.longest),
            share: f64::midpoint(self.share, other.share),
        }
    }
}

/// Spins on the calling thread for `duration`.
pub fn measure_pause_floor(duration: Duration) -> PauseFloor {
    let start = Instant::now();
    let (mut last, mut lost) = (start, Duration::ZERO);
    let mut floor = PauseFloor::default();
    while last.duration_since(start) < duration {
        let now = Instant::now();
        let gap = now.duration_since(last);
        if gap > GAP {
            // Whatever took the core: an interrupt, another process, the hypervisor.
            floor.gaps += 1;
            floor.longest = floor.longest.max(gap);
            lost += gap;
        }
        last = now;
    }
    // The last pause may be longer than what was left of the time.
    floor.share = lost.as_secs_f64() / last.duration_since(start).as_secs_f64().max(1e-9);
    floor
}
