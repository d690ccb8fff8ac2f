//! Fabrics that `sapphire fabric` makes, as OpenSM routes them, and how good routes are.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;
use serde_json::Value;

use crate::cli::sapphire_in;

/// The net file of a fabric: words as behind `sapphire fabric`.
pub fn net(shape: &str) -> Result<String> {
    let directory = tempfile::tempdir()?;
    let mut arguments = vec!["fabric"];
    arguments.extend(shape.split(' '));
    arguments.extend(["-o", "made"]);
    let made = sapphire_in(directory.path(), &arguments)?;
    let said = String::from_utf8_lossy(&made.stderr);
    ensure!(made.status.success(), "{said}");
    Ok(fs::read_to_string(directory.path().join("made/net"))?)
}

/// A fabric that OpenSM has routed and left. `engine` as its option -R takes it.
pub fn routed_by_opensm(shape: &str, engine: &str, more: &[&str]) -> Result<Fabric> {
    let net = net(shape)?;
    let host = net.split('"').find(|name| name.starts_with('H'));
    let fabric = Fabric::start(&net)?;
    fabric.configure(host.context("no host")?, &[&["-R", engine], more].concat())?;
    Ok(fabric)
}

/// What `sapphire route --quality` says of a fabric.
pub fn quality(directory: &Path, fabric: &str, engine: &str) -> Result<Value> {
    let line = [
        "route",
        "--fabric",
        fabric,
        "--engine",
        engine,
        "--quality=200",
        "--json",
    ];
    let output = sapphire_in(directory, &line)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{engine}: {said}");
    Ok(serde_json::from_slice(&output.stdout)?)
}
