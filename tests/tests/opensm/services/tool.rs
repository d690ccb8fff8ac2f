//! `sapphire query` sets, shows and deletes, at OpenSM.

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, TWO_HOSTS};
use serde_json::{Value, json};

use sa_tests::cli::sapphire_on;

/// Status and records.
fn query(fabric: &Fabric, arguments: &[&str]) -> Result<(Value, Vec<Value>)> {
    let all = [&["query"], arguments, &["--via", "ibsim:H2", "--json"]].concat();
    let output = sapphire_on(fabric, &all)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let printed: Value = serde_json::from_slice(&output.stdout)?;
    let refused = printed["status"] != "0x0000";
    let code = Some(i32::from(refused));
    ensure!(output.status.code() == code, "{arguments:?}: {said}");
    ensure!(printed["error"].is_object() == refused, "{printed}");
    let records = printed["records"].as_array().context("records")?;
    Ok((printed["status"].clone(), records.clone()))
}

pub(crate) fn sets_shows_and_deletes() -> Result<()> {
    let fabric = Fabric::start(TWO_HOSTS)?;
    let _opensm = fabric.opensm("H1", &[])?;
    let which = [
        "sr",
        "--service-id",
        "0x1000000000000005",
        "--service-gid",
        "fe80::10:11",
    ];
    let rest = [
        "--set",
        "--service-name",
        "a.service",
        "--service-lease",
        "600",
        "--service-key",
        "0123456789abcdef0123456789abcdef",
        "--service-data8-1",
        "7",
        "--service-data64-1",
        "9",
    ];
    let (status, set) = query(&fabric, &[&which[..], &rest].concat())?;
    ensure!(status == "0x0000" && set.len() == 1, "{status} {set:?}");
    ensure!(set[0]["service_pkey"] == "0xffff", "{set:?}");
    let (_, found) = query(&fabric, &["sr", "--service-name", "a.service"])?;
    ensure!(found.len() == 1, "{found:?}");
    let shown = |name: &str| found[0][name].clone();
    ensure!(shown("service_gid") == "fe80::10:11");
    ensure!(shown("service_lease") == json!(600));
    ensure!(shown("service_data8_1") == json!(7) && shown("service_data64_1") == json!(9));
    let (status, deleted) = query(&fabric, &[&which[..], &["--delete"]].concat())?;
    ensure!(status == "0x0000" && deleted.len() == 1, "{deleted:?}");
    ensure!(query(&fabric, &["sr"])?.1.is_empty());
    let (status, _) = query(&fabric, &[&which[..], &["--delete"]].concat())?;
    ensure!(status == "0x0300", "{status}");

    let (_, own) = query(&fabric, &["gir", "--guid0", "0x100011"])?;
    let lid = own[0]["lid"].to_string();
    let block = [
        "gir",
        "--lid",
        &lid,
        "--block-num",
        "0",
        "--guid1",
        "0xa001",
    ];
    let (status, set) = query(&fabric, &[&block[..], &["--set"]].concat())?;
    ensure!(status == "0x0000" && set[0]["guid1"] == "0xa001", "{set:?}");
    let (_, shown) = query(&fabric, &["gir", "--lid", &lid, "--block-num", "0"])?;
    ensure!(shown[0]["guid1"] == "0xa001", "{shown:?}");
    let (_, set) = query(&fabric, &[&block[..], &["--delete"]].concat())?;
    ensure!(set.len() == 1 && set[0]["guid1"] == "0x0", "{set:?}");
    ensure!(query(&fabric, &["iir"])?.1.is_empty());
    Ok(())
}
