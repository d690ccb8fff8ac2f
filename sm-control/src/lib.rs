//! The daemon `sapphired`: what it is told ([`config`]), and what runs ([`server`]).
//!
//! The crates below do the work: `sa-compiler` makes snapshots, `sa-fastpath` answers from them,
//! `sa-service` answers the rest, `sa-source` asks another SA, `sa-local` answers the kernel. Here they
//! get threads, ports, files and an operator, and here alone are a clock and a service manager.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod checks;
pub mod config;
#[cfg(feature = "daemon")]
pub mod logging;
#[cfg(feature = "daemon")]
pub mod server;
pub mod trial;
