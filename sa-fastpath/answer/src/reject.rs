//! Why a request gets an error, nothing, or the slow lane.
//!
//! Three enums, one for each way not to be answered with a record, and each reason is one counter
//! and one label of a metric:
//!
//! | enum | what the requester sees | who counts it |
//! |---|---|---|
//! | [`Reject`] | a reply with a status and no record | `refused` |
//! | [`DropReason`] | nothing; it asks again after its timeout | `dropped` |
//! | [`PuntReason`] | its answer, later, from the slow lane | `punted` |
//!
//! Names of metrics stay when variants are renamed: dashboards know `far_destination`, not
//! `OffSubnet`.

use sa_wire::mad::Status;

/// Why a request gets an error reply.
///
/// Each is one MAD status and one label of a metric. The order is fixed: the discriminant is the
/// place among the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reject {
    /// Malformed, or its components contradict each other.
    RequestInvalid,
    /// Well formed, but nothing matches; a table says so by being empty.
    NoRecords,
    /// Components that must come together did not: half a service id, or GID counts that are
    /// missing.
    InsufficientComponents,
    /// A GID that is nobody's, where that is an error.
    InvalidGid,
    /// A method that the attribute does not have, such as a Get of MultiPathRecord.
    Unsupported,
}

impl Reject {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// Every one, in the order of the discriminants, with a name for metrics.
    pub const ALL: [(Self, &'static str); Self::COUNT] = [
        (Self::RequestInvalid, "request_invalid"),
        (Self::NoRecords, "no_records"),
        (Self::InsufficientComponents, "insufficient_components"),
        (Self::InvalidGid, "invalid_gid"),
        (Self::Unsupported, "unsupported"),
    ];

    /// The MAD status that says so.
    pub const fn status(self) -> Status {
        match self {
            Self::RequestInvalid => Status::REQ_INVALID,
            Self::NoRecords => Status::NO_RECORDS,
            Self::InsufficientComponents => Status::REQ_INSUFFICIENT_COMPONENTS,
            Self::InvalidGid => Status::REQ_INVALID_GID,
            Self::Unsupported => Status::METHOD_ATTRIBUTE_NOT_SUPPORTED,
        }
    }
}

/// Why a request gets no reply at all.
///
/// Silence is the answer to what is no request for this SA, so that two SAs never answer each
/// other, and to what nobody may learn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// No snapshot is in service yet.
    NotReady,
    /// Not of the Subnet Administration class: another agent's business.
    Class,
    /// It is a response, but not to a Report of this SA.
    Response,
    /// It is no request, but a part of an RMPP transfer, which only the transfer's owner can use.
    Rmpp,
    /// Its SM_Key is neither 0 nor ours: an error would tell who guesses keys that this is an SA.
    Key,
    /// Its source LID belongs to nobody, so nobody could get the answer.
    Requester,
    /// The slow lane's queue has no room for more of this requester; it will ask again.
    QueueFull,
    /// Not for requesters without the key; see [`crate::access`].
    Access,
    /// It waited for so long that its answer would come too late; by `overload` of sa-fastpath.
    Age,
    /// Its sender has had more than its share while others waited; by `overload` of sa-fastpath.
    Share,
}

impl DropReason {
    /// How many there are.
    pub const COUNT: usize = 10;

    /// Every one, in the order of the discriminants, with a name for metrics.
    pub const ALL: [(Self, &'static str); Self::COUNT] = [
        (Self::NotReady, "not_ready"),
        (Self::Class, "class"),
        (Self::Response, "response"),
        (Self::Rmpp, "rmpp"),
        (Self::Key, "key"),
        (Self::Requester, "requester"),
        (Self::QueueFull, "queue_full"),
        (Self::Access, "access"),
        (Self::Age, "age"),
        (Self::Share, "share"),
    ];
}

/// Why a request is the slow lane's.
///
/// None of these is an error: a worker does what is asked often and takes a bounded time, the slow
/// lane everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PuntReason {
    /// Another attribute or method than Get and GetTable of PathRecord and GetMulti of
    /// MultiPathRecord.
    Attribute,
    /// An end that is neither named by GID nor by LID.
    UnnamedEnd,
    /// A multicast group, or a destination in another subnet.
    OffSubnet,
    /// More records than one MAD holds, or surely more: a table has to be segmented.
    LongTable,
    /// A part of an RMPP transfer: an acknowledgement, STOP, ABORT, or a segment of a long request.
    Rmpp,
    /// The response to a Report of this SA: a subscriber has got it.
    Report,
    /// An end by an alias GUID, or by the LID of a port that has some.
    Alias,
    /// A path whose SL the routing engine chose, and nobody here knows which.
    UnknownSl,
}

impl PuntReason {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// Every one, in the order of the discriminants, with a name for metrics.
    pub const ALL: [(Self, &'static str); Self::COUNT] = [
        (Self::Attribute, "attribute"),
        (Self::UnnamedEnd, "unnamed_end"),
        (Self::OffSubnet, "far_destination"),
        (Self::LongTable, "long_table"),
        (Self::Rmpp, "rmpp"),
        (Self::Report, "report"),
        (Self::Alias, "alias"),
        (Self::UnknownSl, "unknown_sl"),
    ];
}
