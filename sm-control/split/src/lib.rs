//! A library to preload into OpenSM (`LD_PRELOAD=libsapphire_split.so opensm`), so that sapphired
//! can answer the SA's reads on OpenSM's own port.
//!
//! The kernel gives each method of a management class to one agent of a port. This library takes
//! the methods that read out of OpenSM's registration and registers a second agent for them on
//! OpenSM's own file, the *read agent*: OpenSM answers as ever. When sapphired asks over a local
//! socket (crate `split-protocol`), the read agent is given up, and when sapphired hangs up it is
//! taken back. Set and Delete stay with OpenSM throughout.
//!
//! ```text
//!   OpenSM  ── read, poll ──┬── kernel: packets of both agents
//!           ── write ───────┤
//!                           └── sapphired: requests for what OpenSM alone knows, Reports
//! ```
//!
//! It must never harm OpenSM: every failure of its own means that OpenSM works as without it.
//! Calls of OpenSM's threads only take short locks, never wait for sapphired, and keep errno.

#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::indexing_slicing, clippy::panic, clippy::unreachable)
)]
#![cfg_attr(
    any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))),
    allow(dead_code, reason = "what reaches the system is left out")
)]

// A test program must not get these functions. On other machines the library does nothing.
#[cfg(all(not(test), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod exports;
mod mad;
mod registration;
mod requests;
mod serve;
mod session;
mod socket;
mod split;
#[cfg(all(not(test), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod stubs;
mod sys;
#[cfg(test)]
mod tests;
mod unanswered;
