//! A switch of a torus is drained: torus-2QoS routes around what has failed, and has no other way to leave a switch.

use std::fs;

use anyhow::{Context, Result, ensure};
use sa_fabric::generate::{TorusSpec, plan};
use sa_rig::Fabric;
use sa_tests::config::Config;
use sa_tests::served::Served;
use sa_tests::skip;

use super::{done, refused, way};

/// The SL that the SA gives, as `saquery` has it.
fn sl(fabric: &Fabric, lids: (&str, &str)) -> Result<String> {
    let pair = format!("{}:{}", lids.0, lids.1);
    let told = fabric.saquery("H0_0_0_0", &["PR", "--src-to-dst", &pair])?;
    let line = told
        .lines()
        .find(|line| line.trim_start().starts_with("sl."));
    Ok(line.with_context(|| told.clone())?.trim().to_owned())
}

#[test]
fn torus_2qos_leaves_a_switch_as_if_it_had_failed() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let torus = plan(&TorusSpec::new([3, 3, 3], 1))?;
    let fabric = Fabric::start(&torus.net())?;
    fs::write(fabric.dir().join("torus-2QoS.conf"), torus.torus_conf())?;
    let config = Config::of_sweep()
        .ibsim("H0_0_0_0")
        .torus()
        .with("[control]\npath = \"control\"\n");
    let bed = Served::on(fabric, &config)?;
    // Hosts of two other switches, with the drained one on the short way between.
    let lids = done(&bed, "lid list")?;
    let nodes = bed.ask("H0_0_0_0", &["nr"])?.1;
    let lid = |name: &str| -> Result<u16> {
        let node = nodes.iter().find(|it| it["node_description"] == name);
        let lid = node.with_context(|| format!("{name}: {lids}"))?["lid"].to_string();
        Ok(lid.trim_matches('"').parse()?)
    };
    let (one, other) = (lid("H0_1_1_0")?, lid("H1_1_1_0")?);
    let before = sl(&bed.fabric, (&one.to_string(), &other.to_string()))?;

    // It has a host: without the word for it nothing happens.
    let words = refused(&bed, "drain S2_2_2")?;
    ensure!(
        words.contains("--force routes are as if S2_2_2 had failed"),
        "{words}"
    );
    // The host of this Subnet Manager is never cut off.
    let words = refused(&bed, "drain S0_0_0 --force")?;
    ensure!(words.contains("this Subnet Manager is on it"), "{words}");
    ensure!(
        done(&bed, "drain --list")?["drained"]
            .as_array()
            .is_some_and(Vec::is_empty)
    );

    let drained = done(&bed, "drain S2_2_2 --force")?;
    ensure!(
        drained["severed"] == true && drained["acknowledged"] == true,
        "{drained}"
    );
    // 26 others, there and back.
    ensure!(
        drained["pairs_without_another_way"] == 52 && drained["hosts_without_another_way"] == 1,
        "{drained}"
    );
    let status = bed.status()?;
    ensure!(
        status["subnet_manager"]["drained"][0]["severed"] == true,
        "{status}"
    );
    // SLs are those of a torus that has lost a switch: the same.
    ensure!(sl(&bed.fabric, (&one.to_string(), &other.to_string()))? == before);
    let gone = nodes.iter().find(|it| it["node_description"] == "S2_2_2");
    let gone = gone.context("S2_2_2")?["node_guid"]
        .as_str()
        .context("a GUID")?;
    for from in ["H0_0_0_0", "H1_2_2_0", "H2_1_2_0"] {
        for to in ["H0_2_2_0", "H2_0_2_0", "H2_2_1_0"] {
            let way = way(&bed.fabric, "H0_0_0_0", (lid(from)?, lid(to)?))?;
            ensure!(
                way.contains("ca") && !way.contains(gone),
                "{from} {to}: {way}"
            );
        }
    }
    let none = bed.fabric.saquery(
        "H0_0_0_0",
        &["PR", "--src-to-dst", &format!("{one}:{}", lid("H2_2_2_0")?)],
    );
    ensure!(
        none.is_err() || none.is_ok_and(|told| !told.contains("dlid")),
        "a path to a host that is cut off"
    );

    // Over a restart, and back.
    let Served { daemon, fabric, .. } = bed;
    let (ended, logged) = daemon.terminate()?;
    ensure!(ended.success(), "{logged}");
    let bed = Served::on(fabric, &config)?;
    ensure!(done(&bed, "drain --list")?["drained"][0]["severed"] == true);
    done(&bed, "undrain S2_2_2")?;
    ensure!(way(&bed.fabric, "H0_0_0_0", (one, lid("H2_2_2_0")?))?.contains("ca"));
    Ok(())
}
