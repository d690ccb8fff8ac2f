//! Load generator and measurement: request pools with expected replies, passes in memory, closed
//! and open loops over a ring and against a live SA, CPU time, pause floor.
//!
//! A run with one wrong reply is void: every reply is compared whole with what the slow twins
//! expect. Latency is measured from the time a request was *due*, so a stalled server cannot hide
//! behind a stalled client.

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
pub mod synthetic;
pub mod threads;

pub use closed::{ClosedLoop, ClosedReport, Seen};
pub use floor::{PauseFloor, measure_pause_floor};
pub use latency::Latency;
pub use open::{OpenLoop, OpenReport};
pub use pool::{Expected, Generations, Pool, Request};
