//! The immutable block that the slow path builds and the fast path answers from.
//!
//! The memory layout is the file format: [`Builder`] lays a [`model::Model`] out, [`Snapshot`]
//! exists only over bytes that [`verify`](Snapshot::from_bytes) accepted, and lookups follow
//! offsets without searching for anything that depends only on fabric or policy. The format is
//! described in `docs/snapshot-format.md`.
//!
//! `unsafe` lives in `section` (typed slices over verified bytes).

#![deny(unsafe_code)]

mod aliases;
mod backing;
mod build;
mod by_service;
mod error;
mod far;
mod first_rule;
mod flow_labels;
mod guid_index;
mod keyless;
mod layout;
mod levels_from;
mod lookup;
pub mod model;
mod pair_bits;
mod pkeys;
mod policy_match;
mod quick;
mod records;
mod section;
mod service_index;
mod snapshot;
mod verify;

pub use aliases::NamedPort;
pub use build::Builder;
pub use by_service::ByService;
pub use error::{BuildError, LoadError};
pub use flow_labels::FlowLabels;
pub use layout::{FORMAT_VERSION, MAGIC};
pub use levels_from::LevelsFrom;
pub use lookup::{PathCapacity, PathClassIx, PathParameters};
pub use pair_bits::PairBits;
pub use policy_match::{AskedClasses, MatchInput, Matched, RareInput, RequestClasses};
pub use quick::QuickLevel;
pub use records::{
    GroupRecord, LevelRecord, PathClassRecord, PkeyRangeRecord, PortIx, PortRecord, SubnetRecord,
    level_flags, port_flags,
};
pub use snapshot::{SharedBytes, Snapshot, SnapshotInfo};
pub use verify::MAX_EPOCH;
