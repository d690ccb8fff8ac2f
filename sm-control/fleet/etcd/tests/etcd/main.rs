//! The engine against a real etcd: what its calls do, and what each fault looks like.
//!
//! Skipped, with a word about it, where etcd is not installed. Members are processes of their own on loopback; all waiting is for a condition.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    reason = "a test that cannot go on should stop"
)]

mod alone;
mod apart;
mod backup;
mod faults;
mod host;
mod lead;
mod partition;
mod rig;
mod secure;
