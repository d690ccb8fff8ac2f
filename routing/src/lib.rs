//! Routing engines and the proofs over their tables. Pure: a [`Topology`] in, tables out.

#![forbid(unsafe_code)]

pub mod topology;

pub use topology::{EndPort, EndPortIx, Peer, Switch, SwitchIx, SwitchPort, Topology};
