//! Announcements, what is remembered of them, and the machines that act on them, without a network.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    reason = "a test that cannot go on should stop"
)]

mod announcements;
mod followers;
mod highest;
mod leaders;
mod made;
mod roots;
