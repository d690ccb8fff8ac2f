//! A subnet lives: random events, and after every Set that reaches a device a walk of all pairs that it can have changed.
//!
//! ```text
//!  events ──> devices <──Sets── wire <── manager (sweep, plan, groups, what answers: the daemon's)
//!                └──> walker: circles, holes, credit loops, P_Keys, groups, answers ──> findings
//! ```
//!
//! By default as many events as a minute allows. For more:
//!
//! ```sh
//! SAPPHIRE_EVENTS=1000 cargo test --release -p sm-plan --test life -- --nocapture --test-threads 1
//! SAPPHIRE_EVENTS_SECONDS=3600 cargo test --release -p sm-plan --test life -- --nocapture --test-threads 1
//! ```
//!
//! `SAPPHIRE_EVENTS_MUTE=1` lets switches fall mute too. `SAPPHIRE_EVENTS_SEED` begins another life. What is found is printed with the seed and the number of its event;
//! `SAPPHIRE_EVENTS_FROM` lives all that comes before without walks, so that one event can be looked at by itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on should stop; the fabrics are ours"
)]

mod events;
mod life;
mod manager;
mod mutants;
mod mute;
mod random;
mod refused;
mod site;
mod trees;
mod walker;
mod wire;

use std::time::{Duration, Instant};

use crate::life::Life;
use crate::site::Site;

/// A number of the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Lives through events, prints what there was, and fails where anything is wrong.
fn live(name: &str, site: Site, usual: u64) {
    let seed = number("SAPPHIRE_EVENTS_SEED").unwrap_or(1);
    let length = number("SAPPHIRE_EVENTS_SECONDS").map(Duration::from_secs);
    let most = match length {
        Some(_) => u64::MAX,
        None => number("SAPPHIRE_EVENTS").unwrap_or(usual),
    };
    let from = number("SAPPHIRE_EVENTS_FROM").unwrap_or(0);
    let begun = Instant::now();
    let mut life = Life::new(site, seed);
    life.is_told = from > 0;
    let mut all = Vec::new();
    let mut event = 0;
    while event < most && length.is_none_or(|length| begun.elapsed() < length) && all.len() < 40 {
        life.watch(event >= from);
        let kind = life.live();
        let found = core::mem::take(life.found());
        for words in found.iter().take(4) {
            println!("{name}, seed {seed}, event {event} {kind:?}: {words}");
        }
        if let Some(first) = found.into_iter().next() {
            all.push(format!("event {event} {kind:?}: {first}"));
        }
        event += 1;
    }
    let counts = life.wire.walker.counts;
    println!(
        "{name}: {event} events in {:.0?}, {counts:?}",
        begun.elapsed()
    );
    println!("{name}: {:?}", life.tally);
    assert!(
        all.is_empty(),
        "{name}: SAPPHIRE_EVENTS_SEED={seed} SAPPHIRE_EVENTS={event}, and SAPPHIRE_EVENTS_FROM= the number of one: {all:#?}"
    );
}

#[test]
fn a_torus_lives() {
    live("torus 5x5x5", Site::torus([5, 5, 5]), 10);
}

#[test]
fn a_fat_tree_lives() {
    live("fat tree", Site::fat_tree("fat-tree:6"), 100);
}
