//! The fast path around the answers: workers, the publication of snapshots, and the way to the slow
//! lane.
//!
//! A [`worker`] takes requests from a port, has `sa-answer` answer them in place, and gives them
//! back. Which snapshot it answers from it looks up once per batch ([`publish`]); what it does not
//! answer itself goes to the slow lane through bounded queues ([`punt`]). [`overload`] decides what
//! is given up first when more is asked than can be answered, [`gate`] whether a host that follows
//! a fleet may answer now; [`stats`] and [`sampling`] say what a worker did and how long it took.
//! [`topology`] and [`affinity`] are for whoever places workers on cores.
//!
//! What runs in a worker's turn neither allocates nor frees, takes no lock, logs nothing and makes
//! no system call but the port's: so an answer takes the same time whatever else the daemon does.
//! `clippy.toml` of this folder bans the types that would break that, and `tests/tests/contract`
//! proves it on running workers.
//!
//! ```
//! use std::sync::Arc;
//!
//! use sa_fastpath::publish::Publisher;
//! use sa_fastpath::punt::punt_queue;
//! use sa_fastpath::stats::WorkerStats;
//! use sa_fastpath::worker::Worker;
//! use sa_port::ring::{reply_length, ring};
//! use sa_wire::request::path_by_lids;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mut client, port, _slow_lane) = ring(16);
//! let publisher = Publisher::new();
//! let reader = publisher.reader().ok_or("all readers are taken")?;
//! let (_punted, sender) = punt_queue(16);
//! let stats = Arc::new(WorkerStats::default());
//! let mut worker = Worker::new(port, reader, sender(0), Arc::clone(&stats));
//!
//! client.claim(1)[0] = path_by_lids(1, 2);
//! client.publish(1);
//! assert_eq!(worker.turn()?, 1);
//! // Nothing is published yet: the request is dropped, and counted.
//! assert_eq!(reply_length(&client.replies()[0]), None);
//! assert_eq!(stats.snapshot().dropped.iter().sum::<u64>(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! What meets where:
//!
//! ```text
//!  publisher ──store──> slot ──refresh, once per batch──> worker 0 ──> port 0
//!    (slow path)          └─────────────────────────────> worker 1 ──> port 1
//!                                                            │ what it hands on
//!  slow lane <── queue of short requests, queue of tables <──┘
//! ```
//!
//! A worker and its port, its counters and its view of the slot belong to one thread. What threads
//! share is the slot, one epoch per worker on a cache line of its own ([`publish`]), and the two
//! queues. So workers do not slow each other down, whatever their number.
//!
//! Nothing here knows how a request is answered, or which transport it came by.

#![deny(unsafe_code)]

pub mod affinity;
pub mod gate;
pub mod overload;
mod pretouch;
pub mod publish;
pub mod punt;
pub mod sampling;
pub mod stats;
mod sync;
pub mod topology;
mod turn;
pub mod worker;
