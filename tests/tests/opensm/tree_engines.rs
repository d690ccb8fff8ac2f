//! Our updn and ftree beside OpenSM's on the same fabrics with the same LIDs: no pair of hosts that
//! OpenSM connects is lost, the fullest link has no more paths, and random permutations get no less.

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;
use sa_tests::made::{quality, routed_by_opensm};
use serde_json::Value;

/// What is made, and OpenSM's engine: what the other one refuses is routed by the one that takes it.
const FABRICS: [(&str, &str); 6] = [
    ("fat-tree --radix 4", "ftree"),
    ("fat-tree --radix 6", "updn"),
    (
        "fat-tree --levels 2 --radix 12 --oversubscription 2:1",
        "ftree",
    ),
    ("fat-tree --radix 8 --parallel 2 --pods 3", "ftree"),
    ("fat-tree --radix 6 --rm-link L0_0:4", "updn"),
    ("fat-tree --radix 6 --rm-switch M1_0", "updn"),
];

#[test]
fn tables_are_no_worse_than_opensms() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("skipped: {why}");
        return Ok(());
    }
    for (shape, engine) in FABRICS {
        compare(shape, engine).with_context(|| format!("{shape} by {engine}"))?;
    }
    Ok(())
}

fn compare(shape: &str, engine: &str) -> Result<()> {
    let fabric = routed_by_opensm(shape, &format!("{engine},no_fallback"), &[])?;
    let theirs = quality(fabric.dir(), ".", "files")?;
    // The list has the LIDs that OpenSM gave.
    let ours = quality(fabric.dir(), "opensm-subnet.lst", engine)?;
    let figure = |of: &Value, name: &str| of["quality"][name].as_f64().context("a figure");
    println!("{shape} {engine}: theirs {theirs}\n  ours {ours}");
    ensure!(ours["credit_loop"] == false && ours["management_cycle"] == false);
    ensure!(ours["pairs_lost"] == 0, "{}", ours["pairs_lost"]);
    let (most, least) = ("paths_most", "bandwidth_mean");
    ensure!(figure(&ours, most)? <= figure(&theirs, most)?, "{most}");
    // Draws are the same for both, so that a tree routed as well gets the very same figure.
    ensure!(
        figure(&ours, least)? >= figure(&theirs, least)? - 0.005,
        "{least}"
    );
    Ok(())
}
