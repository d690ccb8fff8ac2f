//! What OpenSM wrote to recorded fabrics, against what is planned for the same fabrics.
//!
//! Recordings: `tests/golden/sm`. A state that was read back is made a model; what OpenSM decided is taken out of
//! it, planned, and compared.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on should stop; the recordings are ours"
)]

mod hostile;
mod lids;
mod partitions;
mod ports;
mod tables;
mod whole;
