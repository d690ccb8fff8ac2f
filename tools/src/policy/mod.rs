//! `sapphire policy`: what a policy file says, means, changes, and says in another dialect.

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
