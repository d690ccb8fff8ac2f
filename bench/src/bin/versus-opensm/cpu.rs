//! CPU time of processes.
//!
//! From /proc, for processes that were not written for it. `schedstat` counts in nanoseconds, by
//! thread; `stat` counts ticks, of 10 ms as a rule, but apart by user and kernel. So time is taken
//! from the first, and the share of the kernel from the second.
//!
//! ```text
//! /proc/7/task/9/schedstat   82013377 1202113 512        ns on a core, ns waiting, turns
//! /proc/7/stat               7 (opensm) S 1 .. 40 12 ..  fields 14 and 15: user, system
//! ```

use std::fs;
use std::ops::Sub;

/// CPU time that all threads of a process took so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cpu {
    /// As the scheduler counts it. Units: ns.
    pub(crate) total: u64,
    /// For the share alone: counted by the clock's tick. Units: ticks.
    pub(crate) user: u64,
    /// The same in the kernel.
    pub(crate) system: u64,
}

impl Cpu {
    /// None when the process is gone, or the kernel keeps no scheduler statistics.
    pub(crate) fn of(id: u32) -> Option<Self> {
        let tasks = fs::read_dir(format!("/proc/{id}/task")).ok()?;
        let mut total = 0;
        for task in tasks.flatten() {
            // A thread may end meanwhile.
            let text = fs::read_to_string(task.path().join("schedstat")).ok();
            let first = text.as_deref().and_then(|text| text.split(' ').next());
            total += first.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        }
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name in brackets may hold anything; the state follows, then the fields from 4 on.
        let (_, fields) = stat.rsplit_once(')')?;
        // Fields are counted from 1 in proc(5), and the rest begins with field 3.
        let ticks = |field: usize| fields.split_whitespace().nth(field - 3)?.parse().ok();
        Some(Self {
            total,
            user: ticks(14)?,
            system: ticks(15)?,
        })
    }
}

impl Sub for Cpu {
    type Output = Self;

    /// Never below 0: a thread that ended takes its time along.
    fn sub(self, before: Self) -> Self {
        Self {
            total: self.total.saturating_sub(before.total),
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_process_takes_time() {
        let id = std::process::id();
        let before = Cpu::of(id).unwrap();
        let start = std::time::Instant::now();
        while start.elapsed() < std::time::Duration::from_millis(50) {
            core::hint::spin_loop();
        }
        let taken = Cpu::of(id).unwrap() - before;
        assert!(taken.total > 0, "{taken:?}");
    }
}
