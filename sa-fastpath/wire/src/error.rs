//! Why a value is not part of the InfiniBand vocabulary.

use thiserror::Error;

/// A number outside the range that its InfiniBand term allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VocabularyError {
    /// Unicast LIDs are 0x0001 to 0xbfff.
    #[error("0x{0:04x} is no unicast LID (0x0001 to 0xbfff)")]
    Lid(u16),
    /// Multicast LIDs are 0xc000 to 0xfffe.
    #[error("0x{0:04x} is no multicast LID (0xc000 to 0xfffe)")]
    Mlid(u16),
    /// LMC has three bits.
    #[error("LMC {0} is over 7")]
    Lmc(u8),
    /// A GUID is never zero.
    #[error("a GUID of zero names nothing")]
    ZeroGuid,
    /// The low 15 bits of a P_Key are never zero.
    #[error("P_Key 0x{0:04x} has a zero base")]
    Pkey(u16),
    /// Service levels are 0 to 15.
    #[error("SL {0} is over 15")]
    Sl(u8),
    /// Data virtual lanes are 0 to 14; 15 is management.
    #[error("VL {0} is over 15")]
    Vl(u8),
    /// MTU codes are 1 to 5.
    #[error("{0} is no MTU code (1 to 5)")]
    Mtu(u8),
    /// Rate codes are 2 to 24.
    #[error("{0} is no rate code (2 to 24)")]
    Rate(u8),
    /// Packet life time has six bits.
    #[error("packet life time {0} is over 63")]
    PacketLifeTime(u8),
    /// NodeInfo.NodeType is 1, 2 or 3.
    #[error("{0} is no node type (1 CA, 2 switch, 3 router)")]
    NodeType(u8),
    /// VLCap codes are 1 to 5.
    #[error("{0} is no VLCap code (1 to 5)")]
    VlCap(u8),
}
