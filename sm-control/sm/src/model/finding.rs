//! What is wrong with a subnet, for a person who has to mend it.

use core::fmt;

use sa_wire::Guid;

use super::route::Route;

/// Where something is: the way to it, and who answers there where that is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From this SM.
    pub route: Route,
    /// Node GUID.
    pub node: Option<Guid>,
    /// Port of that node.
    pub port: Option<u8>,
}

/// Something that an SM goes on without.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Finding {
    /// Two nodes answer with one node GUID. The first is managed, the second is left alone.
    DuplicateGuid {
        /// The GUID of both.
        guid: Guid,
        /// The one that is kept.
        kept: Place,
        /// The one that is left out.
        left_out: Place,
    },
    /// A cable leads from a switch back to itself.
    CableLoop {
        /// One end.
        one: Place,
        /// The other one, a port of the same switch.
        other: Place,
    },
    /// All tries of a request were without an answer.
    Mute {
        /// Who was asked.
        place: Place,
        /// [`sa_wire::smp::attribute`].
        attribute: u16,
        /// Its modifier.
        modifier: u32,
    },
    /// A request was answered with an error.
    Refused {
        /// Who was asked.
        place: Place,
        /// [`sa_wire::smp::attribute`].
        attribute: u16,
        /// Its modifier.
        modifier: u32,
        /// The status of the answer.
        status: u16,
    },
    /// An answer that cannot be: what it says is not used.
    Impossible {
        /// Who answered.
        place: Place,
        /// [`sa_wire::smp::attribute`].
        attribute: u16,
        /// What cannot be, in words.
        what: &'static str,
    },
    /// A port does not take a Set, and may hold an M_Key that is not known.
    Locked {
        /// Who was asked.
        place: Place,
    },
    /// More hops away than a directed route can have.
    TooFar {
        /// The last place that can be reached.
        place: Place,
    },
}

impl Finding {
    /// Where a request led, and for which attribute, that has to have another outcome for this to be over.
    pub(crate) const fn asked(&self) -> Option<(&Place, u16)> {
        match self {
            Self::Mute {
                place, attribute, ..
            }
            | Self::Refused {
                place, attribute, ..
            }
            | Self::Impossible {
                place, attribute, ..
            } => Some((place, *attribute)),
            Self::DuplicateGuid { .. }
            | Self::CableLoop { .. }
            | Self::Locked { .. }
            | Self::TooFar { .. } => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.node, self.port) {
            (Some(node), Some(port)) => write!(f, "{node} port {port} (route {})", self.route),
            (Some(node), None) => write!(f, "{node} (route {})", self.route),
            (None, _) => write!(f, "route {}", self.route),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateGuid {
                guid,
                kept,
                left_out,
            } => write!(
                f,
                "node GUID {guid} is there twice: at {kept}, which is managed, and at {left_out}, which is not; give one of them its own GUID"
            ),
            Self::CableLoop { one, other } => {
                write!(
                    f,
                    "a cable leads from {one} to {other} of the same node; pull it"
                )
            }
            Self::Mute {
                place,
                attribute,
                modifier,
            } => write!(
                f,
                "no answer from {place} to attribute {attribute:#x} modifier {modifier:#x}"
            ),
            Self::Refused {
                place,
                attribute,
                modifier,
                status,
            } => write!(
                f,
                "{place} refuses attribute {attribute:#x} modifier {modifier:#x} with status {status:#x}"
            ),
            Self::Impossible {
                place,
                attribute,
                what,
            } => write!(
                f,
                "{place} answers attribute {attribute:#x} wrongly: {what}"
            ),
            Self::Locked { place } => write!(
                f,
                "{place} takes no Set: it may hold an M_Key that is not known here; put the key into guid2mkey while sapphired is stopped, or \
                 switch the device off and on"
            ),
            Self::TooFar { place } => {
                write!(
                    f,
                    "what is behind {place} is too many hops away for a directed route"
                )
            }
        }
    }
}
