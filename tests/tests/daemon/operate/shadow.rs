//! `role = "shadow"`, beside OpenSM on the simulated fabric.

use std::fs;

use anyhow::{Result, ensure};
use sa_rig::{Fabric, TWO_HOSTS, wait_for};
use serde_json::Value;

use super::bed::{PATIENCE, policy};
use sa_tests::config::Config;
use sa_tests::daemon::Daemon;
use sa_tests::served::status;
use sa_tests::skip;

fn config() -> Config {
    Config::of_files("opensm-subnet.lst")
        .ibsim("H2")
        .with("[sa]\nrole = \"shadow\"\nshadow_pairs_per_minute = 3000\n")
        .with("[control]\npath = \"control\"\n")
}

/// Waits until so much was answered.
fn wait_answered(fabric: &Fabric, wanted: u64) -> Result<Value> {
    let mut last = Value::Null;
    wait_for("answers to the shadow", PATIENCE, || {
        last = status(fabric).map_err(std::io::Error::other)?;
        Ok(last["shadow"]["answered"].as_u64() >= Some(wanted))
    })?;
    Ok(last)
}

#[test]
fn a_shadow_answers_nobody_and_finds_exactly_what_differs() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let opensm = fabric.opensm("H1", &[])?;
    let mut daemon = Daemon::start(&fabric, &config().write(fabric.dir())?)?;
    daemon.next_epoch("ready")?;
    let same = wait_answered(&fabric, 30)?;
    ensure!(
        same["shadow"]["different"] == 0,
        "{same}\n{}",
        daemon.logged()
    );
    ensure!(same["active"] == false && same["ready"] == true, "{same}");
    ensure!(same["ports"] == serde_json::json!([]), "{same}");
    daemon.terminate()?;

    fs::write(fabric.dir().join("policy.conf"), policy(15))?;
    let config = config().with("[policy]\nfile = \"policy.conf\"\n");
    let mut daemon = Daemon::start(&fabric, &config.write(fabric.dir())?)?;
    daemon.next_epoch("ready")?;
    let other = wait_answered(&fabric, 30)?;
    ensure!(other["shadow"]["different"].as_u64() > Some(0), "{other}");
    let logged = daemon.logged();
    let differences = logged
        .lines()
        .filter(|line| line.contains("shadow: another answer"));
    for line in differences {
        ensure!(
            line.contains(": pkt_life 18 at the SA, 15 in the snapshot"),
            "{line}"
        );
    }
    drop(opensm);
    Ok(())
}
