//! `sapphire fleet root`: root files, which say whom the hosts of a fleet believe.

mod check;
mod next;
mod sign;

use std::path::Path;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

/// Verbs about root files.
#[derive(Debug, Subcommand)]
pub(crate) enum RootVerb {
    /// Say whether hosts believe a root file, and which keys it has until when
    Check(check::Check),
    /// Make the version after a root file, not signed yet
    Next(next::Next),
    /// Sign a root file
    Sign(sign::Sign),
}

/// Errors: those of each verb.
pub(crate) fn run(verb: &RootVerb) -> Outcome {
    match verb {
        RootVerb::Check(verb) => check::run(verb),
        RootVerb::Next(verb) => next::run(verb),
        RootVerb::Sign(verb) => sign::run(verb),
    }
}

/// Errors: a file is there, which must not be lost. What only takes bytes holds none.
pub(super) fn is_free(output: &Path) -> Outcome {
    let is_stream = |it: std::fs::Metadata| !it.is_file() && !it.is_dir();
    if output.metadata().is_ok_and(is_stream) || output.symlink_metadata().is_err() {
        return Ok(());
    }
    let what = "it is there already; name another file by -o, or move it away";
    Err(Failure::failed_in(output, what))
}
