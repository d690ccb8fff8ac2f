//! A snapshot that passed every check, and what it can be asked of fabric and partitions.
//!
//! [`Snapshot`] owns its bytes, and typed slices of them. It can only be made from bytes that
//! `verify` accepted, so lookups follow offsets and check nothing again. `ports` finds end ports by
//! GUID, GID and LID, `paths` the class of a path and what it offers, `partitions` which P_Keys two
//! ports share, `aliases` second GUIDs, `off_subnet` multicast groups and routers to other subnets,
//! `common` whether anything sets one request apart from another. What a policy says is in the
//! folder `policy`.
//!
//! None of the lookups allocates, and none searches for anything that depends only on the fabric:
//! what could be resolved beforehand was resolved by the builder. An index made by another snapshot
//! names nothing here rather than panicking. Nothing here changes: another state of the fabric is
//! another snapshot.
//!
//! How much a lookup costs, in cache lines that are likely missing:
//!
//! | lookup | lines |
//! |---|---|
//! | port by LID | 2: the table, the port |
//! | port by GUID or GID | 2 to 3: the index (1.5 probes), the port |
//! | path class, uniform pairs | none: both ports are at hand |
//! | path class, dense pairs | 2: the LID's column, the pair |
//! | shared P_Key | none to 1: one key for all, or the matrix |

mod aliases;
mod common;
mod off_subnet;
mod partitions;
mod paths;
mod ports;
mod snapshot;

pub use self::aliases::NamedPort;
pub use self::paths::{PathCapacity, PathClassIx, PathParameters};
pub use self::snapshot::{SharedBytes, Snapshot, SnapshotInfo};
