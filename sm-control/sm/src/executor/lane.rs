//! The requests of one device.
//!
//! ```text
//!  answers ──> window one wider, not slow
//!  a time-out ──> window half as wide, slow: one request at a time, in a place of its own
//!  the last try of a request is over, and nothing was answered meanwhile ──> all that waits is given up
//! ```
//!
//! A lane decides nothing about others: how many devices may have requests on the wire is the executor's.

use std::collections::VecDeque;

use super::Limits;
use super::request::Pending;
use super::window::Window;

/// What waits for a device, and how it behaves.
///
/// `T` is the caller's: a lane never looks at it.
#[derive(Debug)]
pub(super) struct Lane<T> {
    /// In the order in which they were asked; those that are tried again before all.
    waiting: VecDeque<Pending<T>>,
    /// Under way.
    pub(super) flying: u32,
    /// So far, refusals among them.
    pub(super) answers: u64,
    /// It left the last request unanswered: one at a time, out of the window of the others.
    pub(super) is_slow: bool,
    /// It was silent before: no request of it is tried again.
    pub(super) is_doubtful: bool,
    /// It stands in a queue of those that may send.
    pub(super) is_queued: bool,
    /// How many of it may be under way; adapts.
    window: Window,
}

impl<T> Lane<T> {
    /// Half of what it may have: a device that nobody has heard of yet is not filled up at once.
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            waiting: VecDeque::new(),
            flying: 0,
            answers: 0,
            is_slow: false,
            is_doubtful: false,
            is_queued: false,
            window: Window::new(limits.per_device / 2, limits.per_device),
        }
    }

    /// Behind all others of the device.
    pub(super) fn add(&mut self, pending: Pending<T>) {
        self.waiting.push_back(pending);
    }

    /// It is tried again before anything else of the device.
    pub(super) fn again(&mut self, pending: Pending<T>) {
        self.waiting.push_front(pending);
    }

    /// There is something to send, and room for it.
    pub(super) fn may_send(&self) -> bool {
        let most = if self.is_slow { 1 } else { self.window.size() };
        !self.waiting.is_empty() && self.flying < most
    }

    /// The next one; none where nothing waits.
    pub(super) fn take(&mut self) -> Option<Pending<T>> {
        self.waiting.pop_front()
    }

    /// What waits to be tried again.
    pub(super) fn tried(&self) -> impl Iterator<Item = &Pending<T>> {
        self.waiting.iter().filter(|pending| pending.tries > 0)
    }

    /// It lives.
    ///
    /// One answer is enough to be believed again.
    pub(super) fn answered(&mut self) {
        self.answers += 1;
        (self.is_slow, self.is_doubtful) = (false, false);
        self.window.grow();
    }

    /// True where it was not slow before.
    pub(super) fn timed_out(&mut self) -> bool {
        self.window.halve();
        !core::mem::replace(&mut self.is_slow, true)
    }

    /// All that waits.
    ///
    /// What is under way is not among it: its time is still running.
    pub(super) fn give_up(&mut self) -> impl Iterator<Item = Pending<T>> {
        self.waiting.drain(..)
    }
}
