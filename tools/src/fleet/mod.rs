//! `sapphire fleet`: keys and root files of a fleet, configurations of its hosts, and what a
//! running one does.
//!
//! ```text
//!  init ──> root, root.NAME.minisig, root-keys/NAME.key, leader.key      once
//!  key new ──> a leader's key, and its line for ──> root next ──> root sign ──> root check --after
//!  join ──> sapphired.toml of a follower or a relay
//!  status, promote, withdraw ──> a running daemon (crate::control::fleet)
//! ```
//!
//! Files are `fleet-keys`' to read, to write and to judge; here are options and sentences. No
//! secret is ever printed.

mod init;
mod join;
mod key;
mod root;
mod sections;

use std::time::SystemTime;

use clap::Subcommand;
use fleet_keys::{Day, RootFault, RootFileProblem, is_name};
use sa_fleet::root::RootRefusal;

use crate::control;
use crate::failure::{Failure, Outcome};
use crate::wrong::Wrong;

/// Verbs about a fleet.
#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Make a fleet: its root file, the keys that sign it, the key of its leader
    Init(init::Init),
    /// Make and show keys of leaders
    #[command(subcommand)]
    Key(key::Key),
    /// Check root files, make the next one, sign it
    #[command(subcommand)]
    Root(root::RootVerb),
    /// Write the configuration of a host that follows
    Join(join::Join),
    /// Show who leads, who follows, and what is in force
    Status(control::Control),
    /// Have a daemon lead
    Promote(control::FleetPromote),
    /// Have no host answer any more, until something is announced again
    Withdraw(control::Control),
}

/// Errors: those of each verb.
pub(crate) fn run(verb: &Fleet) -> Outcome {
    match verb {
        Fleet::Init(verb) => init::run(verb),
        Fleet::Key(verb) => key::run(verb),
        Fleet::Root(verb) => root::run(verb),
        Fleet::Join(verb) => join::run(verb),
        Fleet::Status(verb) => control::fleet_status(verb),
        Fleet::Promote(verb) => control::fleet_promote(verb),
        Fleet::Withdraw(verb) => control::fleet_withdraw(verb),
    }
}

/// For how long a leader's key counts where nobody says it. Units: days.
const YEAR: u64 = 365;

/// By this host's clock.
fn today() -> Day {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let days = now.unwrap_or_default().as_secs() / 86_400;
    Day(days)
}

/// The day of an option, or a year from now. Errors: it is over.
fn expires(given: Option<Day>) -> Outcome<Day> {
    let today = today();
    match given {
        Some(day) if day <= today => Err(Failure::usage(format!(
            "--expires {day}: today is {today}, and the key would never count; name a later day"
        ))),
        Some(day) => Ok(day),
        None => Ok(today.after(YEAR)),
    }
}

/// A name that may be a part of a file's.
fn name(word: &str) -> Result<String, Wrong> {
    match is_name(word) {
        true => Ok(word.to_owned()),
        false => Err(
            "expected 1 to 64 letters, digits, `-`, `_` or `.`, a letter, digit or `_` first"
                .into(),
        ),
    }
}

/// What was read and is not believed is exit status 3; what cannot be read is 1.
fn root_failure(problem: RootFileProblem) -> Failure {
    match problem.fault() {
        RootFault::Refused(RootRefusal::Text(..)) => Failure::failed(problem),
        RootFault::Refused(_) => Failure::refused(problem.to_string()).about(problem.location()),
        _ => Failure::failed(problem),
    }
}
