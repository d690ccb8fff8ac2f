//! What a `partitions.conf` says, apart from any fabric.
//!
//! ```text
//! storage=0x0123, ipoib, sl=2, mtu=5 : 0x1=full, ALL_CAS=limited, mgid=ff12::1,Q_Key=0x1 ;
//! name    key     flags              members                      a group, up to the semicolon
//! ```

use std::fmt;

use sa_text::{Span, Spanned};
use sa_wire::{Gid, Guid, NodeType, Sl};

use super::flags::GroupFlags;
use super::{Membership, parse};
use crate::error::Error;

/// The statements of a file.
/// The same for every fabric, so that it is read once and applied often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionsConfig {
    /// Partitions by place; the default one comes first and is always there.
    /// In the order in which they are first named.
    pub partitions: Vec<Definition>,
    /// Statements in order; several may be about one partition.
    /// Never empty: a file without any is refused.
    pub statements: Vec<Statement>,
    /// What OpenSM passes over, and so do we.
    /// Told as warnings; the file is taken.
    pub notices: Vec<Notice>,
}

/// A partition's name and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The name in the first statement about it, cut to 31 bytes.
    pub name: String,
    /// P_Key without the membership bit, 1 to 0x7fff.
    pub base: u16,
}

/// From a definition to its semicolon.
/// Later ones about the same partition add to and replace what earlier ones say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Place of the partition it is about.
    pub partition: u16,
    /// It asks for an IPoIB broadcast group.
    pub ipoib: bool,
    /// The P_Key goes to the first place of its members' tables.
    /// `indx0`. Which place a P_Key has does not show in any answer of the SA about paths.
    pub first_place: bool,
    /// The partition's service level if QoS is on; 0 when not mentioned.
    pub sl: Sl,
    /// Parameters of its multicast groups.
    pub flags: GroupFlags,
    /// Members and groups in order.
    /// The order counts, as later members replace earlier ones.
    pub items: Vec<Spanned<Item>>,
    /// The definition: what stands before the colon.
    pub span: Span,
}

/// What follows the colon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Ports that belong to the partition.
    Member {
        /// The ports that are meant.
        who: Who,
        /// Full, limited or both members.
        membership: Membership,
    },
    /// A multicast group that the SM makes by itself.
    /// Made whether or not anybody joins.
    Group {
        /// As written; its scope is replaced.
        mgid: Gid,
        /// Parameters, those of the statement where it has none of its own. Its service level is
        /// the statement's when absent.
        flags: GroupFlags,
    },
}

/// Ports by a word for many, or one by its GUID.
/// Words may be cut short: `A` is ALL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Every end port of the fabric.
    All,
    /// Every end port of such nodes.
    Type(NodeType),
    /// The port that the SM runs on.
    SelfPort,
    /// The port with this GUID, if the fabric has it.
    Port(Guid),
}

/// Something that has no effect, or not the likely intended one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The word that is passed over.
    pub span: Span,
    /// Why it is passed over.
    pub kind: NoticeKind,
}

/// What is passed over.
/// Each holds the word as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// A flag that nobody knows.
    UnknownFlag(String),
    /// A flag whose value is missing or wrong.
    FlagValue(String),
    /// A membership that nobody knows; limited is assumed.
    Membership(String),
    /// Not a multicast address; no group is made.
    MulticastGid(String),
}

impl PartitionsConfig {
    /// Place of the default partition.
    pub const DEFAULT_PLACE: u16 = 0;

    /// Reads a file.
    ///
    /// Shape: as OpenSM, keywords may be cut short (`lim` for limited) and statements span lines.
    /// Errors: the first one. OpenSM then drops the whole file and makes every port a full member
    /// of the default partition, which is [`super::Partitions::without_file`].
    ///
    /// Accepts what OpenSM accepts, but where OpenSM reads past its line buffer and stale bytes
    /// decide: lines of more than 4,093 bytes, which it cuts in two, and a semicolon alone on its
    /// line, which it nearly always refuses, are refused; `mgid=` with no flag before the
    /// semicolon is accepted.
    ///
    /// Source: OpenSM `osm_prtn_config.c`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parse::parse(text)
    }

    /// Places of the partitions in the order in which the SM goes through them.
    pub(super) fn in_map_order(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.partitions.len()).collect();
        // OpenSM's map compares keys as they lie in memory, in network order, on a little-endian
        // host.
        places.sort_unstable_by_key(|place| self.partitions[*place].base.swap_bytes());
        places
    }
}

impl Default for PartitionsConfig {
    /// The default partition and no statement about it.
    fn default() -> Self {
        let default = Definition {
            name: String::from("Default"),
            base: 0x7fff,
        };
        Self {
            partitions: vec![default],
            statements: Vec::new(),
            notices: Vec::new(),
        }
    }
}

impl fmt::Display for Notice {
    /// Shape: `line:column: remark`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}",
            self.span.start.line, self.span.start.column, self.kind
        )
    }
}

impl fmt::Display for NoticeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFlag(flag) => write!(f, "flag {flag:?} is not known and is passed over"),
            Self::FlagValue(flag) => {
                write!(
                    f,
                    "the value of flag {flag:?} is missing or wrong; it is passed over"
                )
            }
            Self::Membership(text) => {
                write!(f, "membership {text:?} is not known; limited is assumed")
            }
            Self::MulticastGid(text) => {
                write!(f, "{text:?} is no multicast GID; no group is made")
            }
        }
    }
}
