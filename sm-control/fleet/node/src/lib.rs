//! A host of a fleet: what `sa-fleet` decides, done.
//!
//! ```text
//!                    ┌───────────── sa-fleet-follow ──────────────┐
//!   upstreams ──────>│ polls ─┐                                   │──> Host: gate, load, swap
//!   (a thread each)  │        v                                   │
//!   disk, jobs ─────>│   sa_fleet::Follower ── offer ──> Desk ────┼──> children (sa-fleet-serve)
//!                    └────────────────────────────────────────────┘
//!   snapshots ──────>  sa-fleet-lead: sa_fleet::Leader ── offer ──> Desk
//!   engine (a thread)<──calls──┘
//! ```
//!
//! A machine of `sa-fleet` is called by one thread, which never waits for a disk or a network:
//! whatever may take long has a thread of its own and comes back as an event. The gate that a call
//! returns is set before anything else is done. So a host whose disk hangs still hears that what it
//! answers from is over, and ends at its deadline if it hears nothing.
//!
//! Every queue in here is bounded: a poll for each upstream, `jobs::MOST` jobs, one order to the
//! disk.

#![forbid(unsafe_code)]

pub mod following;
pub mod generation;
pub mod host;
mod jobs;
pub mod leading;
mod polling;
pub mod roots;
pub mod said;
pub mod seen;
pub mod serving;
