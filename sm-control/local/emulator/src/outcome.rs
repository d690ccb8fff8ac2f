//! How a query ends.
//!
//! The outcomes differ in the one thing that matters to an operator, whether the SA gets its
//! chance: after [`Outcome::FallbackToSa`] and [`Outcome::TimedOut`] it does, after
//! [`Outcome::FailedEio`] and [`Outcome::FailedRoute`] the connection has failed though a path may
//! exist. No agent may cause those two.

use std::time::Duration;

use sa_wire::Gid;
use sa_wire::netlink_ls::PathFlags;
use sa_wire::netlink_ls::kernel::{Answer, Taken};

use super::Flavour;

/// How a query that was asked of the listener ended. Each query has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With these records; the SA was not asked.
    Accepted(Box<Taken>),
    /// The SA was asked at once.
    FallbackToSa,
    /// -EIO, and the SA was not asked: a success without a record that counts.
    FailedEio,
    /// The records were taken, and then rdma_cm could not sort them: ROUTE_ERROR from about 6.3 on.
    FailedRoute,
    /// Nobody replied in time; the SA was asked then. The caller waited the whole timeout for
    /// nothing.
    TimedOut,
    /// -EINTR: its owner gave it up.
    Cancelled,
    /// The GID of IP_RESOLVE.
    Gid(Gid),
}

impl Outcome {
    /// The word for it in `tests/golden/netlink/vectors.json`, by which a replay compares.
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

    /// From what the parser of the kernel's side says. The flavour adds rdma_cm's view: IPoIB and
    /// SRP sort nothing.
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

/// Each record is the path (no flags, or GMP), inbound or outbound. That is rdma_cm's own test, in
/// its order.
fn is_sorted(taken: &Taken) -> bool {
    let directions = PathFlags::GMP.0 | PathFlags::INBOUND.0 | PathFlags::OUTBOUND.0;
    taken
        .records()
        .iter()
        .all(|(flags, _)| flags.0 == 0 || flags.0 & directions != 0)
}

/// A query that ended. Kept until it is fetched by [`super::Kernel::finished`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its number.
    pub seq: u32,
    /// How.
    pub outcome: Outcome,
    /// Since it was asked, by the times that the kernel was told.
    pub waited: Duration,
}

/// What became of a question at once. All but the first mean that no reply is waited for.
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
