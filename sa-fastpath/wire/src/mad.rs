//! The common header of every management datagram (MAD): methods, status, transaction.
//!
//! Source: IBA vol. 1, 13.4 and 15.2.2; OpenSM `ib_types.h`.

use core::fmt;

use thiserror::Error;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ids::TransactionId;

/// The only base version there is.
pub const BASE_VERSION: u8 = 1;
/// Management class of Subnet Administration.
pub const MGMT_CLASS_SA: u8 = 0x03;
/// Class version of Subnet Administration.
pub const SA_CLASS_VERSION: u8 = 2;

/// The first 24 bytes of a MAD.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct MadHeader {
    /// Always [`BASE_VERSION`]; others are no MADs of InfiniBand.
    pub base_version: u8,
    /// [`MGMT_CLASS_SA`] for what this crate describes.
    pub mgmt_class: u8,
    /// [`SA_CLASS_VERSION`] for class Subnet Administration.
    pub class_version: u8,
    /// One of [`method`]; the topmost bit marks a response.
    pub method: u8,
    /// Raw [`Status`]; 0 in requests.
    pub status: U16,
    /// Unused by Subnet Administration; echoed.
    pub class_specific: U16,
    /// The requester's number for the exchange; echoed. Its upper half belongs to the kernel of
    /// umad.
    pub transaction_id: U64,
    /// Raw [`crate::sa::AttributeId`]: what the request is about.
    pub attribute_id: U16,
    /// Echoed, whatever it holds.
    pub reserved: U16,
    /// Only PortInfoRecord gives it a meaning (bit 31); echoed.
    pub attribute_modifier: U32,
}

impl MadHeader {
    /// The status as a type.
    pub const fn status(&self) -> Status {
        Status(self.status.get())
    }

    /// The transaction as a type.
    pub const fn transaction_id(&self) -> TransactionId {
        TransactionId(self.transaction_id.get())
    }

    /// True for responses (R bit of the method).
    pub const fn is_response(&self) -> bool {
        // The R bit, whatever the method is: also of methods that this class does not have.
        self.method & method::RESPONSE_BIT != 0
    }

    /// True when the versions and the class are those of Subnet Administration.
    pub const fn is_sa(&self) -> bool {
        self.base_version == BASE_VERSION
            && self.mgmt_class == MGMT_CLASS_SA
            && self.class_version == SA_CLASS_VERSION
    }
}

/// Methods of Subnet Administration.
pub mod method {
    /// The R bit: a response.
    pub const RESPONSE_BIT: u8 = 0x80;
    /// SubnAdmGet: one record or an error.
    pub const GET: u8 = 0x01;
    /// SubnAdmSet: joins a group, registers a service, subscribes.
    pub const SET: u8 = 0x02;
    /// SubnTrap, from a port to its SM.
    pub const TRAP: u8 = 0x05;
    /// SubnTrapRepress: the SM has got a Trap. It has no response.
    pub const TRAP_REPRESS: u8 = 0x07;
    /// SubnAdmReport, from the SA to a subscriber.
    pub const REPORT: u8 = 0x06;
    /// SubnAdmGetTable: any number of records.
    pub const GET_TABLE: u8 = 0x12;
    /// SubnAdmGetTraceTable, for paths hop by hop.
    pub const GET_TRACE_TABLE: u8 = 0x13;
    /// SubnAdmGetMulti, for MultiPathRecord; its request is under RMPP.
    pub const GET_MULTI: u8 = 0x14;
    /// SubnAdmDelete: leaves a group, removes a service.
    pub const DELETE: u8 = 0x15;
    /// SubnAdmGetResp, the response to Get and to Set.
    pub const GET_RESP: u8 = 0x81;
    /// SubnAdmReportResp: a subscriber has got a Report.
    pub const REPORT_RESP: u8 = 0x86;
    /// SubnAdmGetTableResp: any number of records, under RMPP.
    pub const GET_TABLE_RESP: u8 = 0x92;
    /// SubnAdmGetTraceTableResp, under RMPP.
    pub const GET_TRACE_TABLE_RESP: u8 = 0x93;
    /// SubnAdmGetMultiResp, under RMPP.
    pub const GET_MULTI_RESP: u8 = 0x94;
    /// SubnAdmDeleteResp: echoes what was deleted.
    pub const DELETE_RESP: u8 = 0x95;
}

/// The method that answers a request: R bit set, and GetResp for Set too.
pub const fn response_method(request: u8) -> u8 {
    match request {
        // The one method whose response is another method's: Set is answered by GetResp.
        method::SET => method::GET_RESP,
        other => other | method::RESPONSE_BIT,
    }
}

/// A MAD status, host order: common bits below, the SA's own codes in the upper byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub u16);

impl Status {
    /// Success: the reply holds what was asked for.
    pub const OK: Self = Self(0x0000);
    /// Busy: ask again later.
    pub const BUSY: Self = Self(0x0001);
    /// Ask elsewhere; the data is a ClassPortInfo.
    pub const REDIRECT: Self = Self(0x0002);
    /// Bad base or class version.
    pub const BAD_VERSION: Self = Self(0x0004);
    /// The class has no such method.
    pub const METHOD_NOT_SUPPORTED: Self = Self(0x0008);
    /// Method not supported for this attribute.
    pub const METHOD_ATTRIBUTE_NOT_SUPPORTED: Self = Self(0x000c);
    /// A field or the attribute modifier is invalid.
    pub const INVALID_FIELD: Self = Self(0x001c);
    /// ERR_NO_RESOURCES: what there is does not suffice for this answer.
    pub const NO_RESOURCES: Self = Self(0x0100);
    /// ERR_REQ_INVALID: the request contradicts itself or names values that there are not.
    pub const REQ_INVALID: Self = Self(0x0200);
    /// ERR_NO_RECORDS: nothing fits; only a Get is told so, a table is empty.
    pub const NO_RECORDS: Self = Self(0x0300);
    /// ERR_TOO_MANY_RECORDS: several fit a Get that must have one.
    pub const TOO_MANY_RECORDS: Self = Self(0x0400);
    /// ERR_REQ_INVALID_GID: a GID that names nobody here.
    pub const REQ_INVALID_GID: Self = Self(0x0500);
    /// ERR_REQ_INSUFFICIENT_COMPONENTS: a component that is required is not in the mask.
    pub const REQ_INSUFFICIENT_COMPONENTS: Self = Self(0x0600);
    /// ERR_REQ_DENIED: the requester may not, or the subnet cannot grant it.
    pub const REQ_DENIED: Self = Self(0x0700);
    /// ERR_REQ_PRIORITY_SUGGESTED: granted at another priority than asked for.
    pub const PRIORITY_SUGGESTED: Self = Self(0x0800);

    /// The number, host order.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The meaning in words; `None` for codes that the specification does not name.
    pub const fn words(self) -> Option<&'static str> {
        // Only codes that a client of an SA can meet; others are shown by their number.
        Some(match self {
            Self::OK => "success",
            Self::BUSY => "busy",
            Self::REDIRECT => "redirect required",
            Self::BAD_VERSION => "bad base or class version",
            Self::METHOD_NOT_SUPPORTED => "method not supported",
            Self::METHOD_ATTRIBUTE_NOT_SUPPORTED => "method not supported for this attribute",
            Self::INVALID_FIELD => "invalid field",
            Self::NO_RESOURCES => "no resources",
            Self::REQ_INVALID => "invalid request",
            Self::NO_RECORDS => "no records",
            Self::TOO_MANY_RECORDS => "too many records",
            Self::REQ_INVALID_GID => "invalid GID",
            Self::REQ_INSUFFICIENT_COMPONENTS => "insufficient components",
            Self::REQ_DENIED => "request denied",
            Self::PRIORITY_SUGGESTED => "another priority is suggested",
            _ => return None,
        })
    }
}

impl fmt::Display for Status {
    /// Number and words: `0x0300 (no records)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The number always, as words alone would hide a code that nobody names.
        let words = self.words().unwrap_or("unknown status");
        write!(f, "0x{:04x} ({words})", self.0)
    }
}

/// Why bytes cannot be read as, or written for, a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Fewer bytes than the layout has.
    #[error("{have} bytes, but the layout needs {need}")]
    TooShort {
        /// Bytes that were given.
        have: usize,
        /// Bytes that the layout takes.
        need: usize,
    },
    /// SGIDCount or DGIDCount is not in the component mask. OpenSM answers
    /// [`Status::REQ_INSUFFICIENT_COMPONENTS`].
    #[error("SGIDCount and DGIDCount must both be in the component mask")]
    CountsNotInMask,
    /// The counts promise more GIDs than the request holds. OpenSM reads on into whatever
    /// follows and answers [`Status::REQ_INVALID_GID`].
    #[error("the counts promise {promised} GIDs, but only {present} were sent")]
    GidsCutOff {
        /// GIDs that the counts promise, after the limit.
        promised: usize,
        /// Whole GIDs in the bytes.
        present: usize,
    },
    /// More GIDs than a request may carry.
    #[error("{count} GIDs are over the limit of {most}")]
    TooManyGids {
        /// Sources and destinations together.
        count: usize,
        /// As many as fit one segment.
        most: usize,
    },
}

const _: () = assert!(size_of::<MadHeader>() == 24);
