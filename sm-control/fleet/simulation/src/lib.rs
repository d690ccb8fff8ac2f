//! Leaders, relays and followers of a fleet in virtual time, with faults of networks, disks, clocks
//! and engines, and an oracle that knows true time.
//!
//! ```text
//!   seed ──> schedule ──> world: hosts (machines of sa-fleet, disks, clocks) <──> network, engine
//!                           └──> oracle: what each host could have answered, against what it may
//! ```
//!
//! The machines are those that run elsewhere; what is simulated is who does their IO. A thing that
//! is [`Planted`] is one that this must find, so that silence of the oracle means something.

#![forbid(unsafe_code)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the numbers are small"
)]

mod chance;
mod clock;
mod disks;
mod engine;
mod event;
mod faults;
mod following;
mod host;
mod leading;
mod notary;
mod oracle;
mod planted;
mod polls;
mod saying;
mod schedule;
mod setup;
mod world;

pub use oracle::Wrong;
pub use planted::{Duty, Planted};
pub use schedule::{Fault, Mode, Schedule};
pub use world::Report;

use self::world::World;

/// Runs a schedule with signatures that are numbers.
pub fn run(schedule: Schedule, planted: Option<Planted>) -> Report {
    World::new(schedule, planted, false).run()
}

/// Runs a schedule with signatures that are signatures: a thousand times slower.
pub fn run_signed(schedule: Schedule) -> Report {
    World::new(schedule, None, true).run()
}
