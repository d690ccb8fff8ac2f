//! Where things lie in a snapshot: header, section table, sections.
//!
//! ```text
//! 0    header, 64 bytes
//! 64   section table, one 24-byte entry per section id, ascending
//! ...  sections, each starting on a 64-byte boundary, zero padded, no other gaps
//! ```
//! All integers little endian, except fields named as wire bytes.
//!
//! A section's element may be as small as a byte: lengths are in elements, and padding to the next
//! 64 bytes is not counted. The digest covers everything behind itself, so that magic and digest
//! are all that a flipped bit can hit without its being noticed by the hash; both are compared.
//!
//! Checks go from cheap to dear: magic, byte order, version, length, and only then the digest over
//! possibly hundreds of megabytes.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::error::LoadError;

/// First bytes of every snapshot.
pub const MAGIC: [u8; 8] = *b"SAPHSNAP";

/// Version of the layout in this file and in `records`.
pub const FORMAT_VERSION: u32 = 10;

/// Reads as this number only in the byte order it was written in.
pub(crate) const BYTE_ORDER_MARK: u32 = 0x0102_0304;

/// Alignment of sections: a cache line.
pub(crate) const ALIGN: usize = 64;

/// LID table length: every unicast LID, and 0.
pub(crate) const LIDS: usize = 0xc000;

/// Up to this many distinct P_Key tables, which key two of them share is precomputed.
pub(crate) const MATRIX_SETS: usize = 1024;

/// Up to this many path classes, "no path" among them, a byte tells them all.
pub(crate) const NARROW_CLASSES: usize = 1 << 8;

/// No snapshot is longer: two bytes for each of the pairs of LIDs, where no rows or columns are
/// alike. It bounds the memory that is taken because a file's head asks for it.
///
/// Checked against the length that the file itself claims, before any of it is allocated.
#[cfg(feature = "mmap")]
const LONGEST: u64 = 5 << 30;

/// The first 64 bytes, one cache line.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Header {
    /// Always [`MAGIC`].
    pub(crate) magic: [u8; 8],
    /// XXH3-64 of everything behind this field.
    pub(crate) digest: u64,
    /// The writer's [`FORMAT_VERSION`]; any other than ours is refused.
    pub(crate) version: u32,
    /// [`BYTE_ORDER_MARK`] as the writer's machine has it.
    pub(crate) byte_order: u32,
    /// All of the file, padding behind the last section included. Units: bytes.
    pub(crate) file_len: u64,
    /// Entries of the section table: one for each id, no more and no fewer.
    pub(crate) sections: u32,
    /// Zero, so that the same model gives the same bytes.
    pub(crate) reserved: [u32; 7],
}

/// Where the digest's coverage starts.
pub(crate) const DIGEST_FROM: usize = 16;

/// One line of the section table.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct SectionEntry {
    /// Its place in the table, too: ids ascend from 0.
    pub(crate) id: u32,
    /// What one element takes, so that a file of other records is noticed. Units: bytes.
    pub(crate) element_size: u32,
    /// From the beginning of the file, a multiple of [`ALIGN`]. Units: bytes.
    pub(crate) offset: u64,
    /// How many there are; padding does not count.
    pub(crate) elements: u64,
}

const _: () = assert!(size_of::<Header>() == 64);
const _: () = assert!(size_of::<SectionEntry>() == 24);

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident = $text:literal : $element:ty,)*) => {
        /// Every section there is, in file order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum SectionId { $($(#[$doc])* $name,)* }

        impl SectionId {
            /// In file order: the place of an id is its number.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// As error messages and `sapphire snapshot` show it.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Length of one element. Units: bytes.
            pub(crate) const fn element_size(self) -> usize {
                match self { $(Self::$name => size_of::<$element>(),)* }
            }
        }
    };
}

sections! {
    /// One record: options of the subnet, encodings.
    Subnet = "subnet": crate::format::records::SubnetRecord,
    /// Text for people, UTF-8.
    Provenance = "provenance": u8,
    /// End ports in the order of [`sa_wire::Guid::map_order`].
    Ports = "ports": crate::format::records::PortRecord,
    /// Open addressing, port index + 1, 0 for empty.
    GuidIndex = "GUID index": u16,
    /// By LID: port index + 1, 0 for none.
    LidPorts = "LID table": u16,
    /// By LID: destination column; empty when the ports' flags say it all.
    LidColumns = "LID columns": u16,
    /// What lies between switches; class 0 is "no path".
    PathClasses = "path classes": crate::format::records::PathClassRecord,
    /// Class by (row, column); empty when pairs are uniform, and where a byte tells all classes.
    Pairs = "pair table": u16,
    /// Distinct P_Key tables: where each lies among the keys.
    PkeySets = "P_Key sets": crate::format::records::PkeySetRecord,
    /// Their keys, each set in the order of [`sa_wire::Pkey::map_order`].
    PkeyValues = "P_Keys": u16,
    /// First shared key by (source set, destination set), 0 for none; empty when there are too
    /// many sets.
    PkeyMatrix = "P_Key matrix": u16,
    /// SL by P_Key base; empty when all are 0.
    PartitionSls = "partition SLs": u8,
    /// One record when a policy is in force, else empty.
    Policy = "policy": crate::format::policy_records::PolicyRecord,
    /// QoS levels, in the order of the policy.
    Levels = "QoS levels": crate::format::policy_records::LevelRecord,
    /// P_Key ranges of levels.
    LevelPkeys = "level P_Keys": crate::format::policy_records::PkeyRangeRecord,
    /// Names of levels, UTF-8, each followed by a newline.
    LevelNames = "level names": u8,
    /// Path bits by level; empty when all levels allow any.
    LevelPathBits = "level path bits": crate::format::policy_records::PathBitsRecord,
    /// Rules in their order, and a guard behind them with the default level.
    Rules = "rules": crate::format::policy_records::RuleRecord,
    /// Rule bitsets by source class.
    SourceSets = "source sets": u64,
    /// Rule bitsets by destination class.
    DestinationSets = "destination sets": u64,
    /// Class by QoS class.
    QosClassMap = "QoS class map": u16,
    /// Rule bitsets by class of QoS class.
    QosClassSets = "QoS class sets": u64,
    /// Class by traffic class; empty when no rule asks for one.
    TclassMap = "traffic class map": u16,
    /// Rule bitsets by class of traffic class; empty when no rule asks for one.
    TclassSets = "traffic class sets": u64,
    /// Class by P_Key base.
    PkeyMap = "P_Key map": u16,
    /// Rule bitsets by P_Key class.
    PkeySetsOfRules = "P_Key rule sets": u64,
    /// First service id of each interval.
    ServiceStarts = "service ids": u64,
    /// Class of each interval.
    ServiceClasses = "service classes": u16,
    /// Rule bitsets by service class.
    ServiceSets = "service sets": u64,
    /// Rule by place in rule sets, the number of rules for none; empty when rules are not indexed.
    RuleOrder = "rule order": u16,
    /// Classes of all dimensions; empty when rules are not indexed.
    PolicyClasses = "policy classes": crate::format::policy_records::ClassRecord,
    /// Lists of classes: what their records have no room for.
    RuleWords = "rule lists": crate::format::policy_records::RuleWordRecord,
    /// First rule that asks for ends only, by (source class, destination class); the number of
    /// rules for none.
    FirstRules = "first rules": u16,
    /// Multicast groups in the order of their MGIDs.
    Groups = "multicast groups": crate::format::records::GroupRecord,
    /// Routes to other subnets; the first that fits counts.
    PrefixRoutes = "prefix routes": crate::format::records::PrefixRouteRecord,
    /// Second GUIDs of ports, in the order of [`sa_wire::Guid::map_order`].
    Aliases = "alias GUIDs": crate::format::records::AliasRecord,
    /// Places among the aliases, ordered by port and then as there.
    AliasesByPort = "aliases by port": u32,
    /// Flow labels by rule, the last for none; empty when no answer carries one.
    FlowLabels = "flow labels": u32,
    /// The pair table where a byte tells all classes, see [`NARROW_CLASSES`].
    NarrowPairs = "narrow pair table": u8,
}

/// The next multiple of [`ALIGN`].
pub(crate) const fn align_up(offset: usize) -> usize {
    offset.next_multiple_of(ALIGN)
}

/// Where the first section starts.
pub(crate) const fn sections_start() -> usize {
    align_up(size_of::<Header>() + SectionId::ALL.len() * size_of::<SectionEntry>())
}

/// The byte range of a section, as the (already checked) table says.
pub(crate) struct Range {
    /// The first byte of the section.
    pub(crate) start: usize,
    /// The byte behind its last.
    pub(crate) end: usize,
}

/// Checks header, digest and section table. Shape: one range per section, in file order.
///
/// Errors: every [`LoadError`] but `Section` and `Read`.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Range>, LoadError> {
    let header = header(bytes)?;
    fits(&header, bytes.len() as u64)?;
    let covered = bytes.get(DIGEST_FROM..).unwrap_or_default();
    if xxhash_rust::xxh3::xxh3_64(covered) != header.digest {
        return Err(LoadError::Digest);
    }
    section_table(bytes, &header)
}

/// Bytes that are read of a file before memory is taken for all of it.
#[cfg(feature = "mmap")]
pub(crate) const HEAD: usize = size_of::<Header>();

/// A file's length, where its head says the same and it is none too long to be a snapshot.
/// Errors: as [`parse`] of as much.
#[cfg(feature = "mmap")]
pub(crate) fn whole_length(head: &[u8], length: u64) -> Result<usize, LoadError> {
    let header = header(head)?;
    fits(&header, length)?;
    let whole = usize::try_from(length).ok();
    let whole = whole.filter(|_| length <= LONGEST);
    whole.ok_or(LoadError::SectionTable("longer than any snapshot"))
}

/// Errors: the file is shorter or longer than its header says.
fn fits(header: &Header, have: u64) -> Result<(), LoadError> {
    if have < header.file_len {
        return Err(LoadError::Truncated {
            have,
            need: header.file_len,
        });
    }
    if have > header.file_len {
        return Err(LoadError::Trailing(have - header.file_len));
    }
    Ok(())
}

/// The header. Errors: no snapshot, of another byte order, of another version.
fn header(bytes: &[u8]) -> Result<Header, LoadError> {
    let need = size_of::<Header>() as u64;
    // A prefix is read: what follows is looked at once the header is believed.
    let (header, _) = Header::read_from_prefix(bytes).map_err(|_| LoadError::Truncated {
        have: bytes.len() as u64,
        need,
    })?;
    if header.magic != MAGIC {
        return Err(LoadError::Magic);
    }
    // A file from a machine of the other byte order has the right magic and everything else
    // swapped.
    if header.byte_order != BYTE_ORDER_MARK {
        return Err(LoadError::ByteOrder);
    }
    if header.version != FORMAT_VERSION {
        return Err(LoadError::Version {
            found: header.version,
            expected: FORMAT_VERSION,
        });
    }
    Ok(header)
}

/// The ranges of all sections. Errors: they are not exactly those of this version, one after
/// another.
fn section_table(bytes: &[u8], header: &Header) -> Result<Vec<Range>, LoadError> {
    let malformed = LoadError::SectionTable;
    if header.reserved != [0; 7] {
        return Err(malformed("reserved header bytes are not zero"));
    }
    let count = SectionId::ALL.len();
    if usize::try_from(header.sections) != Ok(count) {
        return Err(malformed("unexpected number of sections"));
    }
    let table = bytes.get(size_of::<Header>()..).unwrap_or_default();
    let (entries, _) = <[SectionEntry]>::ref_from_prefix_with_elems(table, count)
        .map_err(|_| malformed("cut short"))?;
    // There is one way to lay the sections out, so a table that says anything else is damaged.
    let mut expected = sections_start();
    let mut ranges = Vec::with_capacity(count);
    for (entry, id) in entries.iter().zip(SectionId::ALL) {
        let range = section_range(entry, *id, expected)?;
        expected = align_up(range.end);
        ranges.push(range);
    }
    // One way to lay it out, one length: bytes behind the last section are damage.
    if expected != bytes.len() {
        return Err(malformed("the sections do not fill the file"));
    }
    Ok(ranges)
}

/// One section's range. Errors: it is out of order, of other elements, or not where the one before
/// ends.
fn section_range(entry: &SectionEntry, id: SectionId, start: usize) -> Result<Range, LoadError> {
    let malformed = LoadError::SectionTable;
    if entry.id != id as u32 {
        return Err(malformed("sections out of order"));
    }
    if usize::try_from(entry.element_size) != Ok(id.element_size()) {
        return Err(malformed("unexpected element size"));
    }
    if usize::try_from(entry.offset) != Ok(start) {
        return Err(malformed("a section is not where it belongs"));
    }
    let end = usize::try_from(entry.elements)
        .ok()
        .and_then(|elements| elements.checked_mul(id.element_size()))
        .and_then(|length| start.checked_add(length))
        // `isize::MAX` bounds every slice in Rust; the alignment is taken off so that rounding up
        // cannot overflow.
        .filter(|end| *end <= isize::MAX as usize - ALIGN)
        .ok_or_else(|| malformed("a section is too long"))?;
    Ok(Range { start, end })
}
