//! Multicast groups of `sapphired` as the Subnet Manager: joins are granted, and switches programmed for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::PATIENCE;
use sa_tests::served::Served;
use sa_tests::skip;

use super::sweep::TREE;

/// Of [`TREE`].
const SWITCHES: [(&str, &str); 4] = [
    ("L0", "0x200000"),
    ("L1", "0x200001"),
    ("S0", "0x200010"),
    ("S1", "0x200011"),
];

/// There without a file.
pub(crate) const BROADCAST: &str = "ff12:401b:ffff::ffff:ffff";
pub(crate) const MADE: &str = "ff12:401b:ffff::1:2";

fn config() -> Config {
    Config::of_sweep()
        .ibsim("H0")
        .routing("engine = \"minhop\"\n")
        .with("[control]\npath = \"control\"\n")
}

/// Ports by switch and MLID.
type Tables = BTreeMap<(String, String), BTreeSet<usize>>;

/// What the switches hold, asked of them.
fn tables(fabric: &Fabric) -> Result<Tables> {
    let mut tables = Tables::new();
    for (name, guid) in SWITCHES {
        let mut command = fabric.preloaded(Path::new("ibroute"), "H1")?;
        let output = command.args(["-M", "-G", guid]).output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{output:?}");
        // A line a group: its MLID, six columns, and then two columns a port, with an x for those it has.
        let lines = printed.lines().filter(|line| line.starts_with("0xc"));
        for line in lines {
            let (mlid, marks) = line.split_at_checked(6).context(line.to_owned())?;
            let ports = marks.char_indices().filter(|(_, mark)| *mark == 'x');
            let ports = ports.map(|(at, _)| at.saturating_sub(6) / 2).collect();
            tables.insert((name.to_owned(), mlid.to_owned()), ports);
        }
    }
    Ok(tables)
}

/// As a test writes them: `L0 0xc000 1 3`.
fn expected(lines: &[&str]) -> Tables {
    let tables = lines.iter().map(|line| {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let key = (word(), word());
        (key, words.filter_map(|port| port.parse().ok()).collect())
    });
    tables.collect()
}

pub(crate) fn wait_until_held(bed: &Served, lines: &[&str]) -> Result<()> {
    let wanted = expected(lines);
    let mut last = None;
    let waited = wait_for("multicast tables", PATIENCE, || {
        // While routes change a switch may be out of reach.
        let held = tables(&bed.fabric);
        let is_it = held.as_ref().is_ok_and(|held| *held == wanted);
        last = Some(held);
        Ok(is_it)
    });
    waited.with_context(|| format!("{last:?} instead of {wanted:?}: {}", bed.daemon.logged()))
}

/// What the SA says of them.
fn told(bed: &Served) -> Result<Tables> {
    let (status, nodes) = bed.ask("H1", &["nr"])?;
    ensure!(status == "0x0000");
    let mut tables = Tables::new();
    for record in bed.ask("H1", &["mftr"])?.1 {
        let node = nodes.iter().find(|node| node["lid"] == record["lid"]);
        let name = node.and_then(|node| node["node_description"].as_str());
        let name = name.context("a switch")?;
        let masks = record["port_masks"].as_array().context("masks")?;
        for (place, mask) in (0xc000..).zip(masks) {
            let mask = mask.as_str().and_then(|mask| mask.strip_prefix("0x"));
            let mask = u16::from_str_radix(mask.context("a mask")?, 16)?;
            let ports: BTreeSet<usize> = (0..16).filter(|port| mask >> port & 1 == 1).collect();
            if !ports.is_empty() {
                tables.insert((name.to_owned(), format!("{place:#x}")), ports);
            }
        }
    }
    Ok(tables)
}

/// A Set or Delete of one port's membership. The status.
pub(crate) fn change(
    bed: &Served,
    host: &str,
    verb: &str,
    mgid: &str,
    port: &str,
) -> Result<String> {
    let gid = format!("fe80::{port}");
    let mut arguments = vec!["mcmr", verb, "--mgid", mgid, "--port-gid", &gid];
    arguments.extend(["--join-state", "1"]);
    if verb == "--set" && mgid == MADE {
        arguments.extend(["--q-key", "0x0b1b", "--tclass", "0", "--pkey", "0xffff"]);
        arguments.extend(["--sl", "0", "--flow-label", "0"]);
    }
    Ok(bed.ask(host, &arguments)?.0)
}

#[test]
fn switches_follow_joins_and_leaves_and_a_restart() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = Fabric::with_console(TREE)?;
    let bed = Served::on(fabric, &config())?;
    ensure!(bed.status()?["role"] == "full");
    wait_until_held(&bed, &[])?;
    for (host, port) in [("H1", "10:11"), ("H3", "10:31")] {
        ensure!(change(&bed, host, "--set", BROADCAST, port)? == "0x0000");
    }
    let both = ["L0 0xc000 1 4", "L1 0xc000 1 4", "S0 0xc000 1 2"];
    wait_until_held(&bed, &both)?;
    // A group that a client makes gets the next MLID, and nothing is written for one member.
    ensure!(change(&bed, "H2", "--set", MADE, "10:21")? == "0x0000");
    ensure!(change(&bed, "H3", "--set", MADE, "10:31")? == "0x0000");
    let three = [&both[..], &["L1 0xc001 3 4"]].concat();
    wait_until_held(&bed, &three)?;
    // Whoever asks the SA is told the same, also while no sweep goes on.
    wait_for("records of them", PATIENCE, || {
        Ok(told(&bed).is_ok_and(|told| told == expected(&three)))
    })?;

    // A cable less, and another way; a host less, and a member.
    console.say("Unlink \"S0\"[1]")?;
    let other = [
        "L0 0xc000 2 4",
        "L1 0xc000 2 4",
        "S1 0xc000 1 2",
        "L1 0xc001 3 4",
    ];
    wait_until_held(&bed, &other)?;
    console.say("Link \"S0\"[1] \"L0\"[1]")?;
    wait_until_held(&bed, &three)?;
    console.say("Unlink \"H2\"[1]")?;
    wait_until_held(&bed, &both)?;

    // A new process: the journal has the members, and switches stay as they are meanwhile.
    let Served { daemon, fabric, .. } = bed;
    let (ended, logged) = daemon.terminate()?;
    ensure!(ended.success(), "{logged}");
    let bed = Served::on(fabric, &config())?;
    wait_until_held(&bed, &both)?;
    let members = bed.ask("H1", &["mcmr", "--mgid", BROADCAST, "--sa-key", "1"])?;
    ensure!(members.1.len() == 2, "{members:?}");
    ensure!(change(&bed, "H3", "--delete", BROADCAST, "10:31")? == "0x0000");
    wait_until_held(&bed, &[])?;
    Ok(())
}

#[test]
fn an_alias_guid_is_in_paths_and_a_port_that_refuses_it_is_told_of() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = Served::on(Fabric::start(TREE)?, &config())?;
    let (_, nodes) = bed.ask("H1", &["nr"])?;
    let host = nodes.iter().find(|node| node["node_description"] == "H2");
    let lid = host.context("H2")?["lid"].to_string();
    let place = ["--lid", &lid, "--block-num", "0", "--guid1", "0x1234"];
    let set = [&["gir", "--set"][..], &place].concat();
    ensure!(bed.ask("H1", &set)?.0 == "0x0000");
    // The simulator's ports take no GUIDs: one sentence, and the subnet lives on.
    bed.daemon.wait_logged("refuses")?;
    let path = ["--sgid-to-dgid", "fe80::10:11-fe80::1234"];
    wait_for("a path to the alias", PATIENCE, || {
        Ok(bed
            .fabric
            .saquery("H1", &path)
            .is_ok_and(|told| told.contains("fe80::1234")))
    })?;
    ensure!(bed.status()?["subnet_manager"]["findings_count"] != 0);
    let told = bed.daemon.logged().matches("refuses").count();
    ensure!(told <= 4, "{}", bed.daemon.logged());
    Ok(())
}
