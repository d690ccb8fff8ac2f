//! Whether ports beside an SM may be served.
//!
//! Two things keep a worker from answering. *Shut* is an order: the worker leaves its turn and lets
//! go of the methods, and who shut the gate sees when the last has. *Until* is a lease: the library
//! in OpenSM takes the methods back from a daemon that stood still, so a worker looks at the clock
//! before it reads and before it sends. A stopped process cannot be told anything; a clock it finds
//! by itself.
//!
//! ```text
//!         set(true), holds_until(t)              now < t                 set(false)
//!  shut ────────────────────────────> open ─────────────────> open ─────────────────> shut
//!                                      now >= t: workers neither read nor send (a break)
//!  enter() ... drop        counts holders: a port has the methods in between
//! ```

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shut or open, and how many ports hold the read methods. One for each port, or shared by the
/// ports of OpenSM's device.
#[derive(Debug)]
pub(in crate::server) struct Gate {
    /// As workers look at it.
    shut: AtomicBool,
    /// Ports that are between [`Gate::enter`] and the drop of their [`Holding`].
    holders: AtomicUsize,
    /// What is behind it may be used until then, or [`FOR_EVER`]. Units: ms since `began`.
    until: AtomicU64,
    began: Instant,
    /// For ports that wait for it to open.
    moved: (Mutex<()>, Condvar),
}

/// A port that holds the methods; given up on drop, also by a panic.
pub(in crate::server) struct Holding<'a>(&'a Gate);

impl Gate {
    /// Open for good: for ports that no SM shares.
    pub(in crate::server) fn open() -> Self {
        Self::new(false, FOR_EVER)
    }

    /// Shut until somebody opens it.
    pub(in crate::server) fn shut() -> Self {
        Self::new(true, 0)
    }

    /// `until`: 0 is over already.
    fn new(shut: bool, until: u64) -> Self {
        Self {
            until: AtomicU64::new(until),
            began: Instant::now(),
            shut: AtomicBool::new(shut),
            holders: AtomicUsize::new(0),
            moved: (Mutex::new(()), Condvar::new()),
        }
    }

    /// What a worker takes as its order to stop: the same flag, so that shutting needs no second
    /// message.
    pub(in crate::server) const fn stop(&self) -> &AtomicBool {
        &self.shut
    }

    /// True when ports may be served.
    pub(in crate::server) fn is_open(&self) -> bool {
        !self.shut.load(Ordering::SeqCst)
    }

    /// Since the gate was made: what [`Self::holds_until`] counts in.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// What is behind it may be used until then. Called at every look while all is well.
    pub(super) fn holds_until(&self, until: Duration) {
        // Rounded down to whole milliseconds: a lease may end early, never late.
        let until = u64::try_from(until.as_millis()).unwrap_or(FOR_EVER);
        self.until.store(until, Ordering::SeqCst);
    }

    /// Whether what is behind it may be used at this moment. A process that stood still finds the
    /// time over, whichever of its threads looks first.
    pub(in crate::server) fn holds(&self) -> bool {
        let until = self.until.load(Ordering::SeqCst);
        until == FOR_EVER || self.began.elapsed().as_millis() < u128::from(until)
    }

    /// True while a port holds the methods.
    pub(super) fn is_held(&self) -> bool {
        self.holders.load(Ordering::SeqCst) > 0
    }

    /// Opens or shuts it. True when it was otherwise before.
    pub(in crate::server) fn set(&self, open: bool) -> bool {
        // With the lock, or a port between its look and its wait would sleep through this.
        let _guard = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.shut.swap(!open, Ordering::SeqCst) == open;
        self.moved.1.notify_all();
        changed
    }

    /// Waits for a shut gate to open, at most `most`: what is asked before the worker begins waits
    /// on the file that was lent.
    pub(in crate::server) fn wait(&self, most: Duration) {
        let guard = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_open() {
            drop(self.moved.1.wait_timeout(guard, most));
        }
    }

    /// The calling port is about to take the methods; none when it may not.
    pub(in crate::server) fn enter(&self) -> Option<Holding<'_>> {
        // Noted before the look: who shuts the gate sees it, or this sees that it is shut.
        self.holders.fetch_add(1, Ordering::SeqCst);
        let holding = Holding(self);
        self.is_open().then_some(holding)
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.0.holders.fetch_sub(1, Ordering::SeqCst);
    }
}

/// For ports that no SM shares: they read no clock.
const FOR_EVER: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shut_gate_holds_for_as_long_as_it_is_told() {
        assert!(Gate::open().holds());
        let gate = Gate::shut();
        assert!(!gate.holds());
        gate.holds_until(gate.now() + Duration::from_secs(100));
        assert!(gate.holds());
        gate.holds_until(gate.now());
        assert!(!gate.holds());
    }

    #[test]
    fn nobody_enters_a_shut_gate() {
        let gate = Gate::shut();
        assert!(gate.enter().is_none());
        assert!(!gate.is_held());
        assert!(gate.set(true) && !gate.set(true));
        let holding = gate.enter();
        assert!(gate.is_held());
        assert!(gate.set(false));
        assert!(gate.is_held(), "until the port has let go");
        drop(holding);
        assert!(!gate.is_held());
    }
}
