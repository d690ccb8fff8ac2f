//! How much of a step is done, where it is done by many threads and in several parts.
//!
//! A step is a [`Stretch`], which can be cut: the parts follow one another, each with its share of the time, as well
//! as that is known. At the bottom something is counted: switches, destinations, blocks of LIDs.
//!
//! ```text
//! Watch::share ──> Stretch   0 ─────────────── 10 % ─────────────────────────── 100 %
//!                            └ cut(0..10)       └ cut(10..100)
//!                              Count of 432       Count of 13,824 ── add(1), by any thread
//! ```
//!
//! What is told only grows, whichever thread is first, and a part is told whole when its [`Count`] ends: a search that
//! found its end early is done as well. With nobody to tell it a count is an addition that nobody reads; it is made
//! once for a switch or a destination and never for a hop.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Observer;

/// A whole step.
pub const WHOLE: u64 = 1_000_000;

/// Of which so many are told, at most: a bar shows no more.
const TOLD: u64 = 1000;

/// Tells an observer how far a step has come.
pub(super) struct Teller {
    observer: &'static dyn Observer,
    /// What was told last.
    reached: Mutex<u64>,
}

impl Teller {
    pub(super) const fn new(observer: &'static dyn Observer) -> Self {
        Self {
            observer,
            reached: Mutex::new(0),
        }
    }

    /// So far, unless it was farther already. Told under the lock, so that it never goes back.
    pub(super) fn tell(&self, at: u64) {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if at > *reached {
            *reached = at;
            self.observer.reach(at, WHOLE);
        }
    }
}

/// Part of a step, from one share of it to another. Copied freely; empty where nobody is told.
#[derive(Clone, Copy)]
pub struct Stretch<'a> {
    teller: Option<&'a Teller>,
    from: u64,
    to: u64,
}

impl<'a> Stretch<'a> {
    /// Nobody is told.
    pub const fn nobody() -> Self {
        Self {
            teller: None,
            from: 0,
            to: 0,
        }
    }

    pub(super) const fn all(teller: &'a Teller) -> Self {
        Self {
            teller: Some(teller),
            from: 0,
            to: WHOLE,
        }
    }

    /// A part of it. Units: per cent of this stretch.
    #[must_use]
    pub const fn cut(self, percent: Range<u64>) -> Self {
        let length = self.to - self.from;
        Self {
            from: self.from + length * percent.start / 100,
            to: self.from + length * percent.end / 100,
            ..self
        }
    }

    /// One of several parts that are alike.
    #[must_use]
    pub const fn nth(self, nth: u64, of: u64) -> Self {
        let length = self.to - self.from;
        Self {
            from: self.from + length * nth / of,
            to: self.from + length * (nth + 1) / of,
            ..self
        }
    }

    /// Something to be counted over all of it. `units`: how many there are; no more than that count.
    pub fn count(self, units: usize) -> Count<'a> {
        Count {
            stretch: self,
            units: (units as u64).max(1),
            done: AtomicU64::new(0),
        }
    }

    /// Where so much of it is done.
    fn at(&self, done: u64, units: u64) -> u64 {
        self.from + (self.to - self.from) * done.min(units) / units
    }
}

/// What is done of a stretch, counted by all threads that work at it. The stretch is done when this ends.
pub struct Count<'a> {
    stretch: Stretch<'a>,
    units: u64,
    done: AtomicU64,
}

impl Count<'_> {
    /// So many more are done.
    #[inline]
    pub fn add(&self, more: usize) {
        if let Some(teller) = self.stretch.teller {
            self.tell(teller, more as u64);
        }
    }

    fn tell(&self, teller: &Teller, more: u64) {
        // Relaxed: a number to be shown, by which nobody finds anything.
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        let [was, is] = [before, before + more].map(|done| self.stretch.at(done, self.units));
        // The lock is for the few that change what is shown.
        if was * TOLD / WHOLE != is * TOLD / WHOLE {
            teller.tell(is);
        }
    }
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        if let Some(teller) = self.stretch.teller {
            teller.tell(self.stretch.to);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::watch::Watch;

    /// What was told, in order.
    #[derive(Default)]
    struct Told(Mutex<Vec<u64>>);

    impl Observer for Told {
        fn begin(&self, _: &str) {}

        fn reach(&self, done: u64, total: u64) {
            assert_eq!(total, WHOLE);
            self.0.lock().unwrap().push(done);
        }

        fn end(&self) {}
    }

    fn told(work: impl FnOnce(Stretch<'_>)) -> Vec<u64> {
        let told: &'static Told = Box::leak(Box::default());
        Watch::by(told).share(work);
        told.0.lock().unwrap().clone()
    }

    #[test]
    fn parts_follow_one_another_and_end_at_the_whole() {
        let told = told(|whole| {
            let first = whole.cut(0..20).count(2);
            first.add(1);
            first.add(1);
            drop(first);
            // One that finds its end early.
            whole.cut(20..60).nth(0, 2).count(1000).add(500);
            let last = whole.cut(60..100).count(4);
            (0..3).for_each(|_| last.add(1));
            // More than was said is no more than all.
            last.add(7);
        });
        let percent: Vec<u64> = told.iter().map(|at| at / (WHOLE / 100)).collect();
        assert_eq!(percent, [10, 20, 30, 40, 70, 80, 90, 100]);
    }

    #[test]
    fn many_threads_tell_what_only_grows() {
        let told = told(|whole| {
            let count = whole.count(80_000);
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| (0..10_000).for_each(|_| count.add(1)));
                }
            });
        });
        assert!(told.is_sorted_by(|a, b| a < b));
        assert!((500..=1000).contains(&told.len()), "{}", told.len());
        assert_eq!(told.last(), Some(&WHOLE));
    }

    #[test]
    fn nobody_is_told_nothing() {
        let count = Stretch::nobody().cut(10..20).nth(1, 2).count(3);
        count.add(5);
        assert_eq!(count.done.load(Ordering::Relaxed), 0);
    }
}
