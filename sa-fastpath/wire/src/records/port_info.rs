//! PortInfoRecord. Source: IBA vol. 1, 14.2.5.6, 15.2.5.3; OpenSM `ib_types.h`.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::field::Field;

/// A PortInfoRecord as it lies in a table, padding included.
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
pub struct PortInfoRecord {
    /// LID of the port; of a switch, of its port 0.
    pub lid: U16,
    /// Port number of the record, 0 for a switch itself.
    pub port_num: u8,
    /// Options; bit 7: speeds as they are, see [`Self::ORIGINAL_SPEEDS`].
    pub options: u8,
    /// M_Key, which an SM's Sets must carry; 0 in our answers.
    pub m_key: U64,
    /// GidPrefix: the subnet that the port's GIDs are of.
    pub gid_prefix: U64,
    /// LID, the first of the port's 2^LMC.
    pub base_lid: U16,
    /// MasterSMLID: where the SM and its SA are.
    pub sm_lid: U16,
    /// CapabilityMask of the port, 32 bits.
    pub capability_mask: U32,
    /// DiagCode, the vendor's own.
    pub diag_code: U16,
    /// M_KeyLeasePeriod. Units: seconds.
    pub m_key_lease_period: U16,
    /// LocalPortNum: the port by which this was asked for.
    pub local_port_num: u8,
    /// LinkWidthEnabled, a mask of widths.
    pub link_width_enabled: u8,
    /// LinkWidthSupported, a mask of widths.
    pub link_width_supported: u8,
    /// LinkWidthActive, one of the widths.
    pub link_width_active: u8,
    /// LinkSpeedSupported (7 to 4), PortState (3 to 0).
    pub speed_supported_and_state: u8,
    /// PortPhysicalState (7 to 4), LinkDownDefaultState (3 to 0).
    pub physical_state_and_down_default: u8,
    /// M_KeyProtectBits (7, 6), LMC (2 to 0).
    pub m_key_protect_and_lmc: u8,
    /// LinkSpeedActive (7 to 4), LinkSpeedEnabled (3 to 0).
    pub speed_active_and_enabled: u8,
    /// NeighborMTU (7 to 4), MasterSMSL (3 to 0).
    pub neighbor_mtu_and_sm_sl: u8,
    /// VLCap (7 to 4), InitType (3 to 0).
    pub vl_cap_and_init_type: u8,
    /// VLHighLimit: how much high priority may send before low priority gets its turn.
    pub vl_high_limit: u8,
    /// VLArbitrationHighCap: entries of the high-priority table.
    pub vl_arb_high_cap: u8,
    /// VLArbitrationLowCap: entries of the low-priority table.
    pub vl_arb_low_cap: u8,
    /// InitTypeReply (7 to 4), MTUCap (3 to 0).
    pub init_type_reply_and_mtu_cap: u8,
    /// VLStallCount (7 to 5), HOQLife (4 to 0).
    pub vl_stall_and_hoq_life: u8,
    /// OperationalVLs (7 to 4), partition enforcement in and out, raw filters in and out.
    pub operational_vls_and_enforcement: u8,
    /// M_KeyViolations, counted by the port.
    pub m_key_violations: U16,
    /// P_KeyViolations, counted by the port.
    pub p_key_violations: U16,
    /// Q_KeyViolations, counted by the port.
    pub q_key_violations: U16,
    /// GUIDCap: how many GUIDs the port has room for.
    pub guid_cap: u8,
    /// ClientReregister (7), MulticastPKeyTrapSuppression (6, 5), SubnetTimeOut (4 to 0).
    pub subnet_timeout: u8,
    /// RespTimeValue (4 to 0).
    pub response_time: u8,
    /// LocalPhyErrors (7 to 4), OverrunErrors (3 to 0).
    pub error_thresholds: u8,
    /// MaxCreditHint of the port.
    pub max_credit_hint: U16,
    /// LinkRoundTripLatency (23 to 0).
    pub link_round_trip_latency: U32,
    /// CapabilityMask2 of the port.
    pub capability_mask2: U16,
    /// LinkSpeedExtActive (7 to 4), LinkSpeedExtSupported (3 to 0).
    pub ext_speed_active_and_supported: u8,
    /// LinkSpeedExtEnabled (4 to 0).
    pub ext_speed_enabled: u8,
    /// Fills the record up to a multiple of 8 bytes.
    pub padding: U32,
}

impl PortInfoRecord {
    /// The bit of Options that asks for speeds as they are; without it, a port with an extended
    /// speed claims QDR too, for clients that know no better.
    pub const ORIGINAL_SPEEDS: u8 = 0x80;
    /// CapabilityMask: an SM runs here.
    pub const IS_SM: u32 = 1 << 1;
    /// CapabilityMask, of a switch that of its port 0: has SLtoVLMappingTables (IsSLMappingSupported).
    pub const SL_MAPPING: u32 = 1 << 6;
    /// CapabilityMask: has extended speeds.
    pub const EXTENDED_SPEEDS: u32 = 1 << 14;
    /// CapabilityMask, of port 0 of a switch: MulticastFDBTop ends its multicast tables.
    pub const MULTICAST_FDB_TOP: u32 = 1 << 30;
    /// CapabilityMask: clients of the port can be asked to register again.
    pub const CLIENT_REREGISTRATION: u32 = 1 << 25;
    /// LinkSpeedActive, -Enabled and -Supported: 10 Gb/s.
    pub const QDR: u8 = 4;
}

/// A component of PortInfo, by its offset in PortInfo itself. Units: bits.
const fn info(name: &'static str, component: u8, start: u16, width: u16) -> Field {
    // PortInfo begins behind the four bytes of the record's own.
    Field::number(name, component, 32 + start, width)
}

/// Components of a PortInfoRecord.
pub(super) const FIELDS: &[Field] = &[
    Field::number("lid", 0, 0, 16),
    Field::number("port_num", 1, 16, 8),
    Field::number("options", 2, 24, 8).hex(),
    info("m_key", 3, 0, 64).hex(),
    info("gid_prefix", 4, 64, 64).hex(),
    info("base_lid", 5, 128, 16),
    info("sm_lid", 6, 144, 16),
    info("capability_mask", 7, 160, 32).hex(),
    info("diag_code", 8, 192, 16).hex(),
    info("m_key_lease_period", 9, 208, 16),
    info("local_port_num", 10, 224, 8),
    info("link_width_enabled", 11, 232, 8),
    info("link_width_supported", 12, 240, 8),
    info("link_width_active", 13, 248, 8),
    info("link_speed_supported", 14, 256, 4),
    info("port_state", 15, 260, 4),
    info("port_physical_state", 16, 264, 4),
    info("link_down_default_state", 17, 268, 4),
    info("m_key_protect_bits", 18, 272, 2),
    // Component 19 is reserved.
    info("lmc", 20, 277, 3),
    info("link_speed_active", 21, 280, 4),
    info("link_speed_enabled", 22, 284, 4),
    info("neighbor_mtu", 23, 288, 4),
    info("master_sm_sl", 24, 292, 4),
    info("vl_cap", 25, 296, 4),
    info("init_type", 26, 300, 4),
    info("vl_high_limit", 27, 304, 8),
    info("vl_arb_high_cap", 28, 312, 8),
    info("vl_arb_low_cap", 29, 320, 8),
    info("init_type_reply", 30, 328, 4),
    info("mtu_cap", 31, 332, 4),
    info("vl_stall_count", 32, 336, 3),
    info("hoq_life", 33, 339, 5),
    info("operational_vls", 34, 344, 4),
    info("partition_enforcement_inbound", 35, 348, 1),
    info("partition_enforcement_outbound", 36, 349, 1),
    info("filter_raw_inbound", 37, 350, 1),
    info("filter_raw_outbound", 38, 351, 1),
    info("m_key_violations", 39, 352, 16),
    info("p_key_violations", 40, 368, 16),
    info("q_key_violations", 41, 384, 16),
    info("guid_cap", 42, 400, 8),
    info("client_reregister", 43, 408, 1),
    info("multicast_pkey_trap_suppression", 44, 409, 2),
    info("subnet_timeout", 45, 411, 5),
    // Component 46 is reserved.
    info("response_time", 47, 419, 5),
    info("local_phy_errors", 48, 424, 4),
    info("overrun_errors", 49, 428, 4),
    info("max_credit_hint", 50, 432, 16),
    // Component 51 is reserved.
    info("link_round_trip_latency", 52, 456, 24),
    info("capability_mask2", 53, 480, 16).hex(),
    info("link_speed_ext_active", 54, 496, 4),
    info("link_speed_ext_supported", 55, 500, 4),
    // Component 56 is reserved.
    info("link_speed_ext_enabled", 57, 507, 5),
];

const _: () = assert!(size_of::<PortInfoRecord>() == 72);
const _: () = assert!(core::mem::offset_of!(PortInfoRecord, speed_supported_and_state) == 4 + 32);
const _: () = assert!(core::mem::offset_of!(PortInfoRecord, ext_speed_enabled) == 4 + 63);
