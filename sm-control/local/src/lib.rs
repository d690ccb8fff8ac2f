//! The local service: this host's kernel asks here before it asks the SA.
//!
//! [`socket`] is where it asks, [`agent`] the rules of what is answered, and whoever implements
//! [`Paths`] knows the answers: [`replica`] from the snapshot in service here, [`proxy`] from what
//! the SA says. [`watch`] sees to it that neither outlives the fabric that it is true of.
//! [`service`] is the thread that drives them. The other side, for tests and replays, is the crate
//! `kernel-emulator`.
//!
//! Whatever happens here, the kernel goes on: without an answer, and after a refusal, it asks the SA.

#![forbid(unsafe_code)]

pub mod addresses;
pub mod agent;
mod askers;
mod far;
pub mod kept;
mod key;
pub mod options;
pub mod origin;
pub mod others;
pub mod ports;
pub mod proxy;
pub mod replica;
mod request;
mod served;
pub mod service;
pub mod socket;
mod wake;
pub mod watch;

use std::time::Instant;

use sa_wire::Gid;
use sa_wire::netlink_ls::PathUse;

pub use askers::Askers;
pub use key::Services;
pub use wake::Wake;

use self::agent::{Reason, Records, Resolver};
use self::watch::Seen;

/// Where `RUST_LOG` finds the lines of this crate: with those of the daemon that writes them.
const LOG: &str = "crate";

/// A resolver that keeps up with the host's ports, and may answer later.
pub trait Paths: Resolver + Send {
    /// What this host's ports are like now, and what their SAs serve.
    fn look(&mut self, ports: &[Seen]);

    /// Answers to questions that were put off.
    fn late(&mut self, now: Instant) -> Vec<Late>;

    /// When [`Self::late`] has something at the latest; none where nobody waits.
    fn next(&self) -> Option<Instant>;

    /// Answers that are kept.
    fn kept(&self) -> usize;
}

/// An answer that comes after its question was left.
#[derive(Debug, Clone)]
pub struct Late {
    /// Of the question.
    pub seq: u32,
    /// Of the question.
    pub path_use: PathUse,
    /// The records. Errors: why there are none.
    pub records: Result<Records, Reason>,
}

/// As people write it: an IPv6 address.
fn gid(text: &str) -> Option<Gid> {
    let address: Option<std::net::Ipv6Addr> = text.parse().ok();
    address.map(|address| Gid(address.octets()))
}
