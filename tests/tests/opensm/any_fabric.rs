//! dfsssp-nue beside OpenSM's dfsssp and nue on the same fabrics with the same LIDs: nobody is lost, hosts close no
//! loop, and neither the fullest link nor random permutations are worse than under the better of the two.

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;
use sa_tests::made::{quality, routed_by_opensm};
use serde_json::Value;

/// What is made, and how many times as many paths as OpenSM's the fullest link may have: ways are the lightest as a whole,
/// which on a damaged tree leaves one link fuller, while hosts get more.
const FABRICS: [(&str, f64); 6] = [
    ("dragonfly --switches 4 --hosts 2 --global 1", 1.0),
    ("hyperx 3 3 --hosts 2", 1.0),
    ("random --switches 16 --degree 4 --hosts 2 --seed 3", 1.0),
    ("torus 5 5 1 --hosts 1", 1.0),
    ("fat-tree --radix 6 --rm-link L0_0:4", 1.2),
    (
        "dragonfly-plus --leaves 2 --spines 2 --hosts 2 --global 1",
        1.0,
    ),
];

#[test]
fn any_fabric_is_routed_no_worse_than_by_opensm() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("skipped: {why}");
        return Ok(());
    }
    for (shape, slack) in FABRICS {
        compare(shape, slack).with_context(|| shape.to_owned())?;
    }
    Ok(())
}

fn compare(shape: &str, slack: f64) -> Result<()> {
    let mut theirs = Vec::new();
    let mut ours = Value::Null;
    for engine in ["dfsssp", "nue"] {
        let fabric = routed_by_opensm(shape, &format!("{engine},no_fallback"), &["-Q"])?;
        theirs.push(quality(fabric.dir(), ".", "files")?);
        // The list has the LIDs that OpenSM gave.
        ours = quality(fabric.dir(), "opensm-subnet.lst", "dfsssp-nue")?;
    }
    let figure = |of: &Value, name: &str| of["quality"][name].as_f64().context("a figure");
    for theirs in theirs {
        println!(
            "{shape}: theirs {} ours {}",
            theirs["quality"], ours["quality"]
        );
        let most = "paths_most";
        ensure!(
            figure(&ours, most)? <= slack * figure(&theirs, most)?,
            "{most}"
        );
        let mean = "bandwidth_mean";
        // Draws are the same for both.
        ensure!(
            figure(&ours, mean)? >= figure(&theirs, mean)? - 0.01,
            "{mean}"
        );
    }
    ensure!(ours["credit_loop"] == false, "{}", ours["credit_loop"]);
    ensure!(ours["pairs_lost"] == 0, "{}", ours["pairs_lost"]);
    Ok(())
}
