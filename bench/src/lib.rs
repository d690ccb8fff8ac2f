//! Load generator and measurement: request pools with expected replies, passes in memory, closed
//! and open loops over a ring and against a live SA, CPU time, pause floor.
//!
//! A run with one wrong reply is void: every reply is compared whole with what the slow twins
//! expect. Latency is measured from the time a request was *due*, so a stalled server cannot hide
//! behind a stalled client.
//!
//! Who uses what. The tool's verbs and the programs below `bin` are thin over this crate, so that a
//! figure of `sapphire bench` and one of a release page come from the same code:
//!
//! ```text
//! sapphire bench            memory, line (closed, open), long, count, fresh, null
//! sapphire bench job-start  job
//! sapphire demo             line, closed, open
//! sapphire load             live, pace
//! bin/icount                count, requests, rules, synthetic
//! bin/netlink               netlink
//! bin/versus-opensm         live, pace, rules; processes of its own
//! bin/change                clock
//! bin/sweep, demo --sm      sweeps
//! ```
//!
//! Three costs are kept apart, since on a shared machine they differ: wall time (what a client
//! sees), CPU time of the serving thread (what a core can do), and instructions (what repeats).
//! Next to each stands the *null record*, the same touching of memory without any answer.
//!
//! What it does not do: start servers by itself, talk to real hardware, or judge; ceilings and
//! goals lie with those who call it.

pub mod clock;
pub mod closed;
pub mod count;
pub mod floor;
pub mod fresh;
pub mod job;
pub mod latency;
pub mod line;
pub mod live;
pub mod long;
pub mod memory;
pub mod netlink;
pub mod null;
pub mod null_line;
pub mod open;
pub mod pace;
pub mod pool;
pub mod requests;
pub mod rules;
pub mod shapes;
pub mod sweeps;
pub mod synthetic;
pub mod threads;

pub use closed::{ClosedLoop, ClosedReport, Seen};
pub use floor::{PauseFloor, measure_pause_floor};
pub use latency::Latency;
pub use open::{OpenLoop, OpenReport};
pub use pool::{Expected, Generations, Pool, Request};
