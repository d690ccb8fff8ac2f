//! What an agent heard and answered.
//!
//! Each message of a datagram ends in one counter: one of [`Counted`] or one [`Reason`]. Two do not
//! end anything and come on top: [`Counted::Later`], whose question is counted by its outcome
//! later, and [`Counted::Unwritten`], which follows a refusal. The names are labels of the metrics
//! `sapphire_local_*`.

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
    /// RESOLVE put off by the resolver. Its outcome is counted too, so this is no third kind of
    /// end.
    Later,
    /// No request, a message of another netlink client, or one that cannot be walked over. Gets no
    /// reply: two agents that answer such messages would answer each other for ever.
    Ignored,
    /// A whole datagram of another process, which can only be an attempt to be heard as the kernel.
    Foreign,
    /// The kernel confirmed a message of ours. Kernels before 5.6 do so for each; newer ones only
    /// where it is asked for.
    Acknowledged,
    /// The kernel refused a message of ours; see [`super::Refusal`].
    AcknowledgedRefused,
    /// A refusal that found no room in [`super::Replies`]. Its query waits for the kernel's
    /// timeout. It stays 0 while the buffer holds the longest reply.
    Unwritten,
}

impl Counted {
    /// All of them, in the order of their numbers, which are indices into [`Counters`].
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

/// Written by one agent, read by whoever reports. Readers may see one counter moved and another not
/// yet; sums over them are right only when the agent rests.
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

    /// Refusals for all reasons. While the agent works, the sum may lack the latest.
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

/// An index past the end cannot come from either enum; it reads as 0 so that there is nothing to
/// panic.
fn read(counters: &[AtomicU64], at: usize) -> u64 {
    counters
        .get(at)
        .map_or(0, |counter| counter.load(Ordering::Relaxed))
}

/// Adds one. There is one writer, so a load and a store are enough, and they cost less than an
/// atomic addition.
fn add(counters: &[AtomicU64], at: usize) {
    if let Some(counter) = counters.get(at) {
        counter.store(
            counter.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }
}
