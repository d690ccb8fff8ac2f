//! `sapphired`: answers Subnet Administration queries.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sm_control::config::{Config, LogSection, Source};
use sm_control::{logging, server};

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
    let config = Config::read(&arguments.config);
    let section = config
        .as_ref()
        .map_or_else(|_| LogSection::default(), |config| config.log);
    logging::report_always(logging::start(section));
    let outcome = config
        .map_err(Into::into)
        .and_then(|config| run(&arguments, &config));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, config: &Config) -> Result<(), Box<dyn std::error::Error>> {
    if arguments.check {
        let remarks = server::check_workers(config)?;
        server::check_rings(config)?;
        server::check_control(config)?;
        let (warnings, summary) = match config.fabric.source {
            Source::OpenSm => {
                let summary = "the files are good; the fabric, which OpenSM tells, was not read";
                (server::check_files(config)?, summary.to_owned())
            }
            Source::Files | Source::Sa => {
                let compiled = server::check(config)?;
                let summary = compiled.summary();
                (compiled.warnings, summary)
            }
        };
        for warning in remarks.iter().chain(&warnings) {
            tracing::warn!(target: logging::REPORT, "{warning}");
        }
        tracing::info!("{summary}");
        return Ok(());
    }
    Ok(server::run(config)?)
}
