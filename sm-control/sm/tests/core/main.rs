//! The core of the Subnet Manager against simulated devices, in virtual time.
//!
//! `ibsim` does the same over the real simulator, in real time. `rig` carries SMPs between an executor and a simulator and counts them; `golden` reads the recordings of OpenSM
//! (`tests/golden/sm`).

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on should stop; the recordings are ours"
)]

mod audit;
mod discovery;
mod each;
mod faults;
mod golden;
mod hostile;
mod ibsim;
mod limits;
mod living;
mod m_keys;
mod plan;
mod reading;
mod rig;
mod same;
mod sweep;
