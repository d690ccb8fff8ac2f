//! `sapphire snapshot`: what a file holds, and whether it is whole.

use std::path::PathBuf;

use clap::Subcommand;
use sa_snapshot::SnapshotInfo;
use serde::Serialize;
use sm_control::store;

use crate::failure::Outcome;
use crate::inputs::or_fail;
use crate::json;

#[derive(Debug, Subcommand)]
pub(crate) enum Snapshot {
    /// Print what snapshot files hold
    Info(Files),
    /// Check snapshot files: digest, structure, every index
    Verify(Files),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Files {
    /// Snapshot files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// One JSON line per file
    #[arg(long)]
    json: bool,
}

/// What `--json` prints of a file.
#[derive(Serialize)]
struct Line<'a> {
    file: String,
    ok: bool,
    epoch: u64,
    built_unix: u64,
    bytes: usize,
    digest: String,
    hosts: usize,
    switches: usize,
    rules: Option<u32>,
    path_classes: usize,
    encoding: &'a str,
    qos: bool,
    sections: serde_json::Map<String, serde_json::Value>,
    provenance: Vec<&'a str>,
}

pub(crate) fn run(verb: &Snapshot) -> Outcome {
    match verb {
        Snapshot::Info(files) => each(files, print_info),
        Snapshot::Verify(files) => each(files, |path, _| println!("{path}: whole")),
    }
}

/// Opening a snapshot verifies it, so both verbs do.
fn each(files: &Files, print: impl Fn(&str, &SnapshotInfo)) -> Outcome {
    for file in &files.files {
        let info = or_fail(store::open(file))?.info();
        let path = file.display().to_string();
        if files.json {
            json::print(&line(path, &info))?;
        } else {
            print(&path, &info);
        }
    }
    Ok(())
}

fn line(file: String, info: &SnapshotInfo) -> Line<'_> {
    let sections = info.sections.iter();
    Line {
        file,
        ok: true,
        epoch: info.epoch,
        built_unix: info.built_unix,
        bytes: info.bytes,
        digest: format!("{:016x}", info.digest),
        hosts: info.hosts,
        switches: info.switches,
        rules: info.rules,
        path_classes: info.path_classes,
        encoding: info.encoding,
        qos: info.qos,
        sections: sections
            .map(|(name, bytes)| ((*name).to_owned(), (*bytes).into()))
            .collect(),
        provenance: info.provenance.lines().collect(),
    }
}

fn print_info(path: &str, info: &SnapshotInfo) {
    println!("{path}");
    println!("  digest        xxh3:{:016x}", info.digest);
    println!("  epoch         {}", info.epoch);
    println!(
        "  fabric        {} switches, {} hosts",
        info.switches, info.hosts
    );
    println!("  QoS           {}", if info.qos { "on" } else { "off" });
    match info.rules {
        Some(rules) => println!("  policy        {rules} rules"),
        None => println!("  policy        none"),
    }
    println!("  path classes  {} ({})", info.path_classes, info.encoding);
    println!("  size          {} bytes", info.bytes);
    for (name, bytes) in info.sections.iter().filter(|(_, bytes)| *bytes > 0) {
        println!("    {name:<18}{bytes:>12}");
    }
    println!("  made from");
    for line in info.provenance.lines() {
        println!("    {line}");
    }
}
