//! The clocks of this host, for `sa-fleet`, which has none.
//!
//! Deadlines are counted by CLOCK_BOOTTIME: unlike CLOCK_MONOTONIC it goes on while the host is
//! suspended, and unlike the wall clock nobody sets it. A host that wakes up after an hour finds
//! every deadline passed.

use rustix::time::{ClockId, clock_gettime};
use sa_fleet::time::{Boot, Now, Wall};

/// Time since this host was booted.
pub fn now() -> Boot {
    let now = clock_gettime(ClockId::Boottime);
    // Neither is ever negative: the clock begins at 0.
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or_default();
    Boot(
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds),
    )
}

/// The same and the time of the day, one right after the other.
pub fn both() -> Now {
    let boot = now();
    let wall = clock_gettime(ClockId::Realtime);
    // A clock before 1970 is as wrong as one of 1970.
    let seconds = u64::try_from(wall.tv_sec).unwrap_or_default();
    let milliseconds = u64::try_from(wall.tv_nsec / 1_000_000).unwrap_or_default();
    let wall = Wall(seconds.saturating_mul(1000).saturating_add(milliseconds));
    Now { boot, wall }
}
