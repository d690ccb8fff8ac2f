//! The Subnet Administration header, attribute ids, and a whole SA MAD.
//!
//! Source: IBA vol. 1, 15.2.1 and 15.2.5; OpenSM `ib_types.h`.

use core::fmt;

use zerocopy::byteorder::big_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::mad::MadHeader;
use crate::rmpp::{RmppHeader, SEGMENT_DATA, SEGMENT_PAYLOAD};
use crate::umad::MAD_SIZE;

/// Where the RMPP header starts. Units: bytes.
pub const RMPP_OFFSET: usize = 24;
/// Where the SA header starts. Units: bytes.
pub const SA_OFFSET: usize = 36;
/// Where the attribute data starts. Units: bytes.
pub const DATA_OFFSET: usize = 56;
/// Attribute data of one MAD. Units: bytes.
pub const DATA_SIZE: usize = 200;

/// Bytes 36 to 55 of a Subnet Administration MAD.
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
pub struct SaHeader {
    /// The trust key of a request (0 = untrusted); 0 in every response.
    pub sm_key: U64,
    /// Distance of two records, 0 when there are none; see [`attribute_offset`].
    /// Units: 8 bytes.
    pub attribute_offset: U16,
    /// Not used; echoed.
    pub reserved: U16,
    /// Which components of the attribute data count; bit 0 is the least significant.
    pub component_mask: U64,
}

/// A Subnet Administration MAD: three headers and 200 bytes of attribute data.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SaMad {
    /// Bytes 0 to 23.
    pub mad: MadHeader,
    /// Bytes 24 to 35.
    pub rmpp: RmppHeader,
    /// Bytes 36 to 55.
    pub sa: SaHeader,
    /// Bytes 56 to 255.
    pub data: [u8; DATA_SIZE],
}

impl SaMad {
    /// Views the bytes in place.
    pub const fn from_bytes(bytes: &[u8; MAD_SIZE]) -> &Self {
        // Every pattern of bytes is a MAD, so the view cannot fail.
        zerocopy::transmute_ref!(bytes)
    }

    /// Views the bytes in place, writable.
    pub fn from_bytes_mut(bytes: &mut [u8; MAD_SIZE]) -> &mut Self {
        zerocopy::transmute_mut!(bytes)
    }

    /// The attribute as a type.
    pub const fn attribute_id(&self) -> AttributeId {
        AttributeId(self.mad.attribute_id.get())
    }
}

impl fmt::Debug for SaMad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers only: 200 bytes of data would bury them in a log.
        f.debug_struct("SaMad")
            .field("mad", &self.mad)
            .field("rmpp", &self.rmpp)
            .field("sa", &self.sa)
            .finish_non_exhaustive()
    }
}

/// What a request is about, host order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeId(pub u16);

impl AttributeId {
    /// ClassPortInfo.
    pub const CLASS_PORT_INFO: Self = Self(0x0001);
    /// Notice.
    pub const NOTICE: Self = Self(0x0002);
    /// InformInfo.
    pub const INFORM_INFO: Self = Self(0x0003);
    /// NodeRecord.
    pub const NODE_RECORD: Self = Self(0x0011);
    /// PortInfoRecord.
    pub const PORT_INFO_RECORD: Self = Self(0x0012);
    /// SLtoVLMappingTableRecord.
    pub const SL_TO_VL_RECORD: Self = Self(0x0013);
    /// SwitchInfoRecord.
    pub const SWITCH_INFO_RECORD: Self = Self(0x0014);
    /// LinearForwardingTableRecord.
    pub const LINEAR_FORWARDING_TABLE_RECORD: Self = Self(0x0015);
    /// RandomForwardingTableRecord.
    pub const RANDOM_FORWARDING_TABLE_RECORD: Self = Self(0x0016);
    /// MulticastForwardingTableRecord.
    pub const MULTICAST_FORWARDING_TABLE_RECORD: Self = Self(0x0017);
    /// SMInfoRecord.
    pub const SM_INFO_RECORD: Self = Self(0x0018);
    /// LinkRecord.
    pub const LINK_RECORD: Self = Self(0x0020);
    /// GUIDInfoRecord.
    pub const GUID_INFO_RECORD: Self = Self(0x0030);
    /// ServiceRecord.
    pub const SERVICE_RECORD: Self = Self(0x0031);
    /// P_KeyTableRecord.
    pub const PKEY_TABLE_RECORD: Self = Self(0x0033);
    /// PathRecord.
    pub const PATH_RECORD: Self = Self(0x0035);
    /// VLArbitrationTableRecord.
    pub const VL_ARBITRATION_RECORD: Self = Self(0x0036);
    /// MCMemberRecord.
    pub const MC_MEMBER_RECORD: Self = Self(0x0038);
    /// TraceRecord.
    pub const TRACE_RECORD: Self = Self(0x0039);
    /// MultiPathRecord.
    pub const MULTI_PATH_RECORD: Self = Self(0x003a);
    /// ServiceAssociationRecord.
    pub const SERVICE_ASSOCIATION_RECORD: Self = Self(0x003b);
    /// InformInfoRecord.
    pub const INFORM_INFO_RECORD: Self = Self(0x00f3);
    /// What this SA answers from, an attribute of our own; see [`crate::served`].
    pub const SERVED_SNAPSHOT: Self = Self(0xff51);

    /// The number, host order.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The specification's name; `None` for ids that Subnet Administration does not have.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::CLASS_PORT_INFO => "ClassPortInfo",
            Self::NOTICE => "Notice",
            Self::INFORM_INFO => "InformInfo",
            Self::NODE_RECORD => "NodeRecord",
            Self::PORT_INFO_RECORD => "PortInfoRecord",
            Self::SL_TO_VL_RECORD => "SLtoVLMappingTableRecord",
            Self::SWITCH_INFO_RECORD => "SwitchInfoRecord",
            Self::LINEAR_FORWARDING_TABLE_RECORD => "LinearForwardingTableRecord",
            Self::RANDOM_FORWARDING_TABLE_RECORD => "RandomForwardingTableRecord",
            Self::MULTICAST_FORWARDING_TABLE_RECORD => "MulticastForwardingTableRecord",
            Self::SM_INFO_RECORD => "SMInfoRecord",
            Self::LINK_RECORD => "LinkRecord",
            Self::GUID_INFO_RECORD => "GUIDInfoRecord",
            Self::SERVICE_RECORD => "ServiceRecord",
            Self::PKEY_TABLE_RECORD => "P_KeyTableRecord",
            Self::PATH_RECORD => "PathRecord",
            Self::VL_ARBITRATION_RECORD => "VLArbitrationTableRecord",
            Self::MC_MEMBER_RECORD => "MCMemberRecord",
            Self::TRACE_RECORD => "TraceRecord",
            Self::MULTI_PATH_RECORD => "MultiPathRecord",
            Self::SERVICE_ASSOCIATION_RECORD => "ServiceAssociationRecord",
            Self::INFORM_INFO_RECORD => "InformInfoRecord",
            Self::SERVED_SNAPSHOT => "ServedSnapshot",
            _ => return None,
        })
    }
}

impl fmt::Display for AttributeId {
    /// The name, or the number where there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "attribute 0x{:04x}", self.0),
        }
    }
}

/// The AttributeOffset for records that take so many bytes, padding included; rounded down, as
/// OpenSM does it (the 36 bytes of an InformInfo give 4). Units: bytes in, 8 bytes out.
pub const fn attribute_offset(record_bytes: u16) -> u16 {
    // Rounded down: a record of 36 bytes cannot be told exactly.
    record_bytes / 8
}

/// The distance of two records that an AttributeOffset tells. Units: 8 bytes in, bytes out.
pub const fn record_stride(attribute_offset: u16) -> usize {
    attribute_offset as usize * 8
}

const _: () = assert!(size_of::<SaHeader>() == 20);
// A segment's payload is an SA header and the data of one MAD.
const _: () = assert!(DATA_SIZE == SEGMENT_DATA as usize);
const _: () = assert!(DATA_SIZE + size_of::<SaHeader>() == SEGMENT_PAYLOAD as usize);
const _: () = assert!(size_of::<SaMad>() == MAD_SIZE);
const _: () = assert!(core::mem::offset_of!(SaMad, rmpp) == RMPP_OFFSET);
const _: () = assert!(core::mem::offset_of!(SaMad, sa) == SA_OFFSET);
const _: () = assert!(core::mem::offset_of!(SaMad, data) == DATA_OFFSET);
