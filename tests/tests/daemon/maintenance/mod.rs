//! Maintenance of a subnet that `sapphired` manages: drain, plan, apply, LIDs of ports that are gone.

mod plans;
mod torus;

use std::fs;

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;
use sa_tests::cli::sapphire_on;
use sa_tests::schema;
use sa_tests::served::Served;
use sa_tests::skip;
use serde_json::Value;

use super::groups::{BROADCAST, change, wait_until_held};
use super::sweep::{TREE, config};

/// What a verb answers, judged by its schema, and its exit code.
fn asked(bed: &Served, line: &str) -> Result<(Value, i32)> {
    let words: Vec<&str> = line
        .split(' ')
        .chain(["--control", "control", "--json"])
        .collect();
    let output = sapphire_on(&bed.fabric, &words)?;
    let text = String::from_utf8(output.stdout.clone())?;
    let first = text
        .lines()
        .next()
        .with_context(|| format!("{line}: {output:?}"))?;
    let answer: Value = serde_json::from_str(first)?;
    schema::judge(&answer).with_context(|| answer.to_string())?;
    Ok((answer, output.status.code().context("a signal")?))
}

/// The same of what has to be done.
fn done(bed: &Served, line: &str) -> Result<Value> {
    let (answer, code) = asked(bed, line)?;
    ensure!(code == 0, "{line}: {answer}");
    Ok(answer)
}

/// The same of what has to be refused; its words.
fn refused(bed: &Served, line: &str) -> Result<String> {
    let (answer, code) = asked(bed, line)?;
    ensure!(code == 3 && answer["code"] == "refused", "{line}: {answer}");
    let words = answer["error"]["message"].as_str();
    Ok(words.with_context(|| answer.to_string())?.to_owned())
}

/// The switches and ports of a way, as its devices have it: `ibtracert`, from a node.
fn way(fabric: &Fabric, node: &str, (from, to): (u16, u16)) -> Result<String> {
    let (from, to) = (from.to_string(), to.to_string());
    Ok(fabric.tool("ibtracert", node, &[&from, &to])?)
}

/// LIDs of the hosts.
fn hosts(bed: &Served) -> Result<Vec<u16>> {
    let lids = done(bed, "lid list")?;
    let ports = lids["ports"].as_array().context("ports")?;
    let hosts = ports.iter().filter(|port| {
        port["guid"]
            .as_str()
            .is_some_and(|guid| guid.starts_with("0x00000000001000"))
    });
    let first = hosts.filter_map(|port| u16::try_from(port["first"].as_u64()?).ok());
    Ok(first.collect())
}

/// No way between two hosts passes a switch.
fn is_left(bed: &Served, switch: &str, hosts: &[u16]) -> Result<bool> {
    for from in hosts {
        for to in hosts.iter().filter(|to| *to != from) {
            let way = way(&bed.fabric, "H0", (*from, *to))?;
            ensure!(way.contains("ca"), "{from} {to}: {way}");
            if way.contains(switch) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

#[test]
fn a_drained_switch_is_left_by_all_and_may_be_pulled() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = Fabric::with_console(TREE)?;
    let mut bed = Served::on(fabric, &config())?;
    let hosts = hosts(&bed)?;
    ensure!(hosts.len() == 4 && !is_left(&bed, "0x0000000000200010", &hosts)?);
    ensure!(refused(&bed, "drain L0")?.contains("2 hosts hang on it"));
    ensure!(refused(&bed, "drain nobody")?.contains("no such switch"));
    ensure!(bed.status()?["subnet_manager"]["drained"] == Value::Array(vec![]));

    let drained = done(&bed, "drain S0")?;
    ensure!(
        drained["acknowledged"] == true && drained["sets"].as_u64() > Some(0),
        "{drained}"
    );
    ensure!(
        drained["pairs"]["path_changed"].as_u64() > Some(0),
        "{drained}"
    );
    ensure!(is_left(&bed, "0x0000000000200010", &hosts)?);
    ensure!(refused(&bed, "drain S1")?.contains("no way but S1"));
    ensure!(refused(&bed, "drain 0x200010")?.contains("already"));
    ensure!(
        bed.metric("sapphire_sm_drained")
            .ok()
            .is_none_or(|drained| drained > 0.0)
    );

    // It is pulled, a restart goes by, and it comes back: it is drained still.
    for link in ["Unlink \"S0\"[1]", "Unlink \"S0\"[2]"] {
        console.say(link)?;
    }
    done(&bed, "reload")?;
    ensure!(done(&bed, "drain --list")?["drained"][0]["present"] == false);
    ensure!(is_left(&bed, "0x0000000000200010", &hosts)?);
    let Served { daemon, fabric, .. } = bed;
    let (ended, logged) = daemon.terminate()?;
    ensure!(ended.success(), "{logged}");
    bed = Served::on(fabric, &config())?;
    console.say("Link \"S0\"[1] \"L0\"[1]")?;
    console.say("Link \"S0\"[2] \"L1\"[1]")?;
    done(&bed, "reload")?;
    let listed = done(&bed, "drain --list")?;
    ensure!(
        listed["drained"][0]["part"] == "S0" && listed["drained"][0]["present"] == true,
        "{listed}"
    );
    ensure!(is_left(&bed, "0x0000000000200010", &hosts)?);
    done(&bed, "undrain S0")?;
    ensure!(!is_left(&bed, "0x0000000000200010", &hosts)?);
    ensure!(refused(&bed, "undrain S0")?.contains("not drained"));
    Ok(())
}

#[test]
fn multicast_trees_leave_what_is_drained() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Served::on(Fabric::start(TREE)?, &config())?;
    for (host, port) in [("H1", "10:11"), ("H3", "10:31")] {
        ensure!(change(&bed, host, "--set", BROADCAST, port)? == "0x0000");
    }
    let by = |spine: &str, port: u8| {
        [
            format!("L0 0xc000 {port} 4"),
            format!("L1 0xc000 {port} 4"),
            format!("{spine} 0xc000 1 2"),
        ]
    };
    let held = |bed: &Served, lines: [String; 3]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        wait_until_held(bed, &lines)
    };
    held(&bed, by("S0", 1))?;
    // Nobody waits: what is answered is acknowledged, trees too.
    let drained = done(&bed, "drain S0")?;
    ensure!(drained["acknowledged"] == true, "{drained}");
    held(&bed, by("S1", 2))?;
    done(&bed, "undrain S0")?;
    held(&bed, by("S0", 1))?;
    // A cable alone, by its other end.
    done(&bed, "drain S0:2")?;
    held(&bed, by("S1", 2))?;

    // While it is drained a new member hears the group without it.
    ensure!(change(&bed, "H2", "--set", BROADCAST, "10:21")? == "0x0000");
    wait_until_held(&bed, &["L0 0xc000 2 4", "L1 0xc000 2 3 4", "S1 0xc000 1 2"])?;
    Ok(())
}

#[test]
fn lids_of_ports_that_are_gone_can_be_given_back() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = Fabric::with_console(TREE)?;
    let bed = Served::on(fabric, &config())?;
    ensure!(refused(&bed, "lid forget 0x100031")?.contains("is there"));
    console.say("Unlink \"H3\"[1]")?;
    done(&bed, "reload")?;
    let lids = done(&bed, "lid list")?;
    ensure!(lids["away"] == 1 && lids["present"] == 7, "{lids}");
    let none = done(&bed, "lid forget --absent-for 1d")?;
    ensure!(none["forgotten"] == Value::Array(vec![]), "{none}");
    let one = done(&bed, "lid forget 0x100031")?;
    ensure!(
        one["left"] == 7 && one["forgotten"][0]["last_seen_unix"].as_u64() > Some(0),
        "{one}"
    );
    let file = fs::read_to_string(bed.fabric.dir().join("state/guid2lid"))?;
    ensure!(!file.contains("0x0000000000100031"), "{file}");
    ensure!(refused(&bed, "lid forget 0x100031")?.contains("has no LID"));
    Ok(())
}
