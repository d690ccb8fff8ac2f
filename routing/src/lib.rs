//! Routing engines and the proofs over their tables. Pure: a [`Topology`] in, tables out.
//!
//! - [`torus::route`], [`minhop::route`] and [`files::route`] give [`Routes`]: forwarding tables,
//!   SL2VL tables, the SL of each path. They refuse with every reason ([`Refusal`]).
//! - [`check`] proves, over any [`Routes`], that there is no credit loop and that every pair is
//!   reached. It shares nothing with the engines.
//! - [`path_classes::compile`] turns paths into the tables that queries are answered from;
//!   [`walk::walk`] is the slow way to the same facts, to compare with.
//!
//! Equal input gives equal output; work is split over the cores without showing in results.

#![forbid(unsafe_code)]

mod bits;
pub mod check;
mod columns;
mod destinations;
mod distances;
pub mod error;
pub mod files;
pub mod minhop;
pub mod multicast;
mod parallel;
pub mod path_classes;
pub mod routes;
mod shortest;
mod sl2vl;
mod survey;
pub mod survivors;
pub mod topology;
pub mod torus;
pub mod walk;

pub use error::{Reason, Refusal, SwitchName, Warning};
pub use routes::{Engine, Lft, NO_PATH, Qos, Routes};
pub use sl2vl::GivenSl2Vl;
pub use survey::Survey;
pub use topology::{EndPort, EndPortIx, LidMap, Peer, Switch, SwitchIx, SwitchPort, Topology};
pub use torus::{Torus, TorusConfig};
