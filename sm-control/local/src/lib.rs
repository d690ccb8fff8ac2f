//! The local service: this host's kernel asks here before it asks the SA.
//!
//! When rdma_cm, IPoIB or SRP need a path, the kernel multicasts a RESOLVE message to a netlink
//! group if somebody listens there. This crate listens. A refusal costs the kernel microseconds,
//! since it then sends its request to the SA at once. Silence costs it the whole timeout. A success
//! without a usable record fails the connection for good. So every question of the kernel gets
//! records that it will take, or a refusal.
//!
//! ```text
//!  kernel ──RESOLVE──> socket ──> agent ──Resolver::resolve──> replica: the snapshot in service here
//!     ^                             │                          proxy:   kept, or asked of the SA
//!     │                             v                                     │ jobs   ^ done, wake
//!     └──records or F_ERR──── agent::Replies <──Paths::late── service     v        │
//!                                                   ^                    askers ──> SA by umad
//!  sysfs ──> ports ──> watch ──view of ports────────┘
//! ```
//!
//! * [`socket`] is where the kernel asks; [`agent`] has the rules of what is answered and opens
//!   nothing.
//! * Whoever implements [`Paths`] knows the answers: [`replica`] from the snapshot in service here,
//!   [`proxy`] from what the SA says.
//! * [`watch`] sees to it that neither outlives the fabric that it is true of: another LID, another
//!   SM, another snapshot in the SA.
//! * [`service`] is the thread `sa-local` that drives them. `sm-control` makes it from
//!   `[local_service]`.
//!
//! The other side, for tests and replays, is the crate `kernel-emulator`.
//!
//! What it does not do: it does not serve the Unix socket of ibacm (ADR 14), and it works in the
//! initial network namespace alone, because the kernel asks nowhere else. `docs/local-service.md`
//! is the operator's page, ADR 13 has the decision.

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

/// Target of this crate's log lines, which is what a directive in `RUST_LOG` has to name: with those of the daemon
/// that writes them, so that `sm_control=debug` finds both.
const LOG: &str = "sm_control::local_service";

/// A resolver that keeps up with the host's ports, and may answer later.
///
/// All methods are called by the thread `sa-local` alone, between two polls; none may wait for the
/// SA, because the kernel's other questions wait behind it.
pub trait Paths: Resolver + Send {
    /// What this host's ports are like now, and what their SAs serve. Called at each change and at
    /// least every `look_ms`. An empty slice means that the service ends: every question that still
    /// waits is to be given up.
    fn look(&mut self, ports: &[Seen]);

    /// Answers to questions that were put off, and refusals of those whose time is over. Each
    /// question comes back once.
    fn late(&mut self, now: Instant) -> Vec<Late>;

    /// When [`Self::late`] has something at the latest; none where nobody waits.
    fn next(&self) -> Option<Instant>;

    /// How many answers of the SA are kept, for the metric. Always 0 where nothing is kept.
    fn kept(&self) -> usize;
}

/// An answer that comes after its question was left. It carries what of the question the reply
/// needs, so that the question itself need not be kept.
#[derive(Debug, Clone)]
pub struct Late {
    /// nlmsg_seq of the question: the kernel finds its query by this number alone.
    pub seq: u32,
    /// Of the question: it decides which flags a record must have to count.
    pub path_use: PathUse,
    /// The records. Errors: why there are none.
    pub records: Result<Records, Reason>,
}

/// A GID as people and sysfs write it: an IPv6 address, such as `fe80::2:c903:0:1`.
fn gid(text: &str) -> Option<Gid> {
    let address: Option<std::net::Ipv6Addr> = text.parse().ok();
    address.map(|address| Gid(address.octets()))
}
