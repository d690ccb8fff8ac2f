//! Who may try a load, and until when: one at a time, and none beside a load that compiles.
//!
//! ```text
//!  nobody ──begin──> one runs ──its work is done──> nobody
//!                        │ who asked has left; a load compiles; the daemon ends
//!                        v
//!                    it is stopped: looks between two steps ──> nobody
//! ```
//!
//! Whoever runs looks at a flag; whoever needs its memory waits for its end, for a moment. A stop
//! is for one run: who has left late does not stop the next one.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sa_compiler::watch::{Observer, Watch};

/// Why nobody wants the result of a run any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Stopped {
    /// The connection of who asked is gone.
    Left,
    /// What is put into service is for the sources as they are now.
    Load,
}

/// Why a run may not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// Another runs, or is about to end.
    Running,
    /// A load compiles.
    Loading,
}

/// The one place. It lives as long as the process, as whoever watches work does.
#[derive(Debug, Default)]
pub(in crate::server) struct Turn {
    state: Mutex<State>,
    /// Nobody runs any more.
    ended: Condvar,
    /// Of the run under way; looked at often.
    is_stopped: AtomicBool,
}

/// What threads agree on.
#[derive(Debug, Default)]
struct State {
    /// Runs that have begun.
    begun: u64,
    is_running: bool,
    stopped: Option<Stopped>,
    is_loading: bool,
}

/// A run; its end frees the place.
#[derive(Debug)]
pub(super) struct Run {
    turn: &'static Turn,
    number: u64,
}

/// Watches the thread that loads: with its first step a load is one that compiles. A running SA
/// that tells nothing new is read, and nothing is compiled: that disturbs nobody.
#[derive(Debug)]
struct Loads(&'static Turn);

impl Turn {
    /// One for this daemon, for good.
    pub(in crate::server) fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    /// For compilations of the thread that loads.
    pub(in crate::server) fn loads(&'static self) -> Watch {
        Watch::by(Box::leak(Box::new(Loads(self))))
    }

    /// Errors: who has the place.
    pub(super) fn begin(&'static self) -> Result<Run, Taken> {
        let mut state = self.state();
        match (state.is_running, state.is_loading) {
            (true, _) => return Err(Taken::Running),
            (false, true) => return Err(Taken::Loading),
            (false, false) => {}
        }
        state.begun += 1;
        state.is_running = true;
        state.stopped = None;
        self.is_stopped.store(false, Ordering::SeqCst);
        Ok(Run {
            turn: self,
            number: state.begun,
        })
    }

    /// The run with this number is of no use any more.
    pub(super) fn stop(&self, number: u64, why: Stopped) {
        let mut state = self.state();
        if state.begun == number {
            self.stop_running(&mut state, why);
        }
    }

    /// A load compiles from now on: a run gives up, and none begins.
    pub(in crate::server) fn load_compiles(&self) {
        let mut state = self.state();
        state.is_loading = true;
        self.stop_running(&mut state, Stopped::Load);
    }

    /// It is over, well or not.
    pub(in crate::server) fn load_ends(&self) {
        self.state().is_loading = false;
    }

    /// A load needs the memory of a run: that gives up, and is waited for, for so long at most.
    pub(in crate::server) fn make_room(&self, longest: Duration) {
        self.load_compiles();
        let state = self.state();
        let waited = self
            .ended
            .wait_timeout_while(state, longest, |state| state.is_running);
        drop(waited);
    }

    fn stop_running(&self, state: &mut State, why: Stopped) {
        if state.is_running {
            // The first reason counts.
            state.stopped.get_or_insert(why);
            self.is_stopped.store(true, Ordering::SeqCst);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches a run.
impl Observer for Turn {
    fn begin(&self, _: &str) {}

    fn reach(&self, _: u64, _: u64) {}

    fn end(&self) {}

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }
}

impl Observer for Loads {
    fn begin(&self, _: &str) {
        self.0.load_compiles();
    }

    fn reach(&self, _: u64, _: u64) {}

    fn end(&self) {}
}

impl Run {
    /// Says when it is to end.
    pub(super) const fn watch(&self) -> Watch {
        Watch::by(self.turn)
    }

    /// For [`Turn::stop`].
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Why nobody wants it any more; none: somebody does.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        self.turn.state().stopped
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.turn.state().is_running = false;
        self.turn.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn one_runs_at_a_time_and_a_late_stop_is_not_of_the_next() {
        let turn = Turn::new();
        let first = turn.begin().unwrap();
        assert_eq!(turn.begin().unwrap_err(), Taken::Running);
        let number = first.number();
        drop(first);
        let second = turn.begin().unwrap();
        turn.stop(number, Stopped::Left);
        assert!(!second.watch().is_stopped());
        turn.stop(second.number(), Stopped::Left);
        turn.load_compiles();
        assert!(second.watch().is_stopped());
        assert_eq!(second.stopped(), Some(Stopped::Left));
        drop(second);
        assert_eq!(turn.begin().unwrap_err(), Taken::Loading);
        turn.load_ends();
        let third = turn.begin().unwrap();
        assert!(!third.watch().is_stopped() && third.stopped().is_none());
    }

    #[test]
    fn a_load_that_begins_a_step_stops_a_run() {
        let turn = Turn::new();
        let run = turn.begin().unwrap();
        turn.loads().step("reading", || ());
        assert_eq!(run.stopped(), Some(Stopped::Load));
    }

    #[test]
    fn who_needs_room_waits_for_the_end_and_not_for_ever() {
        let turn = Turn::new();
        let long = Duration::from_secs(60);
        turn.make_room(long);
        turn.load_ends();
        let run = turn.begin().unwrap();
        turn.make_room(Duration::from_millis(1));
        assert!(run.watch().is_stopped());
        let ends = std::thread::spawn(move || drop(run));
        let begun = Instant::now();
        turn.make_room(long);
        assert!(begun.elapsed() < long);
        ends.join().unwrap();
    }
}
