//! A simulator that ends and is started again under the same name: `sapphired` says so, attaches
//! its port anew by itself, and answers as before.

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, TWO_HOSTS, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::PATIENCE;
use sa_tests::served::{DUMPED, Served};
use sa_tests::skip;
use serde_json::Value;

fn served() -> Result<Served> {
    let config = Config::of_files(DUMPED)
        .ibsim("H1")
        .with("[control]\npath = \"control\"\n")
        .with("[http]\nlisten = \"127.0.0.1:0\"\n");
    Served::after_opensm(TWO_HOSTS, ("H1", &[]), &config)
}

/// What saquery prints of the path between the hosts.
fn path(served: &Served) -> Result<String> {
    let gids = ["PR", "--sgid-to-dgid", "fe80::10:11-fe80::10:1"];
    Ok(served.fabric.saquery("H2", &gids)?)
}

#[test]
fn a_simulator_that_returns_is_served_again() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let mut bed = served()?;
    let before = path(&bed)?;
    let status = bed.status()?;
    ensure!(
        status["ports"][0]["attached"] == true && status["ports"][0]["attachments"] == 1,
        "{status}"
    );
    let received = status["ports"][0]["mads"]["received"].as_u64();
    ensure!(received.is_some_and(|count| count > 0), "{status}");

    bed.fabric.ibsim().stop();
    bed.daemon.wait_logged("waiting for it to return")?;
    let (code, why) = bed.page("/ready")?;
    ensure!(
        code == 503 && why.contains("port 0 is not attached"),
        "{why}"
    );
    ensure!(bed.page("/health")?.0 == 200, "the daemon itself is well");
    ensure!(bed.metric("sapphire_port_attached{port=\"0\"}")? == 0.0);

    bed.fabric.restart()?;
    bed.daemon.wait_logged("attached again")?;
    bed.fabric.configure("H1", &[])?;
    ensure!(path(&bed)? == before, "the answers are those of before");
    wait_for("/ready", PATIENCE, || {
        let page = bed.page("/ready").map_err(std::io::Error::other)?;
        Ok(page.0 == 200)
    })?;
    ensure!(bed.metric("sapphire_port_attached{port=\"0\"}")? == 1.0);
    ensure!(bed.metric("sapphire_port_attachments_total{port=\"0\"}")? == 2.0);
    // What the old handles counted stays.
    let all = bed.metric("sapphire_port_mads_total{port=\"0\",kind=\"received\"}")?;
    let least = received.unwrap_or(0) + 1;
    ensure!(all >= least as f64, "{all} of at least {least}");
    bed.daemon.signal("USR1")?;
    bed.daemon
        .wait_logged("MADs port=0 attachments=2 attached=true counted=received:")?;

    // Long replies are the slow lane's, whose way out is another one too.
    let output = bed.query("H2", &["nr"])?;
    let nodes: Value = serde_json::from_slice(&output.stdout).context(format!("{output:?}"))?;
    ensure!(
        nodes["records"].as_array().map(Vec::len) == Some(3),
        "{nodes}"
    );
    let (ended, logged) = bed.daemon.terminate()?;
    ensure!(ended.success(), "{logged}");
    Ok(())
}
