//! Why a fabric file is refused, and what was odd about one that is accepted.
//!
//! Problems end a reading: the first one is reported, with its place and, where two lines
//! contradict each other, the place of the earlier one. Oddities do not: what OpenSM or ibsim read
//! with a shrug is read here to the same effect, and the operator is told.
//!
//! ```text
//! net:14:1: port 3 of S1 was described before, at line 9, column 1; a port has one cable
//! ```
//!
//! Sentences say what to do where that is not obvious, and name things as the file does. They are
//! values and not texts, so that tests and tools can tell them apart; [`Oddity::code`] is the name
//! that stays when words change.

use core::fmt;
use std::path::Path;

use sa_text::{Position, Remark};
use sa_wire::Guid;
use thiserror::Error;

/// A text that is not what it should be, and where.
///
/// The file's name is added by whoever knows it ([`crate::LoadError::Parse`]).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{at}: {problem}")]
pub struct ParseError {
    /// Where: the beginning of the word that is wrong, not where the reader noticed.
    pub at: Position,
    /// What.
    pub problem: Problem,
}

impl ParseError {
    /// A problem where it was met.
    pub const fn new(at: Position, problem: Problem) -> Self {
        Self { at, problem }
    }
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else was due here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What was due, with its article: "a GUID", "the end of the line".
        expected: &'static str,
        /// What stands there.
        found: Found,
    },
    /// A construct of ibsim that needs more than this one text.
    #[error("{what} is not supported; {remedy}")]
    Unsupported {
        /// The construct.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// No node at all: an empty file, or one with comments only. A file that was cut at its
    /// beginning looks the same.
    #[error("the file describes no node; is it complete?")]
    Empty,
    /// A number of ports that no node can have.
    #[error("a node has 1 to 254 ports, not {0}")]
    PortCount(u64),
    /// A port number that the node does not have.
    #[error("port {port} does not exist: {node} has ports 1 to {ports}")]
    NoSuchPort {
        /// The port asked for.
        port: u64,
        /// The node.
        node: String,
        /// How many it has.
        ports: u8,
    },
    /// Two lines for one port: it would have two cables.
    #[error("port {port} of {node} was described before, at {first}; a port has one cable")]
    PortTwice {
        /// The port.
        port: u8,
        /// Its node.
        node: String,
        /// The first line about it.
        first: Position,
    },
    /// Two nodes of one name in a net file, where port lines name their far ends by it.
    #[error("node \"{id}\" was defined before, at {first}; every node needs a name of its own")]
    DuplicateId {
        /// The name.
        id: String,
        /// The first definition.
        first: Position,
    },
    /// Two nodes or ports of one GUID.
    #[error("{what} GUID {guid} was used before, at {first}")]
    DuplicateGuid {
        /// Node or port.
        what: &'static str,
        /// The GUID.
        guid: Guid,
        /// The first use.
        first: Position,
    },
    /// A GUID of zero, or one that ran over.
    #[error("the {0} would have GUID zero; give it one (switchguid=, caguid= or rtguid= line)")]
    ZeroGuid(&'static str),
    /// A name that no node has: a cable into nowhere. The usual sign of a file that was cut off.
    #[error("no node is named \"{0}\"; its definition is missing, or the file is cut off")]
    UnknownPeer(String),
    /// A cable that the other end does not confirm. Net files and `opensm-subnet.lst` both list
    /// every cable twice.
    #[error("{from} is cabled to {to}, but {to} {instead}; both ends must name each other")]
    Asymmetric {
        /// This end.
        from: String,
        /// The end it names.
        to: String,
        /// What that end says.
        instead: String,
    },
    /// Two ends that can never agree on a width or speed. ibsim ends there as well.
    #[error("{from} and {to} have no {what} in common")]
    NothingInCommon {
        /// Link width or link speed.
        what: &'static str,
        /// One end.
        from: String,
        /// The other.
        to: String,
    },
    /// A LID given to two ports, LMC ranges included.
    #[error("LID {lid} belongs to {owner} (at {first}) as well")]
    DuplicateLid {
        /// The LID.
        lid: u16,
        /// The other port.
        owner: String,
        /// Where that is said.
        first: Position,
    },
    /// Two statements about one node that differ.
    #[error("{what} of node {guid} differs from what {first} says")]
    Contradiction {
        /// What differs.
        what: &'static str,
        /// The node.
        guid: Guid,
        /// The earlier statement.
        first: Position,
    },
    /// Two ports marked as the SM's, where a subnet has one master.
    #[error("two ports are marked as the SM's; the other at {0}")]
    TwoSms(Position),
    /// A number outside its range.
    #[error("{what} is {low} to {high}, not {value}")]
    Range {
        /// The quantity.
        what: &'static str,
        /// Smallest.
        low: u64,
        /// Largest.
        high: u64,
        /// The number found.
        value: u64,
    },
}

/// A piece of text that stands where something else was due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The line ends.
    EndOfLine,
    /// The file ends.
    EndOfFile,
    /// This, shortened.
    Text(String),
}

impl Found {
    /// What stands at the start of the rest of a line: 24 characters, enough to find it.
    pub(crate) fn at(rest: &str) -> Self {
        let word: String = rest.trim_start().chars().take(24).collect();
        if word.is_empty() {
            Self::EndOfLine
        } else {
            Self::Text(word)
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfLine => f.write_str("the end of the line"),
            Self::EndOfFile => f.write_str("the end of the file"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// Something odd in an accepted file, for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub at: Position,
    /// What.
    pub what: Oddity,
}

impl Note {
    /// The note as a remark about its file.
    pub fn remark(&self, file: &Path) -> Remark {
        Remark::warning(self.what.code(), self.what.to_string()).at(file, self.at)
    }
}

/// What was odd.
///
/// None of these changes the topology; some change a rate or a table, as they do in OpenSM.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Oddity {
    /// A byte sequence that is no UTF-8 was replaced.
    #[error("not UTF-8; the bytes are replaced by U+FFFD")]
    NotUtf8,
    /// A link width that ibsim does not know either.
    #[error("link width {0:?} is not known (1x, 2x, 4x, 8x, 12x); the default stays")]
    Width(String),
    /// A link speed that ibsim does not know either.
    #[error("link speed {0:?} is not known (SDR to NDR, FDR10); the default stays")]
    Speed(String),
    /// A speed that OpenSM itself could not name.
    #[error("OpenSM did not know this link's {0}; the slowest is assumed")]
    UnknownRate(&'static str),
    /// ibsim would skip this line.
    #[error("a blank line is missing before this one; ibsim would skip it")]
    NoBlankLine,
    /// A line without a meaning for the fabric.
    #[error("ignored: {0}")]
    Ignored(&'static str),
    /// opensm.conf: an entry of `vlarb` that is no `vl:weight` in range.
    #[error("vl:weight {0:?} is not 0-14:0-255; OpenSM takes what it can make of it")]
    VlArbEntry(String),
    /// opensm.conf: more entries than a table holds.
    #[error("{0} vl:weight pairs; those after the 64th are dropped")]
    VlArbCount(usize),
    /// opensm.conf: an entry of `sl2vl` that is no VL.
    #[error("VL {0:?} is not 0 to 15; OpenSM takes what it can make of it")]
    SlToVlEntry(String),
    /// opensm.conf: not one VL for each SL.
    #[error("{0} VLs for 16 SLs; missing ones are VL 0, excess ones are dropped")]
    SlToVlCount(usize),
}

impl Oddity {
    /// A short name that does not change.
    ///
    /// In JSON documents, and in configurations that silence remarks.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotUtf8 => "not-utf8",
            Self::Width(_) => "link-width-unknown",
            Self::Speed(_) => "link-speed-unknown",
            Self::UnknownRate(_) => "link-rate-unknown",
            Self::NoBlankLine => "blank-line-missing",
            Self::Ignored(_) => "line-ignored",
            Self::VlArbEntry(_) => "vlarb-entry",
            Self::VlArbCount(_) => "vlarb-count",
            Self::SlToVlEntry(_) => "sl2vl-entry",
            Self::SlToVlCount(_) => "sl2vl-count",
        }
    }
}
