//! `sapphire query`: an SA client.
//!
//! Every query is the same three steps: a request is put together from options, sent once by
//! [`client`] (which opens a port, asks with retries and closes it), and the reply is printed as
//! words or as one JSON document. Where hosts are named, the SA is asked for them first
//! (`ends`). Nothing is cached and no file is read but that of service names.
//!
//! ```text
//! path, multi_path   PathRecords: ends from the verb, the rest from components
//! record             every other record, from the layouts of sa-wire: no code per record
//! srp                device management: asks I/O units, not the SA
//! show               components of a record in the form that its layout gives them
//! ```
//!
//! A component mask has exactly the bits of what was given, plus those of `--mask`: so a request
//! can also be made that is wrong on purpose, to see what an SA says to it.

mod client;
mod components;
mod ends;
mod multi_path;
mod near;
mod path;
mod record;
mod show;
mod srp;

use clap::Subcommand;
use sa_wire::mad::Status;

use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};
use crate::services;
use crate::wrong::Wrong;

/// Asks. Exit status 1: the SA answers with another status than 0, be it that it has no such
/// record; a table without records is none of these. 4: nobody answers.
#[derive(Debug, Subcommand)]
pub(crate) enum Query {
    /// Ask for PathRecords
    #[command(alias = "PR")]
    Pr(Box<path::Pr>),
    /// Ask for paths between several sources and destinations (MultiPathRecord)
    #[command(alias = "MPR")]
    Mpr(Box<multi_path::Mpr>),
    /// Show the names of services, or what names and service ids stand for; asks nobody
    Services(services::Services),
    /// Ask the I/O units of SRP targets for the service ids of their controllers
    SrpTargets(Box<srp::SrpTargets>),
    #[command(flatten)]
    Record(Box<record::Record>),
}

/// A number of an option: decimal or, after `0x`, hexadecimal. LIDs, keys and masks are read off
/// other tools' output, which write them either way. Errors: no number, or too large for `T`.
fn number<T: TryFrom<u64>>(text: &str) -> Result<T, Wrong> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let value = parsed.map_err(|_| Wrong::from("expected a number, decimal or 0x..."))?;
    T::try_from(value).map_err(|_| Wrong::from("the number is too large"))
}

/// Prints what the SA said, as JSON or by `text`. Errors: it refuses, or has no such record.
///
/// A refusal is printed before it is returned, so that with `--json` the status stands in the
/// document itself and not only in the exit status.
fn told<T: Document>(answer: &T, status: Status, as_json: bool, text: impl FnOnce()) -> Outcome {
    // The status of a table without records is OK: an empty answer is an answer.
    let refused = (status != Status::OK)
        .then(|| Failure::failed(format!("the SA refuses the request: status {status}")));
    if as_json {
        json::print_with(answer, refused.as_ref())?;
    } else {
        if refused.is_some() {
            outln!("status {status}");
        }
        text();
    }
    refused.map_or(Ok(()), Err)
}

pub(crate) fn run(verb: &Query) -> Outcome {
    match verb {
        Query::Pr(pr) => path::run(pr),
        Query::Mpr(mpr) => multi_path::run(mpr),
        Query::Services(services) => services::run(services),
        Query::SrpTargets(targets) => srp::run(targets),
        Query::Record(record) => record.run(),
    }
}
