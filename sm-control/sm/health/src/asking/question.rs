//! The requests of a visit, and what a device says that it has.
//!
//! | ClassPortInfo says | a visit is |
//! |---|---|
//! | nothing of extended counters | PortCounters |
//! | extended counters | PortCounters, then PortCountersExtended for traffic |
//! | extended counters with errors | PortCountersExtended alone, which then has all |
//! | it is refused | PortCounters, which every device has to have |
//!
//! What it says counts for an hour. A redirection to another port is not followed: what the answer holds then is not looked at.

use std::time::Duration;

use sa_wire::Guid;
use sa_wire::class_port_info::ClassPortInfo;
use sa_wire::performance::{Attribute, PerformanceMad, attribute, capability};

use crate::counters::Reading;

/// What a device says that it has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Class {
    /// When it said so.
    pub(super) asked_at: Duration,
    /// PortCountersExtended, of traffic.
    pub(super) has_extended: bool,
    /// Errors are in it too.
    pub(super) has_extended_errors: bool,
    /// PortXmitWait.
    pub(super) has_wait: bool,
}

/// A request of a visit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    /// Who is asked.
    pub(super) device: Guid,
    /// About which of its ports.
    pub(super) port: u8,
    /// Where it is asked.
    pub(super) lid: u16,
    /// For what.
    pub(super) step: Step,
    /// So far.
    pub(super) reading: Reading,
    /// When it counts as not answered.
    pub(super) deadline: Duration,
}

/// What it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// What the device has: ClassPortInfo.
    Class,
    /// PortCounters.
    Counters,
    /// PortCountersExtended.
    Extended,
    /// A Set that clears the counters whose bits are set, and no others.
    Clear { errors: u16, wait: u8 },
}

impl Class {
    /// As told at a time.
    pub(super) fn of(told: &ClassPortInfo, now: Duration) -> Self {
        let mask = told.capability_mask().0;
        let extended = capability::EXTENDED | capability::EXTENDED_WITHOUT_CASTS;
        let has_extended = mask & extended != 0;
        Self {
            asked_at: now,
            has_extended,
            has_extended_errors: has_extended
                && told.capability_mask2().0 & capability::EXTENDED_ERRORS != 0,
            has_wait: mask & capability::XMIT_WAIT != 0,
        }
    }

    /// The first question of a visit to a device that has told this, or nothing yet.
    pub(super) fn first_step(class: Option<Self>) -> Step {
        match class {
            // One request then tells all.
            Some(class) if class.has_extended_errors => Step::Extended,
            _ => Step::Counters,
        }
    }
}

impl Question {
    /// Its AttributeID.
    pub(super) const fn attribute(&self) -> u16 {
        match self.step {
            Step::Class => attribute::CLASS_PORT_INFO,
            Step::Counters | Step::Clear { .. } => attribute::PORT_COUNTERS,
            Step::Extended => attribute::PORT_COUNTERS_EXTENDED,
        }
    }

    /// As it goes out.
    pub(super) fn mad(&self, transaction: u32) -> PerformanceMad {
        match self.step {
            Step::Clear { errors, wait } => {
                PerformanceMad::clear(self.port, errors, wait, transaction)
            }
            _ => PerformanceMad::get(self.attribute(), self.port, transaction),
        }
    }

    /// The counters of an answer, where they are of the port that was asked about.
    pub(super) fn own<T: Attribute>(&self, answer: &PerformanceMad) -> Option<T> {
        let [_, port, ..] = answer.data;
        answer.attribute().filter(|_| port == self.port)
    }
}
