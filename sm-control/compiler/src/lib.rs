//! The compiler: from the files of a fabric to a verified snapshot.
//!
//! How it works: [`pipeline`] reads every input, has the tables made or taken, proves them, builds
//! the snapshot, verifies it, and asks the [`mod@reference`] for a sample of paths before anybody
//! else
//! sees the result. What is known on the way is in [`state`], plain values that outlive the
//! snapshot
//! and stand behind it.
//!
//! Beside it lies all that follows from the same values: tables of a policy's `qos-setup`
//! ([`qos_setup`]), what is wrong with a policy on this fabric ([`lint`]), what another one would change
//! ([`policy_change`]), what another snapshot answers
//! otherwise ([`snapshot_change`]), why a pair of ports gets
//! the path it gets ([`account`], and [`why`] where it gets none), and the dumps that OpenSM would write ([`export`]).
//!
//! What it does not do: publish, serve, or ask an SA. A fabric that a running SA told comes in as a
//! value ([`sa_fabric::sa_records::SaFabric`]).
//!
//! ```text
//!  Inputs ─ read ──> Sources ─ route ──> FabricState ─ proof ──> Proof, Survey
//!  (paths,           (parsed,            (topology,                 │
//!   options)          LIDs given)         routes, policy)           v
//!                                              └──── build ──> Snapshot ─ crosscheck ──> Compiled
//!                                              │                             ^
//!                                              └──── reference ──────────────┘
//! ```
//!
//! It is pure but for reading the files that it is told to read: no clock but for the time that
//! each step took, no randomness, no threads that outlive a call. The same files and the same
//! [`pipeline::Stamp`] give the same bytes, on any machine.
//!
//! Whoever compiles decides what to do with the result: the daemon asks
//! [`pipeline::Compiled::publishable`], the tool prints, a test compares. A snapshot that is not
//! publishable is still a value to be looked at.

#![forbid(unsafe_code)]

pub mod account;
pub mod drained;
pub mod export;
pub mod heard_sls;
pub mod lint;
pub mod off_subnet;
pub mod path_json;
pub mod pipeline;
pub mod policy_change;
pub mod prefix_routes;
pub mod qos_setup;
pub mod reference;
pub mod snapshot_change;
pub mod state;
pub mod why;

// For those who may not name `routing`.
pub use routing::watch;
