//! What can be wrong with a file.

use thiserror::Error;

use super::UlpProblem;

/// What is wrong.
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
        /// Its name.
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
        /// What it is.
        what: &'static str,
        /// Units: bytes.
        length: usize,
        /// Units: bytes.
        limit: usize,
    },
    /// A keyword that a block has once only.
    #[error("{block} has more than one `{keyword}`")]
    Repeated {
        /// Which keyword.
        keyword: &'static str,
        /// In which block.
        block: &'static str,
    },
    /// A block lacks something.
    #[error("{block} has no {what}")]
    Missing {
        /// What it lacks.
        what: &'static str,
        /// Which block.
        block: &'static str,
    },
    /// A number outside its range.
    #[error("{what} {value} is not within {least} to {most}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// The number.
        value: u64,
        /// Least allowed.
        least: u64,
        /// Most allowed.
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
        /// As written.
        name: String,
    },
    /// A port name with a number that no port has.
    #[error("'{name}': there is no port number after the P, or it is 0")]
    PortNameNumber {
        /// As written.
        name: String,
    },
    /// No default level.
    #[error("no level is named 'default'")]
    NoDefaultLevel,
    /// A rule refers to a level that does not exist.
    #[error("there is no qos-level '{name}'")]
    UnknownLevel {
        /// As written.
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
        /// As written.
        sn: u64,
    },
    /// XML that is refused because it could make the file mean anything.
    #[error("{what} is not read here")]
    RefusedMarkup {
        /// What it is.
        what: &'static str,
    },
    /// A reference to an entity that is none of XML's own.
    #[error("'{text}' is no character")]
    Entity {
        /// As written.
        text: String,
    },
    /// An element or block that is not closed.
    #[error("{what} is not closed")]
    NotClosed {
        /// What is open.
        what: String,
    },
    /// A rule refers to a port group that does not exist.
    #[error("there is no port-group '{name}'")]
    UnknownGroup {
        /// As written.
        name: String,
    },
    /// A port name whose node exists, but not with this port.
    #[error("node '{node}' has no port {port}")]
    NoSuchPort {
        /// The node's name.
        node: String,
        /// The number asked for.
        port: u32,
    },
    /// An `ipoib` rule for a partition that does not exist.
    #[error("an ipoib rule names P_Key 0x{base:04x}, but there is no such partition")]
    IpoibPartition {
        /// The partition's base.
        base: u16,
    },
    /// An `ipoib` rule for a partition that IPoIB cannot use.
    #[error("an ipoib rule names P_Key 0x{base:04x}, whose partition has {full} full members")]
    IpoibMembers {
        /// The partition's base.
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
        /// Which criterion.
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
        /// As written.
        text: String,
    },
    /// partitions.conf: the member is neither a GUID nor a word for many ports.
    #[error("'{text}' is no port GUID")]
    Member {
        /// As written.
        text: String,
    },
    /// partitions.conf: the multicast group's address is none.
    #[error("'{text}' is no multicast GID")]
    MulticastGid {
        /// As written.
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
