//! Every interleaving of who sets a gate and who looks, by loom:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p sa-fastpath --test gate_loom --target-dir target/loom
//! ```
//!
//! `tests/publish_mutants` breaks the gate in several ways and expects this to fail each time.
//!
//! Deadlines are such that the clock does not matter: [`OVER`] has passed on any host, [`ALWAYS`] never does.

#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::Arc;

use loom::thread;
use sa_fastpath::gate::{ALWAYS, Gate};

/// The first nanosecond after boot.
const OVER: u64 = 1;
const OLD: u64 = 7;
const NEW: u64 = 8;

/// Sets the gate from one pair to the next while another thread looks.
fn between(first: (u64, u64), then: &'static [(u64, u64)], look: fn(&Gate)) {
    loom::model(move || {
        let gate = Arc::new(Gate::new());
        gate.set(first.0, first.1);
        let seen = Arc::clone(&gate);
        let worker = thread::spawn(move || look(&seen));
        for (until, generation) in then {
            gate.set(*until, *generation);
        }
        worker.join().unwrap();
    });
}

#[test]
fn the_old_time_does_not_go_for_the_new_generation() {
    between((ALWAYS, OLD), &[(OVER, NEW)], |gate| {
        assert!(!gate.may_answer(NEW));
    });
}

#[test]
fn the_new_time_does_not_go_for_the_old_generation() {
    between((OVER, OLD), &[(ALWAYS, NEW)], |gate| {
        assert!(!gate.may_answer(OLD));
    });
}

#[test]
fn nor_does_either_over_a_shut_gate() {
    between((ALWAYS, OLD), &[(0, 0), (OVER, NEW)], |gate| {
        assert!(!gate.may_answer(NEW));
    });
    between((OVER, OLD), &[(0, 0), (ALWAYS, NEW)], |gate| {
        assert!(!gate.may_answer(OLD));
    });
}

#[test]
fn who_has_seen_the_new_generation_answers_from_the_old_no_more() {
    between((ALWAYS, OLD), &[(ALWAYS, NEW)], |gate| {
        if gate.may_answer(NEW) {
            assert!(!gate.may_answer(OLD));
        }
    });
}

/// A worker may miss the batch in which the deadline moves, and no other.
#[test]
fn a_beat_does_not_shut_the_gate() {
    between((ALWAYS - 1, OLD), &[(ALWAYS, OLD)], |gate| {
        let looks = [gate.may_answer(OLD), gate.may_answer(OLD)];
        assert_ne!(looks, [false, false]);
    });
}
