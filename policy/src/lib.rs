//! QoS policy and partitions: parse, interpret, compile to match tables. Pure.
//!
//! The way of a policy file: [`decode`] its bytes, [`parse`] the text to a [`Policy`],
//! [`compile()`] that against the ports and partitions of a fabric. [`interpret()`] answers the
//! same questions slowly, straight from the written rules, and [`explain()`] says why.
//!
//! `partitions.conf` goes its own way: [`PartitionsConfig::parse`], then [`Partitions::new`].

#![forbid(unsafe_code)]

pub mod compile;
pub mod error;
pub mod explain;
pub mod facts;
pub mod groups;
pub mod interpret;
pub mod model;
pub mod notes;
mod number;
pub mod partitions;
mod problem;
pub mod ranges;
pub mod text;
mod words;

pub use compile::{check, compile};
pub use error::{Error, Problem, Span, Spanned};
pub use explain::{Explanation, explain};
pub use facts::PortFacts;
pub use groups::GroupResolver;
pub use interpret::{Chosen, Query, interpret};
pub use model::Policy;
pub use partitions::{Membership, PartitionOptions, Partitions, PartitionsConfig};
pub use ranges::Ranges;
pub use text::{ParseOptions, decode, parse};
