//! A device between two visits: whether it may be asked now, and what.
//!
//! ```text
//!  free ──visit──> busy ──┬─ told ───────────────────> free
//!    ^                    └─ told nothing: failures + 1 ─┬─ fewer than 3 in a row ──> free
//!    │                                                   └─ else ──> rests: 1, 2, 4, 8, 16 periods
//!    └──────────────── the rest is over ─────────────────────────────┘
//! ```
//!
//! A device is a node, whatever number of ports it has: one processor answers for all ports of a switch, and one that has three
//! questions before it answers none of them in time. So one that is slow is asked for a part of its ports in a round, and for the others
//! in later ones; nobody else waits for it.
//!
//! That a device told nothing may be anybody's fault: a lost packet, a reboot, a table that is being written. Three in a row are
//! needed before it is left alone, and any word of it ends that.

use std::time::Duration;

use super::question::{Class, Step};

/// What is known of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Device {
    /// What it says that it has; none before it was asked, and after it was mute.
    pub(super) class: Option<Class>,
    /// A visit is under way.
    is_busy: bool,
    /// Visits in a row without an answer.
    failures: u32,
    /// It is left alone before.
    rests_until: Duration,
}

impl Device {
    /// Begins a visit. `None` where it has one already, or rests.
    pub(super) fn visit(&mut self, now: Duration) -> Option<Step> {
        if self.is_busy || now < self.rests_until {
            return None;
        }
        self.is_busy = true;
        // New firmware may have more, and an answer may have been somebody's defect.
        let known = self
            .class
            .filter(|class| now < class.asked_at + CLASS_HOLDS);
        Some(match known {
            Some(_) => Class::first_step(known),
            None => Step::Class,
        })
    }

    /// The visit is over, and it has told.
    pub(super) const fn answer(&mut self) {
        self.is_busy = false;
        self.failures = 0;
        self.rests_until = Duration::ZERO;
    }

    /// The visit is over, and it has told nothing. How many times in a row, where those are many.
    pub(super) fn fail(&mut self, period: Duration, now: Duration) -> Option<u32> {
        self.is_busy = false;
        self.failures = self.failures.saturating_add(1);
        let over = self.failures.checked_sub(PATIENCE)?;
        self.rests_until = now + period * (1 << over.min(LONGEST_REST));
        // When it is back it may be another one.
        self.class = None;
        Some(self.failures)
    }
}

/// Visits in a row before a device rests.
const PATIENCE: u32 = 3;
/// As a power of two of periods.
const LONGEST_REST: u32 = 4;
/// How long it counts what a device says that it has.
const CLASS_HOLDS: Duration = Duration::from_secs(3600);
