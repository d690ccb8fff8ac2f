//! Routes that change while data passes: after every Set that a device took, all pairs are walked. No packet may go in a circle, and
//! pairs that had a path before and have one afterwards have one at every moment. Nor may packets wait for each other for ever.
//!
//! `walker` and `credit` judge what devices hold and know nothing of how it is written; `drive` carries SMPs in an order of its own, loses
//! some, and calls it; `events` are what happens to a subnet.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on should stop; the fabrics are ours"
)]

mod credit;
mod drive;
mod events;
mod walker;
