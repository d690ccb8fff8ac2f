//! A snapshot that passed every check, and what it can be asked of fabric and partitions.
//!
//! [`Snapshot`] owns its bytes, and typed slices of them. It can only be made from bytes that `verify` accepted, so lookups follow
//! offsets and check nothing again. `ports` finds end ports by GUID, GID and LID, `paths` the class of a path and what
//! it offers, `partitions` which P_Keys two ports share, `aliases` second GUIDs, `off_subnet` multicast groups and routers to
//! other subnets, `common` whether anything sets one request apart from another. What a policy says is in the folder
//! `policy`.
//!
//! None of the lookups allocates, and none searches for anything that depends only on the fabric: what could be
//! resolved beforehand was resolved by the builder. An index made by another snapshot names nothing here rather than
//! panicking. Nothing here changes: another state of the fabric is another snapshot.

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
