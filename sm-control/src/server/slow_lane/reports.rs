//! Reports on their way to subscribers: which wait for their responses, and what is to be sent
//! when.
//!
//! A Report that gets no response is sent again after a while, and given up after some tries, as
//! OpenSM's vendor layer does it. Where the transport does this by itself (the kernel), it is sent
//! once. What waits is bounded: more than the window is not under way at a time, so that a change
//! that many want to hear of does not fill the port. Pure: time is given, and nothing is sent from
//! here. Source: OpenSM `osm_inform.c`, `osm_vendor_ibumad.c`.
//!
//! ```text
//!  queue ──first──> waiting ──response──> acknowledged
//!   65,536          256 at a time │
//!                                 └──timeout, up to 3 times more──> given up
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use sa_service::sa_db::Report;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// How long to wait for a response, and how often to send again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) struct Patience {
    /// Of each try: OpenSM's `transaction_timeout`.
    pub(in crate::server) timeout: Duration,
    /// Tries after the first: OpenSM's `transaction_retries`.
    pub(in crate::server) retries: u32,
}

impl Patience {
    /// As OpenSM with this `transaction_timeout` and its default of `transaction_retries`.
    /// Units: milliseconds.
    pub(in crate::server) fn opensm(transaction_timeout: u32) -> Self {
        Self {
            timeout: Duration::from_millis(transaction_timeout.max(1).into()),
            retries: 3,
        }
    }
}

/// What became of Reports so far. The three add up to those that were pushed, but for those under
/// way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::server) struct Tally {
    /// Got a response.
    pub(in crate::server) acknowledged: u64,
    /// Got none.
    pub(in crate::server) given_up: u64,
    /// Never sent: too many were waiting.
    pub(in crate::server) dropped: u64,
}

/// Reports on their way. `waiting` and `alarms` have the same transactions at all times.
#[derive(Debug)]
pub(in crate::server) struct Reports {
    patience: Patience,
    /// Not sent yet, in order, and whether the transport repeats.
    queue: VecDeque<(Report, bool)>,
    /// Sent, by the low half of their transactions.
    waiting: BTreeMap<u32, Waiting>,
    /// When which of them is due.
    alarms: BTreeSet<(Duration, u32)>,
    /// The transaction that was given last.
    last: u32,
    tally: Tally,
}

/// A Report that was sent and has no response.
#[derive(Debug)]
struct Waiting {
    /// By which it left.
    port: usize,
    /// As it was sent: a repeat must be the same, with its transaction.
    slot: Box<Slot>,
    /// When it is sent again, or given up.
    due: Duration,
    /// Tries left.
    left: u32,
}

impl Reports {
    pub(in crate::server) const fn new(patience: Patience) -> Self {
        Self {
            patience,
            queue: VecDeque::new(),
            waiting: BTreeMap::new(),
            alarms: BTreeSet::new(),
            last: 0,
            tally: Tally {
                acknowledged: 0,
                given_up: 0,
                dropped: 0,
            },
        }
    }

    /// From the next Report on.
    pub(in crate::server) const fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// Takes a Report; `repeats` tells whether its port's transport sends again by itself. With
    /// 65,536 waiting it is dropped: a subscriber that does not answer must not cost memory without
    /// end.
    pub(in crate::server) fn push(&mut self, report: Report, repeats: bool) {
        if self.queue.len() < QUEUE {
            self.queue.push_back((report, repeats));
        } else {
            self.tally.dropped += 1;
        }
    }

    /// Ends the Report that this is the response to. False when there is none.
    pub(in crate::server) fn acknowledge(&mut self, response: &Slot) -> bool {
        let transaction = SaMad::from_bytes(&response.mad).mad.transaction_id.get();
        let Some(waiting) = self.waiting.remove(&low_half(transaction)) else {
            return false;
        };
        self.alarms.remove(&(waiting.due, low_half(transaction)));
        self.tally.acknowledged += 1;
        true
    }

    /// The next MAD to send and the number of the port that it leaves by, if one is due. To be
    /// asked until there is none.
    pub(in crate::server) fn due(&mut self, now: Duration) -> Option<(usize, Slot)> {
        while let Some((due, transaction)) = self.alarms.first().copied()
            && due <= now
        {
            self.alarms.pop_first();
            if let Some(again) = self.again(transaction, now) {
                return Some(again);
            }
        }
        self.first(now)
    }

    /// What became of Reports so far.
    pub(in crate::server) const fn tally(&self) -> Tally {
        self.tally
    }

    /// Sends one once more, or gives it up.
    fn again(&mut self, transaction: u32, now: Duration) -> Option<(usize, Slot)> {
        let waiting = self.waiting.get_mut(&transaction)?;
        if waiting.left == 0 {
            self.waiting.remove(&transaction);
            self.tally.given_up += 1;
            return None;
        }
        waiting.left -= 1;
        waiting.due = now + self.patience.timeout;
        self.alarms.insert((waiting.due, transaction));
        Some((waiting.port, *waiting.slot))
    }

    /// The first of those that were not sent yet.
    fn first(&mut self, now: Duration) -> Option<(usize, Slot)> {
        if self.waiting.len() >= WINDOW {
            return None;
        }
        let (report, repeats) = self.queue.pop_front()?;
        let transaction = self.transaction();
        let Patience { timeout, retries } = self.patience;
        let (wait, left) = match repeats {
            // The kernel has as many tries as we would have; after that its silence is final.
            true => (timeout * (retries + 1) + GRACE, 0),
            false => (timeout, retries),
        };
        let mut slot = Slot {
            header: report.to,
            mad: *report.mad,
        };
        // Read by the kernel, which then repeats by itself; where it does not, `again` does.
        slot.header.timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        slot.header.retries = retries;
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.transaction_id = u64::from(transaction).into();
        let due = now + wait;
        let waiting = Waiting {
            port: report.port,
            slot: Box::new(slot),
            due,
            left,
        };
        self.waiting.insert(transaction, waiting);
        self.alarms.insert((due, transaction));
        Some((report.port, slot))
    }

    /// One that no Report under way has; never 0, which OpenSM's clients take for none. Ends: far
    /// fewer are under way than there are numbers.
    fn transaction(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && !self.waiting.contains_key(&self.last) {
                return self.last;
            }
        }
    }
}

/// The upper half belongs to transports: the kernel and the simulator mark it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half is what is wanted"
)]
const fn low_half(transaction: u64) -> u32 {
    transaction as u32
}

/// Reports that may be under way at a time. A port that goes is told to every subscriber, and their
/// responses come back together.
const WINDOW: usize = 256;
/// Reports that may wait to be sent; more are dropped.
const QUEUE: usize = 1 << 16;
/// For a transport that repeats by itself, before its silence is taken for the end.
const GRACE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
