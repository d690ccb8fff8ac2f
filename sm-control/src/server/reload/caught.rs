//! A load that panics is a load that failed.
//!
//! The thread that loads runs most of the code of this process: parsers, engines, the proof, the
//! Subnet Manager. A defect in it must not end the SA, which answers from a snapshot that was
//! verified and shares nothing with a load. So a panic ends the load alone:
//!
//! ```text
//!  load ──> panic ──> what the load had changed is thrown away ──> failed, with its words ──> tried again, from the beginning
//! ```
//!
//! Thrown away is what the thread remembers of the subnet and of a running SA: either is read
//! again. What was accepted and what is in service are values that a load replaces as its last
//! step, so they are whole.
//!
//! A panic anywhere else ends the process ([`end_by_other_panics`]), for the service manager to
//! start it again: a worker or slow lane that is gone would leave requests without an answer for
//! good.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// A defect of this program, in the words of the panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Panicked(pub(in crate::server) String);

/// What `work` gives. Errors: it panicked; what it had borrowed is to be thrown away or made anew.
pub(in crate::server) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    // What a panic leaves half done is never looked at: see the errors.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Panicked(words(payload.as_ref())))
}

/// From now on a panic of a thread that has to be there for good ends the process.
pub(in crate::server) fn end_by_other_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        if !may_panic(thread::current().name()) {
            std::process::abort();
        }
    }));
}

/// The thread that loads, one that tries a load, those that it has compute for it, which have no
/// name, and the one that answers other Subnet Managers, which the next sweep starts again.
fn may_panic(thread: Option<&str>) -> bool {
    thread.is_none_or(|name| [LOADER, DRY_RUN, "sa-sm"].contains(&name))
}

/// The name of a thread that tries a load.
pub(in crate::server) const DRY_RUN: &str = "sa-dry-run";

/// The name of the thread that loads.
pub(in crate::server) const LOADER: &str = "sa-load";

fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_with_its_words() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(
            caught(|| panic!("odd")),
            Err::<(), _>(Panicked("odd".into()))
        );
        let number = 3;
        let failed = caught(|| assert_eq!(number, 4, "a port of {number}"));
        assert!(failed.is_err_and(|Panicked(words)| words.contains("a port of 3")));
    }

    #[test]
    fn what_serves_must_not_panic() {
        for thread in ["sa-fp-0", "sa-slow", "sa-admin", "sa-local", "main"] {
            assert!(!may_panic(Some(thread)), "{thread}");
        }
        assert!(
            may_panic(None)
                && may_panic(Some(LOADER))
                && may_panic(Some(DRY_RUN))
                && may_panic(Some("sa-sm"))
        );
    }
}
