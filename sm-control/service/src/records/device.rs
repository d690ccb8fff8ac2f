//! What only devices know, and no fabric file says: the values of ibsim's devices.
//!
//! ibsim takes no notice of some of what an SM sets (M_KeyLeasePeriod, SubnetTimeOut, VLHighLimit,
//! partition enforcement, error thresholds, MasterSMSL, NeighborMTU of ports 0), and goes on to
//! show what is here. Source: ibsim 0.10 `sim_net.c`, `sim_mad.c`.
//!
//! The golden tests were recorded with OpenSM over ibsim, so these values are what makes whole
//! records equal there. On a real fabric they are only used where the fabric comes from files; what
//! a running SA told replaces them.

use sa_wire::NodeType;

/// NodeInfo.BaseVersion and ClassVersion.
pub(super) const VERSION: u8 = 1;

/// Entries of an end port's P_Key table.
pub(super) const fn partition_cap(kind: NodeType) -> u16 {
    match kind {
        NodeType::Switch => 8,
        NodeType::Ca | NodeType::Router => 64,
    }
}

/// Entries of the P_Key table of a switch's external port.
pub(super) const ENFORCEMENT_CAP: u16 = 64;
/// Entries of a P_Key block.
pub(super) const PKEYS_PER_BLOCK: u16 = 32;

/// SwitchInfo.LinearFDBCap: 30,720 LIDs.
pub(super) const LINEAR_CAP: u16 = 0x7800;
/// LinearFDBCap of switches that hold more: every unicast LID.
pub(super) const LARGEST_LINEAR_CAP: u16 = 0xc000;
/// SwitchInfo.MulticastFDBCap.
pub(super) const MULTICAST_CAP: u16 = 0x0400;
/// SwitchInfo: raw filters in and out.
pub(super) const SWITCH_FLAGS: u8 = 0x30;
/// SwitchInfo: EnhancedPort0.
pub(super) const ENHANCED_PORT0: u8 = 0x08;

/// CapabilityMask of switches' ports 0. IsSM is added where the SM runs.
pub(super) const PORT0_CAPABILITIES: u32 = 0x0000_c048;
/// CapabilityMask of CA and router ports.
pub(super) const END_PORT_CAPABILITIES: u32 = 0x0050_c048;
/// CapabilityMask2 of end ports.
pub(super) const CAPABILITIES2: u16 = 0x0030;
/// M_KeyLeasePeriod of end ports.
pub(super) const LEASE_PERIOD: u16 = 0x0ff9;
/// SubnetTimeOut of end ports.
pub(super) const SUBNET_TIMEOUT: u8 = 0x1f;
/// RespTimeValue of ports 0.
pub(super) const PORT0_RESPONSE_TIME: u8 = 8;
/// GUIDCap of ports 0.
pub(super) const PORT0_GUIDS: u8 = 1;
/// GUIDCap of CA and router ports.
pub(super) const END_PORT_GUIDS: u8 = 32;
/// NeighborMTU of ports 0: 256 bytes.
pub(super) const PORT0_NEIGHBOR_MTU: u8 = 1;
/// LinkWidthSupported: 1x, 2x, 4x, 8x, 12x.
pub(super) const WIDTHS: u8 = 0x1f;
/// LinkSpeedSupported: SDR, DDR, QDR.
pub(super) const SPEEDS: u8 = 7;
/// LinkSpeedExtSupported: FDR, EDR, HDR.
pub(super) const EXT_SPEEDS: u8 = 7;
/// VLStallCount of CA, router and switches' external ports, whatever OpenSM sets.
pub(super) const VL_STALL: u8 = 7;
