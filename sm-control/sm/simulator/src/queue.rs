//! Answers on their way, and nodes that are busy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use sa_fabric::{NodeIx, PortRef};

/// What is under way. Of answers with the same time the one that was asked for first comes first.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: BinaryHeap<Reverse<(Duration, u64, PortRef)>>,
    /// By number.
    answers: BTreeMap<u64, [u8; 256]>,
    posted: u64,
    /// Until when a node is busy.
    busy: BTreeMap<NodeIx, Duration>,
}

impl Queue {
    /// When a node is done with an SMP that reaches it at `arrival`, after those that came before.
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

    pub(crate) fn push(&mut self, at: Duration, port: PortRef, answer: [u8; 256]) {
        self.posted += 1;
        self.answers.insert(self.posted, answer);
        self.waiting.push(Reverse((at, self.posted, port)));
    }

    /// None before its time.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<(Duration, PortRef, [u8; 256])> {
        if self.first()? > now {
            return None;
        }
        let Reverse((at, number, port)) = self.waiting.pop()?;
        Some((at, port, self.answers.remove(&number)?))
    }

    pub(crate) fn first(&self) -> Option<Duration> {
        self.waiting.peek().map(|Reverse((at, ..))| *at)
    }
}
