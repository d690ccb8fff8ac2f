//! Who is told how far long work has come.
//!
//! What computes knows no terminal, no clock and no signal; it says which step it is at, and how much
//! of it is done, to an [`Observer`] that a program made. Most have none: then a [`Watch`] is an empty
//! value, and saying something costs one comparison.
//!
//! ```text
//! step("routing")  reach(3, 40)  reach(4, 40)  ..  end
//!        └────────────────── Watch ──> Observer ──> a bar, a line, nothing
//!                              ^────────── is_stopped
//! ```
//!
//! Work of many threads and several parts has a [`Stretch`] to say so by.
//!
//! An observer may say that nobody wants the result any more. Whoever works looks between two steps; engines and proofs do not look
//! within theirs.

mod share;

use std::fmt;

use self::share::Teller;
pub use self::share::{Count, Stretch, WHOLE};

/// Is told how far work has come. Calls come from any thread, some of them often: they must be quick
/// and must not fail.
pub trait Observer: Sync {
    /// A step begins. Shape: a few words in the -ing form, such as "routing".
    fn begin(&self, step: &str);

    /// So much of the step is done, in units of its own.
    fn reach(&self, done: u64, total: u64);

    /// The step is over, well or not.
    fn end(&self);

    /// Nobody wants the result any more. Asked between steps, and within those that can end early.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The way to an observer, if there is one. An observer lives as long as the program, as its screen
/// does, so this is copied freely.
#[derive(Clone, Copy, Default)]
pub struct Watch(Option<&'static dyn Observer>);

impl Watch {
    /// Tells this one.
    pub const fn by(observer: &'static dyn Observer) -> Self {
        Self(Some(observer))
    }

    /// Does a step of the work, and says so.
    pub fn step<T>(self, step: &str, work: impl FnOnce() -> T) -> T {
        let Some(observer) = self.0 else {
            return work();
        };
        observer.begin(step);
        // A panic goes on its way; the step is over then as well.
        let _over = Over(observer);
        work()
    }

    /// Does a step, or the work in it, that says by a stretch how much of it is done.
    pub fn share<T>(self, work: impl FnOnce(Stretch<'_>) -> T) -> T {
        let Some(observer) = self.0 else {
            return work(Stretch::nobody());
        };
        let teller = Teller::new(observer);
        let result = work(Stretch::all(&teller));
        // Also what nobody counted.
        teller.tell(WHOLE);
        result
    }

    /// So much of the step is done.
    pub fn reach(self, done: u64, total: u64) {
        if let Some(observer) = self.0 {
            observer.reach(done, total);
        }
    }

    /// Nobody wants the result any more.
    pub fn is_stopped(self) -> bool {
        self.0.is_some_and(Observer::is_stopped)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watch" } else { "nobody" })
    }
}

/// Ends a step.
struct Over(&'static dyn Observer);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Writes down what it is told.
    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Notes {
        fn add(&self, what: String) {
            self.0.lock().unwrap().push(what);
        }
    }

    impl Observer for Notes {
        fn begin(&self, step: &str) {
            self.add(step.to_owned());
        }

        fn reach(&self, done: u64, total: u64) {
            self.add(format!("{done}/{total}"));
        }

        fn end(&self) {
            self.add("over".to_owned());
        }
    }

    #[test]
    fn a_step_is_told_from_its_begin_to_its_end_and_one_that_panics_too() {
        let notes: &'static Notes = Box::leak(Box::default());
        let watch = Watch::by(notes);
        let sum = watch.step("adding", || {
            watch.reach(1, 2);
            1 + 1
        });
        assert_eq!(sum, 2);
        let fails = std::panic::AssertUnwindSafe(|| watch.step("failing", || panic!("on purpose")));
        let caught = std::panic::catch_unwind(fails);
        assert!(caught.is_err());
        let told = notes.0.lock().unwrap().join(" ");
        assert_eq!(told, "adding 1/2 over failing over");
        // Nobody is told, and the work is done.
        assert_eq!(Watch::default().step("adding", || 3), 3);
        Watch::default().reach(1, 1);
    }
}
