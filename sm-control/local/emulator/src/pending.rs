//! Queries that wait for the listener, and how long.
//!
//! There is one timeout for the host. A query's deadline is set when it is asked; SET_TIMEOUT then
//! moves the deadlines of all that wait, by the difference. The kernel computes that difference in
//! milliseconds and adds it to deadlines in jiffies. With HZ = 250 a jiffy is 4 ms, so a change
//! from 300 to 1,000 ms moves a deadline by 2.8 s instead of 0.7 s: measured, and kept here.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sa_wire::netlink_ls::{DEFAULT_TIMEOUT_MS, PathUse};

/// Queries by number, and how long each waits. Ordered by number, so that those that expire
/// together end in the order in which they were asked, until the counter wraps.
#[derive(Debug)]
pub(super) struct Pending {
    /// Of queries to come. Units: ms.
    timeout_ms: u32,
    /// Of the last query.
    seq: u32,
    waiting: BTreeMap<u32, Waiting>,
}

/// One query that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) path_use: PathUse,
    pub(super) asked: Instant,
    deadline: Instant,
    pub(super) is_cancelled: bool,
}

/// What the kernel's clock counts in. Units: ms. HZ = 250, as on the kernel that was measured
/// (Debian 12).
const JIFFY_MS: u32 = 4;

impl Pending {
    pub(super) const fn new() -> Self {
        Self {
            timeout_ms: DEFAULT_TIMEOUT_MS,
            seq: 0,
            waiting: BTreeMap::new(),
        }
    }

    /// Numbers start from 1, are shared by all devices, and wrap.
    pub(super) const fn next_seq(&mut self) -> u32 {
        self.seq = self.seq.wrapping_add(1);
        self.seq
    }

    /// The next number is the one after this.
    pub(super) const fn continue_after(&mut self, seq: u32) {
        self.seq = seq;
    }

    /// Begins to wait. A number that is taken is replaced: after 2^32 queries nothing waits from
    /// the first round.
    pub(super) fn add(&mut self, seq: u32, path_use: PathUse, now: Instant) {
        let deadline = now + Duration::from_millis(self.timeout_ms.into());
        let waiting = Waiting {
            path_use,
            asked: now,
            deadline,
            is_cancelled: false,
        };
        self.waiting.insert(seq, waiting);
    }

    /// A reply's query; nothing when it is none, or given up: that one is the clock's.
    pub(super) fn answered(&mut self, seq: u32) -> Option<Waiting> {
        self.waiting
            .get(&seq)
            .filter(|waiting| !waiting.is_cancelled)?;
        self.waiting.remove(&seq)
    }

    /// Moves the deadline to now: the kernel leaves the end to its timeout worker.
    pub(super) fn cancel(&mut self, seq: u32, now: Instant) {
        if let Some(waiting) = self.waiting.get_mut(&seq) {
            waiting.is_cancelled = true;
            waiting.deadline = now;
        }
    }

    /// Takes the queries whose time is over. O(n) in those that wait.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<(u32, Waiting)> {
        let mut expired = Vec::new();
        self.waiting.retain(|seq, waiting| {
            let is_over = waiting.deadline <= now;
            if is_over {
                expired.push((*seq, *waiting));
            }
            !is_over
        });
        expired
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.deadline).min()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) const fn timeout_ms(&self) -> u32 {
        self.timeout_ms
    }

    /// Queries that wait already move too: the kernel adds the difference in milliseconds to
    /// deadlines in jiffies. `timeout_ms` is within the kernel's bounds already.
    pub(super) fn set_timeout(&mut self, timeout_ms: u32, now: Instant) {
        let before = core::mem::replace(&mut self.timeout_ms, timeout_ms);
        let moved = Duration::from_millis(u64::from(timeout_ms.abs_diff(before) * JIFFY_MS));
        for waiting in self.waiting.values_mut() {
            waiting.deadline = if timeout_ms >= before {
                waiting.deadline + moved
            } else {
                // Lowering by more than has passed since the clock began cannot be said; such a
                // query is over at once.
                waiting.deadline.checked_sub(moved).unwrap_or(now)
            };
        }
    }
}
