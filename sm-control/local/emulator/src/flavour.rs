//! What differs between kernels.
//!
//! The interface was changed in ways that an agent cannot see: nothing in a question tells the
//! version. So an agent has to send what all of them take, and tests run against each.
//!
//! | | 4.3 to 5.5 | 6.1 | from about 6.3 |
//! |---|---|---|---|
//! | path use for a reversible path | GMP | ALL | ALL |
//! | records taken | 1 | 3 | 3 |
//! | confirms | everything | errors, and where asked | the same |
//! | a record without direction fails the route | no | no | yes |
//!
//! 5.6 to 6.0 are the first with the confirmations of the second; they have no flavour of their
//! own.

use sa_wire::netlink_ls::{MAX_RECORDS, PathFlags, PathUse};

/// A kernel by the version that brought its behaviour. Some versions are known from the dates of
/// patches alone, which is why the last is "about".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// 4.3 to 5.5: asks for GMP, takes one record, confirms every message.
    V4_3,
    /// 6.1: asks for ALL, takes three records.
    V6_1,
    /// From about 6.3: the same, and fails a route on a record of no known direction.
    V6_3,
}

impl Flavour {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::V4_3, Self::V6_1, Self::V6_3];

    /// The path use of a query by whether its caller wants a reversible path. It is the only way in
    /// which the wish is conveyed.
    pub const fn path_use(self, is_reversible: bool) -> PathUse {
        match (self, is_reversible) {
            (_, false) => PathUse::Unidirectional,
            (Self::V4_3, true) => PathUse::Gmp,
            (Self::V6_1 | Self::V6_3, true) => PathUse::All,
        }
    }

    /// What it demands of a record's flags: a record counts when it has all bits of the mask.
    pub const fn mask(self, path_use: PathUse) -> PathFlags {
        match (self, path_use) {
            // Older kernels never ask for ALL; a replay of newer messages is judged as the
            // reversible use that they had.
            (Self::V4_3, PathUse::All) => PathFlags::mask(PathUse::Gmp),
            _ => PathFlags::mask(path_use),
        }
    }

    /// How many records of a reply it takes. Further ones are skipped, without harm to the others.
    pub const fn most_records(self) -> usize {
        match self {
            Self::V4_3 => 1,
            Self::V6_1 | Self::V6_3 => MAX_RECORDS,
        }
    }

    /// Whether handlers gave a length back, which counted as a code to be told. An agent that reads
    /// such a code as an errno would think each reply refused.
    pub(super) const fn confirms_all(self) -> bool {
        matches!(self, Self::V4_3)
    }

    /// Whether rdma_cm fails on a record that is neither the path nor inbound nor outbound.
    pub(super) const fn sorts_strictly(self) -> bool {
        matches!(self, Self::V6_3)
    }
}
