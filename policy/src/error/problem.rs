//! What can be wrong with a file.

use thiserror::Error;

use super::UlpProblem;

/// What leaves no reading of a file, or contradicts the fabric. The first of them refuses the whole file, as
/// with OpenSM.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// A token that cannot stand here.
    #[error("unexpected {found}")]
    Unexpected {
        /// What stands there, described.
        found: String,
    },
    /// The file is in another dialect than the one it is to be read in.
    #[error("this is a policy in the {dialect} dialect")]
    UnsupportedDialect {
        /// The name of that dialect, for people.
        dialect: &'static str,
    },
    /// A byte that text files do not have.
    #[error("a NUL byte: this is no text file")]
    NulByte,
    /// More than a file may have of something.
    #[error("{found} {what} are more than the {limit} that one file may have")]
    TooMany {
        /// Of what, in the plural.
        what: &'static str,
        /// How many there are at least.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A name or text that is too long.
    #[error("{what} of {length} bytes or more is longer than {limit}")]
    TooLong {
        /// A name, a description, a line.
        what: &'static str,
        /// How long it is at least. Units: bytes.
        length: usize,
        /// How long it may be. Units: bytes.
        limit: usize,
    },
    /// A keyword that a block has once only.
    #[error("{block} has more than one `{keyword}`")]
    Repeated {
        /// The keyword that came a second time.
        keyword: &'static str,
        /// The block that has it, by its keyword.
        block: &'static str,
    },
    /// A block lacks something.
    #[error("{block} has no {what}")]
    Missing {
        /// The keyword, or the keywords, of which it needs one.
        what: &'static str,
        /// The block, by its keyword.
        block: &'static str,
    },
    /// A number outside its range.
    #[error("{what} {value} is not within {least} to {most}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// The number as it was read.
        value: u64,
        /// The smallest that is allowed.
        least: u64,
        /// The largest that is allowed.
        most: u64,
    },
    /// An SL to VL table of another length than 16.
    #[error("sl2vl-table has {found} values instead of 16")]
    TableLength {
        /// How many it has.
        found: usize,
    },
    /// A port name without a port.
    #[error("'{name}' is no port name")]
    PortNameForm {
        /// The name as the file has it.
        name: String,
    },
    /// A port name with a number that no port has.
    #[error("'{name}': there is no port number after the P, or it is 0")]
    PortNameNumber {
        /// The name as the file has it.
        name: String,
    },
    /// OpenSM's dialect needs a default level, and the file has none.
    #[error("no level is named 'default'")]
    NoDefaultLevel,
    /// A rule refers to a level that does not exist.
    #[error("there is no qos-level '{name}'")]
    UnknownLevel {
        /// The name as the file has it.
        name: String,
    },
    /// A rule refers to a level by a place where there is none.
    #[error("there is no qos-level number {number}: the file has {levels}")]
    UnknownPosition {
        /// As written, from 1.
        number: u64,
        /// How many levels there are.
        levels: usize,
    },
    /// A rule refers to a level by a number that no level has.
    #[error("no qos-level has sn {sn}")]
    UnknownSn {
        /// The number as the file has it.
        sn: u64,
    },
    /// XML that is refused because it could make the file mean anything.
    #[error("{what} is not read here")]
    RefusedMarkup {
        /// A name, a description, a line.
        what: &'static str,
    },
    /// A reference to an entity that is none of XML's own.
    #[error("'{text}' is no character")]
    Entity {
        /// The word as the file has it.
        text: String,
    },
    /// An element or block that is not closed.
    #[error("{what} is not closed")]
    NotClosed {
        /// The block or element, as the file opens it.
        what: String,
    },
    /// A rule refers to a port group that does not exist.
    #[error("there is no port-group '{name}'")]
    UnknownGroup {
        /// The name as the file has it.
        name: String,
    },
    /// A port name whose node exists, but not with this port.
    #[error("node '{node}' has no port {port}")]
    NoSuchPort {
        /// NodeDescription of the node that was named.
        node: String,
        /// The number asked for.
        port: u32,
    },
    /// An `ipoib` rule for a partition that does not exist.
    #[error("an ipoib rule names P_Key 0x{base:04x}, but there is no such partition")]
    IpoibPartition {
        /// P_Key of the partition, without its membership bit.
        base: u16,
    },
    /// An `ipoib` rule for a partition that IPoIB cannot use.
    #[error("an ipoib rule names P_Key 0x{base:04x}, whose partition has {full} full members")]
    IpoibMembers {
        /// P_Key of the partition, without its membership bit.
        base: u16,
        /// How many ports are full members.
        full: usize,
    },
    /// A service by name that makes no sense.
    #[error(transparent)]
    Service(UlpProblem),
    /// More different values of one criterion than the match tables can hold.
    #[error("the rules tell more than {limit} kinds of {dimension} apart")]
    TooManyClasses {
        /// The criterion, as people call it.
        dimension: &'static str,
        /// How many kinds there may be.
        limit: usize,
    },
    /// partitions.conf: a statement without its definition.
    #[error("no partition definition: the statement has no ':' on its first line")]
    NoDefinition,
    /// partitions.conf: nothing before a semicolon.
    #[error("nothing stands before this ';'")]
    EmptyStatement,
    /// partitions.conf: no statement at all.
    #[error("the file defines no partition")]
    NoStatement,
    /// partitions.conf: the P_Key is no number.
    #[error("'{text}' is no P_Key")]
    PartitionKey {
        /// The word as the file has it.
        text: String,
    },
    /// partitions.conf: the member is neither a GUID nor a word for many ports.
    #[error("'{text}' is no port GUID")]
    Member {
        /// The word as the file has it.
        text: String,
    },
    /// partitions.conf: the multicast group's address is none.
    #[error("'{text}' is no multicast GID")]
    MulticastGid {
        /// The word as the file has it.
        text: String,
    },
    /// partitions.conf: all P_Keys are taken.
    #[error("no P_Key is left to generate for this partition")]
    KeysExhausted,
}

impl Problem {
    /// What an operator can do, when it is the same every time.
    pub(crate) const fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::UnsupportedDialect { .. } => {
                "choose that dialect or let it be detected; OpenSM's has names for levels and \
                 qos-level-name in rules"
            }
            Self::PortNameForm { .. } => {
                "write the node description, a slash and P with the port number: \"h1 HCA-1/P1\""
            }
            Self::PortNameNumber { .. } => "ports are numbered from 1: write /P1",
            Self::NoDefaultLevel => {
                "add a qos-level named 'default', or 'default : SL' in qos-ulps"
            }
            Self::UnknownLevel { .. } => "define it in qos-levels; letter case does not matter",
            Self::UnknownPosition { .. } => "levels are numbered from 1 in the order of the file",
            Self::UnknownSn { .. } => "give a level this sn, or refer to one that exists",
            Self::RefusedMarkup { .. } => "write the policy out without it",
            Self::Entity { .. } => {
                "only &lt; &gt; &amp; &quot; &apos; and numbers as in &#39; are read"
            }
            Self::UnknownGroup { .. } => "define it in port-groups; letter case does not matter",
            Self::NoSuchPort { .. } => "name a port that the node has and that is in the fabric",
            Self::IpoibPartition { .. } => {
                "define the partition in partitions.conf, or drop the rule"
            }
            Self::IpoibMembers { .. } => "IPoIB needs two full members at least",
            Self::TooManyClasses { .. } => "merge rules whose criteria differ in this alone",
            Self::TableLength { .. } => "give the VL of each SL, 0 to 15",
            Self::NoDefinition => {
                "begin with [name][=P_Key][,flags] and ':' on one line, and end with ';'"
            }
            Self::EmptyStatement => "put ';' on the line of the last member, once",
            Self::NoStatement => "define a partition, or remove the file to get the default one",
            Self::PartitionKey { .. } => "write a number such as 0x7fff",
            Self::Member { .. } => {
                "write a GUID (0x...), ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF"
            }
            Self::MulticastGid { .. } => "write an IPv6 address that begins with ff",
            _ => return None,
        })
    }
}
