//! Why a request was refused.
//!
//! The kernel is never told: its protocol has one bit for "ask the SA". The reason is for the
//! operator, as a counter in `sapphire status`, in the metrics and on SIGUSR1.
//! `docs/local-service.md` says what to do about each.

/// Why the kernel shall ask the SA. Each is a counter, and its number the index of that. A failure
/// that an SA told is kept for a while, so a reason may also be the answer of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// The request cannot be understood: lengths that do not fit, an attribute of a wrong size.
    Malformed,
    /// An operation or a mandatory attribute that this agent does not know: a newer kernel. Also a
    /// QoS class over 4095, for which a PathRecord has no room.
    Unsupported,
    /// No destination, or nothing at all to resolve by. The SA would answer the former with the
    /// paths to every port.
    NoDestination,
    /// No InfiniBand port of this host has this device name and number. RoCE ports are not counted
    /// as ports here.
    UnknownPort,
    /// The snapshot has no such source. No resolver here tells it from [`Self::NoPath`]; one that
    /// looks up ends by itself could.
    UnknownSource,
    /// The snapshot has no such destination. As [`Self::UnknownSource`].
    UnknownDestination,
    /// The SA's own rules refuse: P_Key, policy, reversibility.
    NoPath,
    /// Resolved without a record that every kernel would take. Points to a fault of ours.
    NoRecord,
    /// Nothing to answer from yet: the daemon has just started, or its first load failed.
    NoSnapshot,
    /// What there is may be older than the fabric: another LID, another SM, a port that is not
    /// active, or an SA that serves another snapshot; or the fleet does not say that it is in force.
    Stale,
    /// The SA was asked and was silent, busy, or slower than `budget_ms`; or too many questions
    /// wait for it.
    Budget,
    /// The SA was asked and refused, not long ago. [`crate::proxy`] repeats the reason that
    /// it kept instead.
    Refused,
    /// IP_RESOLVE for an address that the file `addresses` has not.
    UnknownAddress,
}

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Malformed,
        Self::Unsupported,
        Self::NoDestination,
        Self::UnknownPort,
        Self::UnknownSource,
        Self::UnknownDestination,
        Self::NoPath,
        Self::NoRecord,
        Self::NoSnapshot,
        Self::Stale,
        Self::Budget,
        Self::Refused,
        Self::UnknownAddress,
    ];

    /// The counter's name, a metric's label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::NoDestination => "no_destination",
            Self::UnknownPort => "unknown_port",
            Self::UnknownSource => "unknown_source",
            Self::UnknownDestination => "unknown_destination",
            Self::NoPath => "no_path",
            Self::NoRecord => "no_record",
            Self::NoSnapshot => "no_snapshot",
            Self::Stale => "stale",
            Self::Budget => "budget",
            Self::Refused => "refused",
            Self::UnknownAddress => "unknown_address",
        }
    }
}
