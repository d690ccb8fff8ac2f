//! An engine remembers who leads a fleet and what was published last, and gives out terms.
//!
//! ```text
//!  Leader ──Call──> Engine ──Answer──> Leader          one thread for the engine: a call blocks
//!                     ├ Embedded: two files of this host; terms by a counter, no lease: a person says who leads
//!                     └ fleet-etcd: a key bound to a lease; whoever has it leads
//! ```
//!
//! The words of it ([`sa_fleet::leader::Call`], [`sa_fleet::leader::Returned`]) are the leader's,
//! who knows no wires and no disk. What is here has them.

#![forbid(unsafe_code)]

mod answer;
mod embedded;

pub use answer::{Announced, Answer, Engine};
pub use embedded::{Embedded, OpenError};
