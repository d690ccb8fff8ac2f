//! InformInfo and InformInfoRecord: who wants to hear of what. Source: IBA vol. 1, 13.4.8.3,
//! 15.2.5.13; OpenSM `ib_types.h`.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::field::{Field, Form};

/// An InformInfo: what to report, and where to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct InformInfo {
    /// GID of the source; zero asks by LIDs.
    pub gid: [u8; 16],
    /// First LID of the sources; [`ANY16`] is all.
    pub lid_range_begin: U16,
    /// Last LID of the sources.
    pub lid_range_end: U16,
    /// Not used; echoed.
    pub reserved: U16,
    /// IsGeneric: not 0 for generic traps.
    pub is_generic: u8,
    /// 1 subscribes, 0 ends a subscription.
    pub subscribe: u8,
    /// Type; [`ANY16`] is all.
    pub trap_type: U16,
    /// TrapNumber, or DeviceID of vendors' traps; [`ANY16`] is all.
    pub trap_number: U16,
    /// QPN in the upper three bytes, RespTimeValue in the lower five bits.
    pub qpn_and_resp_time: U32,
    /// Not used; echoed.
    pub reserved2: u8,
    /// ProducerType, or VendorID of vendors' traps; [`ANY24`] is all.
    pub producer_type: [u8; 3],
}

impl InformInfo {
    /// The subscriber's queue pair.
    pub const fn qpn(&self) -> u32 {
        self.qpn_and_resp_time.get() >> 8
    }

    /// Sets the subscriber's queue pair; of more than 24 bits the upper ones are lost.
    pub const fn set_qpn(&mut self, qpn: u32) {
        let rest = self.qpn_and_resp_time.get() & 0xff;
        self.qpn_and_resp_time = U32::new(qpn << 8 | rest);
    }
}

/// Any LID, type or trap number.
pub const ANY16: u16 = 0xffff;
/// Producer type "any".
pub const ANY24: [u8; 3] = [0xff; 3];

/// An InformInfoRecord.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct InformInfoRecord {
    /// GID of the port that is told.
    pub subscriber_gid: [u8; 16],
    /// Number of the subscription among those of a subscriber.
    pub number: U16,
    /// Not used; zero in our records.
    pub reserved: [u8; 6],
    /// What the subscriber wants to hear of.
    pub info: InformInfo,
    /// Fills the record up to a multiple of 8 bytes.
    pub padding: U32,
}

/// Components of an InformInfoRecord.
pub(super) const INFORM_INFO_RECORD: &[Field] = &[
    Field::number("subscriber_gid", 0, 0, 128).form(Form::Gid),
    Field::number("subscriber_enum", 1, 128, 16),
    // Component 2 is reserved, as are 6, 12 and 14.
    Field::number("gid", 3, 192, 128).form(Form::Gid),
    Field::number("lid_range_begin", 4, 320, 16),
    Field::number("lid_range_end", 5, 336, 16),
    Field::number("is_generic", 7, 368, 8),
    Field::number("subscribe", 8, 376, 8),
    Field::number("trap_type", 9, 384, 16),
    Field::number("trap_number", 10, 400, 16),
    Field::number("qpn", 11, 416, 24).hex(),
    Field::number("resp_time", 13, 443, 5),
    Field::number("producer_type", 15, 456, 24),
];

const _: () = assert!(size_of::<InformInfo>() == 36);
const _: () = assert!(size_of::<InformInfoRecord>() == 64);
