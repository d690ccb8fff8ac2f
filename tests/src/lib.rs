//! What tests across crates share.

pub mod counting;
pub mod rig;
