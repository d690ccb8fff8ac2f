//! LinkRecord and SMInfoRecord, and the components of ClassPortInfo.
//! Source: IBA vol. 1, 15.2.5.11, 14.2.5.13, 13.4.8.1.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::field::Field;

/// A LinkRecord as it lies in a table, padding included: one end of a cable and the other.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct LinkRecord {
    /// LID of the near end.
    pub from_lid: U16,
    /// Its port number.
    pub from_port: u8,
    /// Port number of the far end.
    pub to_port: u8,
    /// Its LID.
    pub to_lid: U16,
    /// Zero.
    pub padding: U16,
}

/// Components of a LinkRecord.
pub(super) const LINK: &[Field] = &[
    Field::number("from_lid", 0, 0, 16),
    Field::number("from_port", 1, 16, 8),
    Field::number("to_port", 2, 24, 8),
    Field::number("to_lid", 3, 32, 16),
];

/// An SMInfoRecord as it lies in a table, padding included.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SmInfoRecord {
    /// LID of the SM's port.
    pub lid: U16,
    /// Zero.
    pub reserved: U16,
    /// GUID of the SM's port.
    pub guid: U64,
    /// SM_Key, never told.
    pub sm_key: U64,
    /// ActCount: what the SM has sent.
    pub act_count: U32,
    /// Priority (7 to 4), SMState (3 to 0); 3 is master.
    pub priority_and_state: u8,
    /// Zero.
    pub padding: [u8; 7],
}

/// Components of an SMInfoRecord.
pub(super) const SM_INFO: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    // Component 1 is the reserved word behind the LID.
    Field::number("guid", 2, 32, 64).hex(),
    Field::number("sm_key", 3, 96, 64).hex(),
    Field::number("act_count", 4, 160, 32),
    Field::number("priority", 5, 192, 4),
    Field::number("sm_state", 6, 196, 4),
];

/// Components of ClassPortInfo; see [`crate::class_port_info`]. No request can ask for any.
pub(super) const CLASS_PORT_INFO: &[Field] = &[
    Field::number("base_version", 0, 0, 8).unasked(),
    Field::number("class_version", 0, 8, 8).unasked(),
    Field::number("capability_mask", 0, 16, 16).hex().unasked(),
    Field::number("capability_mask2", 0, 32, 27).hex().unasked(),
    Field::number("response_time", 0, 59, 5).unasked(),
    Field::number("redirect_lid", 0, 224, 16).unasked(),
    Field::number("redirect_pkey", 0, 240, 16).hex().unasked(),
    Field::number("redirect_qp", 0, 264, 24).unasked(),
    Field::number("redirect_qkey", 0, 288, 32).hex().unasked(),
    Field::number("trap_lid", 0, 480, 16).unasked(),
    Field::number("trap_pkey", 0, 496, 16).hex().unasked(),
    Field::number("trap_hop_limit", 0, 512, 8).unasked(),
    Field::number("trap_qp", 0, 520, 24).unasked(),
    Field::number("trap_qkey", 0, 544, 32).hex().unasked(),
];

const _: () = assert!(size_of::<LinkRecord>() == 8);
const _: () = assert!(size_of::<SmInfoRecord>() == 32);
