//! `sapphire route`: tables in OpenSM's formats.
//!
//! Routes as the daemon would, proves the tables, and writes them where `--output` says. The dumps
//! have OpenSM's formats so that they can be compared with those of a running OpenSM, file by file;
//! `sapphire check` reads either.
//!
//! ```text
//! compile -> multicast -> warnings -> write -> report -> judge
//!            (--groups)               (--output)         exit status
//! ```
//!
//! What the tables cost is shown with them: times of routing, of SL2VL tables and of the proof, and
//! the most memory that the process held. The judgement comes last, after the tables are written:
//! one that is refused with `--strict` can still be looked at.

mod multicast;
mod quality;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use multicast::Multicast;
use quality::Quality;
use sa_compiler::export::{self, Estimate, Export, Packing, Psl, Table};
use sa_compiler::pipeline::{self, Compiled, PipelineError, Stamp, remarks_of_engine};
use sa_compiler::state::FabricState;
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::inputs::{FabricArgs, failure, or_fail, warn};
use crate::json::{self, Document, Pairs};
use crate::progress;
use crate::room;
use crate::simulate::Pair;
use crate::simulate::compare;

#[derive(Debug, Args)]
pub(crate) struct Route {
    #[command(flatten)]
    fabric: FabricArgs,
    /// Directory for the dumps; made when missing
    #[arg(short, long = "output", alias = "out", value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write psl whatever the size of the fabric
    #[arg(long)]
    psl: bool,
    /// Write these dumps only [default: all, psl up to 1000 hosts]
    #[arg(
        long,
        value_name = "TABLE,..",
        value_delimiter = ',',
        value_enum,
        requires = "out"
    )]
    tables: Vec<Named>,
    /// Compress the dumps; every verb reads FILE.xz in place of FILE
    #[arg(long, requires = "out")]
    xz: bool,
    /// Write more than 4 GiB, or more than the disk seems to have room for
    #[arg(long, requires = "out")]
    force: bool,
    /// Multicast groups (lines of MLID, MGID, sl=N and member port GUIDs); their tables go into
    /// opensm.mcfdbs
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Also say how evenly paths use the links, and what bandwidth hosts get over this many random
    /// permutations
    #[arg(
        long,
        value_name = "PERMUTATIONS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "100"
    )]
    quality: Option<u32>,
    /// Seed of these permutations
    #[arg(long, value_name = "N", default_value_t = 1, requires = "quality")]
    seed: u64,
    /// Exit 3 when wired pairs have no path, or the routes have a credit loop, be it by multicast
    /// or by packets that only switches themselves send each other
    #[arg(long)]
    strict: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// A dump by name.
///
/// The word is the short one (`lfts`), the file's name is taken as well.
#[derive(Debug, Clone, Copy)]
struct Named(Table);

impl ValueEnum for Named {
    fn value_variants<'a>() -> &'a [Self] {
        // clap wants a slice that lives for ever; iterators do not run in constants, hence the
        // loop.
        const ALL: [Named; 8] = {
            let mut all = [Named(Table::Torus); 8];
            let mut nth = 0;
            while nth < all.len() {
                all[nth] = Named(Table::ALL[nth]);
                nth += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.0.word()).alias(self.0.file());
        Some(value.help(self.0.file()))
    }
}

impl Route {
    fn tables(&self) -> Vec<Table> {
        self.tables.iter().map(|named| named.0).collect()
    }
}

/// Errors: the engine refuses; a file is wrong; there is no room; with `--strict`, what `judge`
/// says.
pub(crate) fn run(verb: &Route) -> Outcome {
    let given = verb.fabric.given()?;
    let inputs = &given.inputs;
    let compiled = match pipeline::compile(inputs, Stamp::default()) {
        Ok(compiled) => compiled,
        Err(PipelineError::Refused(refused)) => return refuse(verb, &refused),
        Err(error) => return Err(failure(error)),
    };
    // Before any output: a file of groups that cannot be read leaves nothing behind.
    let multicast = progress::step("routing multicast", || {
        Multicast::new(verb.groups.as_deref(), &inputs.fabric, &compiled)
    })?;
    warn(&compiled.warnings);
    if inputs.opensm_conf.is_some() {
        warn(&compiled.arbitration);
    }
    warn(&multicast.warnings);
    let estimate = match &verb.out {
        Some(directory) => Some(write(verb, directory, &compiled, &multicast)?),
        None => None,
    };
    report(verb, &compiled, &multicast, estimate.as_ref())?;
    judge(verb, &compiled, &multicast)
}

/// Writes the tables. Returns how large they were thought to be. Errors: they are too large for
/// the disk or for what one wants without having said so; the system's.
fn write(
    verb: &Route,
    directory: &Path,
    compiled: &Compiled,
    multicast: &Multicast,
) -> Outcome<Estimate> {
    let export = Export::new(
        (&compiled.parts, &compiled.snapshot),
        &multicast.tables,
        &verb.tables(),
        if verb.psl {
            Psl::Always
        } else {
            Psl::WhenSmall
        },
        if verb.xz { Packing::Xz } else { Packing::Plain },
    );
    let export = export.watched(progress::watch());
    let estimate = progress::step("estimating sizes", || export.estimate());
    // Nothing has been written by now, nor was the directory made.
    if let Some(why) = lacks(directory, &estimate).filter(|_| !verb.force) {
        let failure = Failure::refused(why);
        if verb.json {
            let estimate = sizes(&estimate);
            json::print_with(&TooLarge { estimate }, Some(&failure))?;
        }
        return Err(failure);
    }
    room::tell(directory, estimate.total());
    or_fail(export.write(directory))?;
    Ok(estimate)
}

/// What is written without being told to. Units: bytes.
const MOST: u64 = 4 << 30;

/// Why the tables should not be written. None where nothing is against it.
///
/// Tables of large fabrics are larger than one expects: psl grows with the square of the hosts.
/// Too large for the disk is said before too large at all: the first is no matter of taste.
fn lacks(directory: &Path, estimate: &Estimate) -> Option<String> {
    let total = estimate.total();
    let why = match room::lacks(directory, total) {
        // It is an estimate: --force is for whoever knows better.
        Some(why) => why,
        None if total > MOST => {
            format!("more than {} are not written unasked", room::in_words(MOST))
        }
        None => return None,
    };
    let largest = estimate
        .largest()
        .map_or_else(String::new, |(table, bytes)| {
            format!(", {table} alone {}", room::in_words(bytes))
        });
    Some(format!(
        "{}: the tables would take about {}{largest}: {why}; choose with --tables, compress with --xz, \
         or insist with --force. Nothing was written",
        directory.display(),
        room::in_words(total)
    ))
}

/// Shape: bytes by file, and `total`.
fn sizes(estimate: &Estimate) -> Pairs<&'static str, u64> {
    let sizes = estimate.0.iter();
    let sizes = sizes.map(|(table, bytes)| (table.file(), *bytes));
    Pairs(sizes.chain([("total", estimate.total())]).collect())
}

/// What a refused fabric leaves behind: the placement where there is one, and the reasons.
///
/// Errors: always, with the engine's reasons; before that, a placement that cannot be written.
fn refuse(verb: &Route, refused: &pipeline::Refused) -> Outcome {
    let torus = refused.refusal.torus.as_deref();
    if let (Some(directory), Some(torus)) = (&verb.out, torus) {
        or_fail(export::placement(directory, &refused.topology, torus))?;
    }
    warn(&remarks_of_engine(&refused.refusal.warnings));
    Err(Failure::refused(refused.to_string()))
}

/// The figures of routes.
#[derive(Debug, Serialize)]
struct Report {
    engine: String,
    switches: usize,
    hosts: usize,
    route_ms: f64,
    /// To make the SL2VL tables of all switches.
    sl2vl_ms: f64,
    /// The proof, that of multicast included.
    check_ms: f64,
    /// The most memory that the process ever held. Units: MB.
    peak_mb: f64,
    /// Ordered pairs of hosts that are wired together and have no path.
    pairs_lost: u64,
    /// Some of them.
    lost: Vec<Pair>,
    credit_loop: bool,
    /// Packets that a switch itself (port 0) sends or gets could close a credit loop.
    management_cycle: bool,
    /// Multicast tables that are not empty.
    mlids: usize,
    multicast_cycle: bool,
    /// None without `--quality`.
    quality: Option<Quality>,
    /// Bytes by file as they were thought to be before; none without `--output`.
    estimate: Option<Pairs<&'static str, u64>>,
    out: Option<String>,
}

impl Document for Report {
    const SCHEMA: &'static str = "sapphire.route/1";
}

/// What is printed where nothing is written, because there is no room.
///
/// With the failure beside it, so that a script can choose tables and call again.
#[derive(Debug, Serialize)]
struct TooLarge {
    /// Bytes by file.
    estimate: Pairs<&'static str, u64>,
}

impl Document for TooLarge {
    const SCHEMA: &'static str = "sapphire.route-estimate/1";
}

/// The first 20 lost pairs for people; JSON has all that the check lists.
fn report(
    verb: &Route,
    compiled: &Compiled,
    multicast: &Multicast,
    estimate: Option<&Estimate>,
) -> Outcome {
    let timings = &compiled.timings;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let info = compiled.snapshot.info();
    let lost = compiled.proof.reachability.lost_between_hosts;
    let engine = compiled.parts.routes.engine().to_string();
    let peak = peak_mb();
    let check_ms = ms(timings.check + multicast.check);
    let quality = verb.quality;
    let quality = quality.map(|drawn| {
        progress::step("drawing permutations", || {
            Quality::new(&compiled.parts, drawn, verb.seed)
        })
    });
    if verb.json {
        let pairs = compare::lost(compiled).into_iter();
        return json::print(&Report {
            engine,
            switches: info.switches,
            hosts: info.hosts,
            route_ms: ms(timings.route),
            sl2vl_ms: sl2vl_ms(&compiled.parts),
            check_ms,
            peak_mb: peak,
            pairs_lost: lost,
            lost: pairs.map(|(from, to)| Pair { from, to }).collect(),
            credit_loop: compiled.proof.credit_loop.is_some(),
            management_cycle: compiled.proof.management_loop.is_some(),
            mlids: multicast.mlids(),
            multicast_cycle: has_multicast_cycle(compiled, multicast),
            quality,
            estimate: estimate.map(sizes),
            out: verb.out.as_deref().map(|path| path.display().to_string()),
        });
    }
    outln!("engine           {engine}");
    outln!("switches         {}", info.switches);
    outln!("hosts            {}", info.hosts);
    outln!("route_ms         {:.2}", ms(timings.route));
    outln!("sl2vl_ms         {:.2}", sl2vl_ms(&compiled.parts));
    outln!("check_ms         {check_ms:.2}");
    outln!("peak_mb          {peak:.1}");
    outln!("pairs_lost       {lost}");
    for (from, to) in compare::lost(compiled).iter().take(20) {
        outln!("                 {from} to {to}");
    }
    outln!(
        "credit_loop      {}",
        yes_or_none(compiled.proof.credit_loop.is_some())
    );
    outln!(
        "management_cycle {}",
        yes_or_none(compiled.proof.management_loop.is_some())
    );
    outln!("mlids            {}", multicast.mlids());
    outln!(
        "multicast_cycle  {}",
        yes_or_none(has_multicast_cycle(compiled, multicast))
    );
    if let Some(quality) = quality {
        quality.print();
    }
    if let Some(directory) = &verb.out {
        outln!("written to       {}", directory.display());
    }
    Ok(())
}

const fn yes_or_none(found: bool) -> &'static str {
    if found { "yes" } else { "none" }
}

/// With members everywhere, or with the groups given.
const fn has_multicast_cycle(compiled: &Compiled, multicast: &Multicast) -> bool {
    compiled.proof.multicast_loop.is_some() || multicast.credit_loop.is_some()
}

/// What OpenSM comes up with is a success, unless strict. The loops themselves were shown.
fn judge(verb: &Route, compiled: &Compiled, multicast: &Multicast) -> Outcome {
    // Only the loop between hosts keeps the daemon from publishing; so it has the first word.
    if let Err(error @ PipelineError::CreditLoop { .. }) = compiled.publishable() {
        if verb.strict {
            return Err(failure(error));
        }
        errln!("warning: {error}");
    }
    if !verb.strict {
        return Ok(());
    }
    if compiled.proof.management_loop.is_some() {
        let text = "packets that port 0 of a switch sends or gets can close a credit loop";
        return Err(Failure::refused(text.to_owned()));
    }
    match compiled.proof.reachability.lost_between_hosts {
        0 if has_multicast_cycle(compiled, multicast) => Err(Failure::refused(
            "unicast and multicast together can close a credit loop".to_owned(),
        )),
        0 => Ok(()),
        lost => Err(failure(PipelineError::LostPairs(lost))),
    }
}

/// How long it takes to make the SL2VL tables of all switches. Units: ms.
///
/// Made for the clock alone: the export makes them one after the other while it writes, where the
/// disk would be timed too.
fn sl2vl_ms(parts: &FabricState) -> f64 {
    let start = Instant::now();
    std::hint::black_box(export::sl2vl_tables(parts).count());
    start.elapsed().as_secs_f64() * 1e3
}

/// The most memory this process ever held. Units: MB.
///
/// `VmHWM` of proc(5): the high-water mark of resident memory. 0 where it cannot be read.
fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
