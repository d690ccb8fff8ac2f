//! Routing engines and the proofs over their tables. Pure: a [`Topology`] in, tables out.
//!
//! - [`engine`] makes [`Routes`]: forwarding tables, SL2VL tables, the SL of each path. Engines are
//!   chosen by [`EngineKind`] and refuse with every reason ([`Refusal`]).
//! - [`proof`] proves, over any [`Routes`], that there is no credit loop and that every pair is
//!   reached. It shares nothing with the engines.
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
//! };
//! let routes = by_kind(EngineKind::MinHop).route(&request)?;
//! // Whoever made the tables: nothing in them can wait for itself.
//! assert_eq!(unicast_loop(&topology, &routes, PathSls::Engine), None);
//! # Ok::<(), routing::Refusal>(())
//! ```

#![forbid(unsafe_code)]

mod bits;
pub mod engine;
pub mod error;
mod kind;
mod parallel;
pub mod paths;
pub mod placement;
pub mod proof;
pub mod reference;
mod shortest;
pub mod tables;
pub mod topology;

pub use engine::torus::TorusConfig;
pub use error::{Reason, Refusal, SwitchName, Warning};
pub use kind::{EngineKind, UnknownEngine};
pub use paths::survey::Survey;
pub use placement::Torus;
pub use tables::{GivenSl2Vl, Lft, NO_PATH, Qos, Routes};
pub use topology::{EndPort, EndPortIx, LidMap, Peer, Switch, SwitchIx, SwitchPort, Topology};
