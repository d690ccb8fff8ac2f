//! How links are, asked of `sapphired` as the Subnet Manager of a simulated fabric.

use std::io;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};
use sa_tests::cli::sapphire_on;
use sa_tests::config::Config;
use sa_tests::daemon::PATIENCE;
use sa_tests::schema;
use sa_tests::served::Served;
use sa_tests::skip;
use serde_json::Value;

use super::sweep::{TREE, config};

/// As a Subnet Manager that reads each port once a second.
fn watching() -> Config {
    config()
        .with("[health]\nperiod_s = 1\n")
        .with("[http]\nlisten = \"127.0.0.1:0\"\n")
}

/// `sapphire fabric health --json`, and its exit status.
fn health(fabric: &Fabric, more: &[&str]) -> Result<(Value, Option<i32>)> {
    let line = ["fabric", "health", "--control", "control", "--json"];
    let output = sapphire_on(fabric, &[&line, more].concat())?;
    let answer: Value =
        serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    ensure!(schema::judge(&answer)? == "sapphired.health/1", "{answer}");
    Ok((answer, output.status.code()))
}

/// Waits until the answer is like that, and gives it.
fn wait_health(
    fabric: &Fabric,
    what: &'static str,
    is_it: impl Fn(&Value) -> bool,
) -> Result<(Value, Option<i32>)> {
    let mut last = None;
    wait_for(what, PATIENCE, || {
        let (answer, code) = health(fabric, &[]).map_err(io::Error::other)?;
        let is_it = is_it(&answer);
        last = Some((answer, code));
        Ok(is_it)
    })
    .with_context(|| format!("{last:?}"))?;
    last.context("an answer")
}

fn has(answer: &Value, kind: &str) -> bool {
    find(answer, kind).is_some()
}

fn find<'a>(answer: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut findings = answer["findings"].as_array().into_iter().flatten();
    findings.find(|finding| finding["kind"] == kind)
}

/// What perfquery prints of a counter.
fn printed(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches([':', '.']).trim().parse().ok()
}

/// `sapphire top` has the Subnet Manager and its findings, each once, with what to do.
fn seen_on_a_frame(fabric: &Fabric) -> Result<()> {
    let line = ["top", "--once", "--every", "100ms", "--control", "control"];
    let output = sapphire_on(fabric, &line)?;
    let frame = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{frame}");
    for part in [
        "waiting: nodes 8, ",
        "links: 16 ports, 16 read; faults 2, hints ",
        "FAULT symbol_errors \"L0\" port 3 ",
        "FAULT receive_errors \"L0\" port 3 ",
        " ended: nodes 8, ",
    ] {
        ensure!(frame.contains(part), "{part}: {frame}");
    }
    // Hints too: a simulated link runs at less than it could.
    let found = ["\nFAULT ", "\nhint  "].map(|word| frame.matches(word).count());
    let remedies = frame.matches("\n      do: ").count();
    ensure!(found[0] == 2 && remedies == found[0] + found[1], "{frame}");
    Ok(())
}

#[test]
fn counters_are_those_of_perfquery_and_errors_are_found() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut console) = Fabric::with_console(TREE)?;
    let mut bed = Served::on(fabric, &watching())?;
    let (answer, code) = wait_health(&bed.fabric, "each port to be read", |it| it["read"] == 16)?;
    ensure!(
        code == Some(0) && answer["ports"] == 16,
        "{code:?} {answer}"
    );
    ensure!(
        answer["devices"] == 8 && answer["unanswered"] == 0,
        "{answer}"
    );

    // After the first reading: what was there before is nobody's.
    for (field, value) in [
        ("SymbolErrorCounter", 77),
        ("PortRcvErrors", 12),
        ("LinkDownedCounter", 1),
    ] {
        console.say(&format!(
            "PerformanceSet \"L0\"[3] PortCounters.{field}={value}"
        ))?;
    }
    let (answer, code) = wait_health(&bed.fabric, "the errors", |it| {
        has(it, "symbol_errors") && has(it, "receive_errors")
    })?;
    ensure!(code == Some(3), "{code:?} {answer}");
    ensure!(
        answer["faults"] == 2 && answer["totals"]["symbol_errors"] == 77,
        "{answer}"
    );
    let found = find(&answer, "symbol_errors").context("symbols")?;
    ensure!(
        found["at"]["name"] == "L0" && found["at"]["port"] == 3,
        "{found}"
    );
    ensure!(
        found["peer"]["name"] == "H0" && found["count"] == 77,
        "{found}"
    );
    ensure!(found["bit_error_rate"].as_f64() > Some(1e-12), "{found}");

    seen_on_a_frame(&bed.fabric)?;

    // The same tables, read by another program.
    let (answer, _) = health(&bed.fabric, &["--node", "L0"])?;
    let ports = answer["node"].as_array().context("ports")?;
    ensure!(ports.len() == 4, "{answer}");
    let port = &ports[2];
    let lid = bed.ask("H1", &["nr"])?.1;
    let lid = lid.iter().find(|record| {
        record["node_guid"]
            .as_str()
            .is_some_and(|it| it.ends_with("200000"))
    });
    let lid = lid.context("the record of L0")?["lid"].to_string();
    let text = bed.fabric.tool("perfquery", "H1", &[&lid, "3"])?;
    for (theirs, ours) in [
        ("SymbolErrorCounter", "symbol_errors"),
        ("LinkErrorRecoveryCounter", "link_recoveries"),
        ("LinkDownedCounter", "link_downed"),
        ("PortRcvErrors", "receive_errors"),
        ("PortXmitDiscards", "xmit_discards"),
        ("LocalLinkIntegrityErrors", "integrity_errors"),
        ("VL15Dropped", "vl15_dropped"),
        ("PortXmitWait", "xmit_wait"),
    ] {
        let (theirs, ours) = (printed(&text, theirs), port["counters"][ours].as_u64());
        ensure!(
            theirs.is_some() && theirs == ours,
            "{theirs:?} {ours:?}\n{text}\n{port}"
        );
    }
    // Traffic goes on meanwhile.
    let sent = printed(&text, "PortXmitPkts").context("packets")?;
    ensure!(
        port["counters"]["xmit_packets"].as_u64() <= Some(sent),
        "{text}\n{port}"
    );

    // In the log once, in the status, and in the metrics.
    bed.daemon
        .wait_logged("77 symbol errors in the last hour")?;
    let told = bed.status()?["subnet_manager"].clone();
    ensure!(told["findings_count"] == 2, "{told}");
    ensure!(
        told["findings"].to_string().contains("symbol errors"),
        "{told}"
    );
    let labels = "sapphire_health_findings{kind=\"symbol_errors\",severity=\"fault\"}";
    ensure!((bed.metric(labels)? - 1.0).abs() < f64::EPSILON);
    let counted = bed.metric("sapphire_health_counted_total{counter=\"symbol_errors\"}")?;
    ensure!((counted - 77.0).abs() < f64::EPSILON, "{counted}");
    ensure!(bed.daemon.logged().matches("77 symbol errors").count() == 1);
    Ok(())
}

/// Counters at their largest value: cleared where that is configured, and those alone.
#[test]
fn full_counters_are_cleared_where_that_is_configured() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    for clears in [true, false] {
        let (fabric, mut console) = Fabric::with_console(TREE)?;
        let clear = if clears { "full" } else { "never" };
        let config = config().with(&format!("[health]\nperiod_s = 1\nclear = \"{clear}\"\n"));
        let bed = Served::on(fabric, &config)?;
        wait_health(&bed.fabric, "each port to be read", |it| it["read"] == 16)?;
        let lid = bed.ask("H1", &["nr"])?.1;
        let lid = lid.iter().find(|it| it["node_description"] == "L0");
        let lid = lid.context("L0")?["lid"].to_string();
        let counters = || -> Result<(Option<u64>, Option<u64>)> {
            let text = bed.fabric.tool("perfquery", "H1", &[&lid, "3"])?;
            Ok((
                printed(&text, "SymbolErrorCounter"),
                printed(&text, "PortRcvErrors"),
            ))
        };
        console.say("PerformanceSet \"L0\"[3] PortCounters.PortRcvErrors=7")?;
        console.say("PerformanceSet \"L0\"[3] PortCounters.SymbolErrorCounter=65535")?;
        if clears {
            wait_for("the counter to be cleared", PATIENCE, || {
                Ok(counters().map_err(io::Error::other)?.0 == Some(0))
            })?;
            // Nobody else lost a count by it, and what was counted is not forgotten.
            ensure!(counters()? == (Some(0), Some(7)));
            let (answer, _) = wait_health(&bed.fabric, "the end of it", |it| !has(it, "full"))?;
            ensure!(answer["totals"]["symbol_errors"] == 65535, "{answer}");
            // It counts again.
            console.say("PerformanceSet \"L0\"[3] PortCounters.SymbolErrorCounter=40")?;
            wait_health(&bed.fabric, "what was counted since", |it| {
                it["totals"]["symbol_errors"] == 65575
            })?;
        } else {
            let (answer, _) = wait_health(&bed.fabric, "a full counter", |it| has(it, "full"))?;
            let found = find(&answer, "full").context("full")?;
            ensure!(
                found["at"]["name"] == "L0" && found["severity"] == "hint",
                "{found}"
            );
            ensure!(counters()? == (Some(65535), Some(7)), "nothing is cleared");
        }
    }
    Ok(())
}

#[test]
fn a_slow_link_is_found_by_the_sweep_and_a_mute_port_disturbs_none() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    // One lane, where both ends could have more.
    let net = TREE.replace("[3] \"H0\"[1]\n", "[3] \"H0\"[1] w=1\n");
    let net = net.replace("[1] \"L0\"[3]\n", "[1] \"L0\"[3] w=1\n");
    let (fabric, mut console) = Fabric::with_console(&net)?;
    let bed = Served::on(fabric, &watching())?;
    // The simulator keeps what is enabled, and says of all devices that they could have twelve.
    let (answer, code) = wait_health(&bed.fabric, "the links", |it| it["hints"] == 8)?;
    ensure!(code == Some(0), "hints are no faults: {answer}");
    let all = answer["findings"].as_array().context("findings")?;
    let narrow = |it: &&Value| it["what"] == "runs at 1x SDR, and both ends could 12x";
    let narrow: Vec<&Value> = all.iter().filter(narrow).collect();
    ensure!(
        narrow.len() == 1 && narrow[0]["kind"] == "limited",
        "{answer}"
    );
    let places = [&narrow[0]["at"]["name"], &narrow[0]["peer"]["name"]];
    ensure!(places == ["H0", "L0"], "{answer}");
    wait_health(&bed.fabric, "each port to be read", |it| it["read"] == 16)?;

    // Attribute 0x12 alone: SMPs pass.
    console.say("Error \"H3\"[1] 100 18")?;
    let (answer, _) = wait_health(&bed.fabric, "the mute host", |it| has(it, "mute"))?;
    let mute = find(&answer, "mute").context("mute")?;
    ensure!(
        mute["at"]["name"] == "H3" && mute["severity"] == "hint",
        "{mute}"
    );
    let failed = &bed.status()?["subnet_manager"]["failed_sweeps"];
    ensure!(failed == 0, "{failed}");
    console.say("Error \"H3\"[1] 0")?;
    wait_health(&bed.fabric, "the host to answer", |it| !has(it, "mute"))?;
    let logged = bed.daemon.logged();
    ensure!(
        !logged.contains("runs at 1x"),
        "hints are not for the log: {logged}"
    );
    Ok(())
}
