//! `sapphired`: answers Subnet Administration queries.

#![forbid(unsafe_code)]

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sm_control::config::Config;
use sm_control::server;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Answers PathRecord queries of an InfiniBand subnet from an immutable snapshot.
///
/// SIGHUP reads all sources again; a broken file keeps the snapshot in service. SIGUSR1 logs the
/// counters. One line on standard output, `ready epoch=N`, says that queries are answered; later
/// ones say `reloaded epoch=N` or `reload failed`. Log lines go to standard error; RUST_LOG selects
/// them.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    /// Configuration file (TOML); see docs/examples
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Read and validate the configuration and everything it names, then exit
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Colours are for people; in a file or a journal they are noise.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::read(&arguments.config)?;
    if arguments.check {
        let remarks = server::check_workers(&config)?;
        server::check_rings(&config)?;
        let compiled = server::check(&config)?;
        for warning in remarks.iter().chain(&compiled.warnings) {
            tracing::warn!("{warning}");
        }
        tracing::info!("{}", compiled.summary());
        return Ok(());
    }
    Ok(server::run(&config)?)
}
