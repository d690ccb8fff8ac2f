//! Routing engines and the proofs over their tables. Pure: a [`Topology`] in, tables out.
//!
//! - [`engine`] makes [`Routes`]: forwarding tables, SL2VL tables, the SL of each path. Engines are
//!   chosen by [`EngineKind`] and refuse with every reason ([`Refusal`]).
//! - [`proof`] proves, over any [`Routes`], that there is no credit loop and that every pair is
//!   reached. It shares nothing with the engines.
//! - [`quality`] says how evenly routes use the links, and what bandwidth is left to each host.
//! - [`paths::classes::compile`] turns paths into the tables that queries are answered from;
//!   [`mod@reference`] is the slow way to the same facts, to compare with.
//!
//! Equal input gives equal output; work is split over the cores without showing in results.
//!
//! ```
//! use routing::engine::{EngineInput, Request, by_kind};
//! use routing::proof::{PathSls, unicast_loop};
//! use routing::{EngineKind, Qos, Topology};
//!
//! // A real one is made of a fabric's files, or of what an SA says: sa-fabric.
//! let topology = Topology::default();
//! let request = Request {
//!     topology: &topology,
//!     qos: Qos::On,
//!     input: EngineInput::Nothing,
//!     before: None,
//!     watch: routing::watch::Watch::default(),
//! };
//! let routes = by_kind(EngineKind::MinHop).route(&request)?;
//! // Whoever made the tables: nothing in them can wait for itself.
//! assert_eq!(unicast_loop(&topology, &routes, PathSls::Engine), None);
//! # Ok::<(), routing::Refusal>(())
//! ```
//!
//! # How a fabric goes through
//!
//! ```text
//!  Topology ──> engine ──> Routes ──┬──> proof   : no credit loop, pairs that are reached
//!  (from sa-fabric)   (LFTs, SL2VL, ├──> paths   : classes, for the snapshot
//!                      tree, facts) └──> reference: one path, hop by hop, to compare with
//! ```
//!
//! The arrows are the only ties. An engine never proves, a proof never routes, and neither knows
//! who asked; the compiler (sa-compiler) calls them one after the other and decides what a finding
//! means for the snapshot.
//!
//! # Sizes to keep in mind
//!
//! | fabric | switches | LIDs | entries of all tables |
//! |---|---|---|---|
//! | 8x8x8, one host a switch | 512 | 1,024 | 0.5 million |
//! | 16x16x16, one host a switch | 4,096 | 8,192 | 34 million |
//!
//! Entries grow with the square of the fabric, and so does whatever looks at each. That is why
//! columns are followed instead of paths, why equal columns are followed once, and why a changed
//! fabric keeps the memory of the tables it had (ADR 18).
//!
//! # What it does not do
//!
//! It assigns no LIDs, reads no file and programs no switch. Names of files in its messages are
//! those that operators write (`torus-2QoS.conf`, `opensm.conf`), not files that it opens.

#![forbid(unsafe_code)]

mod bits;
pub mod engine;
pub mod error;
mod kind;
mod parallel;
pub mod paths;
pub mod placement;
pub mod proof;
pub mod quality;
pub mod reference;
mod shortest;
pub mod tables;
pub mod topology;
pub mod watch;

pub use engine::torus::TorusConfig;
pub use error::{Reason, Refusal, SwitchName, Warning};
pub use kind::{EngineKind, UnknownEngine};
pub use paths::survey::Survey;
pub use placement::Torus;
pub use tables::{GivenSl2Vl, Lft, NO_PATH, Qos, Routes};
pub use topology::{EndPort, EndPortIx, LidMap, Peer, Switch, SwitchIx, SwitchPort, Topology};
