//! `sapphire bench`: what an answer costs, in memory and over the ring.
//!
//! A run with one wrong reply is void: the whole reply to every pooled request is compared with the
//! slow twin's before anything is timed, and again after each pass.

mod machine;
mod prepare;
mod requests;
mod run;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::failure::{Failure, Outcome};
use crate::inputs::{PolicyArgs, SiteArgs};

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// torus:XxYxZ, or a fabric file as other verbs take it [default: torus:24x24x24]
    #[arg(long, value_name = "TORUS|FILE|DIR")]
    fabric: Option<String>,
    /// Hosts per switch of a torus:XxYxZ [default: 2]
    #[arg(long, value_name = "N")]
    hosts: Option<u8>,
    /// Rules of the policy that is made up for a torus:XxYxZ, 0 for none [default: 1000]
    #[arg(long, value_name = "N", conflicts_with = "policy")]
    rules: Option<u64>,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Serve this snapshot instead of the one compiled from the fabric, whose slow twin it must
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
    /// Where: answers in memory, or a worker behind a ring; several with commas
    #[arg(
        long,
        value_name = "LAYER",
        value_enum,
        value_delimiter = ',',
        default_value = "memory"
    )]
    layer: Vec<Layer>,
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
    /// Seed of the random requests
    #[arg(long, value_name = "N", default_value_t = 0x5eed, value_parser = clap::value_parser!(u64).range(1..))]
    seed: u64,
    /// Print one JSON line per run
    #[arg(long)]
    json: bool,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Workload {
    /// Get, GID to GID
    Gid,
    /// Get, LID to LID
    Lid,
    /// GetTable, one GID to everybody
    Table,
    /// GetMulti, four GIDs to four
    Mpr,
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
            Self::Table => "table",
            Self::Mpr => "mpr",
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
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    match (0.01..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err("expected 0.01 to 3600".to_owned()),
    }
}

pub(crate) fn run(verb: &Bench) -> Outcome {
    let runs = verb.runs()?;
    let bed = prepare::prepare(verb)?;
    show::bed(&bed, verb.json);
    let mut pool = None;
    for (workload, layer) in runs {
        // Layers of one workload get the same pool.
        let pool = match &pool {
            Some((of, pool)) if *of == workload => pool,
            _ => {
                &pool
                    .insert((workload, requests::pool(&bed, workload, verb)?))
                    .1
            }
        };
        let settings = run::Settings {
            workload,
            layer,
            batch: verb.batch(workload),
            duration: Duration::from_secs_f64(verb.seconds),
            repeat: verb.repeat,
        };
        let wrong = requests::wrong(&bed, pool);
        let measured = match wrong.first {
            None => Some(run::measure(&bed, pool, &settings)?),
            Some(_) => None,
        };
        let count = wrong.count + measured.as_ref().map_or(0, |measured| measured.wrong);
        show::run(&bed, pool, &settings, measured.as_ref(), count, verb.json)?;
        judge(count, pool, wrong.first)?;
        if let Some(lost) = measured
            .map(|measured| measured.lost)
            .filter(|lost| *lost > 0)
        {
            return Err(Failure::Failed(format!("{lost} replies were lost")));
        }
    }
    Ok(())
}

fn judge(wrong: u64, pool: &sa_bench::Pool, first: Option<String>) -> Outcome {
    match (wrong, first) {
        (0, _) => Ok(()),
        (_, Some(first)) => Err(Failure::Refused(format!(
            "void: {wrong} of {} replies differ from the slow twin's, nothing was timed\n{first}",
            pool.requests.len()
        ))),
        (_, None) => Err(Failure::Refused(format!(
            "void: {wrong} replies under load differ from the slow twin's"
        ))),
    }
}

impl Bench {
    /// Each workload on each layer. Errors: one that no layer carries.
    fn runs(&self) -> Outcome<Vec<(Workload, Layer)>> {
        let mut runs = Vec::new();
        for workload in &self.workload {
            for layer in &self.layer {
                if workload.is_long() && *layer == Layer::Ring {
                    return Err(Failure::Usage(format!(
                        "--workload {}: its replies are longer than a MAD, which the ring does not \
                         carry; give --layer memory",
                        workload.name()
                    )));
                }
                runs.push((*workload, *layer));
            }
        }
        Ok(runs)
    }

    fn batch(&self, workload: Workload) -> usize {
        let by_default = if workload == Workload::Table { 1 } else { 32 };
        self.batch.map_or(by_default, usize::from)
    }
}
