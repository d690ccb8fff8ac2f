//! `sapphired` as the Subnet Manager of two hosts that are cabled to each other, without a switch.

use std::fs;

use anyhow::{Context, Result, ensure};
use sa_rig::{Console, Fabric, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, PATIENCE};
use sa_tests::served::{Served, status};
use sa_tests::skip;

use super::groups::{BROADCAST, change};

/// The switch has no cable at first.
const PAIR: &str = "\
switchguid=0x200000\nSwitch 8 \"S0\"\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1] \"H2\"[1]\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1] \"H1\"[1]\n\n";

/// The second is a limited member of one partition; both partitions have groups.
const PARTITIONS: &str =
    "Default=0x7fff, ipoib : ALL=full ;\nblue=0x8001, ipoib : 0x100001=full, 0x100011 ;\n";

/// What both Subnet Managers are asked, from either host.
const QUESTIONS: [&[&str]; 14] = [
    &["PR"],
    &["PR", "--sgid-to-dgid", "fe80::10:1-fe80::10:11"],
    &["PR", "--sgid-to-dgid", "fe80::10:11-fe80::10:1"],
    &["PR", "--sgid-to-dgid", "fe80::10:1-fe80::10:1"],
    &["PR", "--slid", "2", "--dlid", "5"],
    &["PR", "--slid", "4", "--dlid", "4"],
    &[
        "MPR",
        "--sgid-list",
        "fe80::10:1",
        "--dgid-list",
        "fe80::10:11",
    ],
    &["NR"],
    &["PIR"],
    &["LR"],
    &["SMIR"],
    &["MCMR"],
    &["PKTR"],
    &["SWIR"],
];

fn config(node: &str) -> Config {
    Config::of_sweep()
        .ibsim(node)
        .fabric("opensm_conf = \"opensm.conf\"\n")
        .with("[partitions]\nfile = \"partitions.conf\"\n")
        .with("[control]\npath = \"control\"\n")
}

/// A fabric, with the files that both Subnet Managers read.
fn fabric() -> Result<(Fabric, Console)> {
    let (fabric, console) = Fabric::with_console(PAIR)?;
    fs::write(fabric.dir().join("opensm.conf"), "lmc 1\n")?;
    fs::write(fabric.dir().join("partitions.conf"), PARTITIONS)?;
    Ok((fabric, console))
}

/// All answers, without what counts SMPs and what saquery does not fill in. Then what the ports hold.
fn told(fabric: &Fabric) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for host in ["H1", "H2"] {
        for question in QUESTIONS {
            all.push(format!("{host} {question:?}"));
            // A refusal ends saquery with a failure, and its words are the answer.
            let said = fabric.saquery(host, question);
            let said = said.unwrap_or_else(|error| error.to_string());
            let varies = ["ActCount", "preference", "resv2"];
            let lines = said
                .lines()
                .filter(|line| !varies.iter().any(|it| line.contains(it)));
            all.extend(lines.map(str::to_owned));
        }
    }
    for lid in ["2", "4"] {
        let port = fabric.tool("smpquery", "H1", &["portinfo", lid, "1"])?;
        all.extend(port.lines().map(str::to_owned));
    }
    Ok(all)
}

/// Lines of a file of LIDs, which each writes in an order of its own.
fn lids_of(fabric: &Fabric, file: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(fabric.dir().join(file))?;
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut lines: Vec<_> = lines.map(str::to_owned).collect();
    lines.sort();
    Ok(lines)
}

#[test]
fn they_are_told_what_opensm_tells() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    for node in ["H1", "H2"] {
        let (theirs, _console) = fabric()?;
        let path = |file| theirs.dir().join(file).display().to_string();
        let (conf, partitions) = (path("opensm.conf"), path("partitions.conf"));
        let opensm = theirs.opensm(node, &["-F", &conf, "-P", &partitions])?;
        let expected = told(&theirs)?;
        drop(opensm);
        let lids = lids_of(&theirs, "guid2lid")?;

        let (fabric, _console) = fabric()?;
        let bed = Served::on(fabric, &config(node))?;
        let answers = told(&bed.fabric)?;
        let paths = expected.iter().filter(|line| line.contains("dlid")).count();
        ensure!(paths > 20, "{expected:#?}");
        for (own, theirs) in answers.iter().zip(&expected) {
            ensure!(
                own == theirs,
                "{node}: {own} instead of {theirs}: {answers:#?}"
            );
        }
        ensure!(answers.len() == expected.len());
        let own = lids_of(&bed.fabric, "state/guid2lid")?;
        ensure!(own == lids && own.len() == 2, "{own:?} instead of {lids:?}");
        for (host, port) in [("H1", "10:1"), ("H2", "10:11")] {
            let joined = change(&bed, host, "--set", BROADCAST, port)?;
            ensure!(joined == "0x0000", "{joined}: {}", bed.daemon.logged());
        }
        ensure!(bed.status()?["subnet_manager"]["findings_count"] == 0);
    }
    Ok(())
}

/// The LIDs of the path between the hosts, as H2 is told; none where it is told none.
fn path(fabric: &Fabric) -> Option<String> {
    let gids = ["PR", "--sgid-to-dgid", "fe80::10:11-fe80::10:1"];
    let said = fabric.saquery("H2", &gids).ok()?;
    let lids: Vec<&str> = said.lines().filter(|it| it.contains("lid...")).collect();
    (!lids.is_empty()).then(|| lids.concat())
}

/// Waits until H2 has the path again, and the daemon has so many switches.
fn wait_for_path(bed: &Served, switches: u64, lids: &str) -> Result<()> {
    let waited = wait_for("the path", PATIENCE, || {
        let told = bed.status().map_err(std::io::Error::other)?;
        let is_it = told["ready"] == true && told["snapshot"]["switches"] == switches;
        Ok(is_it && path(&bed.fabric).as_deref() == Some(lids))
    });
    waited.with_context(|| bed.daemon.logged())
}

#[test]
fn a_cable_is_pulled_and_moves_into_a_switch_and_back() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = fabric()?;
    let bed = Served::on(fabric, &config("H1"))?;
    let lids = path(&bed.fabric).context("a path")?;
    ensure!(change(&bed, "H2", "--set", BROADCAST, "10:11")? == "0x0000");

    // Without a link nobody is answered, and that is no failure.
    console.say("Unlink \"H2\"[1]")?;
    let waited = wait_for("not ready", PATIENCE, || {
        let told = bed.status().map_err(std::io::Error::other)?;
        let why = told["not_ready"].as_str().unwrap_or_default();
        Ok(told["ready"] == false && why.contains("no link"))
    });
    waited.with_context(|| bed.daemon.logged())?;
    console.say("Link \"H1\"[1] \"H2\"[1]")?;
    wait_for_path(&bed, 0, &lids)?;

    console.say("Unlink \"H1\"[1]")?;
    console.say("Link \"H1\"[1] \"S0\"[1]")?;
    console.say("Link \"H2\"[1] \"S0\"[2]")?;
    wait_for_path(&bed, 1, &lids)?;

    console.say("Unlink \"H1\"[1]")?;
    console.say("Unlink \"H2\"[1]")?;
    console.say("Link \"H1\"[1] \"H2\"[1]")?;
    wait_for_path(&bed, 0, &lids)?;
    let told = &bed.status()?["subnet_manager"];
    ensure!(told["failed_sweeps"] == 0, "{told}");
    Ok(())
}

#[test]
fn a_host_alone_waits_for_a_link() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = fabric()?;
    console.say("Unlink \"H2\"[1]")?;
    let config = config("H1").write(fabric.dir())?;
    let mut daemon = Daemon::start(&fabric, &config)?;
    daemon.wait_logged("no link, and waits for one")?;
    let told = status(&fabric)?;
    let why = told["not_ready"].as_str().context("why not")?;
    ensure!(why.contains("no link"), "{told}");
    ensure!(told["subnet_manager"]["sets"] == 0, "{told}");
    console.say("Link \"H1\"[1] \"H2\"[1]")?;
    daemon.next_epoch("ready")?;
    ensure!(path(&fabric).is_some(), "{}", daemon.logged());
    // Told once, however often it was looked at.
    let times = daemon.logged().matches("waits for one").count();
    ensure!(times == 1, "{}", daemon.logged());
    Ok(())
}
