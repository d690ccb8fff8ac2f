//! QoS policy and partitions: parse, interpret, compile to match tables. Pure.
//!
//! The way of a policy file: [`sa_text::decode`] its bytes, [`parse_as`] its dialect the text to a
//! [`Policy`], [`compile()`] that against the ports and partitions of a fabric. [`interpret()`]
//! answers the same questions slowly, straight from the written rules, and [`explain()`] says
//! why. [`convert()`] writes a policy in another dialect.
//!
//! `partitions.conf` goes its own way: [`PartitionsConfig::parse`], then [`Partitions::new`].

#![forbid(unsafe_code)]

pub mod convert;
pub mod dialect;
pub mod diff;
pub mod error;
pub mod facts;
mod link;
pub mod lint;
pub mod matching;
pub mod model;
pub mod partitions;
pub mod services;

pub use convert::{Converted, Loss, LossKind, convert};
pub use dialect::opensm::parse;
pub use dialect::parse_as;
pub use error::{Error, Problem};
pub use facts::PortFacts;
pub use matching::compile::{check, compile};
pub use matching::explain::{Explanation, explain};
pub use matching::groups::GroupResolver;
pub use matching::interpret::{Chosen, interpret};
pub use model::Policy;
pub use model::criterion::Query;
pub use model::dialect::Dialect;
pub use model::options::ParseOptions;
pub use model::ranges::Ranges;
pub use model::semantics::{Echo, ScopePrecedence, Semantics, ServiceIdEncoding};
pub use partitions::{Membership, PartitionOptions, Partitions, PartitionsConfig};
pub use services::UlpNames;
