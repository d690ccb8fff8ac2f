//! The daemon `sapphired`: what it is told ([`config`]), and what runs ([`server`]).
//!
//! The crates below do the work: `sa-compiler` makes snapshots, `sa-fastpath` answers from them,
//! `sa-service` answers the rest, `sa-source` asks another SA, `sa-local` answers the kernel. Here
//! they get threads, ports, files and an operator, and here alone are a clock and a service
//! manager.
//!
//! ```text
//!  Arguments ──> Config ──┬─ --check ──> checks (what can be said), server::check_start (what can be tried)
//!                         ├─ --trial ──> trial: one load in a process of its own
//!                         └─ else ─────> server::run: threads, ports, operators
//! ```
//!
//! `sapphire` links this crate without the feature `daemon`: then [`config`], [`checks`] and
//! [`trial`] are there, and tokio, axum and the log are not.
//!
//! Nothing here computes a path or parses a fabric. What belongs to a request lies in `sa-service`
//! and below, where it can be tested without a thread.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod checks;
pub mod config;
#[cfg(feature = "daemon")]
pub mod logging;
#[cfg(feature = "daemon")]
pub mod server;
pub mod trial;
