//! Whole first sweeps, planned by our own compiler, over simulated devices: afterwards they hold what they held after OpenSM's.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on should stop; the recordings are ours"
)]

mod back_to_back;
mod clients;
mod cut_short;
mod deliberate;
mod further;
mod groups;
mod guids;
mod kill;
mod records;
mod refused;
mod starts;
mod sweeps;
mod tables;
mod trees;
