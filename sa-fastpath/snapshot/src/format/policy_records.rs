//! The fixed-size records of a policy: rule sets, rules, levels. Little endian.
//!
//! How they hang together: a rule leads to its level by place; a level to its P_Key ranges by start
//! and length; a class (only with an index) to its rule set by row, and to the rest of its list by
//! start and length. All of it is ranges into other sections, so `verify` can check each by itself.
//!
//! `repr(C)` without padding: every byte has a name, and what is reserved is zero. So the same
//! model gives the same bytes, and a digest compares snapshots.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The policy that is in force: how large its tables are, and which ways of matching they are made
/// for.
///
/// 64 bytes, one cache line. The guard is no rule, so `rules` is also the number that stands for
/// "no rule matched".
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
    pub class_starts: [u32; criterion::COUNT],
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
    /// Where a path starts.
    pub(crate) const SOURCE: usize = 0;
    /// Where a path ends.
    pub(crate) const DESTINATION: usize = 1;
    /// The QoS class of the request.
    pub(crate) const QOS_CLASS: usize = 2;
    /// The P_Key of the request.
    pub(crate) const PKEY: usize = 3;
    /// The service id of the request.
    pub(crate) const SERVICE: usize = 4;
    /// The first of the rare fields, each only in policies that ask for it.
    pub(crate) const RARE: usize = 5;
    /// How many there are.
    pub(crate) const COUNT: usize = 6;
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
    /// Its rule set, by place among those of the dimension.
    pub row: u32,
}

/// Some rules that a class's list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct RuleWordRecord {
    /// The rules of that word that the list holds.
    pub bits: u64,
    /// Which word of rule sets they are in.
    pub word: u32,
    /// The first of them, by its number.
    pub first: u32,
}

/// Bits of [`PolicyRecord::semantics`]: what the policy says that OpenSM's dialect cannot.
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

/// A QoS level: what it allows and what it gives.
///
/// Looked up by place, and small enough that the levels of a usual policy are a few cache lines.
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
    /// Packet life time, where [`level_flags::PACKET_LIFE`] is set.
    pub packet_life: u8,
    /// Traffic class, where [`level_flags::TCLASS`] is set.
    pub tclass: u8,
    /// Which of the fields count; see [`level_flags`].
    pub flags: u8,
    /// Zero, so that the same model gives the same bytes.
    pub reserved: [u8; 2],
}

/// Bits of [`LevelRecord::flags`]: which fields count.
pub mod level_flags {
    /// `packet_life` counts; else the subnet's does.
    pub const PACKET_LIFE: u8 = 1 << 0;
    /// `tclass` counts; else it comes back as the policy echoes it.
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
    /// First base of the range.
    pub first: u16,
    /// Last base of the range.
    pub last: u16,
}

/// A rule: where it was written, and what it gives.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct RuleRecord {
    /// Line in the policy file.
    pub line: u32,
    /// The level that it gives, by place.
    pub level: u32,
}

/// Index of "names no QoS class" in its map.
pub(crate) const QOS_CLASS_ABSENT: u16 = 4096;
/// Index of "names no P_Key" in its map.
pub(crate) const PKEY_ABSENT: u16 = 0x8000;

/// Bits of `PolicyRecord::dimensions`: which criteria tell requests apart at all.
pub(crate) mod dimension {
    /// Sources have classes.
    pub(crate) const SOURCE: u32 = 1 << 0;
    /// Destinations have classes.
    pub(crate) const DESTINATION: u32 = 1 << 1;
    /// QoS classes have classes.
    pub(crate) const QOS_CLASS: u32 = 1 << 2;
    /// P_Keys have classes.
    pub(crate) const PKEY: u32 = 1 << 3;
    /// Service ids have classes.
    pub(crate) const SERVICE: u32 = 1 << 4;
    /// All bits in use.
    pub(crate) const ALL: u32 = (1 << 5) - 1;
}

impl LevelRecord {
    /// The SL that it gives; above 15 one that no path carries.
    #[inline(always)]
    pub const fn sl(&self) -> Option<u8> {
        if self.has(level_flags::NO_SL) {
            None
        } else {
            Some(self.sl)
        }
    }

    /// True when the flag is set, see [`level_flags`].
    #[inline(always)]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

const _: () = assert!(size_of::<LevelRecord>() == 16);
const _: () = assert!(size_of::<PathBitsRecord>() == 16);
const _: () = assert!(size_of::<PolicyRecord>() == 64);
const _: () = assert!(size_of::<ClassRecord>() == 24);
const _: () = assert!(size_of::<RuleWordRecord>() == 16);
