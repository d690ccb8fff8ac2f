//! What a conversion cannot carry over.
//!
//! A loss is a value: programs go by [`Lost`] and by its [`LossKind`], people read its sentence. `strict` callers
//! refuse a conversion with any loss at all, so that nothing is ever left out silently.

use std::fmt;

use sa_text::{Position, Span};

use crate::model::dialect::Dialect;
use crate::model::semantics::{Echo, ServiceIdEncoding};

/// Something that the other dialect cannot say, or not with effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Where it stands in the file that was converted.
    pub span: Span,
    /// What is lost, and what became of it.
    pub what: Lost,
}

/// What became of something.
/// From bad to harmless: something is not there, is otherwise, does nothing, or depends on the
/// reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossKind {
    /// It is not in the new file.
    LeftOut,
    /// The new file says something else.
    Changed,
    /// The new file says it, but who reads the dialect does not act upon it.
    WithoutEffect,
    /// No file says it: the dialects differ in how all of a policy is meant.
    Meaning,
}

impl LossKind {
    /// Its name for machines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::LeftOut => "left-out",
            Self::Changed => "changed",
            Self::WithoutEffect => "without-effect",
            Self::Meaning => "meaning",
        }
    }
}

/// What is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// A group or level that has to have another name.
    Renamed {
        /// A group or a level.
        what: &'static str,
        /// Its name in the old file.
        had: String,
        /// Its name in the new file.
        gets: String,
    },
    /// The name of a partition or port, with characters that the dialect does not have.
    Rewritten {
        /// A partition or a port name.
        what: &'static str,
        /// In the old file.
        had: String,
        /// In the new file.
        gets: String,
    },
    /// A port name that could be host and CA, which only the RFCs take it for.
    PortName {
        /// In the new file.
        name: String,
        /// The new file is one of the RFCs'.
        is_rfc: bool,
    },
    /// Characters of a description.
    Description,
    /// P_Keys in a group, which only OpenSM has.
    GroupPkeys {
        /// The group that holds them, as the old file calls it.
        group: String,
    },
    /// A level without an SL, which OpenSM does not have: it gets SL 0.
    NoSl {
        /// What people call the level.
        level: String,
    },
    /// Something that a level sets.
    LevelEntry {
        /// The keyword of the entry.
        what: &'static str,
        /// What people call the level.
        level: String,
    },
    /// An SL that is kept for something.
    ReservedSl {
        /// What the SLs are kept for.
        name: String,
    },
    /// A rule by something that the dialect has no word for.
    Rule {
        /// The level that it gives.
        level: String,
        /// The field that the rule asks for, as people call it.
        criterion: &'static str,
    },
    /// VL arbitration of some output ports.
    VlArbScope,
    /// SL to VL mapping that the dialect cannot say.
    Sl2VlScope {
        /// What the dialect lacks.
        why: &'static str,
    },
    /// `path-bits`, which OpenSM reads only.
    PathBits,
    /// `flow-label`, which OpenSM does not know.
    FlowLabel,
    /// `qos-setup`, which OpenSM reads only.
    Setup,
    /// What comes back in answers.
    Echo {
        /// In the old dialect.
        had: Echo,
        /// In the new one.
        gets: Echo,
        /// The dialect of the new file.
        to: Dialect,
    },
    /// Where requests have their service id.
    Encoding {
        /// In the old dialect.
        had: ServiceIdEncoding,
        /// In the new one.
        gets: ServiceIdEncoding,
        /// The dialect of the new file.
        to: Dialect,
    },
    /// Ends have to be named by requests.
    EndpointMask,
}

impl Lost {
    /// What became of it.
    pub const fn kind(&self) -> LossKind {
        match self {
            Self::GroupPkeys { .. } | Self::LevelEntry { .. } => LossKind::LeftOut,
            Self::ReservedSl { .. } | Self::Rule { .. } => LossKind::LeftOut,
            Self::VlArbScope | Self::Sl2VlScope { .. } => LossKind::LeftOut,
            Self::Renamed { .. } | Self::Rewritten { .. } => LossKind::Changed,
            Self::PortName { .. } | Self::Description | Self::NoSl { .. } => LossKind::Changed,
            // Written all the same: another reader may act upon it.
            Self::PathBits | Self::FlowLabel | Self::Setup => LossKind::WithoutEffect,
            Self::Echo { .. } | Self::Encoding { .. } | Self::EndpointMask => LossKind::Meaning,
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renamed { what, had, gets } => write!(f, "{what} {had:?} is called {gets:?}"),
            Self::Rewritten { what, had, gets } => write!(f, "{what} {had:?} is written {gets:?}"),
            Self::PortName { name, is_rfc: true } => {
                write!(f, "{name:?} means host and CA where no node is called so")
            }
            Self::PortName { name, .. } => {
                write!(
                    f,
                    "{name:?} means a node of that whole description in OpenSM"
                )
            }
            Self::Description => f.write_str("characters of this description are replaced"),
            Self::GroupPkeys { group } => {
                write!(f, "P_Keys of group {group:?} are left out: use a partition")
            }
            Self::NoSl { level } => write!(
                f,
                "{level} has no SL, so that partitions choose; OpenSM wants one: SL 0 is written"
            ),
            Self::LevelEntry { what, level } => write!(f, "{what} of {level} is left out"),
            Self::ReservedSl { name } => write!(f, "reserved-sl for {name} is left out"),
            Self::Rule { level, criterion } => write!(
                f,
                "the rule that gives {level:?} by {criterion} is left out: later rules or the \
                 default get its requests"
            ),
            Self::VlArbScope => {
                f.write_str("the vlarb-scope is left out: it is for some output ports only")
            }
            Self::Sl2VlScope { why } => write!(f, "the sl2vl-scope is left out: {why}"),
            Self::PathBits => f.write_str("OpenSM reads path-bits and does not act upon them"),
            Self::FlowLabel => {
                f.write_str("flow-label is read by this product only: OpenSM refuses the file")
            }
            Self::Setup => f.write_str("OpenSM reads qos-setup and does not act upon it"),
            Self::Echo { had, gets, to } => write!(f, "{had}; read as {to}, {gets}"),
            Self::Encoding { had, gets, to } => write!(f, "{had}; read as {to}, {gets}"),
            Self::EndpointMask => f.write_str(
                "rules with source or destination hold only for requests that name that end, \
                 which the file does not say",
            ),
        }
    }
}

impl fmt::Display for Loss {
    /// Shape: `line:column: words`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.span.start;
        write!(f, "{line}:{column}: {}", self.what)
    }
}
