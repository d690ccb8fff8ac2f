//! The command line of `sapphired`, where its man page and completions are made from it too.
//!
//! The text of `--help` is the documentation comments below; what a key of the configuration means
//! is in `docs/operating.md`, and no option repeats one.
//!
//! The comments on the fields are shown to users; what is said to readers of the code stands here.
//! `--trial` is hidden, because it is for the daemon itself: it reads the configuration from
//! standard input and tells what it took as JSON.

use std::path::PathBuf;

use clap::Parser;

/// Answers PathRecord queries of an InfiniBand subnet from an immutable snapshot.
///
/// SIGHUP reads all sources again; a broken file keeps the snapshot in service. SIGUSR1 logs the
/// counters. One line on standard output, `ready epoch=N`, says that queries are answered; later
/// ones say `reloaded epoch=N` or `reload failed`. Log lines go to standard error; RUST_LOG selects
/// them.
#[derive(Debug, Parser)]
#[command(name = "sapphired", version, max_term_width = 100)]
pub struct Arguments {
    /// Configuration file (TOML); see docs/examples
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Read and validate the configuration and everything it names, try what a start needs
    /// (directories, sockets, addresses, devices), then exit; a sapphired that runs is not
    /// disturbed
    #[arg(long)]
    pub check: bool,
    /// With --check: do not try sockets, addresses, directories and devices, as for another host
    #[arg(long, requires = "check")]
    pub files_only: bool,
    /// Try one load for another sapphired, which writes the configuration to standard input
    #[arg(long, hide = true, conflicts_with = "check")]
    pub trial: bool,
}
