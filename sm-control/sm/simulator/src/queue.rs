//! Answers on their way, and nodes that are busy.
//!
//! ```text
//!  SMP arrives ── node is free ──────────────> served at once ─┐
//!              └─ node serves others still ──> served after ───┴──> answer on its way ──> popped at its time
//! ```
//!
//! Time goes forward: who posts at a time before that of an earlier post finds nodes busy until the later one.

use std::collections::BTreeMap;
use std::time::Duration;

use sa_fabric::{NodeIx, PortRef};

/// What is under way. Of answers with the same time the one that was asked for first comes first.
///
/// Shape: answers to all ports, in one order.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// By time, then by number.
    waiting: BTreeMap<(Duration, u64), (PortRef, [u8; 256])>,
    /// The number of the last one.
    posted: u64,
    /// Until when a node is busy.
    busy: BTreeMap<NodeIx, Duration>,
}

impl Queue {
    /// When a node is done with an SMP that reaches it at `arrival`, after those that came before.
    ///
    /// Without a service time a node is never busy.
    pub(crate) fn served(
        &mut self,
        node: NodeIx,
        arrival: Duration,
        service: Duration,
    ) -> Duration {
        let until = self.busy.entry(node).or_default();
        *until = arrival.max(*until) + service;
        *until
    }

    /// An answer is on its way, and there at this time.
    ///
    /// Numbered as it comes, so that equal times keep their order.
    pub(crate) fn push(&mut self, at: Duration, port: PortRef, answer: [u8; 256]) {
        self.posted += 1;
        self.waiting.insert((at, self.posted), (port, answer));
    }

    /// None before its time.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<(Duration, PortRef, [u8; 256])> {
        if self.first()? > now {
            return None;
        }
        let ((at, _), (port, answer)) = self.waiting.pop_first()?;
        Some((at, port, answer))
    }

    /// When the last node is done; zero: none was asked yet.
    pub(crate) fn free_at(&self) -> Duration {
        self.busy.values().copied().max().unwrap_or_default()
    }

    /// When the next one is there; none: nothing is under way.
    pub(crate) fn first(&self) -> Option<Duration> {
        self.waiting.keys().next().map(|(at, _)| *at)
    }
}
