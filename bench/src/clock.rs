//! CPU time of the calling thread and of all threads.
//!
//! Wall time says little on a shared machine; CPU time leaves out what others took. It still counts
//! what others do to the caches, hence medians and the null record beside it.
//!
//! The process's clock has the time of threads that have ended in it; a sum over threads that live
//! would not.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time that the calling thread used so far.
///
/// To be called on the thread that is measured, before and after.
pub fn thread_cpu_time() -> Duration {
    cpu_time(ClockId::ThreadCPUTime)
}

/// CPU time that all threads of this process used so far, those that have ended included.
pub fn process_cpu_time() -> Duration {
    cpu_time(ClockId::ProcessCPUTime)
}

/// Zero for a time that does not fit, which the kernel does not give.
fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::try_from(time).unwrap_or_default()
}
