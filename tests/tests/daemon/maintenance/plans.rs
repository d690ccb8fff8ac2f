//! `plan` and `apply`: Sets are counted and not sent, and then those very ones are.

use std::fs;

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;
use sa_rig::tap::Tap;
use sa_tests::config::policy_of_life;
use sa_tests::served::Served;
use sa_tests::skip;
use serde_json::Value;

use super::super::groups::{BROADCAST, change, wait_until_held};
use super::super::sweep::{TREE, config};
use super::{asked, done, refused};

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
    // A Subnet Manager has another word for it, which says more.
    let (answer, code) = asked(&bed, "reload --dry-run")?;
    let words = answer["error"]["message"].as_str();
    ensure!(
        code == 1 && words.is_some_and(|words| words.contains("`sapphire plan` says")),
        "{answer}"
    );

    // What happens between a plan and its doing makes it another one.
    let plan = done(&bed, "plan --drain S0")?;
    let number = plan["plan"].as_str().context("a number")?.to_owned();
    done(&bed, "drain S1")?;
    let quiet = sent(&tap, || {
        ensure!(refused(&bed, &format!("apply {number}"))?.contains("what is drained"));
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

/// A plan, and what it has of each kind; nothing is sent for it.
fn planned(bed: &Served, tap: &Tap, change: &str) -> Result<(Value, Vec<String>)> {
    let mut plan = Value::Null;
    let none = sent(tap, || {
        plan = done(bed, &format!("plan {change}"))?;
        Ok(())
    })?;
    ensure!(none == 0, "{change}: {none} Sets for a plan: {plan}");
    let kinds = plan["sets_by_attribute"].as_object().context("kinds")?;
    let kinds = kinds.iter().map(|(kind, sets)| format!("{kind} {sets}"));
    let kinds = kinds.collect();
    Ok((plan, kinds))
}

/// Does it: as many Sets are on the wire as were planned.
fn applied(bed: &Served, tap: &Tap, plan: &Value) -> Result<()> {
    let number = plan["plan"].as_str().context("a number")?;
    let on_wire = sent(tap, || {
        let answer = done(bed, &format!("apply {number}"))?;
        ensure!(answer["acknowledged"] == true && answer["sets"] == plan["sets"]);
        Ok(())
    })?;
    ensure!(Some(on_wire) == plan["sets"].as_u64(), "{on_wire}: {plan}");
    Ok(())
}

/// Each kind of change: how many Sets of what, whose path, whose SL, and by what moments between.
#[test]
fn each_kind_of_change_is_told_by_what_it_does() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, _console, tap) = Fabric::tapped(TREE)?;
    let directory = fabric.dir().to_owned();
    let put = |name: &str, text: &str| fs::write(directory.join(name), text);
    put("life.conf", &policy_of_life(17))?;
    put("sl.conf", &policy_of_life(17).replace("sl: 0", "sl: 3"))?;
    put(
        "blue.conf",
        "Default=0x7fff : ALL=full ;\nblue=0x8001 : ALL=full ;\n",
    )?;
    put("opensm.conf", "qos TRUE\nsubnet_timeout 17\n")?;
    put("hoq.toml", "[sm]\nhead_of_queue_lifetime = 9\n")?;
    let bed = Served::on(fabric, &config())?;

    // Answers alone: no switch needs to know, and no SL is other.
    let (plan, kinds) = planned(&bed, &tap, "--change life.conf")?;
    ensure!(
        kinds.is_empty() && plan["sets"] == 0 && plan["pairs"]["sl_changed"] == 0,
        "{plan}"
    );
    ensure!(
        plan["transition"] == "none" && plan["pairs"]["all"] == 12,
        "{plan}"
    );
    applied(&bed, &tap, &plan)?;
    // Every pair gets another SL, on the paths that it has.
    let (plan, _) = planned(&bed, &tap, "--change sl.conf")?;
    let pairs = &plan["pairs"];
    ensure!(
        pairs["sl_changed"] == 12 && pairs["sl_compared"] == 12,
        "{plan}"
    );
    ensure!(
        pairs["path_changed"] == 0 && plan["entries_changed"] == 0,
        "{plan}"
    );
    applied(&bed, &tap, &plan)?;

    // Tables of keys of all twelve ports that have some, and nothing else.
    let (plan, kinds) = planned(&bed, &tap, "--change blue.conf")?;
    ensure!(
        kinds.len() == 1 && kinds[0].starts_with("P_KeyTable "),
        "{kinds:?}"
    );
    ensure!(
        plan["pairs"]["path_changed"] == 0 && plan["pairs"]["sl_changed"] == 0,
        "{plan}"
    );
    ensure!(plan["transition"] == "none", "{plan}");
    applied(&bed, &tap, &plan)?;

    // An option of a port is PortInfo of ports.
    let (plan, kinds) = planned(&bed, &tap, "--change hoq.toml")?;
    ensure!(
        kinds.len() == 1 && kinds[0].starts_with("PortInfo "),
        "{kinds:?}"
    );
    applied(&bed, &tap, &plan)?;
    let (plan, _) = planned(&bed, &tap, "--change opensm.conf")?;
    ensure!(
        plan["change"][0]
            .as_str()
            .is_some_and(|it| it.contains("opensm.conf"))
    );
    applied(&bed, &tap, &plan)?;

    // Another engine: tables, by moments that are proved too.
    let (plan, kinds) = planned(&bed, &tap, "--engine dfsssp-nue")?;
    ensure!(
        plan["engine_before"] == "updn" && plan["engine"] == "dfsssp-nue",
        "{plan}"
    );
    ensure!(
        kinds.iter().all(|kind| !kind.starts_with("P_KeyTable")),
        "{kinds:?}"
    );
    ensure!(plan["transition"] != "not proved", "{plan}");
    ensure!(
        plan["pairs"]["lost"] == 0 && plan["lids_changed"] == 0,
        "{plan}"
    );
    applied(&bed, &tap, &plan)?;
    ensure!(done(&bed, "plan")?["engine_before"] == "dfsssp-nue");

    // The other spine: half of the pairs go another way, each moment of which is proved.
    let (plan, kinds) = planned(&bed, &tap, "--drain S0")?;
    ensure!(
        kinds
            .iter()
            .all(|kind| kind.starts_with("LinearForwardingTable ")),
        "{kinds:?}"
    );
    ensure!(plan["pairs"]["path_changed"].as_u64() > Some(0), "{plan}");
    ensure!(
        plan["transition"] == "at once" || plan["transition"] == "in stages",
        "{plan}"
    );
    applied(&bed, &tap, &plan)
}

/// A plan is done as it was made, or not at all, with the reason.
#[test]
fn a_plan_whose_ground_has_changed_is_refused() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console, tap) = Fabric::tapped(TREE)?;
    let directory = fabric.dir().to_owned();
    let put = |text: &str| fs::write(directory.join("life.conf"), text);
    put(&policy_of_life(17))?;
    let bed = Served::on(fabric, &config())?;
    let stale = |change: &str, between: &mut dyn FnMut() -> Result<()>, why: &str| -> Result<()> {
        let plan = done(&bed, &format!("plan {change}"))?;
        between()?;
        let number = plan["plan"].as_str().context("a number")?;
        let none = sent(&tap, || {
            let words = refused(&bed, &format!("apply {number}"))?;
            ensure!(words.contains(why), "{words} instead of {why}");
            Ok(())
        })?;
        ensure!(none == 0, "{why}: {none} Sets");
        Ok(())
    };

    // No Set follows from this file, but every answer.
    let mut edit = || Ok(put(&policy_of_life(18))?);
    stale("--change life.conf", &mut edit, "policy life.conf")?;
    let before = bed.status()?["epoch"].clone();
    ensure!(done(&bed, "drain --list")?["drained"] == Value::Array(vec![]));
    ensure!(bed.status()?["epoch"] == before);

    let mut drain = || done(&bed, "drain S1:1").map(drop);
    stale("--drain S0", &mut drain, "what is drained")?;
    done(&bed, "undrain S1:1")?;

    // A member whose path the new tree has to take.
    ensure!(change(&bed, "H1", "--set", BROADCAST, "10:11")? == "0x0000");
    let mut join = || {
        ensure!(change(&bed, "H3", "--set", BROADCAST, "10:31")? == "0x0000");
        wait_until_held(&bed, &["L0 0xc000 1 4", "L1 0xc000 1 4", "S0 0xc000 1 2"])
    };
    stale("--drain S0", &mut join, "who is in which multicast group")?;

    // A cable of nobody's way.
    let mut pull = || {
        console.say("Unlink \"H2\"[1]")?;
        done(&bed, "reload").map(drop)
    };
    stale("--drain S0", &mut pull, "the subnet")?;

    // What was left alone is as it was: the next plan is done.
    let plan = done(&bed, "plan --drain S0")?;
    applied(&bed, &tap, &plan)
}

/// Files that ask for another engine write nothing by themselves: to order it is `plan` and `apply`.
#[test]
fn another_engine_takes_an_order() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, _console, tap) = Fabric::tapped(TREE)?;
    let options = fabric.dir().join("opensm.conf");
    fs::write(&options, "routing_engine updn\n")?;
    let config = sa_tests::config::Config::of_sweep()
        .ibsim("H0")
        .fabric("opensm_conf = \"opensm.conf\"\n")
        .with("[control]\npath = \"control\"\n");
    let bed = Served::on(fabric, &config)?;
    let plan = done(&bed, "plan")?;
    let engine = plan["engine"].as_str().context("an engine")?.to_owned();
    ensure!(
        plan["sets"] == 0 && plan["engine_before"] == engine.as_str(),
        "{plan}"
    );
    fs::write(
        bed.fabric.dir().join("other.toml"),
        "[routing]\nengine = \"dfsssp-nue\"\n",
    )?;
    let (plan, _) = planned(&bed, &tap, "--change other.toml")?;
    ensure!(plan["engine"] == "dfsssp-nue", "{plan}");
    // Dry until it is ordered, however many sweeps go by.
    let none = sent(&tap, || done(&bed, "reload").map(drop))?;
    ensure!(none == 0, "{none}");
    let again = done(&bed, "plan")?;
    ensure!(again["engine"] == engine.as_str(), "{again}");
    let (plan, _) = planned(&bed, &tap, "--change other.toml")?;
    applied(&bed, &tap, &plan)?;
    let back = done(&bed, "plan")?;
    ensure!(
        back["engine"] == "dfsssp-nue" && back["sets"] == 0,
        "{back}"
    );
    Ok(())
}
