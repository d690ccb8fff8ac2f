//! Whether a follower of a fleet may answer: until when, and from which generation.
//!
//! A host that follows a fleet answers from the generation that is announced, and only while it
//! knows that it is (`docs/fleet.md`). Both are numbers that a worker compares itself, once a batch
//! and by its own look at the clock. So answers end in time though the thread that talks to the
//! fleet hangs, waits for a disk or has died.
//!
//! ```text
//!  set(t, B):   deadline 0 ──> generation B ──> deadline t        of one generation: deadline t alone
//!  may_answer:  deadline ──> generation ──> deadline ──> clock
//!                 │ 0: no       │ other: no    │ another: no  │ passed: no
//! ```
//!
//! The clock is CLOCK_BOOTTIME: it goes on while the host is suspended, and nobody sets it. Reading
//! it is no system call where the kernel lets processes read the clock themselves, as nearly all
//! do. It is read last, because a thread may stand still between any two steps, and not at all
//! where the rest has said no.
//!
//! # Orders of memory
//!
//! What must not be: the time of one generation goes for another. Invariant: where
//! [`Gate::may_answer`] finds the same deadline before and after it has loaded a generation, that
//! deadline was set for that generation.
//!
//! * From another generation's time to the next one's, the deadline is 0 between, and the
//!   generation changes while it is. Each store of `set` but the first is a release, so whoever
//!   sees it sees those before it.
//! * A worker that loads the new deadline (acquire) loads the new generation, or a later one.
//! * A worker that loads the old deadline and then the new generation (acquire) sees at its second
//!   look that the deadline has gone. Without that look it would hold the new generation with the
//!   old one's time.
//!
//! Deadlines that are the same number cannot be told apart, and need not be: a host that goes on
//! after its deadline has [`ALWAYS`] for every generation. `tests/gate_loom.rs` goes through every
//! interleaving.
//!
//! What it does not do: it knows neither announcements nor fleets, which are the crate
//! `sa-fleet`'s.

use rustix::time::{ClockId, clock_gettime};

use crate::publish::NO_GENERATION;
use crate::sync::{AtomicU64, Ordering};

/// A deadline behind every moment: no clock is read.
pub const ALWAYS: u64 = u64::MAX;

/// A deadline before every moment.
pub const NEVER: u64 = 0;

/// Deadline and generation. One thread sets it, and any number look.
// Aligned so that the reference count beside it, which whoever takes or drops a reference writes,
// shares no cache line (nor the one fetched with it) with what workers read in every batch.
#[derive(Debug)]
#[repr(align(128))]
pub struct Gate {
    /// By the clock of [`boot_time`].
    deadline: AtomicU64,
    /// As [`crate::publish::Published::generation`].
    generation: AtomicU64,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// Shut, until it is set.
    pub fn new() -> Self {
        // The first reading in a process looks for the clock, by system calls: not in a worker's turn.
        boot_time();
        Self {
            deadline: AtomicU64::new(NEVER),
            generation: AtomicU64::new(NO_GENERATION),
        }
    }

    /// Answers from snapshots of this generation, until then by [`boot_time`]; [`ALWAYS`] without
    /// end. A beat of the same generation only moves the deadline, so that no worker finds the gate
    /// shut meanwhile.
    ///
    /// For one thread: two at once could leave the time of one with the generation of the other.
    /// Seen by workers at their next batch. Of [`NO_GENERATION`] nothing is answered.
    pub fn set(&self, until: u64, generation: u64) {
        // Only this thread writes it.
        if self.generation.load(Ordering::Relaxed) != generation {
            // The release of the next store covers it: who sees the new generation sees no older deadline than this.
            self.deadline.store(NEVER, Ordering::Relaxed);
            self.generation.store(generation, Ordering::Release);
        }
        let is_none = generation == NO_GENERATION;
        let until = if is_none { NEVER } else { until };
        self.deadline.store(until, Ordering::Release);
    }

    /// No answers until it is set again.
    pub fn shut(&self) {
        self.set(NEVER, NO_GENERATION);
    }

    /// The question of a worker, once a batch: now, and from the snapshot in its hands.
    #[inline]
    pub fn may_answer(&self, generation: u64) -> bool {
        let until = self.deadline.load(Ordering::Acquire);
        // Acquire: the next load must not be of a deadline from before this generation.
        if until == NEVER || self.generation.load(Ordering::Acquire) != generation {
            return false;
        }
        // A beat may come in between, once in ten seconds and some ns: that one batch is asked for again.
        if self.deadline.load(Ordering::Relaxed) != until {
            return false;
        }
        until == ALWAYS || boot_time() < until
    }
}

/// Now, by the clock of deadlines. Units: ns since the host was booted, with the time that it was
/// suspended.
#[inline]
pub fn boot_time() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    // Neither is ever negative. If it were, every deadline would count as passed.
    let seconds = u64::try_from(now.tv_sec).unwrap_or(u64::MAX);
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or(u64::MAX);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    #[test]
    fn it_starts_shut_and_shuts_again() {
        let gate = Gate::new();
        assert!(!gate.may_answer(NO_GENERATION) && !gate.may_answer(7));
        gate.set(ALWAYS, 7);
        assert!(gate.may_answer(7));
        gate.shut();
        assert!(!gate.may_answer(NO_GENERATION) && !gate.may_answer(7));
    }

    #[test]
    fn it_lets_one_generation_through_until_its_deadline() {
        let gate = Gate::new();
        gate.set(boot_time() + HOUR, 7);
        assert!(gate.may_answer(7) && !gate.may_answer(8));
        gate.set(boot_time() + HOUR, 8);
        assert!(!gate.may_answer(7) && gate.may_answer(8));
        gate.set(boot_time(), 8);
        assert!(!gate.may_answer(8), "it has passed");
        gate.set(NEVER, 8);
        assert!(!gate.may_answer(8));
    }

    #[test]
    fn it_shuts_by_itself() {
        let gate = Gate::new();
        let until = boot_time() + 50_000_000;
        gate.set(until, 7);
        // Nobody touches it any more.
        while gate.may_answer(7) {
            assert!(boot_time() < until + HOUR, "it stays open");
            std::thread::yield_now();
        }
        assert!(boot_time() >= until, "not before its time");
    }

    #[test]
    fn what_is_of_no_fleet_gets_through_no_gate() {
        let gate = Gate::new();
        gate.set(ALWAYS, NO_GENERATION);
        assert!(!gate.may_answer(NO_GENERATION));
    }

    /// As what workers read with it is in [`crate::publish`].
    #[test]
    fn it_shares_no_cache_line() {
        assert!(align_of::<Gate>() >= 128 && size_of::<Gate>().is_multiple_of(128));
    }
}
