//! The immutable block that the slow path builds and the fast path answers from.
//!
//! The memory layout is the file format (`format`): [`Builder`] lays a [`model::Model`] out
//! (`build`), [`Snapshot`] exists only over bytes that [`Snapshot::from_bytes`] accepted
//! (`verify`), and lookups (`read`, `policy`) follow offsets without searching for anything that
//! depends only on fabric or policy; `derived` has what is worked out once when a snapshot is taken
//! up. `docs/snapshot-format.md` describes the format.
//!
//! One way in, many ways out:
//!
//! ```text
//!  Model ──build──> bytes ──verify──> Snapshot ──read, policy──> answers
//!                     ^  │                └─derived: small tables, made once a load
//!         a file ─────┘  └──────> a file, unchanged
//! ```
//!
//! What each part may rely on: `build` relies on nothing (a model may contradict itself); `verify`
//! relies on the bytes having the right lengths; lookups rely on every index being in range, every
//! order kept and every count right. That is why builder, verifier and lookups are one crate: they
//! cannot drift apart.
//!
//! A torus of 24x24x24 with 27,648 hosts is some 1.7 MB without a policy. A dense table adds a byte
//! or two for each pair of distinct rows and columns.
//!
//! ```
//! use sa_snapshot::Builder;
//! use sa_snapshot::model::{
//!     Capacity, EngineSl, Model, Pairs, PathClass, PathSl, PathTables, PortRow, Provenance, RateCaps, Subnet,
//! };
//! use sa_wire::{Guid, Lid, Lmc, NodeType, Pkey, SlVlMask, VocabularyError};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Two hosts on one switch.
//! let host = |number: u16| -> Result<PortRow, VocabularyError> {
//!     Ok(PortRow {
//!         guid: Guid::new(number.into())?,
//!         node_type: NodeType::Ca,
//!         lid: Lid::new(number)?,
//!         lmc: Lmc::new(0)?,
//!         switch: Some(0),
//!         own: Capacity::UNLIMITED,
//!         edge: Capacity::UNLIMITED,
//!         sl_out: SlVlMask::ALL,
//!         sl_in: SlVlMask::ALL,
//!         rate_caps: RateCaps::default(),
//!         pkeys: vec![Pkey::new(0xffff)?],
//!         coordinate: None,
//!     })
//! };
//! let (capacity, carried) = (Capacity::UNLIMITED, SlVlMask::ALL);
//! let class = PathClass { capacity, carried, hops: 1, sl: PathSl::Policy };
//! let snapshot = Builder::build(&Model {
//!     provenance: Provenance::default(),
//!     subnet: Subnet::default(),
//!     ports: vec![host(1)?, host(2)?],
//!     partitions: Vec::new(),
//!     paths: PathTables {
//!         engine_sl: EngineSl::Keep,
//!         // Class 0 is "no path".
//!         classes: vec![class; 2],
//!         rows: vec![1; 2],
//!         columns: vec![vec![1]; 2],
//!         pairs: Pairs::Uniform { within: 1, across: 1 },
//!     },
//!     policy: None,
//!     groups: Vec::new(),
//!     prefix_routes: Vec::new(),
//!     aliases: Vec::new(),
//! })?;
//!
//! let (from, to) = (snapshot.port_by_lid(1).ok_or("LID 1")?, snapshot.port_by_lid(2).ok_or("LID 2")?);
//! let path = snapshot.path(from, to, 2).ok_or("no path")?;
//! assert_eq!((path.hops, snapshot.shared_pkey(from, to)), (1, 0xffff));
//! # Ok(())
//! # }
//! ```
//!
//! `unsafe` lives in `format::section` (typed slices over verified bytes).

#![deny(unsafe_code)]

mod answers;
mod backing;
mod build;
mod derived;
mod epoch;
mod error;
mod first_rule;
mod flow_labels;
mod format;
mod guid_index;
mod keyless;
pub mod model;
pub mod moved;
mod pkeys;
mod policy;
mod read;
mod verify;

pub use answers::AnswerPart;
pub use build::Builder;
pub use derived::{PackedLevel, PairBits};
pub use epoch::EpochId;
pub use error::{BuildError, LoadError};
pub use flow_labels::FlowLabels;
pub use format::layout::{FORMAT_VERSION, MAGIC};
pub use format::policy_records::{LevelRecord, PkeyRangeRecord, level_flags};
pub use format::rare_fields::RareField;
pub use format::records::{
    GroupRecord, PathClassRecord, PortIx, PortRecord, SubnetRecord, port_flags,
};
pub use policy::{
    AskedClasses, ByService, LevelsFrom, MatchInput, Matched, RareInput, RequestClasses,
};
pub use read::{
    NamedPort, PathCapacity, PathClassIx, PathParameters, SharedBytes, Snapshot, SnapshotInfo,
};
pub use verify::MAX_EPOCH;
