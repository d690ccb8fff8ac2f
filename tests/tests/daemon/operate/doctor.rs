//! `sapphire doctor`; what it finds on machines made of files is tested beside its code.

use std::fs;

use anyhow::{Context, Result, ensure};
use sa_rig::Scratch;
use serde_json::Value;

use super::bed::Bed;
use sa_tests::cli::sapphire_in;

const CONTROL: &str = "[control]\npath = \"control\"\n[state]\ndirectory = \"state\"\n";

/// Exit status and findings.
fn findings(bed: &Bed, root: &str) -> Result<(Option<i32>, Vec<Value>)> {
    let arguments = [
        "doctor",
        "--json",
        "--config",
        "sapphired.toml",
        "--root",
        root,
    ];
    let output = sapphire_in(bed.ring.dir(), &arguments)?;
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().map(serde_json::from_str);
    Ok((output.status.code(), lines.collect::<Result<_, _>>()?))
}

/// Verdict about this, and what was said.
fn about<'a>(findings: &'a [Value], what: &str) -> Result<(&'a str, &'a str)> {
    let found = findings.iter().find(|finding| finding["about"] == what);
    let found = found.with_context(|| format!("{what} in {findings:#?}"))?;
    let text = |name: &str| found[name].as_str().unwrap_or_default();
    Ok((text("verdict"), text("what")))
}

#[test]
fn a_daemon_and_its_files_are_looked_at() -> Result<()> {
    let root = Scratch::new()?;
    let root = root.path().to_str().context("a path")?.to_owned();
    let mut bed = Bed::new(CONTROL)?;
    // Neither daemon nor state directory.
    let (status, found) = findings(&bed, &root)?;
    ensure!(status == Some(3), "{found:#?}");
    ensure!(about(&found, "state")?.0 == "problem");
    ensure!(about(&found, "control")?.0 == "warning");
    ensure!(about(&found, "devices")?.1.contains("no InfiniBand device"));
    for finding in &found {
        let is_ok = finding["verdict"] == "ok";
        ensure!(is_ok != finding["remedy"].is_string(), "{finding}");
    }
    fs::create_dir(bed.ring.dir().join("state"))?;
    bed.ring.serve()?;
    let (status, found) = findings(&bed, &root)?;
    ensure!(status == Some(0), "{found:#?}");
    ensure!(about(&found, "control")? == ("ok", "the daemon answers, and is ready"));
    ensure!(about(&found, "state")?.0 == "ok");
    let (verdict, what) = about(&found, "config")?;
    ensure!(
        verdict == "ok" && what.contains("27 switches, 54 hosts"),
        "{what}"
    );

    bed.set_policy("nonsense\n")?;
    let (status, found) = findings(&bed, &root)?;
    let (verdict, what) = about(&found, "config")?;
    ensure!(
        status == Some(3) && verdict == "problem" && what.contains("policy.conf:1:1"),
        "{what}"
    );
    Ok(())
}

#[test]
fn this_machine_can_be_looked_at() -> Result<()> {
    let scratch = Scratch::new()?;
    let output = sapphire_in(scratch.path(), &["doctor"])?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(matches!(output.status.code(), Some(0 | 3)), "{text}");
    ensure!(text.contains("problems, "), "{text}");
    Ok(())
}
