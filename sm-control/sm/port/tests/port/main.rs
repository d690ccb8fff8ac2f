//! The loop and its ports: simulated fabrics in real time, ports that fail or have no room, and the simulator's preload library.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod faults;
mod simulated;
mod support;
