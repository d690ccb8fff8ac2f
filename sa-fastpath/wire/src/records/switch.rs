//! What switches have: SwitchInfoRecord, LinearForwardingTableRecord,
//! MulticastForwardingTableRecord. Source: IBA vol. 1, 14.2.5.4, 14.2.5.10, 14.2.5.12, 15.2.5.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::field::{Field, Form};

/// A SwitchInfoRecord.
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
pub struct SwitchInfoRecord {
    /// LID of the switch.
    pub lid: U16,
    /// Zero.
    pub reserved: U16,
    /// LinearFDBCap: LIDs that fit the forwarding table.
    pub linear_cap: U16,
    /// RandomFDBCap.
    pub random_cap: U16,
    /// MulticastFDBCap.
    pub multicast_cap: U16,
    /// LinearFDBTop: the largest LID in the table.
    pub linear_top: U16,
    /// DefaultPort.
    pub default_port: u8,
    /// DefaultMulticastPrimaryPort.
    pub default_multicast_primary: u8,
    /// DefaultMulticastNotPrimaryPort.
    pub default_multicast_not_primary: u8,
    /// LifeTimeValue (7 to 3), PortStateChange (2), OptimizedSLtoVLMapping (1, 0).
    pub life_time_and_change: u8,
    /// LIDsPerPort.
    pub lids_per_port: U16,
    /// PartitionEnforcementCap: entries of the P_Key tables of external ports.
    pub enforcement_cap: U16,
    /// Enforcement in and out, raw filters in and out, EnhancedPort0 (7 to 3).
    pub flags: u8,
    /// Zero.
    pub reserved2: u8,
    /// MulticastFDBTop.
    pub multicast_top: U16,
}

/// Components of a SwitchInfoRecord.
pub(super) const SWITCH_INFO: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    Field::number("linear_fdb_cap", 2, 32, 16),
    Field::number("random_fdb_cap", 3, 48, 16),
    Field::number("multicast_fdb_cap", 4, 64, 16),
    Field::number("linear_fdb_top", 5, 80, 16),
    Field::number("default_port", 6, 96, 8),
    Field::number("default_multicast_primary_port", 7, 104, 8),
    Field::number("default_multicast_not_primary_port", 8, 112, 8),
    Field::number("life_time_value", 9, 120, 5),
    Field::number("port_state_change", 10, 125, 1),
    Field::number("optimized_sl_to_vl", 0, 126, 2).unasked(),
    Field::number("lids_per_port", 12, 128, 16),
    Field::number("partition_enforcement_cap", 13, 144, 16),
    Field::number("inbound_enforcement_cap", 14, 160, 1),
    Field::number("outbound_enforcement_cap", 15, 161, 1),
    Field::number("filter_raw_inbound_cap", 16, 162, 1),
    Field::number("filter_raw_outbound_cap", 17, 163, 1),
    Field::number("enhanced_port0", 18, 164, 1),
    Field::number("multicast_fdb_top", 0, 176, 16).unasked(),
];

/// A LinearForwardingTableRecord: 64 output ports, by LID.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct LinearForwardingTableRecord {
    /// LID of the switch.
    pub lid: U16,
    /// BlockNum: LIDs from 64 times this.
    pub block: U16,
    /// Zero.
    pub reserved: U32,
    /// Output ports; 255 is none.
    pub ports: [u8; 64],
}

/// Components of a LinearForwardingTableRecord.
pub(super) const LINEAR_FORWARDING: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    Field::number("block_num", 1, 16, 16),
    Field::number("ports", 0, 64, 512)
        .form(Form::List { each: 8 })
        .unasked(),
];

/// A MulticastForwardingTableRecord: masks of 16 output ports for 32 MLIDs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct MulticastForwardingTableRecord {
    /// LID of the switch.
    pub lid: U16,
    /// Position (15 to 12): ports from 16 times this. BlockNum (8 to 0): MLIDs from 0xc000 plus
    /// 32 times this.
    pub position_and_block: U16,
    /// Zero.
    pub reserved: U32,
    /// Port masks, bit 0 the lowest port.
    pub masks: [U16; 32],
}

impl MulticastForwardingTableRecord {
    /// The record of 32 MLIDs and 16 ports of a switch, empty.
    pub fn empty(lid: u16, block: u16, position: u8) -> Self {
        Self {
            lid: lid.into(),
            position_and_block: (u16::from(position) << 12 | block & 0x1ff).into(),
            reserved: 0.into(),
            masks: [0.into(); 32],
        }
    }

    /// Position: ports from 16 times this.
    pub const fn position(&self) -> u8 {
        (self.position_and_block.get() >> 12) as u8
    }

    /// BlockNum: MLIDs from 0xc000 plus 32 times this.
    pub const fn block(&self) -> u16 {
        self.position_and_block.get() & 0x1ff
    }
}

/// Components of a MulticastForwardingTableRecord.
pub(super) const MULTICAST_FORWARDING: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    Field::number("position", 1, 16, 4),
    // Component 2 is three reserved bits.
    Field::number("block_num", 3, 23, 9),
    Field::number("port_masks", 0, 64, 512)
        .form(Form::HexList { each: 16 })
        .unasked(),
];

const _: () = assert!(size_of::<SwitchInfoRecord>() == 24);
const _: () = assert!(size_of::<LinearForwardingTableRecord>() == 72);
const _: () = assert!(size_of::<MulticastForwardingTableRecord>() == 72);
