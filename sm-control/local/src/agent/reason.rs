//! Why a request was refused.

/// Why the kernel shall ask the SA. Each is a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// The request cannot be understood.
    Malformed,
    /// An operation or a mandatory attribute that this agent does not know.
    Unsupported,
    /// No destination, or nothing at all to resolve by.
    NoDestination,
    /// No such device or port, or it has no place in the snapshot.
    UnknownPort,
    /// The snapshot has no such source.
    UnknownSource,
    /// The snapshot has no such destination.
    UnknownDestination,
    /// The SA's own rules refuse: P_Key, policy, reversibility.
    NoPath,
    /// Resolved without a record that the kernel would take.
    NoRecord,
    /// Nothing to answer from yet.
    NoSnapshot,
    /// What there is may be older than the fabric.
    Stale,
    /// The SA was asked and did not answer in time.
    Budget,
    /// The SA was asked and refused, not long ago.
    Refused,
    /// No GID is known for the IP address.
    UnknownAddress,
}

impl Reason {
    /// All of them, in order.
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
