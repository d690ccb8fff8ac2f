//! The linter of QoS policies: every check fires where it should and nowhere near, and what it
//! says of rules is exact.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod fabric;
mod samples;
mod shadow;
mod support;
mod table;
mod verb;
