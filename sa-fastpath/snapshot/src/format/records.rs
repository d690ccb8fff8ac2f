//! The fixed-size records of a snapshot. Little endian unless a field says wire bytes.
//!
//! What is asked most lies together: a port's 32 bytes have all that an answer needs of an end, so
//! a path costs one record at each end. Why it is not smaller: ADR 19.

use sa_wire::{Guid, Lid, NodeType};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Index of an end port in *its* snapshot. Made only by lookups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PortIx(pub(crate) u16);

impl PortIx {
    /// The place in the order of ports.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Bits of [`PortRecord::flags`]: what a lookup would otherwise work out for each request.
pub mod port_flags {
    /// Paths can start here (the row is not 0).
    pub const SOURCE: u16 = 1 << 0;
    /// Paths can end here.
    pub const DESTINATION: u16 = 1 << 1;
    /// It is a switch's port 0.
    pub const SWITCH: u16 = 1 << 2;
    /// It is a router port.
    pub const ROUTER: u16 = 1 << 3;
    /// It has a place in the torus.
    pub const IN_TORUS: u16 = 1 << 4;
    /// Its port leads to a switch, or is one.
    pub const ATTACHED: u16 = 1 << 5;
    /// Extended link speeds (FDR and faster).
    pub const EXTENDED_SPEEDS: u16 = 1 << 6;
    /// 2x link width: some rate codes are lowered for ports without it.
    pub const WIDTH_2X: u16 = 1 << 7;
    /// HDR links: rate codes from 20 on are lowered for ports without them.
    pub const HDR: u16 = 1 << 8;
    /// NDR links: rate codes 23 and 24 are lowered for ports without them.
    pub const NDR: u16 = 1 << 9;
    /// It has alias GUIDs.
    pub const ALIASES: u16 = 1 << 10;
    /// It is no switch, paths can start here, and where a torus engine has its say it has a place
    /// in the torus.
    pub const COMMON_SOURCE: u16 = 1 << 11;
    /// Paths can end here, and where a torus engine has its say it has a place in the torus.
    pub const COMMON_DESTINATION: u16 = 1 << 12;
    /// All bits in use but those of the LMC.
    pub const ALL: u16 = (1 << 13) - 1;
    /// Where the LMC starts.
    pub(crate) const LMC_SHIFT: u32 = 13;
}

/// Bits of a coordinate in [`PortRecord::place`].
pub(crate) const COORDINATE_BITS: u32 = 10;

/// Everything an answer needs about an end port: half a cache line.
///
/// The GUID stays in wire bytes, because answers copy it; LIDs are host order, because lookups
/// index by them. `align(32)`, so that two records share a line and none lies across two.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(32))]
pub struct PortRecord {
    /// Port GUID, wire bytes.
    pub guid: [u8; 8],
    /// Base LID, host order.
    pub lid: u16,
    /// Switch index; equal for ports on one switch.
    pub switch: u16,
    /// Place in the torus: ten bits for each coordinate, the first lowest.
    pub place: u32,
    /// Packed capacity of the port itself, MTU code in the upper three bits, rate rank below.
    pub own: u8,
    /// Packed least capacity of the port and its switch port.
    pub edge: u8,
    /// See [`port_flags`]; the LMC in the upper three bits.
    pub flags: u16,
    /// SLs the port lets out.
    pub sl_out: u16,
    /// SLs let out towards the port.
    pub sl_in: u16,
    /// Index of its P_Key set.
    pub pkey_set: u16,
    /// Source row in the pair table, 0 for none.
    pub row: u16,
    /// Class as source in the policy.
    pub source_class: u16,
    /// Class as destination in the policy.
    pub destination_class: u16,
}

impl PortRecord {
    /// It owns 2^lmc LIDs.
    #[inline(always)]
    pub const fn lmc(&self) -> u8 {
        (self.flags >> port_flags::LMC_SHIFT) as u8
    }

    /// Its place in the torus.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "each coordinate has bits of its own"
    )]
    pub const fn coordinates(&self) -> [u8; 3] {
        let place = self.place;
        [
            place as u8,
            (place >> COORDINATE_BITS) as u8,
            (place >> (2 * COORDINATE_BITS)) as u8,
        ]
    }

    /// True for a switch's port 0.
    pub const fn is_switch(&self) -> bool {
        self.flags & port_flags::SWITCH != 0
    }

    /// What the node is.
    pub const fn node_type(&self) -> NodeType {
        if self.is_switch() {
            NodeType::Switch
        } else if self.flags & port_flags::ROUTER != 0 {
            NodeType::Router
        } else {
            NodeType::Ca
        }
    }

    /// Port GUID. None only of what an index of nothing points to: the verifier refuses others.
    pub fn guid(&self) -> Option<Guid> {
        Guid::new(u64::from_be_bytes(self.guid)).ok()
    }

    /// The first of its LIDs. None only of what an index of nothing points to, as [`Self::guid`].
    pub fn base_lid(&self) -> Option<Lid> {
        Lid::new(self.lid).ok()
    }

    /// How many LIDs it owns.
    pub const fn lid_count(&self) -> u16 {
        1 << self.lmc()
    }

    /// True when the flag is set, see [`port_flags`].
    pub(crate) const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// What an index of nothing points to; it is on no switch, in no partition, on no path.
pub(crate) static NO_PORT: PortRecord = PortRecord {
    guid: [0; 8],
    lid: 0,
    switch: 0,
    place: 0,
    own: 0,
    edge: 0,
    flags: 0,
    sl_out: 0,
    sl_in: 0,
    pkey_set: 0,
    row: 0,
    source_class: 0,
    destination_class: 0,
};

/// The reverse of [`PortRecord::coordinates`].
pub(crate) fn pack_place(coordinates: [u8; 3]) -> u32 {
    let [x, y, z] = coordinates.map(u32::from);
    x | y << COORDINATE_BITS | z << (2 * COORDINATE_BITS)
}

/// MTU code in the top three bits, rate rank in the low five.
pub(crate) const fn pack_capacity(mtu: u8, rank: u8) -> u8 {
    mtu << 5 | rank & 0x1f
}

/// The reverse of [`pack_capacity`].
pub(crate) const fn unpack_capacity(packed: u8) -> (u8, u8) {
    (packed >> 5, packed & 0x1f)
}

/// What lies between the first and the last switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PathClassRecord {
    /// Packed capacity, see `PortRecord::own`.
    pub capacity: u8,
    /// Switches on the path.
    pub hops: u8,
    /// SLs that no hop drops.
    pub carried: u16,
    /// The SL that the routing engine gives, as [`crate::model::PathSl::byte`] has it.
    pub sl: u8,
    /// Zero, so that the same model gives the same bytes.
    pub zero: [u8; 3],
}

/// Options and encodings, one per snapshot.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SubnetRecord {
    /// Subnet prefix, wire bytes.
    pub prefix: [u8; 8],
    /// Key that trusted requests carry.
    pub sa_key: u64,
    /// Number of the change that made this snapshot.
    pub epoch: u64,
    /// Seconds since 1970, or 0.
    pub built_unix: u64,
    /// Multiplier of the GUID index.
    pub guid_multiplier: u64,
    /// 1 when QoS is on.
    pub qos: u8,
    /// Default packet life time.
    pub packet_life: u8,
    /// ClassPortInfo.RespTimeValue, below 32.
    pub resp_time: u8,
    /// Largest rate code accepted.
    pub max_rate_code: u8,
    /// 1 when limited and full keys of one base may share a table.
    pub allow_both_pkeys: u8,
    /// 0 leave the SL, 1 torus-2QoS, 2 by class.
    pub engine_sl: u8,
    /// 1 uniform, 2 dense.
    pub pairs: u8,
    /// How the reverse direction of a path may be judged otherwise: `REVERSE_PATH` and
    /// `REVERSE_POLICY`, as bits.
    pub judge_reverse: u8,
    /// Radix of the torus.
    pub radix: [u8; 3],
    /// Bits to shift the product of GUID and multiplier to get a place in the GUID index.
    pub guid_shift: u8,
    /// Class of uniform pairs on one switch.
    pub within_class: u16,
    /// Class of uniform pairs across switches.
    pub across_class: u16,
    /// Columns of the pair table.
    pub columns: u32,
    /// Rows of the pair table.
    pub rows: u32,
    /// Code that an answer has for each rank of a rate.
    pub rates: [u8; RATE_RANKS],
    /// 1 when the ports have no say in it.
    pub rates_limited: u8,
    /// Zero, so that the same model gives the same bytes.
    pub zero: u8,
    /// LID of the port that the SM runs on, 0 when it is not known.
    pub sm_lid: u16,
    /// Zero, so that the same model gives the same bytes.
    pub reserved: [u8; 4],
}

/// `SubnetRecord::engine_sl`: SLs are left as they are.
pub(crate) const ENGINE_KEEP: u8 = 0;
/// `SubnetRecord::engine_sl`: torus-2QoS, whose SLs tell which datelines a path crosses.
pub(crate) const ENGINE_TORUS: u8 = 1;
/// `SubnetRecord::engine_sl`: the class of a path says its SL.
pub(crate) const ENGINE_TABLE: u8 = 2;
/// `SubnetRecord::pairs`: two classes for all pairs, and no table.
pub(crate) const PAIRS_UNIFORM: u8 = 1;
/// `SubnetRecord::pairs`: a class for each row and column.
pub(crate) const PAIRS_DENSE: u8 = 2;
/// `SubnetRecord::judge_reverse`: whether the reverse path exists must be looked up.
pub(crate) const REVERSE_PATH: u8 = 1 << 0;
/// `SubnetRecord::judge_reverse`: the policy may refuse the reverse path alone.
pub(crate) const REVERSE_POLICY: u8 = 1 << 1;

/// Ranks of rates, and 0 for none.
pub(crate) const RATE_RANKS: usize = 24;

/// A distinct P_Key table.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PkeySetRecord {
    /// Its first key among all keys.
    pub start: u32,
    /// How many keys it has.
    pub len: u32,
}

/// A multicast group, as answers tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GroupRecord {
    /// Its address, wire bytes.
    pub mgid: [u8; 16],
    /// Queue key of packets to the group.
    pub q_key: u32,
    /// Flow label of packets to the group, 20 bits.
    pub flow_label: u32,
    /// Its LID, 0xc000 to 0xfffe.
    pub mlid: u16,
    /// P_Key with the membership bit.
    pub pkey: u16,
    /// MTU code of the group.
    pub mtu: u8,
    /// Rate code of the group.
    pub rate: u8,
    /// Packet life time, 6 bits.
    pub packet_life: u8,
    /// Service level of packets to the group.
    pub sl: u8,
    /// Traffic class of packets to the group.
    pub tclass: u8,
    /// Hop limit of packets to the group.
    pub hop_limit: u8,
    /// Scope of the address, 4 bits.
    pub scope: u8,
    /// Zero, so that the same model gives the same bytes.
    pub reserved: u8,
}

/// Where packets to other subnets leave this one.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PrefixRouteRecord {
    /// Prefix of the other subnet, wire bytes; zero for any.
    pub prefix: [u8; 8],
    /// Port index + 1 of the router, 0 when there is none.
    pub router: u16,
    /// Zero, so that the same model gives the same bytes.
    pub reserved: [u16; 3],
}

/// A second GUID of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct AliasRecord {
    /// The GUID, wire bytes.
    pub guid: [u8; 8],
    /// Index of the port that has it.
    pub port: u16,
    /// Ports whose own GUIDs come before it.
    pub before: u16,
}

impl AliasRecord {
    /// What it is sorted by.
    pub(crate) const fn order(&self) -> u64 {
        u64::from_le_bytes(self.guid)
    }
}

const _: () = assert!(size_of::<AliasRecord>() == 12);
const _: () = assert!(size_of::<GroupRecord>() == 36);
const _: () = assert!(size_of::<PrefixRouteRecord>() == 16);
const _: () = assert!(size_of::<PortRecord>() == 32);
const _: () = assert!(size_of::<PathClassRecord>() == 8);
const _: () = assert!(size_of::<SubnetRecord>() == 96);
