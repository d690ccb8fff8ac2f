//! `sapphire snapshot`: what a file holds, and whether it is whole.
//!
//! A snapshot is what the daemon answers from, as a file. Opening one reads it into memory and
//! checks its digest and every index in it. So `verify` is an opening whose contents are not
//! printed, and none of the verbs needs the fabric that the file was compiled from.
//!
//! `export` exists because of the SA's key: it lies in the snapshot, as requests with it get more,
//! and must not reach hosts that are not trusted with it. The copy differs in that alone (and in
//! its digest).

mod diff;

use std::path::PathBuf;

use clap::Subcommand;
use sa_fabric::{display, store};
use sa_snapshot::{EpochId, SnapshotInfo};
use serde::Serialize;

use crate::failure::Outcome;
use crate::inputs::{open_snapshot, or_fail};
use crate::json::{self, Document, Pairs};
use crate::room;

#[derive(Debug, Subcommand)]
pub(crate) enum Snapshot {
    /// Print what snapshot files hold
    Info(Files),
    /// Check snapshot files: digest, structure, every index
    Verify(Files),
    /// Say what a second snapshot would answer otherwise, by pairs of hosts
    Diff(diff::Diff),
    /// Write a copy for other hosts, for a daemon with source = "snapshot"
    Export(Export),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// Without the SA's key: whoever answers from the copy trusts nobody
    #[arg(long, required = true)]
    public: bool,
    /// Snapshot file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "FILE.snap")]
    output: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
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

/// What a file holds, for programs.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// As it was given.
    file: String,
    /// True: one that is damaged is an error.
    ok: bool,
    /// Of the daemon that made it; 0 for none.
    epoch: u64,
    /// Seconds since 1970; 0 where it was built reproducibly.
    built_unix: u64,
    /// Of the file.
    bytes: usize,
    /// Shape: 16 hex digits, XXH3 over everything.
    digest: String,
    /// Ports of CAs and routers.
    hosts: usize,
    /// Those that are routed.
    switches: usize,
    /// Match rules; none without a policy.
    rules: Option<u32>,
    /// Kinds of paths between switches.
    path_classes: usize,
    /// How the class of a pair is found.
    encoding: &'a str,
    /// Answers differ by it, with the same policy.
    qos: bool,
    /// The SA's key is inside; never which.
    sa_key: bool,
    /// Units: bytes.
    sections: Pairs<&'static str, usize>,
    /// What it was made from, a line each.
    provenance: Vec<&'a str>,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.snapshot/1";
}

/// What a copy holds, for programs.
#[derive(Debug, Serialize)]
struct Exported {
    /// The copy.
    file: String,
    /// 16 hex digits.
    digest: String,
    /// Of the copy.
    bytes: usize,
}

impl Document for Exported {
    const SCHEMA: &'static str = "sapphire.snapshot-export/1";
}

/// Errors: a file is no snapshot, or is damaged; a copy cannot be written.
pub(crate) fn run(verb: &Snapshot) -> Outcome {
    match verb {
        Snapshot::Info(files) => each(files, print_info),
        Snapshot::Verify(files) => each(files, |path, _| outln!("{path}: whole")),
        Snapshot::Diff(verb) => diff::run(verb),
        Snapshot::Export(verb) => export(verb),
    }
}

/// Errors: the file is no snapshot; the copy cannot be written, in which case none is left half
/// done.
fn export(verb: &Export) -> Outcome {
    // Opened, and so checked, before a byte is written.
    let public = or_fail(or_fail(store::open(&verb.file))?.without_key())?;
    room::write_snapshot(&verb.output, &public)?;
    let (out, digest) = (verb.output.display(), public.digest());
    if verb.json {
        return json::print(&Exported {
            file: out.to_string(),
            digest: format!("{digest:016x}"),
            bytes: public.as_bytes().len(),
        });
    }
    outln!("{out}: without the SA's key, digest xxh3:{digest:016x}");
    Ok(())
}

/// Opening a snapshot verifies it, so both verbs do.
///
/// Stops at the first file that is not whole: the files before it have been printed by then.
fn each(files: &Files, print: impl Fn(&str, &SnapshotInfo)) -> Outcome {
    for file in &files.files {
        let opened = open_snapshot(file);
        let info = opened
            // With --json a file that is damaged has its own line, after those of the files before
            // it.
            .map_err(|failure| json::line_failed(files.json, failure))?
            .info();
        let path = file.display().to_string();
        if files.json {
            json::print(&line(path, &info))?;
        } else {
            print(&path, &info);
        }
    }
    Ok(())
}

/// The same facts for `info` and `verify`; JSON does not tell the two apart.
fn line(file: String, info: &SnapshotInfo) -> Line<'_> {
    Line {
        file,
        ok: true,
        epoch: EpochId::raw(info.epoch),
        built_unix: info.built_unix,
        bytes: info.bytes,
        digest: format!("{:016x}", info.digest),
        hosts: info.hosts,
        switches: info.switches,
        rules: info.rules,
        path_classes: info.path_classes,
        encoding: info.encoding,
        qos: info.qos,
        sa_key: info.has_key,
        sections: Pairs(info.sections.clone()),
        provenance: info.provenance.lines().collect(),
    }
}

/// Sections without bytes, such as those of a policy where there is none, are left out.
///
/// Sections in the order of the file.
fn print_info(path: &str, info: &SnapshotInfo) {
    outln!("{path}");
    outln!("  digest        xxh3:{:016x}", info.digest);
    outln!("  epoch         {}", EpochId::raw(info.epoch));
    outln!(
        "  fabric        {}, {}",
        display::count(info.switches, "switch", "switches"),
        display::count(info.hosts, "host", "hosts")
    );
    outln!("  QoS           {}", if info.qos { "on" } else { "off" });
    outln!("  SA key        {}", key(info));
    match info.rules {
        Some(rules) => outln!("  policy        {}", display::count(rules, "rule", "rules")),
        None => outln!("  policy        none"),
    }
    outln!("  path classes  {} ({})", info.path_classes, info.encoding);
    outln!("  size          {} bytes", info.bytes);
    for (name, bytes) in info.sections.iter().filter(|(_, bytes)| *bytes > 0) {
        outln!("    {name:<18}{bytes:>12}");
    }
    outln!("  made from");
    for line in info.provenance.lines() {
        outln!("    {line}");
    }
}

/// Whether it is in there; never the key itself.
const fn key(info: &SnapshotInfo) -> &'static str {
    match info.has_key {
        true => "inside: for this host alone",
        false => "none: for copies",
    }
}
