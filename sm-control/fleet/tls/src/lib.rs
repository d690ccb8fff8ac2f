//! TLS between the hosts of a fleet: who may ask, and who is asked, by certificates of the site's
//! own authority.
//!
//! ```text
//!   Files { ca, cert, key } ──> Loaded ──> Tls ── server() ──> a leader or relay takes node, relay, leader
//!                                           │  ── client() ──> a follower, relay or leader takes leader, relay
//!                                           └─ counts: refused, by side and reason
//! ```
//!
//! A certificate says what its host is by one name in it, an URI such as `sapphire:role/leader`
//! ([`Role`]). It hides the topology and keeps strangers away; what an announcement says is
//! believed by its signature alone, so a stolen certificate of a node makes nobody answer wrongly.
//!
//! Only the authorities of the file `ca` count, never those of the system. Only TLS 1.3 is spoken.
//! Nothing is resumed: a host shows its certificate each time, so one that has expired is worth
//! nothing from the next connection on.
//!
//! Files are read again when they change ([`Tls`]). Nothing here opens a socket.

#![forbid(unsafe_code)]

mod files;
mod loaded;
mod refusal;
mod role;
mod tls;
mod verify;

pub use rustls;

pub use files::{Fault, Files, Problem};
pub use loaded::Loaded;
pub use refusal::{Refusal, Refusals, Refused};
pub use role::Role;
pub use tls::{Counts, Side, Tls};
pub use verify::Clients;
