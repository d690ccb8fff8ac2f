//! Requests and replies through shared memory: rings of slots.
//!
//! [`open()`] serves the processes of this host. A client connects to a Unix socket, greets, and gets a
//! ring in memory of its own that both sides map (`sa_ring` has its layout, `docs/ring.md` the contract).
//! Three threads share the work, so that the worker never makes a system call for it:
//!
//! * the worker ([`ClientRings`]) looks at every ring in turn, answers and writes replies back;
//! * the acceptor ([`Acceptor`]) accepts, greets, maps and unmaps, writes late replies, and sends
//!   clients away;
//! * the slow lane ([`LateReplies`]) hands its replies to the acceptor.
//!
//! They meet in queues without locks (`Exchange`). A client may write anything into its memory at any
//! time: requests are copied out before they are looked at, and a position that is out of range
//! ends that client alone. Who may have how many rings, and how much memory for late replies, is in
//! `shares`; that nobody can put a socket in the place of ours, in `place`.
//!
//! [`ring()`] is the same idea between two threads that trust each other: no copies, no socket, no
//! limits. Benchmarks and tests use it.

mod acceptor;
mod client;
mod client_ring;
mod client_rings;
mod event;
mod exchange;
mod in_process;
mod late;
mod open;
mod origin;
mod place;
mod shares;
mod socket;
mod spool;

pub use self::acceptor::{Acceptor, descriptors};
pub use self::client_rings::ClientRings;
pub use self::event::{Event, Parting, Peer};
pub use self::in_process::{RingClient, RingReplies, RingServer, reply_length, ring};
pub use self::late::LateReplies;
pub use self::open::{Opened, OwnLid, RingOptions, open};
pub use self::origin::place_of;
pub use self::place::check_place;
pub use self::socket::{RingError, group_id};
