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
//!
//! # A packet's way
//!
//! OpenSM has one umad file, and believes that all it reads comes from there. In truth a read is
//! served from three sources in turn (`split::packets`): the kernel's packets for OpenSM's agent,
//! the kernel's packets for the read agent while the methods are not lent, and requests of
//! sapphired's. What OpenSM writes goes to the kernel, but for answers to those requests and for
//! Reports to sapphired's subscription. Of answers to SMPs that OpenSM reads, sapphired gets a copy
//! (`overheard`), so that it knows what OpenSM learns and writes without asking for it.
//!
//! ```text
//!   Get from the network, methods lent      kernel ──> read agent's file ──> sapphired
//!   Get from the network, methods held      kernel ──> read agent's file ──> OpenSM
//!   Set, Delete, SMPs, acknowledgements     kernel ──> OpenSM's file ──> OpenSM, SMPs also ──> sapphired
//!   Get that sapphired cannot answer        sapphired ──> socket ──> OpenSM ──> socket ──> sapphired
//! ```
//!
//! # Why a preload library
//!
//! OpenSM registers for all methods at once, and has no interface to leave some out. Its plugins
//! hear events, not packets. A preload library needs no other OpenSM, no other libibumad and no
//! patch; without it OpenSM starts as ever. ADR 11 has what was passed over, and why the read
//! methods have an agent of their own that is lent by its file and never unregistered.
//!
//! # Threads
//!
//! Calls come from OpenSM's threads, which it may cancel in the middle of a wait (`stubs` says what
//! follows). One thread of ours, `sapphire-split` (`serve`), talks to sapphired. It starts when
//! OpenSM registers, not when the library is loaded: OpenSM may fork before, and a child has no
//! threads.

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
mod overheard;
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
