//! Tables of ports: SLtoVLMappingTableRecord, VLArbitrationTableRecord, P_KeyTableRecord,
//! GUIDInfoRecord. Source: IBA vol. 1, 14.2.5.5 to 14.2.5.9, 15.2.5.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::field::{Field, Form};
use crate::attrs::SlToVl;

/// An SLtoVLMappingTableRecord.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SlToVlRecord {
    /// LID of the port, or of the switch.
    pub lid: U16,
    /// Input port; 0 except on switches.
    pub input: u8,
    /// Output port; 0 except on switches.
    pub output: u8,
    /// Zero.
    pub reserved: U32,
    /// VLs, two to a byte, that of the lower SL in the upper half.
    pub vls: [u8; 8],
}

impl SlToVlRecord {
    /// The table as it lies on the wire.
    pub fn packed(table: SlToVl) -> [u8; 8] {
        let mut packed = [0; 8];
        for (place, pair) in packed.iter_mut().zip(table.0.chunks_exact(2)) {
            if let [even, odd] = pair {
                // Two to a byte, the lower SL in the upper half.
                *place = even << 4 | odd & 0x0f;
            }
        }
        packed
    }

    /// The table of what lies on the wire.
    pub fn unpacked(vls: [u8; 8]) -> SlToVl {
        let mut table = [0; 16];
        for (pair, byte) in table.chunks_exact_mut(2).zip(vls) {
            pair.copy_from_slice(&[byte >> 4, byte & 0xf]);
        }
        SlToVl(table)
    }
}

/// Components of an SLtoVLMappingTableRecord.
pub(super) const SL_TO_VL: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    Field::number("input_port", 1, 16, 8),
    Field::number("output_port", 2, 24, 8),
    Field::number("vls", 0, 64, 64)
        .form(Form::List { each: 4 })
        .unasked(),
];

/// A VLArbitrationTableRecord: 32 entries.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct VlArbitrationRecord {
    /// LID of the port, or of the switch.
    pub lid: U16,
    /// Port number.
    pub port: u8,
    /// 1 and 2: low priority; 3 and 4: high priority.
    pub block: u8,
    /// Zero.
    pub reserved: U32,
    /// VL and weight.
    pub entries: [[u8; 2]; 32],
}

/// Components of a VLArbitrationTableRecord.
pub(super) const VL_ARBITRATION: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    Field::number("port_num", 1, 16, 8),
    Field::number("block_num", 2, 24, 8),
    Field::number("entries", 0, 64, 512)
        .form(Form::VlWeights)
        .unasked(),
];

/// A P_KeyTableRecord: 32 entries.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct PKeyTableRecord {
    /// LID of the port, or of the switch.
    pub lid: U16,
    /// BlockNum.
    pub block: U16,
    /// Port number.
    pub port: u8,
    /// Zero.
    pub reserved: [u8; 3],
    /// P_Keys; 0 is none.
    pub pkeys: [U16; 32],
}

/// Components of a P_KeyTableRecord.
pub(super) const PKEY_TABLE: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    Field::number("block_num", 1, 16, 16),
    Field::number("port_num", 2, 32, 8),
    Field::number("pkeys", 0, 64, 512)
        .form(Form::HexList { each: 16 })
        .unasked(),
];

/// A GUIDInfoRecord: 8 GUIDs of a port.
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
pub struct GuidInfoRecord {
    /// LID of the port.
    pub lid: U16,
    /// BlockNum.
    pub block: u8,
    /// Zero.
    pub reserved: [u8; 5],
    /// GUIDs; 0 is none. The first of block 0 is the port GUID.
    pub guids: [U64; 8],
}

/// Components of a GUIDInfoRecord.
pub(super) const GUID_INFO: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    Field::number("block_num", 1, 16, 8),
    // Components 2 and 3 are reserved.
    Field::number("guid0", 4, 64, 64).hex(),
    Field::number("guid1", 5, 128, 64).hex(),
    Field::number("guid2", 6, 192, 64).hex(),
    Field::number("guid3", 7, 256, 64).hex(),
    Field::number("guid4", 8, 320, 64).hex(),
    Field::number("guid5", 9, 384, 64).hex(),
    Field::number("guid6", 10, 448, 64).hex(),
    Field::number("guid7", 11, 512, 64).hex(),
];

const _: () = assert!(size_of::<SlToVlRecord>() == 16);
const _: () = assert!(size_of::<VlArbitrationRecord>() == 72);
const _: () = assert!(size_of::<PKeyTableRecord>() == 72);
const _: () = assert!(size_of::<GuidInfoRecord>() == 72);
