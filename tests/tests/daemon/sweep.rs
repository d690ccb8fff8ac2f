//! `sapphired` as the Subnet Manager of a simulated fabric: no OpenSM anywhere.

use std::fs;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, PATIENCE};
use sa_tests::served::Served;
use sa_tests::skip;

/// Two leaves and two spines, two hosts a leaf: `H0` to `H3`.
pub(crate) const TREE: &str = "\
switchguid=0x200000\nSwitch 8 \"L0\"\n[1] \"S0\"[1]\n[2] \"S1\"[1]\n[3] \"H0\"[1]\n[4] \"H1\"[1]\n\n\
switchguid=0x200001\nSwitch 8 \"L1\"\n[1] \"S0\"[2]\n[2] \"S1\"[2]\n[3] \"H2\"[1]\n[4] \"H3\"[1]\n\n\
switchguid=0x200010\nSwitch 8 \"S0\"\n[1] \"L0\"[1]\n[2] \"L1\"[1]\n\n\
switchguid=0x200011\nSwitch 8 \"S1\"\n[1] \"L0\"[2]\n[2] \"L1\"[2]\n\n\
caguid=0x100000\nHca 1 \"H0\"\n[1] \"L0\"[3]\n\n\
caguid=0x100010\nHca 1 \"H1\"\n[1] \"L0\"[4]\n\n\
caguid=0x100020\nHca 1 \"H2\"\n[1] \"L1\"[3]\n\n\
caguid=0x100030\nHca 1 \"H3\"\n[1] \"L1\"[4]\n\n";

pub(crate) fn config() -> Config {
    Config::of_sweep()
        .ibsim("H0")
        .routing("engine = \"updn\"\n")
        .with("[control]\npath = \"control\"\n")
}

/// What saquery prints of the path from one host to another, by port GUIDs.
fn path(fabric: &Fabric) -> Result<String> {
    let gids = ["PR", "--sgid-to-dgid", "fe80::10:11-fe80::10:31"];
    Ok(fabric.saquery("H1", &gids)?)
}

/// The number of a word such as `sets=12` in the last line of the log that says so.
pub(crate) fn said(daemon: &Daemon, word: &str) -> Result<u64> {
    let logged = daemon.logged();
    let line = logged.lines().rev().find(|line| line.contains("SUBNET UP"));
    let line = line.context("no SUBNET UP")?;
    let (_, rest) = line
        .split_once(&format!("{word}="))
        .context(line.to_owned())?;
    let digits = rest.split(' ').next().unwrap_or_default();
    Ok(digits.parse()?)
}

#[test]
fn a_subnet_comes_up_stays_and_follows_its_cables() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = Fabric::with_console(TREE)?;
    let mut bed = Served::on(fabric, &config())?;
    ensure!(said(&bed.daemon, "nodes")? == 8);
    ensure!(said(&bed.daemon, "sets")? > 8, "{}", bed.daemon.logged());
    let told = path(&bed.fabric)?;
    ensure!(told.contains("dlid"), "{told}");
    let lids = fs::read_to_string(bed.fabric.dir().join("state/guid2lid"));
    let lids = lids.with_context(|| bed.daemon.logged())?;
    ensure!(lids.matches("0x00000000001000").count() == 4, "{lids}");
    let told_of = &bed.status()?["subnet_manager"];
    ensure!(
        told_of["nodes"] == 8 && told_of["failed_sweeps"] == 0,
        "{told_of}"
    );
    ensure!(told_of["sets"].as_u64() > Some(8), "{told_of}");
    ensure!(told_of["findings_count"] == 0, "{told_of}");

    // A host goes, and comes back at another leaf's port: each is a sweep that is published, and its LID stays.
    console.say("Unlink \"H3\"[1]")?;
    bed.daemon.next_epoch("reloaded")?;
    let gone = path(&bed.fabric)?;
    ensure!(!gone.contains("dlid"), "{gone}");
    console.say("Link \"H3\"[1] \"L0\"[5]")?;
    bed.daemon.next_epoch("reloaded")?;
    ensure!(path(&bed.fabric)? == told, "{told}");

    // A new process finds LIDs, tables and links as they are.
    let Served { daemon, fabric, .. } = bed;
    let (ended, logged) = daemon.terminate()?;
    ensure!(ended.success(), "{logged}");
    let bed = Served::on(fabric, &config())?;
    ensure!(path(&bed.fabric)? == told);
    let again = fs::read_to_string(bed.fabric.dir().join("state/guid2lid"))?;
    ensure!(again == lids, "{again}");
    Ok(())
}

#[test]
fn a_broken_policy_changes_nothing_and_is_tried_again() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TREE)?;
    let partitions = fabric.dir().join("partitions.conf");
    fs::write(&partitions, "Default=0x7fff : ALL=full ;\n")?;
    let config = config().with("[partitions]\nfile = \"partitions.conf\"\n");
    let mut bed = Served::on(fabric, &config)?;
    let told = path(&bed.fabric)?;
    fs::write(&partitions, "Default=0x7fff : ALL=full\nbroken")?;
    bed.daemon.wait_logged("partitions.conf")?;
    ensure!(path(&bed.fabric)? == told, "what is in service stays");
    fs::write(
        &partitions,
        "Default=0x7fff : ALL=full ;\nblue=0x8001 : ALL=full ;\n",
    )?;
    wait_for("the new partitions", PATIENCE, || {
        let told = path(&bed.fabric).map_err(std::io::Error::other)?;
        Ok(told.contains("dlid") && bed.daemon.logged().matches("SUBNET UP").count() > 1)
    })?;
    Ok(())
}
