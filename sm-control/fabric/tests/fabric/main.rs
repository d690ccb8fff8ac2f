//! Fabric files and dumps against what the real OpenSM wrote, and against damage.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says why")]

mod agreement;
mod common;
mod damage;
mod dumps;
mod tables;
