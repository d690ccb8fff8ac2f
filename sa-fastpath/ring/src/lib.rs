//! What both sides of a ring are made of: where things lie in the memory that a client and the
//! daemon share ([`layout`]), the memory itself ([`Memory`]), and the packets by which the two meet
//! ([`packets`]).
//!
//! A ring is slots of 384 bytes, answered in place, and four positions that only grow. What each
//! side may write and when, and what it may believe of the other, is for the sides: `sa-client` trusts
//! its daemon, the daemon (`sa-port`, `ring`) no client. `docs/ring.md` is the contract
//! for clients in other languages.
//!
//! ```
//! use sa_ring::layout::{Hello, VERSION, late_offset, size_of_ring};
//!
//! // What a client says first, and what the daemon reads of it.
//! let hello = Hello { version: VERSION, slots: 64 };
//! assert_eq!(Hello::parse(&hello.bytes()), Some(hello));
//! // What it gets: a page that describes the ring, the slots, and room for late replies.
//! assert!(late_offset(64) < size_of_ring(64));
//! ```

#![deny(unsafe_code)]

pub mod layout;
mod memory;
pub mod packets;

pub use memory::{Memory, SHORT, SLOT_WORDS};
