//! From a request MAD to its reply, in place, by following a snapshot.
//!
//! [`answer_all`] takes what a worker has received at once, [`answer`] one request; both give the
//! same replies. What nearly everybody asks (one PathRecord between two named ports) goes through
//! `batch`, in steps that all requests of a batch take together, so that one waits for memory
//! while others go on. All else goes through `single`: it checks in OpenSM's order, decodes
//! (`path::query`), finds the ports, judges each path (`path::judge`) and builds the record. `multi` is
//! MultiPathRecord, which is many such paths under one request.
//!
//! These are pure functions: no port, no clock, no globals, no allocation. What they do not do is
//! handed to the slow lane ([`Outcome::Punt`]): attributes other than PathRecord and
//! MultiPathRecord, replies over one MAD, multicast and off-subnet destinations, unnamed ends, ends
//! with several GUIDs. [`whole`] has what the slow lane answers from a snapshot alone, [`rmpp`] how
//! replies of several MADs are sent, and [`access`] who may ask for what. They may allocate; no
//! worker calls them, but for a look at who may ask.
//!
//! The rooms, and who goes where:
//!
//! ```text
//!  slots ──answer_all──> batch: common? ──yes──> three steps ──> reply in place
//!                          │ no, or not simply granted
//!                          v
//!                        answer (single) ──PathRecord───────> path::ends ─> path::pair ─> judge, record
//!                          │           └───MultiPathRecord──> multi ──────> path::pair, for each pair
//!                          │ Outcome::Punt
//!                          v
//!                        the slow lane: whole (open ends, long tables, groups), rmpp (segments)
//! ```
//!
//! What one request costs, as instructions counted on a torus of 24x24x24 (`bench/icount`): about
//! 220 for a common one without a policy, 305 with 1,000 rules, 800 to 2,000 one by one. So nearly
//! all of this crate's shape comes from keeping common requests on the short way, and the general
//! way right.
//!
//! ```
//! use sa_answer::{Outcome, answer};
//! use sa_wire::mad::method;
//! use sa_wire::request::path_by_lids;
//! # use sa_snapshot::Builder;
//! # use sa_snapshot::model::{
//! #     Capacity, EngineSl, Model, Pairs, PathClass, PathSl, PathTables, PortRow, Provenance, RateCaps, Subnet,
//! # };
//! # use sa_wire::{Guid, Lid, Lmc, NodeType, Pkey, SlVlMask, VocabularyError};
//! #
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # // Two hosts on one switch.
//! # let host = |number: u16| -> Result<PortRow, VocabularyError> {
//! #     Ok(PortRow {
//! #         guid: Guid::new(number.into())?,
//! #         node_type: NodeType::Ca,
//! #         lid: Lid::new(number)?,
//! #         lmc: Lmc::new(0)?,
//! #         switch: Some(0),
//! #         own: Capacity::UNLIMITED,
//! #         edge: Capacity::UNLIMITED,
//! #         sl_out: SlVlMask::ALL,
//! #         sl_in: SlVlMask::ALL,
//! #         rate_caps: RateCaps::default(),
//! #         pkeys: vec![Pkey::new(0xffff)?],
//! #         coordinate: None,
//! #     })
//! # };
//! # let (capacity, carried) = (Capacity::UNLIMITED, SlVlMask::ALL);
//! # let class = PathClass { capacity, carried, hops: 1, sl: PathSl::Policy };
//! # let snapshot = Builder::build(&Model {
//! #     provenance: Provenance::default(),
//! #     subnet: Subnet::default(),
//! #     ports: vec![host(1)?, host(2)?],
//! #     partitions: Vec::new(),
//! #     paths: PathTables {
//! #         engine_sl: EngineSl::Keep,
//! #         // Class 0 is "no path".
//! #         classes: vec![class; 2],
//! #         rows: vec![1; 2],
//! #         columns: vec![vec![1]; 2],
//! #         pairs: Pairs::Uniform { within: 1, across: 1 },
//! #     },
//! #     policy: None,
//! #     groups: Vec::new(),
//! #     prefix_routes: Vec::new(),
//! #     aliases: Vec::new(),
//! # })?;
//! // `snapshot` has two hosts on one switch, with LIDs 1 and 2.
//! let mut slot = path_by_lids(1, 2);
//! assert!(matches!(answer(&snapshot, &mut slot), Outcome::Answered(_)));
//! // The reply lies where the request was.
//! assert_eq!(slot.mad[3], method::GET_RESP);
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

pub mod access;
mod aliases;
mod batch;
mod multi;
mod outcome;
mod path;
mod prefetch;
mod reject;
mod reply;
pub mod rmpp;
mod single;
mod unanswerable;
mod unknown_sl;
pub mod whole;

pub use batch::{TOGETHER, answer_all};
pub use multi::{MultiPathEnds, MultiPathQuery, for_each_multi_path, is_multi_path};
pub use outcome::Outcome;
pub use path::{
    End, Ends, Enough, Parameters, PathQuery, find_ends, for_each_path, for_each_wanted_path,
    group_path, group_suits, is_to_group, path_to_group, paths_of_pair,
};
pub use reject::{DropReason, PuntReason, Reject};
pub use reply::{
    INLINE_RECORDS, finish_empty_table, finish_error, finish_get, finish_multi, finish_table,
};
pub use single::answer;
pub use unanswerable::unanswerable;
pub use unknown_sl::asks_for_unknown_sl;
