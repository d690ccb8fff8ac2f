//! NodeRecord: NodeInfo and NodeDescription. Source: IBA vol. 1, 14.2.5.3, 14.2.5.2, 15.2.5.2.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::field::{Field, Form};

/// A NodeRecord as it lies in a table, padding included.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct NodeRecord {
    /// LID of the port, the first of its range.
    pub lid: U16,
    /// Zero.
    pub reserved: U16,
    /// BaseVersion.
    pub base_version: u8,
    /// ClassVersion.
    pub class_version: u8,
    /// NodeType code.
    pub node_type: u8,
    /// NumPorts.
    pub num_ports: u8,
    /// SystemImageGUID.
    pub system_image_guid: U64,
    /// NodeGUID.
    pub node_guid: U64,
    /// PortGUID.
    pub port_guid: U64,
    /// PartitionCap: entries of the P_Key table.
    pub partition_cap: U16,
    /// DeviceID.
    pub device_id: U16,
    /// Revision.
    pub revision: U32,
    /// LocalPortNum (31 to 24), VendorID (23 to 0).
    pub port_and_vendor: U32,
    /// NodeDescription, filled up with NUL.
    pub description: [u8; 64],
    /// Zero.
    pub padding: U32,
}

/// Components of a NodeRecord.
pub(super) const FIELDS: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    // Component 1 is the reserved word behind the LID.
    Field::number("base_version", 2, 32, 8),
    Field::number("class_version", 3, 40, 8),
    Field::number("node_type", 4, 48, 8),
    Field::number("num_ports", 5, 56, 8),
    Field::number("system_image_guid", 6, 64, 64).hex(),
    Field::number("node_guid", 7, 128, 64).hex(),
    Field::number("port_guid", 8, 192, 64).hex(),
    Field::number("partition_cap", 9, 256, 16),
    Field::number("device_id", 10, 272, 16).hex(),
    Field::number("revision", 11, 288, 32).hex(),
    Field::number("local_port_num", 12, 320, 8),
    Field::number("vendor_id", 13, 328, 24).hex(),
    Field::number("node_description", 14, 352, 512).form(Form::Text),
];

const _: () = assert!(size_of::<NodeRecord>() == 112);
const _: () = assert!(core::mem::offset_of!(NodeRecord, description) == 44);
