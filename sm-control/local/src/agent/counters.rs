//! What an agent heard and answered.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Reason;

/// What can happen to a message, but for refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Counted {
    /// RESOLVE answered by records.
    Resolved,
    /// IP_RESOLVE answered by a GID.
    ResolvedAddress,
    /// RESOLVE put off by the resolver.
    Later,
    /// No request, not for this client, or not to be read.
    Ignored,
    /// A datagram of another process.
    Foreign,
    /// The kernel confirmed a message of ours.
    Acknowledged,
    /// The kernel refused a message of ours.
    AcknowledgedRefused,
    /// A reply that found no room.
    Unwritten,
}

impl Counted {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::Resolved,
        Self::ResolvedAddress,
        Self::Later,
        Self::Ignored,
        Self::Foreign,
        Self::Acknowledged,
        Self::AcknowledgedRefused,
        Self::Unwritten,
    ];

    /// The counter's name, a metric's label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resolved => "resolved",
            Self::ResolvedAddress => "resolved_address",
            Self::Later => "later",
            Self::Ignored => "ignored",
            Self::Foreign => "foreign",
            Self::Acknowledged => "acknowledged",
            Self::AcknowledgedRefused => "acknowledged_refused",
            Self::Unwritten => "unwritten",
        }
    }
}

/// Written by one agent, read by whoever reports.
#[derive(Debug, Default)]
pub struct Counters {
    counted: [AtomicU64; Counted::ALL.len()],
    refused: [AtomicU64; Reason::ALL.len()],
}

impl Counters {
    /// How often it happened.
    pub fn of(&self, what: Counted) -> u64 {
        read(&self.counted, what as usize)
    }

    /// Refusals for this reason.
    pub fn refused_for(&self, reason: Reason) -> u64 {
        read(&self.refused, reason as usize)
    }

    /// Refusals for all reasons.
    pub fn refused_in_all(&self) -> u64 {
        Reason::ALL
            .into_iter()
            .map(|reason| self.refused_for(reason))
            .sum()
    }

    pub(super) fn count(&self, what: Counted) {
        add(&self.counted, what as usize);
    }

    pub(super) fn refused(&self, reason: Reason) {
        add(&self.refused, reason as usize);
    }
}

fn read(counters: &[AtomicU64], at: usize) -> u64 {
    counters
        .get(at)
        .map_or(0, |counter| counter.load(Ordering::Relaxed))
}

/// One writer: load and store cost less than an atomic addition.
fn add(counters: &[AtomicU64], at: usize) {
    if let Some(counter) = counters.get(at) {
        counter.store(
            counter.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }
}
