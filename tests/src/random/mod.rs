//! Fabric files and requests at random, from a seed: the same seed gives the same everywhere.
//!
//! The product is asked these beside its reference and beside OpenSM, so that the reference stands between
//! two sides that were asked the same.

pub mod dialects;
pub mod options;
pub mod ports;
pub mod requests;
