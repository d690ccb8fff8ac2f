//! The links of small subnets, in simulated time, with devices that answer as they are told.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test that cannot go on should stop"
)]

mod asking;
mod findings;
mod large;
mod rig;
mod swept;
