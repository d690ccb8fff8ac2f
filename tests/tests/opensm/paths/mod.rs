//! PathRecord and MultiPathRecord: thousands of random requests to a running OpenSM get, byte for
//! byte, what this program says on the same fabric, but for rows of `docs/deviations.md`.
//!
//! The requests are those by which `agree` compares the product with its reference, so that the
//! reference stands between two sides that were asked the same. What does not come through the
//! simulator is not compared: records behind the first two and a half, how many there are beyond
//! three, and requests from ports without a client.
//!
//! `SAPPHIRE_PATHS_SCALE=20` asks twenty times as much; `SAPPHIRE_PATHS_SEED=n` asks something
//! else, and is what a failure names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

pub(crate) mod compare;
mod lab;
pub(crate) mod site;
pub(crate) mod sites;
pub(crate) mod strange;
pub(crate) mod tally;
pub(crate) mod world;

use anyhow::{Result, bail, ensure};
use sa_rig::{Fabric, Torus};
use sa_tests::skip;

use compare::Row;
use lab::Lab;
use sa_tests::rng::Rng;
use site::Site;
use tally::Tally;

/// Rows about paths that no fabric here can show, and where they are tested.
const NOT_EXERCISED: [(u8, &str); 8] = [
    (4, "reload of a wrong policy: daemon::reload"),
    (
        5,
        "more than 65,536 records: agree; one MAD of a table comes through here",
    ),
    (9, "NDR: the simulator has none"),
    (10, "credit loops around a failed switch: golden::torus"),
    (11, "a torus that is refused: golden::torus"),
    (18, "path-bits: not in OpenSM's dialect; agree"),
    (20, "paths through 64 switches: agree"),
    (
        22,
        "service ids in the SM_Key: not in OpenSM's dialect; agree",
    ),
];

#[test]
fn a_tree_with_routers() -> Result<()> {
    use Row::{FlowLabel, MembersOfGroups, StatusOfRequest, Unsupported, Version};
    let sites = || Ok(vec![sites::tree(), sites::wide_tree()]);
    let rows = [
        StatusOfRequest,
        Unsupported,
        Version,
        MembersOfGroups,
        FlowLabel,
    ];
    run(sites, 8000, 1, &rows)
}

/// And a fabric of links that are all alike, in which lengths are not kept.
#[test]
fn a_torus_whole_and_damaged() -> Result<()> {
    use Row::{
        Alternates, EngineForMultiPath, FlowLabel, MembersOfGroups, StatusOfRequest, Unsupported,
        Version,
    };
    if let Some(why) = Torus::unavailable() {
        return skip(&why);
    }
    let sites = || {
        Ok(vec![
            sites::torus("torus", &[])?,
            sites::torus("torus, a failed link", &["--rm-link", "1,0,0:+x"])?,
            sites::torus("torus, a failed switch", &["--rm-switch", "2,2,1"])?,
            sites::line(),
        ])
    };
    let rows = [
        StatusOfRequest,
        Unsupported,
        Version,
        MembersOfGroups,
        EngineForMultiPath,
        Alternates,
        FlowLabel,
    ];
    run(sites, 5000, 2, &rows)
}

#[test]
fn partitions_with_limited_members() -> Result<()> {
    use Row::{MembersOfGroups, StatusOfRequest, Unsupported, Version};
    let sites = || Ok(vec![sites::limited(), sites::both()]);
    let rows = [StatusOfRequest, Unsupported, Version, MembersOfGroups];
    run(sites, 8000, 3, &rows)
}

#[test]
fn a_qos_policy() -> Result<()> {
    use Row::{FlowLabel, MembersOfGroups, OddSl, StatusOfRequest, Unsupported, Version};
    let sites = || Ok(vec![sites::policy()]);
    let rows = [
        StatusOfRequest,
        Unsupported,
        Version,
        MembersOfGroups,
        OddSl,
        FlowLabel,
    ];
    run(sites, 12_000, 4, &rows)
}

#[test]
fn anything_at_random() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let first = from_environment("SAPPHIRE_PATHS_SEED").unwrap_or(0);
    let count = 8 * from_environment("SAPPHIRE_PATHS_SCALE").unwrap_or(1);
    for seed in first..first + count {
        let mut site = sites::at_random(&mut Rng::new(seed << 16 | 5 << 8));
        site.name = format!("anything, {seed}");
        let tally = Lab::start(&site)?.compare(700, seed << 16 | 5 << 8 | 1)?;
        eprintln!("{}: {tally}", site.name);
        same(&site, &tally, seed)?;
    }
    Ok(())
}

/// Compares on each site. Errors: a difference that no row explains, a row that explains nothing
/// although it should, or one that should not.
fn run(sites: impl Fn() -> Result<Vec<Site>>, count: usize, salt: u64, rows: &[Row]) -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let seed = from_environment("SAPPHIRE_PATHS_SEED").unwrap_or(0);
    let count = count * usize::try_from(from_environment("SAPPHIRE_PATHS_SCALE").unwrap_or(1))?;
    let mut fired = Vec::new();
    for (nth, site) in (0..).zip(sites()?) {
        let lab = Lab::start(&site)?;
        let tally = lab.compare(count, seed << 16 | salt << 8 | nth)?;
        eprintln!("{}: {tally}", site.name);
        check(&site, &tally, seed)?;
        fired.extend(tally.rows());
    }
    fired.sort_unstable();
    fired.dedup();
    ensure!(
        fired == rows,
        "rows that explain something: {fired:?}, not {rows:?}"
    );
    let elsewhere = NOT_EXERCISED.map(|(row, why)| format!("  row {row}: {why}\n"));
    eprintln!("not exercised:\n{}", elsewhere.concat());
    Ok(())
}

/// No difference.
fn same(site: &Site, tally: &Tally, seed: u64) -> Result<()> {
    if tally.different.is_empty() {
        return Ok(());
    }
    let first: Vec<_> = tally.different.iter().take(3).cloned().collect();
    bail!(
        "SAPPHIRE_PATHS_SEED={seed}, {}: {} of {} replies differ; inputs in {}; first:\n{}",
        site.name,
        tally.different.len(),
        tally.requests(),
        site.keep()?.display(),
        first.join("\n")
    )
}

/// The same, and enough of everything.
fn check(site: &Site, tally: &Tally, seed: u64) -> Result<()> {
    same(site, tally, seed)?;
    ensure!(
        tally.with_records() > tally.requests() / 4,
        "{}: {tally}",
        site.name
    );
    for what in [
        "0x0200",
        "0x0300",
        "0x0500",
        "0x0600",
        "0x000c",
        "silence",
        "no records",
    ] {
        let (seen, least) = (tally.count(what), tally.requests() / 1000);
        ensure!(seen >= least, "{}: {seen} times {what}: {tally}", site.name);
    }
    Ok(())
}

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}
