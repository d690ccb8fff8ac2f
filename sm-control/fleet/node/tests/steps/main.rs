//! Leaders and followers in processes of their own, killed, stopped or refused by their disk at each system call of a publication.
//!
//! ```text
//!   a plain run under strace ──> the list of calls on the directory, by thread
//!     └─ for each: a run in which that call is a SIGKILL, an error, or a SIGSTOP
//!           └─ an oracle that has seen every announcement judges every answer of every follower
//! ```
//!
//! One strace is on one thread, so that the N-th call of a kind is the same one in each run. `SAPPHIRE_FLEET_STEPS=all` takes every
//! call; without it so many that a run takes less than a minute, evenly spread. A number takes so many of each list.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic, and its rig is part of it"
)]

mod bed;
mod following;
mod jobs;
mod keys;
mod leading;
#[path = "../node/made.rs"]
#[expect(dead_code, reason = "shared with tests/node, which uses all of it")]
mod made;
mod oracle;
mod process;
mod publication;
mod replayer;
#[path = "../node/rig.rs"]
#[expect(dead_code, reason = "shared with tests/node, which uses all of it")]
mod rig;
mod steps;
mod storing;
mod tracer;
mod witness;
