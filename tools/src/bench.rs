//! `sapphire bench`: what an answer costs, in memory and over the ring.
//!
//! A run with one wrong reply is void: the whole reply to every pooled request is compared with the
//! slow twin's before anything is timed, and again after each pass.

mod instructions;
mod job_start;
mod machine;
mod prepare;
mod report;
mod requests;
mod run;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sa_bench::count::has_valgrind;
use sa_fabric::display;

use crate::failure::{Failure, Outcome};
use crate::inputs::{PolicyArgs, SiteArgs};
use crate::interrupt;
use crate::wrong::Wrong;

pub(crate) use show::Pauses;

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// torus:XxYxZ; dense:XxYxZ, the same with links of several rates and paths in a table of all
    /// pairs; fat-tree:PORTS, of three levels; dragonfly:SWITCHESxHOSTSxGLOBAL;
    /// dragonfly-plus:LEAVESxSPINESxHOSTSxGLOBAL; hyperx:AxBxCxHOSTS; random:SWITCHESxDEGREExHOSTS;
    /// or a fabric file as other verbs take it [default: torus:24x24x24]
    #[arg(long, value_name = "SHAPE|FILE|DIR")]
    fabric: Option<String>,
    /// Hosts per switch of a torus [default: 2]
    #[arg(long, value_name = "N")]
    hosts: Option<u8>,
    /// Rules of the policy that is made up for a made-up fabric, 0 for none [default: 1000]
    #[arg(long, value_name = "N", conflicts_with = "policy")]
    rules: Option<u64>,
    /// Levels of the made-up policy give flow labels
    #[arg(long, conflicts_with = "policy")]
    labels: bool,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Serve this snapshot instead of the one compiled from the fabric, whose reference it must
    /// agree with
    #[arg(long, value_name = "FILE.snap", requires = "fabric")]
    snapshot: Option<PathBuf>,
    /// What is asked; several with commas
    #[arg(
        long,
        value_name = "KIND",
        value_enum,
        value_delimiter = ',',
        default_value = "gid"
    )]
    workload: Vec<Workload>,
    /// Where: answers in memory, or a worker behind a ring; several with commas [default: memory,
    /// for job-start ring]
    #[arg(long, value_name = "LAYER", value_enum, value_delimiter = ',')]
    layer: Vec<Layer>,
    /// Loads of the ring whose latencies are measured, in per cent of what the closed loop reached
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "10,50,80", value_parser = clap::value_parser!(u8).range(1..=100))]
    loads: Vec<u8>,
    /// Also count instructions and simulated branch mispredictions of a query in memory, with
    /// valgrind: where it is installed, always (a failure where it is not), or never
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", num_args = 0..=1, default_missing_value = "always")]
    instructions: When,
    /// Nodes of a job-start
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(2..))]
    nodes: u32,
    /// Processes on each node of a job-start
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    processes: u32,
    /// How a job-start names the ends of paths: as Open MPI, or as the kernel
    #[arg(long, value_name = "KIND", value_enum, default_value = "lid")]
    by: By,
    /// Requests that are handed over at once [default: 32, with table 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    batch: Option<u16>,
    /// Seconds of each repetition
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Repetitions; the median is shown, with the least and the most
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=99))]
    repeat: u8,
    /// Different requests; those for tables and MultiPathRecords are fewer
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    requests: u32,
    /// Ask the same requests in every pass, which a branch predictor learns; else they are new in
    /// each, but for those of replies with many records, and for latencies over the ring
    #[arg(long)]
    repeated: bool,
    /// Only 2,048 different requests, which stay in cache, the same in every pass
    #[arg(long, conflicts_with = "requests")]
    hot: bool,
    /// Seed of the random requests
    #[arg(long, value_name = "N", default_value_t = 0x5eed, value_parser = clap::value_parser!(u64).range(1..))]
    seed: u64,
    /// Print one JSON line per run
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    report: report::Options,
    /// What runs under callgrind: a directory with a case
    #[arg(long, value_name = "DIR", hide = true)]
    counted: Option<PathBuf>,
    /// How often it is answered there
    #[arg(long, value_name = "N", hide = true, default_value_t = 1)]
    passes: usize,
}

/// Whether something is done that takes a program which may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// Where the program is
    Auto,
    /// And fail where it is not
    Always,
    /// Not at all
    Never,
}

/// How the ends of a path are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// SLID and DLID
    Lid,
    /// SGID and DGID
    Gid,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Workload {
    /// Get, GID to GID
    Gid,
    /// Get, LID to LID
    Lid,
    /// Get as the kernel's rdma_cm sends it over IPv4: GID to GID in the default partition, for a
    /// TCP port
    RdmaCm,
    /// GetTable, one GID to everybody
    Table,
    /// GetMulti, four GIDs to four
    Mpr,
    /// What the processes of a parallel job ask for when it starts: once, over the ring
    JobStart,
}

/// Where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Layer {
    /// MAD in, MAD out, on one thread
    Memory,
    /// Client and worker on two threads
    Ring,
}

impl Workload {
    /// The name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gid => "gid",
            Self::Lid => "lid",
            Self::RdmaCm => "rdma-cm",
            Self::Table => "table",
            Self::Mpr => "mpr",
            Self::JobStart => "job-start",
        }
    }

    /// How its requests are drawn.
    pub(super) const fn drawn(self) -> sa_bench::requests::Workload {
        use sa_bench::requests::Workload as Drawn;
        match self {
            Self::Gid => Drawn::Gid,
            Self::Lid | Self::JobStart => Drawn::Lid,
            Self::RdmaCm => Drawn::RdmaCm,
            Self::Table => Drawn::Table,
            Self::Mpr => Drawn::Mpr,
        }
    }

    /// Its replies are more than one MAD.
    pub(super) const fn is_long(self) -> bool {
        matches!(self, Self::Table | Self::Mpr)
    }
}

impl Layer {
    /// The name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Ring => "ring",
        }
    }
}

/// Seconds of a measurement.
pub(crate) fn seconds(text: &str) -> Result<f64, Wrong> {
    let seconds: f64 = text.parse().map_err(|_| Wrong::from("expected a number"))?;
    match (0.01..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err(Wrong::from("expected 0.01 to 3600")),
    }
}

pub(crate) fn run(verb: &Bench) -> Outcome {
    if let Some(directory) = &verb.counted {
        return instructions::counted(directory, verb.passes);
    }
    if verb.report.is_wanted() {
        return report::run(&verb.report);
    }
    let runs = verb.runs()?;
    let bed = prepare::prepare(verb)?;
    show::bed(&bed, verb.json);
    let mut pool = None;
    for (workload, layer) in runs {
        if workload == Workload::JobStart {
            job_start::run(&bed, verb)?;
            continue;
        }
        // Layers of one workload get the same pool.
        let pool = match &pool {
            Some((of, pool)) if *of == workload => pool,
            _ => {
                &pool
                    .insert((workload, requests::pool(&bed, workload, verb)?))
                    .1
            }
        };
        one(&bed, pool, &verb.settings(workload, layer), verb.json)?;
    }
    Ok(())
}

/// One workload on one layer.
fn one(bed: &prepare::Bed, pool: &sa_bench::Pool, settings: &run::Settings, json: bool) -> Outcome {
    let wrong = requests::wrong(bed, pool);
    interrupt::attend(|| measured(bed, pool, settings, wrong, json))
}

/// Errors: threads or memory are missing; a reply was wrong, or lost.
fn measured(
    bed: &prepare::Bed,
    pool: &sa_bench::Pool,
    settings: &run::Settings,
    wrong: requests::Wrong,
    json: bool,
) -> Outcome {
    let measured = match wrong.first {
        None => Some(run::measure(bed, pool, settings)?),
        Some(_) => None,
    };
    // Nothing to be shown: the signal came first.
    if measured
        .as_ref()
        .is_some_and(|it| it.ns_per_query.are_none())
    {
        return Ok(());
    }
    let count = wrong.count + measured.as_ref().map_or(0, |measured| measured.wrong);
    show::run(bed, pool, settings, measured.as_ref(), count, json)?;
    judge(count, pool.requests.len(), wrong.first)?;
    is_whole(measured.map_or(0, |measured| measured.lost))
}

/// Errors: replies were lost.
fn is_whole(lost: u64) -> Outcome {
    match lost {
        0 => Ok(()),
        _ => Err(Failure::failed(format!(
            "{} lost",
            display::count(lost, "reply was", "replies were")
        ))),
    }
}

/// Errors: a reply was wrong.
fn judge(wrong: u64, requests: usize, first: Option<String>) -> Outcome {
    match (wrong, first) {
        (0, _) => Ok(()),
        (_, Some(first)) => Err(Failure::refused(format!(
            "void: {wrong} of {requests} replies differ from the slow twin's, nothing was timed\n{first}"
        ))),
        (_, None) => Err(Failure::refused(format!(
            "void: {wrong} replies under load differ from the slow twin's"
        ))),
    }
}

impl Bench {
    /// Each workload on each layer. Errors: one that no layer carries.
    fn runs(&self) -> Outcome<Vec<(Workload, Layer)>> {
        let mut runs = Vec::new();
        for workload in &self.workload {
            let by_default = match workload {
                Workload::JobStart => [Layer::Ring],
                _ => [Layer::Memory],
            };
            let layers = match self.layer.as_slice() {
                [] => &by_default,
                layers => layers,
            };
            for layer in layers {
                if *workload == Workload::JobStart && *layer == Layer::Memory {
                    return Err(Failure::usage(
                        "--workload job-start: a job's client and the worker run side by side; \
                         give --layer ring, or none"
                            .to_owned(),
                    ));
                }
                runs.push((*workload, *layer));
            }
        }
        Ok(runs)
    }

    fn settings(&self, workload: Workload, layer: Layer) -> run::Settings {
        run::Settings {
            workload,
            layer,
            batch: self.batch(workload),
            duration: Duration::from_secs_f64(self.seconds),
            repeat: self.repeat,
            loads: self.loads.clone(),
            counts: match self.instructions {
                When::Auto => has_valgrind(),
                When::Always => true,
                When::Never => false,
            },
            is_hot: self.hot,
            is_repeated: self.repeated || self.hot,
            seed: self.seed,
        }
    }

    /// Different requests.
    fn wanted(&self) -> u32 {
        if self.hot { HOT } else { self.requests }
    }

    fn batch(&self, workload: Workload) -> usize {
        let by_default = if workload == Workload::Table { 1 } else { 32 };
        self.batch.map_or(by_default, usize::from)
    }
}

/// Requests that stay in a second-level cache.
const HOT: u32 = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    #[test]
    fn one_wrong_reply_under_load_voids_a_run() {
        assert!(judge(0, 300, None).is_ok());
        let failure = judge(1, 300, None).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Refused);
        let said = failure.text();
        assert!(said.starts_with("void: 1 replies under load"), "{said}");
    }
}
