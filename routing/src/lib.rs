//! Routing engines and the proofs over their tables. Pure: a [`Topology`] in, tables out.

#![forbid(unsafe_code)]

pub mod check;
mod columns;
pub mod error;
pub mod files;
pub mod minhop;
pub mod multicast;
mod parallel;
pub mod path_classes;
pub mod routes;
mod sl2vl;
pub mod topology;
pub mod torus;
pub mod walk;

pub use error::{Reason, Refusal, SwitchName, Warning};
pub use routes::{Engine, Lft, NO_PATH, Qos, Routes};
pub use sl2vl::GivenSl2Vl;
pub use topology::{EndPort, EndPortIx, LidMap, Peer, Switch, SwitchIx, SwitchPort, Topology};
pub use torus::{Torus, TorusConfig};
