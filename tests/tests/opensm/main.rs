//! Beside a running OpenSM on the simulator: the same requests to both get the same replies, but for
//! rows of `docs/deviations.md`; and what other tools of the field say of our files and answers.
//!
//! Each test says on standard error why it does nothing where the simulator is not installed.

mod aliases;
mod any_fabric;
mod any_vls;
mod beside;
mod engines;
mod generated;
mod groups;
mod ibdmchk;
mod live_sa;
mod multicast;
mod overheard;
mod partitions;
mod paths;
mod records;
mod services;
mod statuses;
mod table;
mod thousand;
mod torus;
mod tree_engines;
