//! The clock that deadlines are counted by.
//!
//! CLOCK_BOOTTIME: unlike CLOCK_MONOTONIC it goes on while the host is suspended, and unlike the wall clock nobody sets it. A host that
//! wakes up after an hour finds every deadline passed.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time since this host was booted.
pub fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    // Neither is ever negative: the clock begins at 0.
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}
