//! QoS policy and partitions: parse, interpret, compile to match tables. Pure.
//!
//! The way of a policy file: [`sa_text::decode`] its bytes, [`parse_as`] its dialect the text to a
//! [`Policy`], [`compile()`] that against the ports and partitions of a fabric. [`interpret()`]
//! answers the same questions slowly, straight from the written rules, and [`explain()`] says
//! why. [`convert()`] writes a policy in another dialect.
//!
//! `partitions.conf` goes its own way: [`PartitionsConfig::parse`], then [`Partitions::new`].

#![forbid(unsafe_code)]

pub mod compile;
pub mod convert;
mod diagnostics;
pub mod dialect;
pub mod diff;
mod draft;
pub mod error;
pub mod explain;
pub mod facts;
mod flow_label;
pub mod groups;
pub mod interpret;
mod link;
pub mod lint;
pub mod model;
pub mod notes;
pub mod options;
pub mod partitions;
mod problem;
pub mod ranges;
mod reserved;
mod rfc;
pub mod semantics;
mod setup;
pub mod text;
pub mod ulps;
mod words;

pub use compile::{check, compile};
pub use convert::{Converted, Loss, LossKind, convert};
pub use dialect::Dialect;
pub use error::{Error, Problem};
pub use explain::{Explanation, explain};
pub use facts::PortFacts;
pub use groups::GroupResolver;
pub use interpret::{Chosen, Query, interpret};
pub use model::Policy;
pub use options::{ParseOptions, parse_as};
pub use partitions::{Membership, PartitionOptions, Partitions, PartitionsConfig};
pub use ranges::Ranges;
pub use semantics::{Echo, ScopePrecedence, Semantics, ServiceIdEncoding};
pub use text::parse;
pub use ulps::UlpNames;
