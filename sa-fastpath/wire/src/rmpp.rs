//! The header of the reliable multi-packet protocol (RMPP) and the lengths of its segments.
//!
//! Source: IBA vol. 1, 13.6; OpenSM `ib_types.h`.

use zerocopy::byteorder::big_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The only RMPP version there is.
pub const RMPP_VERSION: u8 = 1;
/// RRespTime of "no response time given".
pub const NO_RESPONSE_TIME: u8 = 0x1f;
/// What a segment's payload counts: SA header and data. Units: bytes.
pub const SEGMENT_PAYLOAD: u32 = 220;

/// Bytes 24 to 35 of a Subnet Administration MAD.
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
pub struct RmppHeader {
    /// [`RMPP_VERSION`], or 0 when RMPP is not in use.
    pub version: u8,
    /// One of [`packet_type`]; says what the last two words mean.
    pub packet_type: u8,
    /// RRespTime (bits 7 to 3) and [`flag`]s (bits 2 to 0).
    pub response_time_flags: u8,
    /// One of [`status`]; counts in STOP and ABORT.
    pub status: u8,
    /// SegmentNumber of DATA (from 1) and ACK; 0 in STOP and ABORT.
    pub segment_number: U32,
    /// PayloadLength of DATA, NewWindowLast of ACK.
    pub payload_length: U32,
}

impl RmppHeader {
    /// No RMPP: all zero.
    pub const INACTIVE: Self = Self {
        version: 0,
        packet_type: packet_type::NONE,
        response_time_flags: 0,
        status: status::SUCCESS,
        segment_number: U32::ZERO,
        payload_length: U32::ZERO,
    };

    /// A DATA segment without response time.
    pub const fn data(flags: u8, segment_number: u32, payload_length: u32) -> Self {
        Self {
            version: RMPP_VERSION,
            packet_type: packet_type::DATA,
            // "No response time given" in the five upper bits.
            response_time_flags: NO_RESPONSE_TIME << 3 | flags & flag::MASK,
            status: status::SUCCESS,
            segment_number: U32::new(segment_number),
            payload_length: U32::new(payload_length),
        }
    }

    /// The three [`flag`]s, without RRespTime.
    pub const fn flags(&self) -> u8 {
        self.response_time_flags & flag::MASK
    }

    /// Replaces the flags and leaves RRespTime.
    pub const fn set_flags(&mut self, flags: u8) {
        // RRespTime shares the byte and stays.
        self.response_time_flags = self.response_time_flags & !flag::MASK | flags & flag::MASK;
    }

    /// RRespTime, 0 to 31.
    pub const fn response_time(&self) -> u8 {
        self.response_time_flags >> 3
    }

    /// True when the Active flag is set.
    pub const fn is_active(&self) -> bool {
        self.response_time_flags & flag::ACTIVE != 0
    }

    /// The last word as an ACK means it.
    pub const fn new_window_last(&self) -> u32 {
        self.payload_length.get()
    }
}

/// Flags of a packet, the low three bits; see [`RmppHeader::flags`].
pub mod flag {
    /// RMPP is in use.
    pub const ACTIVE: u8 = 0x01;
    /// First segment of a transfer; its PayloadLength counts all data.
    pub const FIRST: u8 = 0x02;
    /// Last segment of a transfer; its PayloadLength counts its own data.
    pub const LAST: u8 = 0x04;
    /// All three: a reply of one segment.
    pub const SINGLE: u8 = ACTIVE | FIRST | LAST;
    /// The bits of the byte that are flags.
    pub const MASK: u8 = 0x07;
}

/// Values of [`RmppHeader::packet_type`]: what a packet of a transfer is for.
pub mod packet_type {
    /// Not an RMPP packet.
    pub const NONE: u8 = 0;
    /// A segment of the message.
    pub const DATA: u8 = 1;
    /// An acknowledgement, which opens the sender's window further.
    pub const ACK: u8 = 2;
    /// The receiver is out of resources.
    pub const STOP: u8 = 3;
    /// The transfer is given up.
    pub const ABORT: u8 = 4;
}

/// Values of [`RmppHeader::status`]: why a transfer is given up.
pub mod status {
    /// No error; everything but STOP and ABORT.
    pub const SUCCESS: u8 = 0;
    /// STOP: the receiver's resources are exhausted.
    pub const RESOURCES_EXHAUSTED: u8 = 1;
    /// ABORT: the whole transfer took too long.
    pub const TIME_TOO_LONG: u8 = 118;
    /// ABORT: Last flag and PayloadLength disagree.
    pub const BAD_LENGTH: u8 = 119;
    /// ABORT: First flag and SegmentNumber disagree.
    pub const BAD_SEGMENT: u8 = 120;
    /// ABORT: an RMPPType that there is not.
    pub const BAD_TYPE: u8 = 121;
    /// ABORT: NewWindowLast too small.
    pub const WINDOW_TOO_SMALL: u8 = 122;
    /// ABORT: SegmentNumber too big.
    pub const SEGMENT_TOO_BIG: u8 = 123;
    /// ABORT: an RMPPStatus that there is not.
    pub const BAD_STATUS: u8 = 124;
    /// ABORT: an RMPPVersion other than 1.
    pub const UNSUPPORTED_VERSION: u8 = 125;
    /// ABORT: too many retries.
    pub const TOO_MANY_RETRIES: u8 = 126;
    /// ABORT: for a reason that has no number.
    pub const UNSPECIFIED: u8 = 127;
}

/// How a payload is cut, and the PayloadLength of the segments that carry one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadLengths {
    /// How many segments, at least 1.
    pub segments: u32,
    /// PayloadLength of segment 1: all data and one SA header per segment. Units: bytes.
    pub first: u32,
    /// PayloadLength of the last segment; equals `first` when there is only one. Segments
    /// between carry 0. Units: bytes.
    pub last: u32,
}

/// The segments for so many bytes of records; no records still take one segment.
/// `None` when the sum is over what PayloadLength can say (more than 3.9 GB of data).
/// Units: bytes.
pub const fn payload_lengths(data_len: u32) -> Option<PayloadLengths> {
    const HEADER: u32 = SEGMENT_PAYLOAD - SEGMENT_DATA;
    // No data is one segment with the SA header alone.
    let segments = match data_len.div_ceil(SEGMENT_DATA) {
        0 => 1,
        more => more,
    };
    // Each segment's SA header counts in the sum, which has 32 bits.
    let Some(first) = data_len.checked_add(segments * HEADER) else {
        return None;
    };
    // What the segments before did not carry; `segments` is at least one.
    let last = data_len - (segments - 1) * SEGMENT_DATA + HEADER;
    Some(PayloadLengths {
        segments,
        first,
        last,
    })
}

/// Record bytes of one segment. Units: bytes.
pub(crate) const SEGMENT_DATA: u32 = 200;

const _: () = assert!(size_of::<RmppHeader>() == 12);
