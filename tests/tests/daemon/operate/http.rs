//! Metrics, health, ready, and log lines for machines.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use sa_rig::wait_for;
use sa_tests::metrics;

use super::bed::{Bed, PATIENCE, get, policy};

/// Samples by name and labels.
fn samples(page: &str) -> Result<BTreeMap<String, f64>> {
    Ok(metrics::read(page)?.samples)
}

#[test]
fn ready_flips_and_metrics_tell_what_happens() -> Result<()> {
    let mut bed = Bed::new("")?;
    bed.set_policy("nonsense\n")?;
    bed.ring.start()?;
    let address = bed.http()?;
    bed.ring.wait_logged("no snapshot yet")?;
    let (status, why) = get(address, "/ready")?;
    ensure!(
        status == 503 && why.contains("no snapshot yet") && why.contains("policy.conf"),
        "{why}"
    );
    ensure!(get(address, "/health")? == (200, "ok\n".to_owned()));
    let before = samples(&get(address, "/metrics")?.1)?;
    ensure!(before["sapphire_ready"] == 0.0 && before["sapphire_snapshot_epoch"] == 0.0);
    ensure!(before["sapphire_reload_total{result=\"failed\"}"] >= 1.0);

    bed.set_policy(&policy(15))?;
    bed.ring.wait_logged("ready epoch=")?;
    wait_for("/ready", PATIENCE, || {
        let (status, _) = get(address, "/ready").map_err(std::io::Error::other)?;
        Ok(status == 200)
    })?;
    let asked = bed.answers()?.len();
    let after = samples(&get(address, "/metrics")?.1)?;
    let answered = "sapphire_queries_total{port=\"0\",result=\"answered\"}";
    let port = format!(
        "sapphire_port_served{{port=\"0\",transport=\"ring\",place=\"{}\"}}",
        bed.ring.ring().display()
    );
    for (name, value) in [
        (answered, asked as f64),
        ("sapphire_snapshot_epoch", 1.0),
        ("sapphire_ready", 1.0),
        ("sapphire_hosts", 54.0),
        ("sapphire_switches", 27.0),
        ("sapphire_reload_total{result=\"ok\"}", 1.0),
        (&port, 1.0),
        ("sapphire_port_attached{port=\"0\"}", 1.0),
        ("sapphire_port_attachments_total{port=\"0\"}", 1.0),
    ] {
        let found = after
            .get(name)
            .with_context(|| format!("{name} in {after:#?}"))?;
        ensure!(*found == value, "{name} is {found}, not {value}");
    }
    // A broken file keeps the snapshot, and the daemon ready.
    bed.set_policy("nonsense\n")?;
    bed.ring.wait_logged("the snapshot in service stays")?;
    ensure!(get(address, "/ready")?.0 == 200);
    let later = samples(&get(address, "/metrics")?.1)?;
    let failed = "sapphire_reload_total{result=\"failed\"}";
    ensure!(later[failed] > after[failed]);
    Ok(())
}

#[test]
fn nothing_else_is_served() -> Result<()> {
    let mut bed = Bed::serving("")?;
    let address = bed.http()?;
    for path in [
        "/",
        "/metrics/",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
    ] {
        ensure!(get(address, path)?.0 == 404, "{path}");
    }
    Ok(())
}

#[test]
fn log_lines_can_be_json() -> Result<()> {
    let mut bed = Bed::serving("[log]\nformat = \"json\"\n")?;
    bed.ring.terminate()?;
    let printed = fs::read_to_string(bed.ring.dir().join("printed"))?;
    let mut seen = 0;
    for line in printed.lines() {
        if line.starts_with("ready ") {
            continue;
        }
        let Ok(value) = serde_json::from_str::<serde_json::Value>(line) else {
            bail!("{line}");
        };
        ensure!(
            value["level"].is_string() && value["message"].is_string(),
            "{line}"
        );
        seen += 1;
    }
    ensure!(seen > 3, "{printed}");
    Ok(())
}

#[test]
fn other_machines_are_let_in_only_when_told_to() -> Result<()> {
    let bed = Bed::new("")?;
    let config = fs::read_to_string(bed.ring.config())?;
    fs::write(
        bed.ring.config(),
        config.replace("127.0.0.1:0", "0.0.0.0:0"),
    )?;
    let said = bed.ring.second()?;
    ensure!(said.contains("allow_remote"), "{said}");
    Ok(())
}
