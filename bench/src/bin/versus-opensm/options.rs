//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::failure::{Failure, Outcome};

/// Measures Debian's OpenSM and sapphired side by side over ibsim: rate, latency and CPU time for
/// each query.
///
/// Started by bench/versus-opensm, which builds both programs first.
#[derive(Debug, Clone, Parser)]
#[command(max_term_width = 100)]
pub(crate) struct Options {
    /// Instead: from its start to SUBNET UP, each as the Subnet Manager of these subnets, as
    /// torus:8x8x8x1 or fat-tree:16; of other options only --rounds, --sapphired and --json count
    #[arg(long, value_name = "SUBNET", num_args = 1..)]
    pub(crate) up: Vec<String>,
    /// Instead: SMPs and the time to the last Set after a cable, a host and a switch that go and
    /// come back, and a SIGHUP, each as the Subnet Manager of these subnets; of other options the
    /// same count
    #[arg(long, value_name = "SUBNET", num_args = 1.., conflicts_with = "up")]
    pub(crate) events: Vec<String>,
    /// Switches along x, y and z: 2x2x2 to 8x8x8
    #[arg(long, value_name = "XxYxZ", default_value = "5x5x5", value_parser = size)]
    pub(crate) size: [u8; 3],
    /// Hosts per switch
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) hosts: u8,
    /// Rules of a QoS policy that both read; 0: no policy
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub(crate) rules: u64,
    /// What is asked
    #[arg(
        long,
        value_name = "KIND",
        value_enum,
        value_delimiter = ',',
        default_value = "gid,lid"
    )]
    pub(crate) workloads: Vec<Workload>,
    /// Closed loops: requests that are always under way
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,4,16,64",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) windows: Vec<u16>,
    /// Open loop: requests per second, the same for both; 0: none [default: 40 % of what the slower
    /// one answers at a window of 16]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<u32>,
    /// Alternating rounds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) rounds: u16,
    /// Seconds of load in each round, for each kind of load and each side
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Different pairs of hosts, drawn at random
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) pairs: u32,
    /// Seed of the random pairs
    #[arg(long, value_name = "N", default_value_t = 0x5eed, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seed: u64,
    /// sapphired's worker waits in the kernel after so many empty turns
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        conflicts_with = "yield_after"
    )]
    sleep_after: u32,
    /// It never does: it only yields its core after so many empty turns, and takes CPU time while
    /// nothing comes
    #[arg(long, value_name = "N")]
    yield_after: Option<u32>,
    /// The daemon to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    sapphired: Option<PathBuf>,
    /// Print JSON: a line about the run, then one for each kind of load
    #[arg(long)]
    pub(crate) json: bool,
}

impl Options {
    /// What an idle worker does, as a line of its configuration.
    pub(crate) fn idle(&self) -> String {
        match self.yield_after {
            Some(turns) => format!("yield_after = {turns}"),
            None => format!("sleep_after = {}", self.sleep_after),
        }
    }

    /// The daemon to measure. Errors: there is none.
    pub(crate) fn sapphired(&self) -> Outcome<PathBuf> {
        let beside = || std::env::current_exe().map(|exe| exe.with_file_name("sapphired"));
        let path = match &self.sapphired {
            Some(path) => path.clone(),
            None => beside().map_err(Failure::of("where this program lies"))?,
        };
        // Started in another directory.
        std::path::absolute(&path)
            .ok()
            .filter(|path| path.is_file())
            .ok_or_else(|| {
                Failure::Failed(format!(
                    "{}: no such program; run: cargo build --release -p sm-control --bin sapphired",
                    path.display()
                ))
            })
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Get, GID to GID
    Gid,
    /// Get, LID to LID
    Lid,
}

impl Workload {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gid => "gid",
            Self::Lid => "lid",
        }
    }
}

/// Errors: not three, or out of bounds.
fn size(text: &str) -> Outcome<[u8; 3]> {
    let parts: Option<Vec<u8>> = text.split('x').map(|part| part.parse().ok()).collect();
    let size = parts.and_then(|parts| <[u8; 3]>::try_from(parts).ok());
    size.filter(|size| size.iter().all(|length| (2..=8).contains(length)))
        .ok_or_else(|| Failure::Usage("expected three sizes of 2 to 8, as 5x5x5".to_owned()))
}

/// Less than 50 ms has too few answers for a p99; more than ten minutes is a typing error.
fn seconds(text: &str) -> Outcome<f64> {
    let seconds = text
        .parse()
        .map_err(|_| Failure::Usage("expected a number".to_owned()))?;
    match (0.05..=600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err(Failure::Usage("expected 0.05 to 600".to_owned())),
    }
}
