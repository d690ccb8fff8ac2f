//! Any bytes as requests, as parts of RMPP transfers, as messages of the kernel's local service and as what
//! hosts of a fleet send each other, and the judge of what comes back, who reads replies without the codec that wrote them.
//!
//! The fuzzers in `fuzz` and the program `robustness` run the same bodies.

#![allow(clippy::cast_possible_truncation, reason = "the numbers are small")]

pub mod asks;
pub mod choices;
pub mod corpus;
pub mod fleet;
pub mod legal;
pub mod netlink;
pub mod transfers;
pub mod wire;
pub mod worlds;
