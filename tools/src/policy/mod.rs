//! `sapphire policy`: what a policy file says, means, changes, and says in another dialect.
//!
//! All but `partitions` start with a policy file, read by `file` as a load of the daemon would
//! read it, and most take `--fabric` to say more. What a verb can tell with and without one:
//!
//! ```text
//!             without --fabric               with --fabric
//! check       it parses; levels, groups      it resolves there; sizes of groups
//! check OLD   levels and rules that differ   for how many pairs the level changes
//! lint        checks of the text             all checks, on routes and tables
//! convert     everything                     not taken
//! explain     refused: needs the ports       which rule decides
//! partitions  refused: needs the ports       members, groups for IPoIB
//! ```
//!
//! The work is in the crates `policy` (languages, lint, differences) and `sa-compiler` (what a
//! fabric makes of it); here are options, sentences and the types that `--json` prints.

mod changes;
mod check;
mod convert;
mod explain;
mod file;
mod lint;
mod partitions;
mod source;

use clap::Subcommand;

use crate::failure::Outcome;

/// Verbs about a policy file.
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Say whether a policy file loads, how it is meant, and what a new one would change
    Check(check::Check),
    /// Write a policy in another dialect, with a list of what that cannot say
    Convert(convert::Convert),
    /// Say what is likely wrong with a policy, and with --fabric how it fits there
    Lint(lint::Lint),
    /// Say which rule decides for a pair of ports, and why not the ones before it
    Explain(explain::Explain),
    /// Show who is in which partition, and the multicast groups that partitions make for IPoIB
    Partitions(partitions::Partitions),
}

pub(crate) fn run(verb: &Policy) -> Outcome {
    match verb {
        Policy::Check(verb) => check::run(verb),
        Policy::Convert(verb) => convert::run(verb),
        Policy::Lint(verb) => lint::run(verb),
        Policy::Explain(verb) => explain::run(verb),
        Policy::Partitions(verb) => partitions::run(verb),
    }
}
