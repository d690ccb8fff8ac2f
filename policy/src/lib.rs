//! QoS policy and partitions: parse, interpret, compile to match tables. Pure.

#![forbid(unsafe_code)]

pub mod facts;

pub use facts::PortFacts;
