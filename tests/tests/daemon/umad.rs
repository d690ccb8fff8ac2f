//! `sapphired` on the umad transport, under the simulator's preload library.

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, TWO_HOSTS, records};
use sa_tests::cli::sapphire_on;
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, count};
use sa_tests::served::{DUMPED, set_up};
use sa_tests::skip;

fn config(device: &str) -> Config {
    let keys = format!("transport = \"umad\"\ndevice = \"{device}\"\nannounce_sm = true\n");
    Config::of_files(DUMPED).port(&keys)
}

#[test]
fn over_umad_it_answers_saquery_and_sapphire_query() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = set_up(TWO_HOSTS, ("H1", &[]))?;
    let config = config("ibsim0").write(fabric.dir())?;
    let mut daemon = Daemon::preloaded(&fabric, "H1", &config)?;
    ensure!(daemon.next_epoch("ready")? == 1);
    ensure!(
        daemon.logged().contains("attached to the umad device"),
        "{}",
        daemon.logged()
    );

    let printed = fabric.saquery("H2", &["PR", "--sgid-to-dgid", "fe80::10:1-fe80::10:11"])?;
    let answers = records(&printed);
    ensure!(answers.len() == 1, "{printed}");
    let (slid, dlid) = (answers[0].get("slid"), answers[0].get("dlid"));
    ensure!((slid, dlid) == (Some("1"), Some("3")), "{printed}");

    let question = ["query", "pr", "--via", "ibsim:H2", "--sa-lid", "1"];
    let ends = ["--slid", "3", "--dlid", "1", "--json"];
    let output = sapphire_on(&fabric, &[&question[..], &ends[..]].concat())?;
    ensure!(output.status.success(), "{output:?}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    ensure!(answer["status"] == "0x0000", "{answer}");
    let records = answer["records"].as_array().context("records")?;
    ensure!(records.len() == 1, "{answer}");
    ensure!(
        records[0]["slid"] == 3 && records[0]["dlid"] == 1,
        "{answer}"
    );

    let node = fabric.saquery("H2", &["NR", "3"])?;
    ensure!(node.contains("NodeDescription.........H2"), "{node}");
    let refused = fabric.saquery("H2", &["SR"]).unwrap_err().to_string();
    ensure!(refused.contains("0x000c"), "by the slow lane: {refused}");
    let counters = daemon.counters()?;
    ensure!(count(&counters, "answered=")? >= 2, "{counters}");
    ensure!(count(&counters, "punted=attribute:")? >= 1, "{counters}");
    ensure!(daemon.terminate()?.0.success());
    Ok(())
}

#[test]
fn a_host_without_the_device_is_told_what_to_do() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let config = config("mlx5_7").write(fabric.dir())?;
    let mut daemon = Daemon::preloaded(&fabric, "H1", &config)?;
    let ended = daemon.next_line().unwrap_err();
    let said = format!("{ended:#}");
    ensure!(
        said.contains("port 0 (umad): ") && said.contains("mlx5_7"),
        "{said}"
    );
    ensure!(said.contains("ibsim0/1"), "what there is: {said}");
    Ok(())
}
