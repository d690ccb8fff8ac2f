//! `sapphire compile`: from input files to a snapshot file.
//!
//! The snapshot goes into the file as it lies in memory (ADR 0001): who opens it verifies it and
//! serves it, and nothing is parsed. `sapphired` does the same in its own process when its sources
//! change; this verb is for snapshots that are made elsewhere, looked at (`sapphire snapshot`),
//! compared (`sapphire compare`) or loaded later.
//!
//! No clock is read for it: the file that comes of the same inputs is the same byte for byte, and
//! its digest can be compared between machines. The epoch and the time of a snapshot are given by
//! the daemon when it publishes one.
//!
//! What is printed for programs, shortened:
//!
//! ```text
//! {"schema":"sapphire.compile/1","file":"t.snap","engine":"torus-2qos","switches":512,"hosts":1024,..}
//! ```

use std::path::PathBuf;

use clap::Args;
use sa_compiler::pipeline::{self, Compiled, Stamp};
use serde::Serialize;

use crate::failure::Outcome;
use crate::inputs::{FabricArgs, failure, warn};
use crate::json::{self, Document};
use crate::kept;
use crate::room;

#[derive(Debug, Args)]
pub(crate) struct Compile {
    #[command(flatten)]
    fabric: FabricArgs,
    /// Snapshot file to write
    #[arg(short, long, value_name = "FILE.snap")]
    output: PathBuf,
    /// Write the snapshot although the routes have a credit loop or wired pairs have no path
    #[arg(long)]
    allow_problems: bool,
    /// Refuse (exit 3) loops of packets that only switches themselves send each other, and of
    /// multicast, too
    #[arg(long, conflicts_with = "allow_problems")]
    strict: bool,
    /// Keep beside the snapshot, as FILE.snap.tables, what it is compiled from and its forwarding
    /// tables: then the snapshot stands in for the fabric (--snapshot), and `explain` needs no
    /// routing
    #[arg(long, conflicts_with = "snapshot")]
    keep_tables: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Compiles and writes. Nothing is written where the proof found a problem, unless it is allowed.
/// Errors: inputs (exit 1 or 2), a refusal or a problem (exit 3), the file.
pub(crate) fn run(verb: &Compile) -> Outcome {
    let given = verb.fabric.given()?;
    // What else was given stays until the end: files lie where it keeps them.
    let mut inputs = given.inputs;
    inputs.allow_lost_pairs = verb.allow_problems;
    inputs.strict = verb.strict;
    // No clock reading: the same inputs give the same file.
    let compiled = pipeline::compile(&inputs, Stamp::default()).map_err(failure)?;
    warn(&[&compiled.warnings[..], &compiled.arbitration].concat());
    if !verb.allow_problems {
        compiled.publishable().map_err(failure)?;
    }
    // Before the snapshot: it names the one that it belongs to, so that one without the other is no danger.
    let tables = match verb.keep_tables {
        true => Some(kept::keep(
            &verb.output,
            &verb.fabric.words.0,
            &inputs,
            &compiled,
        )?),
        false => None,
    };
    // Whole or not at all: where it fails, what was there before stays.
    room::write_snapshot(&verb.output, &compiled.snapshot)?;
    if verb.json {
        return print_json(verb, &compiled, tables);
    }
    print(verb, &compiled)?;
    if let Some(tables) = tables {
        outln!(
            "{}: what it was compiled from, and its tables",
            tables.display()
        );
    }
    Ok(())
}

/// One line: the file, and the pipeline's own summary.
fn print(verb: &Compile, compiled: &Compiled) -> Outcome {
    outln!("{}: {}", verb.output.display(), compiled.summary());
    Ok(())
}

/// What was written, and what it cost.
/// Most of it is read from the snapshot and not from the inputs, so it is what a server would find.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// Where it was written to.
    file: String,
    /// What was kept beside it, where that was asked for.
    tables: Option<String>,
    /// The name on the command line, as `torus-2qos`.
    engine: String,
    /// In the snapshot, like `hosts`: what failed or was never reached is not in it.
    switches: usize,
    hosts: usize,
    /// None when no policy is in force.
    rules: Option<u32>,
    /// Different sets of MTU, rate, SLs and hops that paths have; interned, so few.
    path_classes: usize,
    /// How pairs find their class: ADR 0002.
    encoding: &'a str,
    /// Of the file as well.
    snapshot_bytes: usize,
    /// 16 hex digits.
    digest: String,
    /// Of hosts that are wired; above 0 only with `--allow-problems`, or where tables were read.
    pairs_lost: u64,
    /// True only with `--allow-problems`, or where tables were read.
    credit_loop: bool,
    /// A loop that needs packets from or to port 0 of a switch, which is in the way of writing only
    /// with `--strict`.
    management_cycle: bool,
    /// By wall time, like the three below.
    read_ms: f64,
    /// The engine.
    route_ms: f64,
    /// The proof.
    check_ms: f64,
    /// From model to verified bytes.
    build_ms: f64,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.compile/1";
}

fn print_json(verb: &Compile, compiled: &Compiled, tables: Option<PathBuf>) -> Outcome {
    let info = compiled.snapshot.info();
    let timings = &compiled.timings;
    json::print(&Report {
        file: verb.output.display().to_string(),
        tables: tables.map(|tables| tables.display().to_string()),
        engine: compiled.parts.routes.engine().to_string(),
        switches: info.switches,
        hosts: info.hosts,
        rules: info.rules,
        path_classes: info.path_classes,
        encoding: info.encoding,
        snapshot_bytes: info.bytes,
        digest: format!("{:016x}", info.digest),
        // Of hosts alone: with port 0 of switches nobody talks but management.
        pairs_lost: compiled.proof.reachability.lost_between_hosts,
        credit_loop: compiled.proof.credit_loop.is_some(),
        management_cycle: compiled.proof.management_loop.is_some(),
        read_ms: timings.read.as_secs_f64() * 1e3,
        route_ms: timings.route.as_secs_f64() * 1e3,
        check_ms: timings.check.as_secs_f64() * 1e3,
        build_ms: timings.build.as_secs_f64() * 1e3,
    })
}
