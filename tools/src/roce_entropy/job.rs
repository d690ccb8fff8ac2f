//! Options that say what runs, and on what.
//!
//! Shared by `predict` and `suggest`, so that both speak of the same flows: a table that `suggest`
//! made is judged by `predict` with the same options. Options are checked here and not in
//! `sa-entropy`, since what is too large depends on how long a person waits.

mod hosts;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sa_entropy::flows::{PortUse, QpnUse};
use sa_entropy::job::{Fabric, Job, Pattern, Seeds};
use sa_entropy::predict::MOST_TIERS;
use sa_entropy::{HashKind, PortTable};
use sa_fabric::intake::{self, Kind};
use sa_text::Location;

pub(super) use self::hosts::Host;
use crate::failure::{Failure, Outcome};
use crate::wrong::Wrong;

#[derive(Debug, Args)]
#[command(next_help_heading = "Job")]
pub(super) struct JobArgs {
    /// How many hosts, or a file with a line `NAME [ADDRESS]` for each; without addresses they are
    /// 10.0.0.1 and so on
    #[arg(long, value_name = "N|FILE", default_value = "2")]
    hosts: String,
    /// Queue pairs of each pair of hosts that talk
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(super) qps: u32,
    /// Who talks to whom
    #[arg(long, value_enum, default_value_t = Who::OnePair)]
    pub(super) pattern: Who,
    /// How hosts number their QPs: sequential, step:N, aligned:N (a step of N from a multiple of
    /// N), same (equal numbers on both ends), random
    #[arg(long, value_name = "HOW", default_value = "sequential", value_parser = qpns)]
    qpn: QpnUse,
    /// How hosts number the CM's source ports: sequential, even (Linux's connect), random
    #[arg(long, value_name = "HOW", default_value = "sequential", value_parser = ports)]
    ports: PortUse,
    /// The port that the service listens at (D of the CM's formula)
    #[arg(long, value_name = "D", default_value_t = 4420)]
    service_port: u16,
    /// Seed of all draws: the same seed gives the same output
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Fabric")]
pub(super) struct FabricArgs {
    /// Equal paths upwards from a switch, tier after tier from the leaves: 16 or 16,8
    #[arg(long, value_name = "W,..", value_delimiter = ',', default_value = "16")]
    ways: Vec<u32>,
    /// Hosts below a leaf; flows between them meet no choice [default: half of the hosts, at most
    /// 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    hosts_per_leaf: Option<u32>,
    /// Ports of each host, each with leaves of its own; the QPs of a pair go round them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    rails: u32,
    /// How switches choose: strong (a seeded mixer), crc32 (CRC32C over the 5-tuple), xorfold (all
    /// bytes XORed), or a file with a line `PORT VALUE` for each source port 49152 to 65535
    #[arg(long, value_name = "KIND|FILE", default_value = "strong")]
    hash: String,
    /// The seed of the leaves' hash, if it is known
    #[arg(long, value_name = "N")]
    hash_seed: Option<u64>,
    /// Whether tiers hash alike
    #[arg(long, value_enum, default_value_t = TierSeeds::Own)]
    tier_seeds: TierSeeds,
}

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Who {
    /// The first host to the last
    OnePair,
    /// Everybody to everybody
    AllToAll,
    /// Each host to the next
    Ring,
    /// A binary tree, up and down
    Tree,
    /// Host i with host i + n/2, both ways
    Pairs,
    /// Everybody with a service on the first host, both ways
    Service,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TierSeeds {
    /// Each its own seed
    Own,
    /// All the same seed
    Same,
}

/// A job with the names of its hosts.
///
/// `names` by the index of the host in the job.
pub(super) struct NamedJob {
    /// For the output.
    pub(super) names: Vec<String>,
    /// For the simulation.
    pub(super) job: Job,
}

impl JobArgs {
    /// Errors: the file of hosts cannot be read; too few hosts, too many flows.
    pub(super) fn job(&self) -> Outcome<NamedJob> {
        // A file that is called `12` is given as `./12`.
        let hosts = match self.hosts.parse() {
            Ok(count) => hosts::numbered(count)?,
            Err(_) => hosts::read(Path::new(&self.hosts))?,
        };
        let (names, hosts) = hosts
            .into_iter()
            .map(|Host { name, address }| (name, address))
            .unzip();
        let job = Job {
            hosts,
            qps: self.qps,
            pattern: self.pattern.pattern(),
            qpns: self.qpn,
            ports: self.ports,
            service: self.service_port,
        };
        if job.flows() > MOST_FLOWS {
            return Err(Failure::usage(format!(
                "{} flows are more than the {MOST_FLOWS} that this can follow: give fewer --hosts or --qps",
                job.flows()
            )));
        }
        Ok(NamedJob { names, job })
    }
}

// Checked here and not in `sa-entropy`: what is too much depends on how long a person waits.
impl FabricArgs {
    /// Errors: the file of the hash cannot be read; too many ways.
    ///
    /// Hosts per leaf follow from the job where they are not given: half of the hosts, so that
    /// flows leave.
    pub(super) fn fabric(&self, job: &Job) -> Outcome<Fabric> {
        let is_wrong = |ways: &u32| !(1..=1024).contains(ways);
        let all: u64 = self.ways.iter().map(|ways| u64::from(*ways)).product();
        // Loads are kept per link: more paths would be memory, and no figures that anybody needs.
        if self.ways.iter().any(is_wrong) || self.ways.len() > MOST_TIERS || all > 1 << 20 {
            return Err(Failure::usage(format!(
                "--ways: expected 1 to {MOST_TIERS} numbers from 1 to 1024, 2^20 paths at most"
            )));
        }
        let below = self.hosts_per_leaf;
        let hosts_per_leaf = below.unwrap_or_else(|| (job.host_count() / 2).clamp(1, 16));
        // Such a job has no flow that a switch chooses a way for.
        if job.host_count() <= hosts_per_leaf {
            return Err(Failure::usage(format!(
                "--hosts-per-leaf {hosts_per_leaf}: all {} hosts are below one leaf, where no flow has a choice",
                job.host_count()
            )));
        }
        Ok(Fabric {
            ways: self.ways.clone(),
            hosts_per_leaf,
            rails: self.rails,
            hash: self.hash()?,
            seeds: match self.tier_seeds {
                TierSeeds::Own => Seeds::ByTier,
                TierSeeds::Same => Seeds::Same,
            },
            known_seed: self.hash_seed,
        })
    }

    /// A known word or a table in a file. Errors: no such file, or a line of it is wrong.
    ///
    /// A file that is called like a known word is given with its folder.
    fn hash(&self) -> Outcome<HashKind> {
        if let Some(kind) = named_hash(&self.hash) {
            return Ok(kind);
        }
        let path = PathBuf::from(&self.hash);
        let text = read_text(&path).map_err(|failure| {
            let text = failure.text();
            let text = format!("{text} (--hash takes strong, crc32, xorfold or a file)");
            Failure::failed(text).about(Location::file(&path))
        })?;
        let table = PortTable::read(&text);
        table
            .map(HashKind::Table)
            .map_err(|error| Failure::failed(format!("{}:{error}", path.display())))
    }

    /// As it was given.
    pub(super) fn hash_name(&self) -> &str {
        &self.hash
    }
}

/// Kinds that need no file.
///
/// A seed is not part of it: tiers may have their own.
pub(super) fn named_hash(name: &str) -> Option<HashKind> {
    match name {
        "strong" => Some(HashKind::Strong),
        "crc32" => Some(HashKind::Crc32c),
        "xorfold" => Some(HashKind::XorFold),
        _ => None,
    }
}

impl Who {
    /// The same in the words of the simulation.
    const fn pattern(self) -> Pattern {
        match self {
            Self::OnePair => Pattern::OnePair,
            Self::AllToAll => Pattern::AllToAll,
            Self::Ring => Pattern::Ring,
            Self::Tree => Pattern::Tree,
            Self::Pairs => Pattern::Pairs,
            Self::Service => Pattern::Service,
        }
    }
}

/// A file as text. Errors: it cannot be read, or is none.
///
/// From a pipe as well, within what a recording may take.
pub(super) fn read_text(path: &Path) -> Outcome<String> {
    intake::read_text(Kind::Recording, path).map_err(Failure::failed)
}

/// `aligned:N` starts at N as well, since a driver that aligns skips QP 0.
///
/// Errors: another word, or a step that is 0 or does not fit 20 bits.
fn qpns(word: &str) -> Result<QpnUse, Wrong> {
    let step = |step: &str| step.parse().ok().filter(|step| (1..1 << 20).contains(step));
    let parsed = match word.split_once(':') {
        None => match word {
            "sequential" => Some(QpnUse::Step(1)),
            "same" => Some(QpnUse::Same),
            "random" => Some(QpnUse::Random),
            _ => None,
        },
        Some(("step", by)) => step(by).map(QpnUse::Step),
        Some(("aligned", by)) => step(by).map(|by| QpnUse::Aligned {
            step: by,
            start: by,
        }),
        Some(_) => None,
    };
    parsed.ok_or_else(|| Wrong::from("expected sequential, step:N, aligned:N, same or random"))
}

/// Errors: another word.
fn ports(word: &str) -> Result<PortUse, Wrong> {
    match word {
        "sequential" => Ok(PortUse::Step(1)),
        "even" => Ok(PortUse::Step(2)),
        "random" => Ok(PortUse::Random),
        _ => Err(Wrong::from("expected sequential, even or random")),
    }
}

/// Every trial goes through all flows, and `suggest` keeps a label for each.
///
/// Ten million labels are some hundred megabytes.
const MOST_FLOWS: u32 = 10_000_000;
