//! What tests across crates share.

pub mod rig;
