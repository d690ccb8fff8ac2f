//! ServiceRecord. Source: IBA vol. 1, 15.2.5.14; OpenSM `ib_types.h`.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::field::{Field, Form};

/// A ServiceRecord.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ServiceRecord {
    /// ServiceID.
    pub id: U64,
    /// ServiceGID: the port that offers it.
    pub gid: [u8; 16],
    /// ServiceP_Key, raw.
    pub pkey: U16,
    /// Echoed.
    pub reserved: U16,
    /// ServiceLease. Units: seconds; [`INFINITE_LEASE`] does not end.
    pub lease: U32,
    /// ServiceKey.
    pub key: [u8; 16],
    /// ServiceName.
    pub name: [u8; 64],
    /// ServiceData8.1 to ServiceData8.16.
    pub data8: [u8; 16],
    /// ServiceData16.1 to ServiceData16.8.
    pub data16: [U16; 8],
    /// ServiceData32.1 to ServiceData32.4.
    pub data32: [U32; 4],
    /// ServiceData64.1 and ServiceData64.2.
    pub data64: [U64; 2],
}

/// A lease that does not end.
pub const INFINITE_LEASE: u32 = u32::MAX;

/// Components of a ServiceRecord.
pub(super) const SERVICE: &[Field] = &[
    Field::number("service_id", 0, 0, 64).hex(),
    Field::number("service_gid", 1, 64, 128).form(Form::Gid),
    Field::number("service_pkey", 2, 192, 16).hex(),
    // Component 3 is the reserved word behind the P_Key.
    Field::number("service_lease", 4, 224, 32),
    Field::number("service_key", 5, 256, 128).form(Form::Bytes),
    Field::number("service_name", 6, 384, 512).form(Form::Text),
    Field::number("service_data8_1", 7, 896, 8),
    Field::number("service_data8_2", 8, 904, 8),
    Field::number("service_data8_3", 9, 912, 8),
    Field::number("service_data8_4", 10, 920, 8),
    Field::number("service_data8_5", 11, 928, 8),
    Field::number("service_data8_6", 12, 936, 8),
    Field::number("service_data8_7", 13, 944, 8),
    Field::number("service_data8_8", 14, 952, 8),
    Field::number("service_data8_9", 15, 960, 8),
    Field::number("service_data8_10", 16, 968, 8),
    Field::number("service_data8_11", 17, 976, 8),
    Field::number("service_data8_12", 18, 984, 8),
    Field::number("service_data8_13", 19, 992, 8),
    Field::number("service_data8_14", 20, 1000, 8),
    Field::number("service_data8_15", 21, 1008, 8),
    Field::number("service_data8_16", 22, 1016, 8),
    Field::number("service_data16_1", 23, 1024, 16),
    Field::number("service_data16_2", 24, 1040, 16),
    Field::number("service_data16_3", 25, 1056, 16),
    Field::number("service_data16_4", 26, 1072, 16),
    Field::number("service_data16_5", 27, 1088, 16),
    Field::number("service_data16_6", 28, 1104, 16),
    Field::number("service_data16_7", 29, 1120, 16),
    Field::number("service_data16_8", 30, 1136, 16),
    Field::number("service_data32_1", 31, 1152, 32),
    Field::number("service_data32_2", 32, 1184, 32),
    Field::number("service_data32_3", 33, 1216, 32),
    Field::number("service_data32_4", 34, 1248, 32),
    Field::number("service_data64_1", 35, 1280, 64),
    Field::number("service_data64_2", 36, 1344, 64),
];

const _: () = assert!(size_of::<ServiceRecord>() == 176);
