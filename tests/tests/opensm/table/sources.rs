//! A snapshot of the same fabric by each source.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use routing::EngineKind;
use sa_compiler::export;
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp, compile};
use sa_fabric::formats::{psl, slvl};
use sa_source::{OnDifference, SaReader, When, compile_from_sa};
use sa_wire::sa::AttributeId;

use super::answers::Recorded;
use super::run::Run;
use crate::beside::{Asked, lock};

/// What the operator gives with every source.
fn inputs(run: &Run) -> Inputs {
    let torus_conf = pipeline::torus_conf_beside(run.fabric.dir());
    Inputs {
        opensm_conf: Some(run.conf.clone()),
        torus_conf: torus_conf.is_file().then_some(torus_conf),
        ..Inputs::default()
    }
}

/// From the dumps alone: what the tables are, with SLs of the policy.
pub(super) fn plain(run: &Run) -> Result<Compiled> {
    let inputs = Inputs {
        fabric: run.fabric.dir().to_owned(),
        engine: Some(EngineKind::Files),
        torus_conf: None,
        ..inputs(run)
    };
    Ok(compile(&inputs, Stamp::default())?)
}

/// From the dumps and what was recorded of SLs, which is written beside them as `psl`; and `slvl`, which
/// ibdmchk wants. With a torus configuration the engine is ours.
pub(super) fn files(run: &Run, plain: &Compiled, recorded: &Recorded) -> Result<Compiled> {
    let topology = &plain.parts.topology;
    let owner = |lid| {
        let owner = plain.parts.routes.lids().owner(lid);
        owner.map(|end| topology.end_port(end).node_guid)
    };
    let entries = recorded.sls().filter_map(|(from, dlid, sl)| {
        Some(psl::Entry {
            source: owner(from)?,
            dlid,
            sl: Ok(sl),
        })
    });
    let create = |name: &str| File::create(run.fabric.dir().join(name)).map(BufWriter::new);
    psl::write(&mut create("psl")?, entries)?;
    slvl::write(&mut create("slvl")?, export::sl2vl_tables(&plain.parts))?;
    let inputs = Inputs {
        fabric: run.fabric.dir().to_owned(),
        ..inputs(run)
    };
    Ok(compile(&inputs, Stamp::default())?)
}

/// Read from OpenSM's SA by questions.
pub(super) fn sa(run: &Run) -> Result<Compiled> {
    let socket = run.socket(&Asked::default())?.only_asking();
    let mut reader = SaReader::new(Box::new(socket), SAMPLES, OnDifference::Refuse);
    reader = reader.with_sl_pairs(SL_PAIRS);
    read(&mut reader, run)
}

/// From what the library has overheard since OpenSM's first SMP. The SA is read once, as the daemon does when it
/// starts; the snapshot is that of the second reading, which asks for paths, and looks at
/// some tables.
pub(super) fn opensm(run: &Run) -> Result<Compiled> {
    let asked = Asked::default();
    let socket = run.socket(&asked)?;
    let mut reader = SaReader::new(Box::new(socket), SAMPLES, OnDifference::Refuse);
    reader = reader.with_sl_pairs(SL_PAIRS);
    let first = read(&mut reader, run)?;
    reader.accept(Arc::clone(first.from_sa.as_ref().context("what was read")?));
    lock(&asked).clear();
    let second = read(&mut reader, run)?;
    let mut asked = lock(&asked).clone();
    asked.remove(&AttributeId::PATH_RECORD);
    // A reading that finds nothing new looks at some tables all the same.
    asked.remove(&AttributeId::LINEAR_FORWARDING_TABLE_RECORD);
    ensure!(asked.is_empty(), "asked {asked:?}");
    Ok(second)
}

/// Reads and compiles; sampled paths are those that OpenSM answers.
fn read(reader: &mut SaReader, run: &Run) -> Result<Compiled> {
    let inputs = Inputs {
        fabric: PathBuf::new(),
        ..inputs(run)
    };
    let read = compile_from_sa(&inputs, reader, When::Always, Stamp::default(), None)?;
    let read = read.context("a snapshot")?;
    read.publishable()?;
    Ok(read.compiled)
}

/// Paths that are compared when a fabric is read.
const SAMPLES: u32 = 100;
/// Every pair of these fabrics may be asked for.
const SL_PAIRS: u32 = 10_000;
