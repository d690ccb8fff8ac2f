//! How a query ends.

use std::time::Duration;

use sa_wire::Gid;
use sa_wire::netlink_ls::PathFlags;
use sa_wire::netlink_ls::kernel::{Answer, Taken};

use super::Flavour;

/// How a query that was asked of the listener ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With these records; the SA was not asked.
    Accepted(Box<Taken>),
    /// The SA was asked at once.
    FallbackToSa,
    /// -EIO, and the SA was not asked.
    FailedEio,
    /// The records were taken, and then rdma_cm could not sort them.
    FailedRoute,
    /// Nobody replied in time; the SA was asked then.
    TimedOut,
    /// -EINTR: its owner gave it up.
    Cancelled,
    /// The GID of IP_RESOLVE.
    Gid(Gid),
}

impl Outcome {
    /// The corpus' word for it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::FallbackToSa => "fallback-to-sa",
            Self::FailedEio => "failed-eio",
            Self::FailedRoute => "failed-route",
            Self::TimedOut => "ignored-timeout-then-sa",
            Self::Cancelled => "cancelled",
            Self::Gid(_) => "gid",
        }
    }

    pub(super) fn of(answer: Answer, flavour: Flavour) -> Self {
        match answer {
            Answer::AskSa => Self::FallbackToSa,
            Answer::Fail => Self::FailedEio,
            Answer::Taken(taken) if flavour.sorts_strictly() && !is_sorted(&taken) => {
                Self::FailedRoute
            }
            Answer::Taken(taken) => Self::Accepted(Box::new(taken)),
        }
    }
}

/// Each record is the path (no flags, or GMP), inbound or outbound.
fn is_sorted(taken: &Taken) -> bool {
    let directions = PathFlags::GMP.0 | PathFlags::INBOUND.0 | PathFlags::OUTBOUND.0;
    taken
        .records()
        .iter()
        .all(|(flags, _)| flags.0 == 0 || flags.0 & directions != 0)
}

/// A query that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its number.
    pub seq: u32,
    /// How.
    pub outcome: Outcome,
    /// Since it was asked.
    pub waited: Duration,
}

/// What became of a question at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The listener has it under this number.
    Waiting(u32),
    /// Nobody listens: the SA is asked, or IP_RESOLVE fails (-EADDRNOTAVAIL).
    NobodyListens,
    /// The listener's buffer is full: the same.
    NoRoom,
    /// Nothing to resolve by: the SA is asked.
    NothingToAsk,
}
