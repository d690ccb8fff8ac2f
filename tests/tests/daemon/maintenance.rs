//! Maintenance of a subnet that `sapphired` manages: drain, plan, apply, LIDs of ports that are gone.

use std::fs;

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;
use sa_rig::tap::Tap;
use sa_tests::cli::sapphire_on;
use sa_tests::schema;
use sa_tests::served::Served;
use sa_tests::skip;
use serde_json::Value;

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

/// The switches and ports of a way, as its devices have it: `ibtracert`.
fn way(fabric: &Fabric, from: u16, to: u16) -> Result<String> {
    let (from, to) = (from.to_string(), to.to_string());
    Ok(fabric.tool("ibtracert", "H0", &[&from, &to])?)
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
            let way = way(&bed.fabric, *from, *to)?;
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

/// Sets on the wire meanwhile.
fn sent(tap: &Tap, work: impl FnOnce() -> Result<()>) -> Result<u64> {
    let before = tap.writes().count;
    work()?;
    Ok(tap.writes().count - before)
}

#[test]
fn what_is_applied_is_what_was_planned() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, _console, tap) = Fabric::tapped(TREE)?;
    let directory = fabric.dir().to_owned();
    fs::write(
        directory.join("blue.conf"),
        "Default=0x7fff : ALL=full ;\nblue=0x8001 : ALL=full ;\n",
    )?;
    fs::write(directory.join("lmc.toml"), "[sm]\nsubnet_timeout = 16\n")?;
    fs::write(directory.join("wrong.toml"), "[log]\nformat = \"json\"\n")?;
    let mut bed = Served::on(fabric, &config())?;
    for change in [
        "--change blue.conf",
        "--change lmc.toml",
        "--drain S0",
        "--engine minhop --undrain S0",
    ] {
        let mut plan = Value::Null;
        let none = sent(&tap, || {
            plan = done(&bed, &format!("plan {change}"))?;
            Ok(())
        })?;
        ensure!(
            none == 0,
            "{change}: a plan writes nothing, not {none} Sets"
        );
        let number = plan["plan"].as_str().context("a number")?.to_owned();
        let count = plan["sets"].as_u64();
        ensure!(count > Some(0), "{change}: {plan}");
        let kinds = plan["sets_by_attribute"].as_object().context("kinds")?;
        ensure!(kinds.values().filter_map(Value::as_u64).sum::<u64>() == count.unwrap_or(0));
        let on_wire = sent(&tap, || {
            let applied = done(&bed, &format!("apply {number}"))?;
            ensure!(
                applied["sets"].as_u64() == count,
                "{change}: {plan} {applied}"
            );
            Ok(())
        })?;
        ensure!(
            Some(on_wire) == count,
            "{change}: {on_wire} on the wire, planned {plan}"
        );
        ensure!(refused(&bed, &format!("apply {number}"))?.contains("plan again"));
    }
    ensure!(
        refused(&bed, "plan --change wrong.toml")?
            .contains("[log] can only be changed by a restart")
    );

    // What happens between a plan and its doing makes it another one.
    let plan = done(&bed, "plan --drain S0")?;
    let number = plan["plan"].as_str().context("a number")?.to_owned();
    done(&bed, "drain S1")?;
    let quiet = sent(&tap, || {
        ensure!(refused(&bed, &format!("apply {number}"))?.contains("have changed since"));
        Ok(())
    })?;
    ensure!(quiet == 0, "{quiet}");
    ensure!(done(&bed, "drain --list")?["drained"][0]["part"] == "S1");

    // A restart goes on with what is in force; the configuration file brings it back to what it says.
    let Served { daemon, fabric, .. } = bed;
    let (ended, logged) = daemon.terminate()?;
    ensure!(ended.success(), "{logged}");
    bed = Served::on(fabric, &config())?;
    let back = done(&bed, "plan --change sapphired.toml")?;
    ensure!(
        back["engine_before"] == "minhop" && back["engine"] == "updn",
        "{back}"
    );
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
