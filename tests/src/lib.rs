//! What the test programs of this crate share: fabrics, daemons and clients to test with, requests
//! to ask, the judge of replies, recorded cases. The programs are `tests/tests/*/main.rs`, one for
//! each purpose. The simulator is `sa-rig`, which crates below this one use too.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail the test"
)]

pub mod cli;
pub mod client;
pub mod config;
pub mod daemon;
pub mod fuzz;
pub mod golden;
pub mod http;
pub mod made;
pub mod metrics;
pub mod pages;
pub mod random;
pub mod records;
pub mod ring;
pub mod schema;
pub mod seen;
pub mod served;
pub mod site;
pub mod terminal;
pub mod turn;
pub mod webdriver;

pub use sa_rig::rng;

/// Says on standard error why a test does nothing here.
pub fn skip(why: &str) -> anyhow::Result<()> {
    eprintln!("{why}");
    Ok(())
}
