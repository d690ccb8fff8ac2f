//! What requests ask for, as far as their times are told apart.

use sa_wire::mad::method;
use sa_wire::sa::{AttributeId, SaMad};

/// By attribute and method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Get(PathRecord).
    Path,
    /// GetTable(PathRecord).
    PathTable,
    /// GetMulti(MultiPathRecord).
    MultiPath,
    /// Whatever else a worker replies to: ClassPortInfo, and refusals of what it does not have.
    Other,
}

impl Asked {
    /// Shape: in the order of the variants.
    pub const ALL: [Self; 4] = [Self::Path, Self::PathTable, Self::MultiPath, Self::Other];

    /// The attribute and the method, as the standard writes them.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Path => ("PathRecord", "Get"),
            Self::PathTable => ("PathRecord", "GetTable"),
            Self::MultiPath => ("MultiPathRecord", "GetMulti"),
            Self::Other => ("other", "other"),
        }
    }

    /// What this replies to: a reply keeps the attribute of its request.
    pub(super) fn of_reply(mad: &SaMad) -> Self {
        let header = &mad.mad;
        match (header.attribute_id.get(), header.method) {
            (id, method::GET_RESP) if id == AttributeId::PATH_RECORD.0 => Self::Path,
            (id, method::GET_TABLE_RESP) if id == AttributeId::PATH_RECORD.0 => Self::PathTable,
            (id, method::GET_MULTI_RESP) if id == AttributeId::MULTI_PATH_RECORD.0 => {
                Self::MultiPath
            }
            _ => Self::Other,
        }
    }
}
