//! Names of things on a subnet: LIDs, GUIDs, GIDs, P_Keys, service and transaction ids.

use core::fmt;
use core::num::NonZeroU64;

use crate::error::VocabularyError;

/// A unicast local identifier, 0x0001 to 0xbfff.
///
/// A number stays a raw `u16` where it has not been judged, or cannot be: in a field of a layout or a
/// request, which may hold anything, in a table that LIDs index, and where a request is built or looked
/// up by such a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Lid(u16);

impl Lid {
    /// The largest unicast LID.
    pub const MAX: Self = Self(0xbfff);

    /// Checks the range. Errors: [`VocabularyError::Lid`].
    pub const fn new(raw: u16) -> Result<Self, VocabularyError> {
        // 0 names nobody, 0xc000 and more are groups, 0xffff is the permissive LID.
        if raw >= 1 && raw <= Self::MAX.0 {
            Ok(Self(raw))
        } else {
            Err(VocabularyError::Lid(raw))
        }
    }

    /// The number on the wire, host order.
    #[inline(always)]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Its place in a table that LIDs index.
    #[inline(always)]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The number as messages and attributes have it, where 0 stands for "none".
    #[inline(always)]
    pub fn raw(lid: Option<Self>) -> u16 {
        lid.map_or(0, Self::get)
    }
}

impl fmt::Display for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A multicast local identifier, 0xc000 to 0xfffe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mlid(u16);

impl Mlid {
    /// The first multicast LID.
    pub const MIN: Self = Self(0xc000);

    /// Checks the range. Errors: [`VocabularyError::Mlid`].
    pub const fn new(raw: u16) -> Result<Self, VocabularyError> {
        // 0xffff is the permissive LID and no group's.
        if raw >= Self::MIN.0 && raw <= 0xfffe {
            Ok(Self(raw))
        } else {
            Err(VocabularyError::Mlid(raw))
        }
    }

    /// The number on the wire, host order.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// LID mask control: a port owns 2^LMC consecutive LIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lmc(u8);

impl Lmc {
    /// Checks the range 0 to 7. Errors: [`VocabularyError::Lmc`].
    pub const fn new(raw: u8) -> Result<Self, VocabularyError> {
        if raw <= 7 {
            Ok(Self(raw))
        } else {
            Err(VocabularyError::Lmc(raw))
        }
    }

    /// The exponent, 0 to 7: a port owns 2^LMC LIDs.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// How many LIDs the port owns, 1 to 128.
    pub const fn lids(self) -> u16 {
        1 << self.0
    }
}

/// A 64-bit globally unique identifier (EUI-64) of a node or port; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Guid(NonZeroU64);

impl Guid {
    /// Errors: [`VocabularyError::ZeroGuid`].
    pub const fn new(raw: u64) -> Result<Self, VocabularyError> {
        match NonZeroU64::new(raw) {
            Some(value) => Ok(Self(value)),
            None => Err(VocabularyError::ZeroGuid),
        }
    }

    /// The number, host order.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The key that orders OpenSM's maps on a little-endian host: the wire bytes read as a
    /// little-endian integer. LID assignment, dumps and enumerations follow this order.
    /// Source: OpenSM `complib/cl_map`, keyed by GUIDs kept in network order.
    pub const fn map_order(self) -> u64 {
        self.0.get().swap_bytes()
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

/// The upper 64 bits of the GIDs of a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubnetPrefix(pub u64);

impl SubnetPrefix {
    /// fe80::/64, the prefix of a subnet that was given no other.
    pub const LINK_LOCAL: Self = Self(0xfe80_0000_0000_0000);
}

/// As in `fe80::/64`, the way in which configurations have it.
impl fmt::Display for SubnetPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = core::net::Ipv6Addr::from_bits(u128::from(self.0) << 64);
        write!(f, "{address}/64")
    }
}

impl Default for SubnetPrefix {
    fn default() -> Self {
        Self::LINK_LOCAL
    }
}

/// A 128-bit global identifier: subnet prefix and GUID, or a multicast address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// The GID of a port with this GUID in this subnet.
    pub fn unicast(prefix: SubnetPrefix, guid: Guid) -> Self {
        Self((u128::from(prefix.0) << 64 | u128::from(guid.get())).to_be_bytes())
    }

    /// True for multicast addresses (first byte 0xff).
    pub const fn is_multicast(&self) -> bool {
        self.0[0] == 0xff
    }

    /// True for fe80::/10, which every subnet understands as its own.
    pub const fn is_link_local(&self) -> bool {
        // Ten bits: 0xfe, and the upper two of the next byte.
        self.0[0] == 0xfe && self.0[1] & 0xc0 == 0x80
    }

    /// The upper half: which subnet.
    pub const fn prefix(&self) -> SubnetPrefix {
        SubnetPrefix((u128::from_be_bytes(self.0) >> 64) as u64)
    }

    /// The lower half: a GUID, raw because it comes from others and may be zero.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lower half is what is wanted"
    )]
    pub const fn interface_id(&self) -> u64 {
        u128::from_be_bytes(self.0) as u64
    }
}

impl fmt::Display for Gid {
    /// As an IPv6 address, compressed (RFC 5952).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        core::net::Ipv6Addr::from(self.0).fmt(f)
    }
}

/// A partition key: 15-bit base and the full-membership bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pkey(u16);

impl Pkey {
    /// The default partition, full member.
    pub const DEFAULT_FULL: Self = Self(0xffff);
    /// The bit that marks a full member.
    pub const FULL_BIT: u16 = 0x8000;

    /// Errors: [`VocabularyError::Pkey`] when the low 15 bits are zero.
    pub const fn new(raw: u16) -> Result<Self, VocabularyError> {
        // A base of 0 marks an empty place of a P_Key table.
        if raw & 0x7fff == 0 {
            Err(VocabularyError::Pkey(raw))
        } else {
            Ok(Self(raw))
        }
    }

    /// All 16 bits, membership included.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The partition, without membership.
    pub const fn base(self) -> u16 {
        self.0 & 0x7fff
    }

    /// True for full members.
    pub const fn is_full(self) -> bool {
        self.0 & Self::FULL_BIT != 0
    }

    /// The key that orders OpenSM's P_Key maps on a little-endian host: the base's wire bytes read
    /// as a little-endian integer. Source: OpenSM `osm_pkey.c`.
    pub const fn map_order(self) -> u16 {
        self.base().swap_bytes()
    }
}

impl fmt::Display for Pkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

/// A 64-bit service identifier; any value is legal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(pub u64);

/// A 64-bit transaction identifier: the client's, echoed untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransactionId(pub u64);

/// What a node is. Discriminants are NodeInfo.NodeType codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NodeType {
    /// A channel adapter: a host or a storage target.
    Ca = 1,
    /// A switch, whose one end port is its port 0.
    Switch = 2,
    /// A router to other subnets.
    Router = 3,
}

impl TryFrom<u8> for NodeType {
    type Error = VocabularyError;

    fn try_from(code: u8) -> Result<Self, Self::Error> {
        match code {
            1 => Ok(Self::Ca),
            2 => Ok(Self::Switch),
            3 => Ok(Self::Router),
            other => Err(VocabularyError::NodeType(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lid_ranges_are_disjoint_and_refuse_the_rest() {
        for raw in 0..=u16::MAX {
            let unicast = Lid::new(raw).is_ok();
            let multicast = Mlid::new(raw).is_ok();
            assert_eq!(unicast, (1..=0xbfff).contains(&raw), "{raw:#x}");
            assert_eq!(multicast, (0xc000..=0xfffe).contains(&raw), "{raw:#x}");
        }
    }

    #[test]
    fn map_order_follows_the_last_byte_first() {
        let order = |raw| Guid::new(raw).unwrap().map_order();
        assert!(order(0x200000) < order(0x100001));
        assert!(order(0x100001) < order(0x200001));
        assert!(Pkey::new(0x0100).unwrap().map_order() < Pkey::new(0x0001).unwrap().map_order());
    }

    #[test]
    fn gid_text_is_compressed() {
        let gid = Gid::unicast(SubnetPrefix::LINK_LOCAL, Guid::new(0x100031).unwrap());
        assert_eq!(gid.to_string(), "fe80::10:31");
        assert!(gid.is_link_local() && !gid.is_multicast());
        assert_eq!(gid.interface_id(), 0x100031);
    }
}
