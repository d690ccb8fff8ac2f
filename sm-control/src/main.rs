//! `sapphired`: answers Subnet Administration queries.
//!
//! One program with three lives: the daemon, `--check`, and `--trial`, the process that a daemon
//! starts to try a load that may take too much memory. Exit status 0 means an orderly end, or a
//! configuration that would start; everything else is 1, with the reason as the last line of the
//! log. What clap says of the command line keeps clap's status.
//!
//! | started with | status 0 | status 1 |
//! |---|---|---|
//! | `--config` | an end that was ordered | nothing could be served, or not any more |
//! | `--check` | a start would succeed | what would end it |
//! | `--trial` | there is a report | there is none |

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use sa_compiler::watch::Watch;
use sa_fabric::display;
use sm_control::arguments::Arguments;
use sm_control::config::{Config, LogSection};
use sm_control::{checks, logging, server, trial};

#[global_allocator]
// The loads of the slow path allocate and free millions of small values; workers allocate nothing.
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The three lives, told apart by the command line. Never panics on a closed standard stream:
/// whoever closed it has gone.
fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(words) => return show(&words),
    };
    // Before logging: the daemon reads the report from standard output, and the log is its own.
    if arguments.trial {
        // Who started it says what comes of it.
        return match trial::run(&arguments.config) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    // Logging needs the configuration, and what is wrong with the configuration needs logging: the
    // default section serves for the latter.
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

/// Help, or what is wrong with the command line. A pipe that is closed early is no failure.
fn show(words: &clap::Error) -> ExitCode {
    let shown = words.print().and_then(|()| io::stdout().flush());
    match shown {
        Err(error) if !words.use_stderr() && error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(
                io::stderr(),
                "sapphired: standard output cannot be written: {error}"
            );
            ExitCode::FAILURE
        }
        _ => u8::try_from(words.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Checks, or runs until a signal. Errors: what the log says last.
fn run(arguments: &Arguments, config: &Config) -> Result<(), Box<dyn std::error::Error>> {
    if arguments.check {
        // From what costs nothing to what reads everything, so that a wrong core is not found after
        // a minute of compiling.
        let mut remarks = checks::check_workers(config)?;
        server::check_descriptors(config)?;
        checks::check_rings(config)?;
        checks::check_control(config)?;
        if !arguments.files_only {
            remarks.extend(server::check_start(config)?);
        }
        // What takes too much memory is said, not met.
        trial::attempt(config, Watch::default())?;
        let (warnings, summary) = checks::check_sources(config)?;
        let told = display::told(&warnings);
        for warning in remarks.iter().chain(&told) {
            tracing::warn!(target: logging::REPORT, "{warning}");
        }
        tracing::info!("{summary}");
        return Ok(());
    }
    Ok(server::run(config)?)
}
