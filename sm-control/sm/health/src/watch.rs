//! One port's end of a link over time.
//!
//! ```text
//!  reading ──┬─ minus the one before ──> added: by counter, in which time
//!            └─ kept                        └──> the hour, where it counted an error
//!  a sweep that misses the link ────────────────> the hour
//! ```
//!
//! A port is watched for as long as its link is there, and an hour longer where it has counted something: what a link did before it went
//! away is what somebody asks for who wonders why it went. The hour is apart from the rest, because nearly all ports of a healthy
//! subnet count no error for days, and there are hundreds of thousands of them.

use std::time::Duration;

use crate::counters::{COUNTERS, Counter, ERRORS, Reading};
use crate::hour::{self, Hour};

/// What is kept of a port. Memory: some 200 bytes, 320 more for one that has counted an error within the hour.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    /// The first reading.
    first: Option<Duration>,
    /// The latest one: what the next one is more is new.
    last: Option<(Duration, Reading)>,
    /// Errors; none where there was none for an hour.
    hour: Option<Box<Hour>>,
    /// Packets dropped before they were sent, by the last reading: they count with the next one, unless the link went down meanwhile.
    dropped: u64,
    /// The link went down since the last reading.
    went_down: bool,
    /// The last sweep found the link.
    pub(crate) is_up: bool,
    /// The last sweep left it Active.
    pub(crate) is_active: bool,
}

/// What a reading has added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Added {
    /// Since the reading before.
    pub(crate) time: Duration,
    /// By counter; none where that is not known.
    pub(crate) by: [Option<u64>; COUNTERS],
    /// Somebody has cleared a counter.
    pub(crate) is_reset: bool,
}

impl Added {
    fn grew(&self, counter: Counter) -> bool {
        self.by.get(counter as usize).copied().flatten() > Some(0)
    }
}

impl Watch {
    /// Takes a reading in. `None` for the first one: what was there before is nobody's.
    pub(crate) fn read(&mut self, reading: Reading, now: Duration) -> Option<Added> {
        // Rates are of the time since then: before it nobody counted.
        self.first.get_or_insert(now);
        let (then, before) = self.last.replace((now, reading))?;
        let mut added = Added {
            time: now.saturating_sub(then),
            by: [None; COUNTERS],
            is_reset: false,
        };
        for (counter, by) in Counter::ALL.into_iter().zip(&mut added.by) {
            let grown = reading.since(&before, counter);
            added.is_reset |= grown.is_some_and(|grown| grown.is_reset);
            *by = grown.map(|grown| grown.by);
        }
        self.went_down |= added.grew(Counter::LinkDowned);
        // Of traffic nothing is summed up but over all ports.
        for (slot, by) in added.by.iter().take(ERRORS).enumerate() {
            let by = by.unwrap_or_default();
            let by = match slot == Counter::XmitDiscards as usize {
                true => self.dropped_before(by),
                false => by,
            };
            self.count(slot, by, now);
        }
        self.tidy(now);
        Some(added)
    }

    /// What the reading before told, if that counts. What a port drops because its link is down says nothing of who takes its packets, and
    /// that the link went down may be known only after the counter was read.
    fn dropped_before(&mut self, now: u64) -> u64 {
        let before = core::mem::replace(&mut self.dropped, now);
        if core::mem::take(&mut self.went_down) {
            self.dropped = 0;
            return 0;
        }
        before
    }

    /// A sweep did not find the link any more, or found that it had been down.
    pub(crate) fn lose(&mut self, now: Duration) {
        self.went_down = true;
        self.count(hour::LOST, 1, now);
    }

    /// How often in the last hour.
    pub(crate) fn sum(&self, counter: Counter, now: Duration) -> u64 {
        self.slot(counter as usize, now)
    }

    /// How often the link went down in the last hour: as the port says, or as sweeps saw, whoever saw more.
    pub(crate) fn downs(&self, now: Duration) -> u64 {
        // Both see the same event, so they are not added: a sweep misses short ones, and a port that was replaced counts from 0.
        let seen = self.slot(hour::LOST, now);
        seen.max(self.sum(Counter::LinkDowned, now))
    }

    /// Which time sums are of.
    pub(crate) fn covered(&self, now: Duration) -> Duration {
        self.first
            .map_or(Duration::ZERO, |first| hour::covered(first, now))
    }

    /// The last reading, and when it was made.
    pub(crate) const fn last(&self) -> Option<&(Duration, Reading)> {
        self.last.as_ref()
    }

    /// True where nothing of it need be kept.
    pub(crate) fn is_idle(&self, now: Duration) -> bool {
        !self.is_up && self.hour.as_ref().is_none_or(|hour| hour.is_empty(now))
    }

    /// The sum of an hour.
    fn slot(&self, slot: usize, now: Duration) -> u64 {
        self.hour.as_ref().map_or(0, |hour| hour.sum(slot, now))
    }

    /// Adds to it.
    fn count(&mut self, slot: usize, by: u64, now: Duration) {
        if by > 0 {
            self.hour.get_or_insert_default().add(slot, by, now);
        }
    }

    /// Most ports count no error for days.
    fn tidy(&mut self, now: Duration) {
        if self.hour.as_ref().is_some_and(|hour| hour.is_empty(now)) {
            self.hour = None;
        }
    }
}
