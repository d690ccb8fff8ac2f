//! Hosts by name in requests of paths: the SA is asked who they are.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::run::{Ended, READ, run, words};
use sa_tests::cli::program;
use sa_tests::ring::{Bed, CONFIG};

fn query(bed: &Bed, line: &str) -> Result<Ended> {
    let line = format!("query {line} --via ring:ring --json");
    run(&program("sapphire")?, bed.dir(), &words(&line), READ)
}

/// Records that are given. Errors: it fails.
fn records(bed: &Bed, line: &str) -> Result<Vec<Value>> {
    let ended = query(bed, line)?;
    ensure!(ended.code == Some(0), "{line}: {ended:?}");
    let told: Value = serde_json::from_str(&ended.out)?;
    Ok(told["records"].as_array().context("records")?.clone())
}

/// A host by name, by GUIDs, by LID and with its port is one host; the path is that of its addresses.
#[test]
fn hosts_may_be_named_as_explain_names_them() -> Result<()> {
    let mut bed = Bed::new(&format!("{CONFIG}[control]\npath = \"control\"\n"))?;
    bed.serve()?;
    let line = "explain H0_0_0_0 H1_2_0_1 --live --control control --json";
    let ended = run(&program("sapphire")?, bed.dir(), &words(line), READ)?;
    let explained: Value = serde_json::from_str(&ended.out)?;
    let (source, destination) = (&explained["source"], &explained["destination"]);
    let guid = destination["guid"].as_str().context("a GUID")?;
    let by_address = records(&bed, &format!("pr --slid {} --dgid {guid}", source["lid"]))?;
    ensure!(by_address.len() == 1, "{by_address:?}");
    ensure!(
        by_address[0]["dlid"] == destination["lid"],
        "{by_address:?}"
    );
    for to in [
        "H1_2_0_1",
        "H1_2_0_1:1",
        guid,
        &destination["lid"].to_string(),
    ] {
        let by_name = records(&bed, &format!("pr --from H0_0_0_0 --to {to}"))?;
        ensure!(by_name == by_address, "{to}: {by_name:?}");
    }
    // A switch is its port 0, and an end may be left open.
    ensure!(records(&bed, "pr --from S0_0_0 --to H1_2_0_1")?.len() == 1);
    ensure!(records(&bed, "pr --table --from H0_0_0_0")?.len() > 50);
    // Several, of which some are GIDs.
    let many = "mpr --from H0_0_0_0 --to H1_2_0_1 --to H1_1_1_0 --numb-path 10";
    let many = records(&bed, many)?;
    ensure!(many.len() == 2 && many.contains(&by_address[0]), "{many:?}");
    let mixed = format!("mpr --from H0_0_0_0 --dgid {guid}");
    ensure!(records(&bed, &mixed)? == by_address);
    Ok(())
}

#[test]
fn a_host_that_is_not_there_is_one_error_with_names_near_it() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    for (line, code, said) in [
        (
            "pr --from H0_0_0_0 --to h1_2_0_9",
            1,
            "--to \"h1_2_0_9\": no node of the subnet is called so; near it are H1_2_0_0, H1_2_0_1",
        ),
        (
            "pr --from H0_0_0 --to H1_2_0_1",
            1,
            "near it are S0_0_0, H0_0_0_0, H0_0_0_1",
        ),
        (
            "pr --from storage --to H1_2_0_1",
            1,
            "called so (give a node name",
        ),
        (
            "pr --from H0_0_0_0:7 --to H1_2_0_1",
            1,
            "\"H0_0_0_0:7\": no node",
        ),
        (
            "pr --from 0x1234567 --to H1_2_0_1",
            1,
            "\"0x1234567\": no node",
        ),
        ("pr --from 49000 --to H1_2_0_1", 1, "\"49000\": no node"),
        (
            "mpr --from H0_0_0_0 --to nobody",
            1,
            "--to \"nobody\": no node",
        ),
        ("pr --from H0_0_0_0 --slid 3", 2, "--slid"),
        ("mpr --from H0_0_0_0", 2, "--dgid"),
    ] {
        let ended = query(&bed, line)?;
        ensure!(
            ended.code == Some(code) && ended.err.contains(said),
            "{line}: {ended:?}"
        );
        let told: Value = serde_json::from_str(&ended.out)?;
        ensure!(told["error"]["exit_code"] == code, "{told}");
    }
    Ok(())
}
