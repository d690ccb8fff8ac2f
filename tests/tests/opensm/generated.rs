//! Fabrics that `sapphire fabric` makes are what the simulator and OpenSM take them for.
//!
//! OpenSM's fat-tree engine refuses what is no fat tree, so that its word counts more than a count of cables. Of the
//! other shapes OpenSM has no engine that knows them: there it must find as many switches and end ports as were
//! written, all joined.

use std::fs;

use anyhow::{Context, Result, ensure};
use sa_fabric::Node;
use sa_fabric::formats::subnet_lst;
use sa_rig::Fabric;
use sa_tests::cli::sapphire_in;
use sa_tests::made::routed_by_opensm;
use sa_wire::NodeType;

/// What is made, OpenSM's engine, and switches and hosts.
const SHAPES: [(&str, &str, [usize; 2]); 7] = [
    ("fat-tree --radix 4", "ftree,no_fallback", [20, 16]),
    (
        "fat-tree --levels 2 --radix 12 --oversubscription 2:1",
        "ftree,no_fallback",
        [16, 96],
    ),
    (
        "fat-tree --radix 8 --parallel 2 --pods 3",
        "ftree,no_fallback",
        [16, 24],
    ),
    (
        "dragonfly --switches 3 --hosts 1 --global 1",
        "minhop",
        [12, 12],
    ),
    (
        "dragonfly-plus --leaves 2 --spines 2 --hosts 2 --global 1",
        "minhop",
        [12, 12],
    ),
    ("hyperx 3 3 2 --hosts 1", "minhop", [18, 18]),
    (
        "random --switches 14 --degree 4 --hosts 1 --seed 3",
        "minhop",
        [14, 14],
    ),
];

#[test]
fn opensm_takes_them_for_what_they_are() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("skipped: {why}");
        return Ok(());
    }
    for (shape, engine, [switches, hosts]) in SHAPES {
        let found = found_by_opensm(shape, engine).with_context(|| shape.to_owned())?;
        assert_eq!(found, [switches, hosts], "{shape}");
    }
    Ok(())
}

/// Switches and hosts that OpenSM finds.
fn found_by_opensm(shape: &str, engine: &str) -> Result<[usize; 2]> {
    let fabric = routed_by_opensm(shape, engine, &[])?;
    let list = fs::read(fabric.dir().join("opensm-subnet.lst"))?;
    let nodes = subnet_lst::parse(&list)?;
    let is_switch = |node: &&Node| node.kind == NodeType::Switch;
    let switches = nodes.nodes().iter().filter(is_switch).count();
    Ok([switches, nodes.nodes().len() - switches])
}

/// A tree that lost a switch and a cable is the one before but for these.
#[test]
fn damage_moves_nothing_else() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let make = |to: &str, more: &[&str]| -> Result<String> {
        let arguments = [&["fabric", "fat-tree", "--radix", "4", "-o", to], more].concat();
        let made = sapphire_in(directory.path(), &arguments)?;
        ensure!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        Ok(fs::read_to_string(directory.path().join(to).join("net"))?)
    };
    let whole = make("whole", &[])?;
    let damaged = make("damaged", &["--rm-switch", "M1_0", "--rm-link", "L0_0:3"])?;
    let mut rows: Vec<&str> = whole.lines().skip(1).collect();
    for row in damaged.lines().skip(1) {
        let at = rows.iter().position(|it| *it == row);
        rows.remove(at.with_context(|| format!("{row} was not there"))?);
    }
    let gone: Vec<_> = rows.into_iter().filter(|row| !row.is_empty()).collect();
    // The switch with its two lines and four cables, the other ends of these, and both ends of the cable.
    assert_eq!(gone.len(), 2 + 4 + 4 + 2, "{gone:#?}");
    let unknown = ["fabric", "fat-tree", "--rm-switch", "X", "-o", "no"];
    let refused = sapphire_in(directory.path(), &unknown)?;
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("there is no switch X"));
    Ok(())
}
