//! Remarks in words, for operators.

use std::fmt;

use crate::explain::{Missed, Reason};
use crate::interpret::Criterion;
use crate::notes::{Note, NoteKind};
use crate::partitions::{Notice, NoticeKind};

impl fmt::Display for Note {
    /// Shape: `line:column: remark`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}",
            self.span.start.line, self.span.start.column, self.kind
        )
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetupWithoutEffect => f.write_str(
                "answers do not follow qos-setup, which OpenSM does not program; `sapphire setup` \
                 shows its tables",
            ),
            Self::PathBitsWithoutEffect => f.write_str("path-bits is parsed but not acted upon"),
            Self::LevelUnreachable(name) => {
                write!(
                    f,
                    "level {name:?} was defined before; no rule can refer to this one"
                )
            }
            Self::GroupUnreachable(name) => {
                write!(
                    f,
                    "group {name:?} was defined before; no rule can refer to this one"
                )
            }
            Self::SlOutOfRange(sl) => {
                write!(
                    f,
                    "there is no SL {sl}; queries that get this level find no path"
                )
            }
            Self::PacketLifeOutOfRange(life) => {
                write!(
                    f,
                    "packet-life {life} is over 63; its upper bits will show in answers"
                )
            }
            Self::QosClassOutOfRange(class) => {
                write!(f, "QoS class {class} is over 4095; no request can name it")
            }
            Self::NoSuchPkey(base) => write!(f, "no partition has the P_Key 0x{base:04x}"),
            Self::NoSuchPartition(name) => write!(f, "no partition is called {name:?}"),
            Self::NoSuchNode(name) => write!(f, "no node is called {name:?}"),
            Self::NoSuchGuid(guid) => write!(f, "no port has the GUID {guid}"),
            Self::EmptyGroup(name) => write!(f, "no port is in group {name:?}"),
            Self::Ungrouped {
                ports,
                of,
                examples,
            } => {
                let others = if *ports > examples.len() {
                    " and others"
                } else {
                    ""
                };
                let names = examples.join(", ");
                write!(
                    f,
                    "{ports} of {of} end ports are in no group: {names}{others}"
                )
            }
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

impl fmt::Display for Missed {
    /// Why the rule does not hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let criterion = self.criterion;
        match self.reason {
            Reason::Absent => write!(f, "the request names no {criterion}"),
            Reason::NotInGroups => write!(f, "the {criterion} is in none of its groups"),
            Reason::Other(value) => write!(f, "{criterion} 0x{value:x} is not among its values"),
        }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Destination => "destination",
            Self::QosClass => "QoS class",
            Self::TClass => "traffic class",
            Self::ServiceId => "service id",
            Self::Pkey => "P_Key",
        })
    }
}
