//! `check`: judges the UDP source ports that were seen.
//!
//! Two kinds of files lead to the same list of [`Seen`]: a capture has hosts and QPs, counters of a
//! switch or host have ports and numbers only. Findings use what is there: alarms about a single
//! host need the capture.
//!
//! The exit status is for monitoring: 3 for an alarm, or for a limit of the caller's own.

mod counters;
mod findings;
mod pcap;

use std::path::PathBuf;

use clap::Args;
use sa_entropy::Address;
use sa_fabric::intake::{self, Kind};

use self::findings::{Findings, Way};
use super::job::named_hash;
use crate::failure::{Failure, Outcome};
use crate::json;

/// Judges the UDP source ports that RoCE v2 flows were seen with: real entropy, stacks that use one
/// port for all, even ports only, ports that a linear switch hash has already chosen from.
///
/// FILE is a capture (pcap, of which UDP to port 4791 counts) or text with a line `PORT COUNT` for
/// each source port. Exit status 3: there is an alarm, or --fail-above or --fail-below says so.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// A capture or counters
    file: PathBuf,
    /// Ways of the next switch: say how flows would lie on them, for each linear hash
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u32).range(2..=1024))]
    ways: Option<u32>,
    /// Only for this hash: crc32 or xorfold
    #[arg(long, value_name = "KIND", requires = "ways", value_parser = ["crc32", "xorfold"])]
    hash: Option<String>,
    /// Exit with 3 when the busiest source port has more than this share of the packets
    #[arg(long, value_name = "SHARE")]
    fail_above: Option<f64>,
    /// Exit with 3 when the source ports of the flows have fewer bits of entropy
    #[arg(long, value_name = "BITS")]
    fail_below: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A flow, or a port of which no more is known.
///
/// From counters, `hosts` and `qpn` are None, and a flow stands for a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    /// Source and destination.
    hosts: Option<(Address, Address)>,
    /// Destination QP.
    qpn: Option<u32>,
    /// UDP source port.
    port: u16,
    /// Shape: at least 1.
    packets: u64,
}

/// Errors: the file is neither capture nor counters, or has no flow; an alarm or a limit (exit
/// status 3).
pub(super) fn run(verb: &Check) -> Outcome {
    let bytes = intake::read_or_pipe(Kind::Recording, &verb.file).map_err(Failure::failed)?;
    // By the first bytes and not by the name: captures come through pipes.
    let seen = match pcap::is_capture(&bytes) {
        true => pcap::read(&bytes).map_err(|error| Failure::failed_in(&verb.file, error)),
        false => counters::read(&verb.file, &bytes),
    };
    let seen = seen?;
    if seen.is_empty() {
        let text = "no RoCE v2 flow in it (UDP to port 4791)";
        return Err(Failure::failed_in(&verb.file, text));
    }
    // Without --hash both linear kinds: which one the switch has is what one does not know.
    let kinds = verb
        .hash
        .as_deref()
        .map_or_else(|| vec!["crc32", "xorfold"], |kind| vec![kind]);
    let hashes = kinds
        .into_iter()
        .filter_map(|name| Some((name, named_hash(name)?)));
    let ways: Vec<Way> = verb
        .ways
        .into_iter()
        .flat_map(|ways| {
            hashes.clone().map(move |(name, hash)| Way {
                name: name.to_owned(),
                hash,
                ways,
            })
        })
        .collect();
    let findings = Findings::new(&seen, &ways);
    if verb.json {
        json::print(&findings)?;
    } else {
        findings.print();
    }
    verdict(verb, &findings)
}

/// All reasons, alarms by their codes, so that one call shows what to look at.
fn verdict(verb: &Check, findings: &Findings) -> Outcome {
    let mut reasons: Vec<String> = findings
        .alarms
        .iter()
        .map(|alarm| alarm.code.to_owned())
        .collect();
    if let Some(limit) = verb
        .fail_above
        .filter(|limit| findings.busiest_share > *limit)
    {
        reasons.push(format!(
            "the busiest port has {:.3} of the packets, more than --fail-above {limit}",
            findings.busiest_share
        ));
    }
    if let Some(limit) = verb.fail_below.filter(|limit| findings.bits < *limit) {
        reasons.push(format!(
            "{:.2} bits of entropy, fewer than --fail-below {limit}",
            findings.bits
        ));
    }
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(Failure::refused(reasons.join("; "))),
    }
}
