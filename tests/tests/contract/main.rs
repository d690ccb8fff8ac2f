//! The fast-path contract: a worker's turn neither allocates nor frees, makes no system calls but its
//! port's, serves one snapshot per batch, keeps to the gate of a fleet, and costs what its ceilings say.
//!
//! A program of its own because its allocator counts, and because a worker under test polls: what
//! takes a whole core or looks at the clock takes [`sa_tests::turn::heavy`] first.

use sa_rig::counting::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

mod fabric;
mod fastpath;
mod gate;
mod icount;
mod idle;
mod ring_worker;
mod swap_storm;
mod syscalls;
