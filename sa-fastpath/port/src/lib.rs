//! Where MADs come from and go to: what a transport has to offer, and the transports.
//!
//! A worker holds a [`MadPort`]: it lends the requests that wait, and takes them back with one
//! [`Verdict`] each. The slow lane holds a [`ReplyPort`] of the same transport for what it answers
//! later. Who asks an SA holds a [`ClientPort`]. The slot that all of them pass on is a umad header
//! with a MAD ([`sa_wire::umad::Slot`]), whatever the transport itself sends: so workers, slow lane
//! and clients know no transport.
//!
//! | transport | serves | asks | for |
//! |---|---|---|---|
//! | [`umad`] | yes | yes | real hardware: the kernel's `/dev/infiniband/umadN` |
//! | [`uring`] | yes | no | the same files, driven by io_uring (feature `uring`) |
//! | [`ibsim`] | yes | yes | the fabric simulator, with a real SM beside |
//! | [`ring::open`] | yes | no (`sa-client` does) | processes of this host, through shared memory |
//! | [`ring::ring`] | yes | yes | two threads of this process: benchmarks and tests |
//!
//! ```
//! use sa_port::ring::{reply_length, ring};
//! use sa_port::{MadPort, Verdict};
//!
//! # fn main() -> Result<(), sa_port::PortError> {
//! let (mut client, mut port, _slow_lane) = ring(8);
//! client.claim(1)[0].mad[0] = 1;
//! client.publish(1);
//!
//! // A worker's turn: take what waits, answer where it lies, give it back.
//! port.recv()?[0].mad[0] += 1;
//! port.send(&[Verdict::Reply(24)])?;
//!
//! let reply = &client.replies()[0];
//! assert_eq!((reply.mad[0], reply_length(reply)), (2, Some(24)));
//! # Ok(())
//! # }
//! ```
//!
//! What a turn looks like to a port, and what of it is bounded:
//!
//! ```text
//!  recv ──> slots[0..n], n <= 64      looks at 128 arrivals at most, so that a flood of what is
//!    │                                no request cannot hold the worker
//!    │  the worker answers in place
//!    v
//!  send(verdicts[0..n])               one verdict a slot; replies without room are counted
//! ```
//!
//! None of the calls of a worker's turn blocks, allocates, locks or logs; `tests/port` counts
//! allocations. Trouble that passes is counted ([`PortStats`]) and hidden, and a transport that is gone
//! says [`PortError::Gone`], so that its owner can attach it anew. A port knows no snapshot and
//! decides nothing about answers. The one thing that it does to MADs is RMPP on the simulated fabric, with
//! [`sa_answer::rmpp`], because the simulator does not.

#![deny(unsafe_code)]

mod arrival;
mod client;
mod counters;
mod error;
pub mod ibsim;
mod port;
pub mod ring;
pub mod umad;
#[cfg(feature = "uring")]
pub mod uring;

pub use client::{AskError, ClientPort, Destination, Patience, Reply, low_transaction};
pub use counters::{Counter, PortCounters, PortStats};
pub use error::PortError;
pub use port::{BACKLOG, BATCH, MadPort, ReplyPort, Verdict};
