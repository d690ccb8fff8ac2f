//! The table of OpenSM's engines: twelve fabrics by all engines of OpenSM 3.3.23.
//!
//! A combination is one OpenSM on the simulator with the preload library in it, which is there for all that
//! follows:
//!
//! | source | what the snapshot comes from |
//! |---|---|
//! | `files` | OpenSM's dumps, with the SLs that it answered as `psl`; on a torus by torus-2QoS the configuration |
//! | `sa` | every record asked of OpenSM's SA, and the SL of every pair where its engine gives them |
//! | `opensm` | the SMPs that the library overheard from the first one on, and SLs as with `sa` |
//!
//! OpenSM answers some 2,000 to 8,000 requests for PathRecords and MultiPathRecords once ([`questions`]); each
//! snapshot answers the same, and each record must be OpenSM's ([`answers`]). `sapphire check` must say of the
//! dumps what ibdmchk says, and what ibdmchk passes must be publishable from each source.
//!
//! Requests reach OpenSM by the library's socket, since long replies do not get through the simulator, and the
//! snapshots answer in this process by the functions of the daemon's lanes. The daemon itself stands beside OpenSM
//! in virtual machines (`tests/vm`).
//!
//! Two things are compared less than all: with DFSSSP and VLs to spare (random, tori) a path has several SLs in
//! turn, so that `files` gives one of these, while `sa` and `opensm` know none and leave such paths to OpenSM
//! (deviation 54); and with LASH and DFSSSP no request names an SL, as SLs that are all 0 are taken for the policy's.
//!
//! An engine that refuses a fabric leaves it to minhop. Such a combination is compared as well, and the table of
//! docs/routing/opensm.md has OpenSM's reason; the test refuses a table that says otherwise. Torus-2QoS runs on
//! tori alone, as it needs a configuration of one.

mod answers;
mod fabrics;
mod page;
mod questions;
mod run;
mod sources;
mod verdicts;

use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use sa_compiler::pipeline::Compiled;
use sa_rig::Fabric;
use sa_tests::skip;

use self::answers::{Counts, Recorded};
use self::fabrics::{ENGINES, SHAPES, Shape};
use self::page::Cell;
use self::questions::Questions;
use self::run::{Outcome, Plan, Run};
use crate::beside::{Asked, lock};
use crate::ibdmchk;

#[test]
fn every_engine_of_opensm_is_answered_as_opensm_answers() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    if ibdmchk::is_missing() {
        return Ok(());
    }
    let _turn = sa_tests::turn::heavy();
    let next = Mutex::new(SHAPES.iter().enumerate());
    let work = || {
        let mut rows = Vec::new();
        loop {
            // Locked no longer than this takes.
            let taken = lock(&next).next();
            let Some((nth, shape)) = taken else {
                return rows;
            };
            rows.push((nth, row(shape)));
        }
    };
    let mut rows = Vec::new();
    thread::scope(|scope| {
        for thread in [0; 2].map(|_| scope.spawn(work)) {
            rows.extend(thread.join().map_err(|_| anyhow!("a row panicked"))?);
        }
        anyhow::Ok(())
    })?;
    rows.sort_by_key(|(nth, _)| *nth);
    let rows = rows.into_iter().map(|(_, row)| row);
    let rows: Vec<Row> = rows.collect::<Result<_>>()?;
    let failures: Vec<&str> = rows
        .iter()
        .flat_map(|row| &row.failures)
        .map(String::as_str)
        .collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    if only().is_some() {
        return Ok(());
    }
    let cells: Vec<Vec<Cell>> = rows.into_iter().map(|row| row.cells).collect();
    page::is_told(&cells)
}

/// Only combinations whose fabric and engine contain these words are run; the page is not judged then.
fn only() -> Option<String> {
    std::env::var("SAPPHIRE_TABLE_ONLY").ok()
}

/// A fabric by all engines.
struct Row {
    cells: Vec<Cell>,
    /// What was wrong, combination by combination: the others are run all the same.
    failures: Vec<String>,
}

fn row(shape: &Shape) -> Result<Row> {
    let directory = tempfile::tempdir()?;
    let mut plan = Plan {
        net: shape.make(directory.path())?,
        torus_conf: fs::read_to_string(directory.path().join("torus-2QoS.conf")).ok(),
        tables: None,
    };
    let mut row = Row {
        cells: Vec::new(),
        failures: Vec::new(),
    };
    for engine in ENGINES {
        let name = format!("{} by {engine}", shape.name);
        let is_wanted = only().is_none_or(|only| name.contains(&only));
        if !is_wanted || engine == "torus-2QoS" && plan.torus_conf.is_none() {
            row.cells.push(Cell::NotRun);
            continue;
        }
        match combination(shape, engine, &mut plan) {
            Ok(cell) => row.cells.push(cell),
            Err(error) => {
                println!("{name}: {error:?}");
                row.failures.push(format!("{name}: {error:?}"));
            }
        }
    }
    Ok(row)
}

/// One combination. Errors: a record that is not OpenSM's, another verdict than ibdmchk's.
fn combination(shape: &Shape, engine: &str, plan: &mut Plan) -> Result<Cell> {
    let start = Instant::now();
    let mut run = Run::start(shape, engine, plan)?;
    if engine == "minhop" {
        let tables = fs::read_to_string(run.fabric.dir().join("opensm-lfts.dump"))?;
        plan.tables = Some(tables);
    }
    let up = start.elapsed();
    let plain = sources::plain(&run)?;
    let mut questions = Questions::new(&plain.parts.topology, plain.parts.options.subnet_prefix);
    if ["lash", "dfsssp"].contains(&engine) {
        questions = questions.without_sls();
    }
    let recorded = Recorded::ask(&mut run.socket(&Asked::default())?, questions)?;
    let asked = start.elapsed();
    let live = [("sa", sources::sa(&run)), ("opensm", sources::opensm(&run))];
    let read = start.elapsed();
    run.opensm.stop();
    let files = sources::files(&run, &plain, &recorded)?;
    let verdict = verdicts::verdict(&run)?;
    if verdict == "no loop" {
        files.publishable()?;
    }
    let counts = compared("files", &files, &plain, &recorded)?;
    for (source, compiled) in live {
        let compiled = compiled.with_context(|| source.to_owned())?;
        if recorded.gives_in_turn() {
            // No SL is known there: all such paths are OpenSM's to answer (deviation 54).
            let counts = recorded.compare(&compiled.snapshot, &plain.snapshot)?;
            ensure!(counts.handed >= LEAST, "{source}: {counts:?}");
        } else {
            compared(source, &compiled, &plain, &recorded)?;
        }
    }
    println!(
        "{:20} {engine:11} {verdict:11} {} paths, {} of MultiPathRecord, up in {up:.1?} asked in {asked:.1?}, read in {read:.1?}, all in {:.1?}{}",
        shape.name,
        counts.paths,
        counts.multi,
        start.elapsed(),
        match &run.outcome {
            Outcome::Routed => String::new(),
            Outcome::Refused { why, other } => format!("; {why}: {other}"),
        }
    );
    Ok(Cell::of(&run.outcome))
}

/// The records of one source beside OpenSM's. Errors: they differ, or are too few.
fn compared(
    source: &str,
    ours: &Compiled,
    plain: &Compiled,
    recorded: &Recorded,
) -> Result<Counts> {
    let counts = recorded.compare(&ours.snapshot, &plain.snapshot);
    let counts = counts.with_context(|| source.to_owned())?;
    ensure!(
        counts.paths >= LEAST && counts.multi >= LEAST,
        "{source}: {counts:?}"
    );
    Ok(counts)
}

/// Records of each kind that are compared for each combination and source.
const LEAST: usize = 2000;
