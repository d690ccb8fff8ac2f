//! The fixed-size records of a snapshot. Little endian unless a field says wire bytes.

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

/// Bits of [`PortRecord::flags`].
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
    /// 2x link width.
    pub const WIDTH_2X: u16 = 1 << 7;
    /// HDR.
    pub const HDR: u16 = 1 << 8;
    /// NDR.
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
pub(crate) const LANE: u32 = 10;

/// Everything an answer needs about an end port: half a cache line.
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
        reason = "each coordinate has its lane"
    )]
    pub const fn coordinates(&self) -> [u8; 3] {
        let place = self.place;
        [
            place as u8,
            (place >> LANE) as u8,
            (place >> (2 * LANE)) as u8,
        ]
    }
}

/// The reverse of [`PortRecord::coordinates`].
pub(crate) fn pack_place(coordinates: [u8; 3]) -> u32 {
    let [x, y, z] = coordinates.map(u32::from);
    x | y << LANE | z << (2 * LANE)
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
    /// ClassPortInfo.RespTimeValue.
    pub resp_time: u8,
    /// Largest rate code accepted.
    pub max_rate_code: u8,
    /// 1 when limited and full keys of one base may share a table.
    pub allow_both_pkeys: u8,
    /// 0 leave the SL, 1 torus-2QoS.
    pub engine_sl: u8,
    /// 1 uniform, 2 dense.
    pub pairs: u8,
    /// 1 when the reverse direction of a path may be judged otherwise than the direction asked for.
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
    /// Zero.
    pub zero: u8,
    /// LID of the port that the SM runs on, 0 when it is not known.
    pub sm_lid: u16,
    /// Zero.
    pub reserved: [u8; 4],
}

/// Ranks of rates, and 0 for none.
pub(crate) const RATE_RANKS: usize = 24;

/// A distinct P_Key table.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PkeySetRecord {
    /// First key.
    pub start: u32,
    /// How many.
    pub len: u32,
}

/// Policy in force.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PolicyRecord {
    /// Rules, not counting the guard.
    pub rules: u32,
    /// Words of every rule set.
    pub words: u32,
    /// Level when no rule matches.
    pub default_level: u16,
    /// Service class of a request without service id.
    pub service_absent: u16,
    /// Class of a source that the request does not name, where that counts.
    pub unnamed_source: u16,
    /// Class of a destination that the request does not name, where that counts.
    pub unnamed_destination: u16,
    /// Bit n: dimension n distinguishes anything (source, destination, QoS class, P_Key, service).
    pub dimensions: u32,
    /// See [`semantics`]; 0 when OpenSM's dialect could say it all.
    pub semantics: u32,
    /// By dimension: its first class record; what follows is 0 when rules are not indexed.
    pub class_starts: [u32; 6],
    /// Words of rules that ask for ends only, at the beginning of every rule set.
    pub ends_words: u32,
    /// Words of rules that no list holds, those for ends only included.
    pub scanned_words: u32,
    /// Bit n: lists of dimension n hold rules.
    pub lists: u32,
    /// Classes of destinations in the table of first rules; 0 when there is none.
    pub pair_columns: u32,
}

/// Numbers of dimensions: places in [`PolicyRecord::class_starts`].
pub(crate) mod criterion {
    pub(crate) const SOURCE: usize = 0;
    pub(crate) const DESTINATION: usize = 1;
    pub(crate) const QOS_CLASS: usize = 2;
    pub(crate) const PKEY: usize = 3;
    pub(crate) const SERVICE: usize = 4;
    /// Only in policies that ask for one.
    pub(crate) const TCLASS: usize = 5;
}

/// A class of one dimension where rules are indexed.
#[derive(
    Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub(crate) struct ClassRecord {
    /// The first word of its list, 0 when the list is empty.
    pub bits: u64,
    /// Which word of rule sets that is.
    pub word: u32,
    /// Where the rest of its list starts.
    pub start: u32,
    /// Words in the rest of its list.
    pub len: u32,
    /// Its rule set.
    pub row: u32,
}

/// Some rules that a class's list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct RuleWordRecord {
    /// The rules.
    pub bits: u64,
    /// Which word of rule sets they are in.
    pub word: u32,
    /// The first of them, by its number.
    pub first: u32,
}

/// Bits of [`PolicyRecord::semantics`].
pub(crate) mod semantics {
    /// Rules with a source or destination hold for requests that name that end.
    pub(crate) const ENDPOINT_MASK: u32 = 1 << 0;
    /// The upper half of the service id stands for all of it.
    pub(crate) const LEGACY_SERVICE_ID: u32 = 1 << 1;
    /// The QoS class comes back.
    pub(crate) const ECHO_QOS_CLASS: u32 = 1 << 2;
    /// The traffic class comes back.
    pub(crate) const ECHO_TCLASS: u32 = 1 << 3;
    /// Some rule asks for a traffic class.
    pub(crate) const ASKS_TCLASS: u32 = 1 << 4;
    /// Some level has a traffic class.
    pub(crate) const LEVEL_TCLASS: u32 = 1 << 5;
    /// Some level allows some path bits only.
    pub(crate) const LEVEL_PATH_BITS: u32 = 1 << 6;
    /// Some level gives no SL.
    pub(crate) const LEVEL_NO_SL: u32 = 1 << 7;
    /// The SM_Key of a request is its service id.
    pub(crate) const SERVICE_ID_IN_KEY: u32 = 1 << 8;
    /// Some answer carries a flow label.
    pub(crate) const FLOW_LABELS: u32 = 1 << 9;
    /// All bits in use.
    pub(crate) const ALL: u32 = (1 << 10) - 1;
}

/// A QoS level.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct LevelRecord {
    /// First of its P_Key ranges.
    pub pkeys_start: u32,
    /// How many; 0 for any P_Key.
    pub pkeys_len: u32,
    /// SL; above 15 none that exists.
    pub sl: u8,
    /// MTU code, 0 for no limit.
    pub mtu_limit: u8,
    /// Rate rank, 0 for no limit.
    pub rate_limit: u8,
    /// Packet life time.
    pub packet_life: u8,
    /// Traffic class.
    pub tclass: u8,
    /// See [`level_flags`].
    pub flags: u8,
    /// Zero.
    pub reserved: [u8; 2],
}

/// Bits of [`LevelRecord::flags`].
pub mod level_flags {
    /// `packet_life` counts.
    pub const PACKET_LIFE: u8 = 1 << 0;
    /// `tclass` counts.
    pub const TCLASS: u8 = 1 << 1;
    /// It gives no SL; `sl` is 0.
    pub const NO_SL: u8 = 1 << 2;
    /// The policy says a `packet_life` over 63, of which OpenSM lets the upper bits reach the
    /// selector.
    pub const LONG_LIFE: u8 = 1 << 3;
    /// All bits in use.
    pub const ALL: u8 = (1 << 4) - 1;
}

/// Offsets into the destination's LID range that a level allows.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct PathBitsRecord {
    /// Bit b: base LID + b.
    pub low: u64,
    /// Bit b: base LID + 64 + b.
    pub high: u64,
}

/// An inclusive range of P_Key bases.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PkeyRangeRecord {
    /// First base.
    pub first: u16,
    /// Last base.
    pub last: u16,
}

/// A rule.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct RuleRecord {
    /// Line in the policy file.
    pub line: u32,
    /// Its level.
    pub level: u32,
}

/// A multicast group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GroupRecord {
    /// Its address, wire bytes.
    pub mgid: [u8; 16],
    /// Queue key.
    pub q_key: u32,
    /// Flow label.
    pub flow_label: u32,
    /// Its LID.
    pub mlid: u16,
    /// P_Key with the membership bit.
    pub pkey: u16,
    /// MTU code.
    pub mtu: u8,
    /// Rate code.
    pub rate: u8,
    /// Packet life time, 6 bits.
    pub packet_life: u8,
    /// Service level.
    pub sl: u8,
    /// Traffic class.
    pub tclass: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Scope.
    pub scope: u8,
    /// Zero.
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
    /// Zero.
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

const _: () = assert!(size_of::<AliasRecord>() == 12);
const _: () = assert!(size_of::<GroupRecord>() == 36);
const _: () = assert!(size_of::<PrefixRouteRecord>() == 16);
const _: () = assert!(size_of::<PortRecord>() == 32);
const _: () = assert!(size_of::<PathClassRecord>() == 4);
const _: () = assert!(size_of::<SubnetRecord>() == 96);
const _: () = assert!(size_of::<LevelRecord>() == 16);
const _: () = assert!(size_of::<PathBitsRecord>() == 16);
const _: () = assert!(size_of::<PolicyRecord>() == 64);
const _: () = assert!(size_of::<ClassRecord>() == 24);
const _: () = assert!(size_of::<RuleWordRecord>() == 16);
