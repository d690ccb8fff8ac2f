//! `suggest`: flow labels for a job.
//!
//! Three ways, by what is known of the switches:
//!
//! ```text
//! assigned  linear hash      consecutive ports of a pair fall on different ways, whatever the seed
//! greedy    known table      each QP takes the best of some random labels, in one plan for the job
//! fmix64    unknown          each host computes its own from addresses and index, without a table
//! ```
//!
//! A label belongs to a connection, so both ends must come to the same: hence pairs are sorted by
//! address before anything is computed from them.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use sa_entropy::predict::{Planned, plan};
use sa_entropy::{Address, HashKind, Method};
use sa_wire::roce::{FlowLabel, SourcePort, fmix64, set_label};
use serde::Serialize;

use super::job::{FabricArgs, JobArgs, NamedJob};
use super::number;
use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};
use crate::output;

/// Makes flow labels for a job, never 0: a table `pair,index,label,sport`, a line for each QP of
/// each pair of hosts. Both directions of a connection use the same label.
///
/// For a linear hash (crc32, xorfold) the QPs of a pair get consecutive ports; for a table of a
/// switch's hash each gets the best of eight random labels; else the labels are mixed from the
/// hosts' addresses and the QP's index, so that each host can compute its own.
#[derive(Debug, Args)]
pub(crate) struct Suggest {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    fabric: FabricArgs,
    /// How: assigned:STEP (ports that far apart), greedy:TRIES (needs a hash that is known),
    /// fmix64 [default: by the hash]
    #[arg(long)]
    method: Option<Method>,
    /// With assigned ports: the label of each pair's first QP, not 0 [default: each pair its own]
    #[arg(long, value_name = "LABEL", value_parser = number)]
    start_label: Option<u32>,
    /// Add the setting that makes a stack use the label
    #[arg(long = "for", value_enum, value_name = "STACK")]
    stack: Option<Stack>,
    /// Print one JSON line for each label
    #[arg(long)]
    json: bool,
}

/// Where a label goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stack {
    /// rdma_cm over IPv6: the source address's flow information, network byte order
    Flowinfo,
    /// Verbs: ah_attr of ibv_modify_qp or ibv_create_ah
    Ah,
}

/// Errors: hosts or options that make no job; a method without what it needs; label 0.
pub(super) fn run(verb: &Suggest) -> Outcome {
    let named = verb.job.job()?;
    let fabric = verb.fabric.fabric(&named.job)?;
    // The best that is known for each kind of hash; see the top of this file.
    let method = verb.method.unwrap_or(match fabric.hash {
        HashKind::Crc32c | HashKind::XorFold => Method::Assigned { step: 1 },
        HashKind::Table(_) => Method::Greedy { tries: 8 },
        HashKind::Strong => Method::Mixed,
    });
    let start = start(verb, method)?;
    let planned = match method {
        Method::Assigned { step } => {
            per_pair(&named, |pair| assigned(pair, step, start, named.job.qps))
        }
        Method::Mixed => per_pair(&named, |pair| mixed(pair, named.job.qps)),
        // With a seed that is not known there is nothing to choose by.
        Method::Greedy { .. } if fabric.hash == HashKind::Strong && fabric.known_seed.is_none() => {
            return Err(Failure::usage(
                "greedy needs a hash that is known: give --hash crc32, xorfold or a file, or --hash-seed".to_owned(),
            ));
        }
        Method::Greedy { tries } => plan(&named.job, &fabric, tries, verb.job.seed),
        other => {
            return Err(Failure::usage(format!(
                "--method {other}: labels are made with assigned, greedy or fmix64; what stacks make themselves needs no table"
            )));
        }
    };
    output::stream(|out| write(out, verb, &named, &planned))
}

/// Errors: another method; a label of more than 20 bits; 0, which means "none" on the wire.
fn start(verb: &Suggest, method: Method) -> Outcome<Option<SourcePort>> {
    let Some(raw) = verb.start_label else {
        return Ok(None);
    };
    if !matches!(method, Method::Assigned { .. }) {
        return Err(Failure::usage(
            "--start-label is for --method assigned".to_owned(),
        ));
    }
    let label =
        FlowLabel::new(raw).map_err(|error| Failure::usage(format!("--start-label: {error}")))?;
    // Refused and not made 1: whoever asked for 0 expects that it is sent.
    if !label.is_set() {
        return Err(Failure::refused(
            "--start-label 0: label 0 means that none is set, and a driver then computes its own; give 1 to 0xfffff".to_owned(),
        ));
    }
    Ok(Some(label.source_port()))
}

/// Two hosts, the lesser address first.
///
/// Hosts by address, since indices differ between the jobs that they are in.
type Pair = [Address; 2];

/// Labels of each pair that talks, in the order of the pattern.
///
/// Both directions of a pair are one connection, and have the same labels.
fn per_pair(named: &NamedJob, labels: impl Fn(Pair) -> Vec<FlowLabel>) -> Vec<Planned> {
    let mut planned = Vec::new();
    let hosts = &named.job.hosts;
    for (from, to) in named.job.pattern.pairs(named.job.host_count()) {
        let address = |host: u32| {
            usize::try_from(host)
                .ok()
                .and_then(|host| hosts.get(host).copied())
        };
        let (Some(one), Some(other)) = (address(from), address(to)) else {
            continue;
        };
        // Sorted: each end must come to the same labels on its own.
        let labels = labels([one.min(other), one.max(other)]);
        planned.extend((0..).zip(labels).map(|(index, label)| Planned {
            pair: (from, to),
            index,
            label,
        }));
    }
    planned
}

/// From a place of the pair's own, a multiple of the least power of two that holds all: then no
/// carry reaches the bits above, and a linear hash sees all values of the low ones.
fn assigned(pair: Pair, step: u16, start: Option<SourcePort>, qps: u32) -> Vec<FlowLabel> {
    let count = u64::from(SourcePort::COUNT);
    let first = match start {
        Some(port) => u64::from(port.get() - SourcePort::MIN.get()),
        None => {
            let hold = (u64::from(qps) * u64::from(step))
                .next_power_of_two()
                .min(count);
            // Cut to a multiple of `hold` after the remainder: the start stays below the number of
            // ports.
            mixed_pair(pair) % count / hold * hold
        }
    };
    let label = |index: u32| {
        let place = (first + u64::from(index) * u64::from(step)) % count;
        let port = u16::try_from(place)
            .ok()
            .and_then(|place| SourcePort::new(SourcePort::MIN.get() + place).ok());
        port.unwrap_or(SourcePort::MIN).label()
    };
    (0..qps).map(label).collect()
}

/// Ports do not repeat within a pair.
///
/// At most 16,384 QPs, as there are so many ports; another try sets bits 32 and up, so that it
/// never meets the first try of another index.
fn mixed(pair: Pair, qps: u32) -> Vec<FlowLabel> {
    let mut seen = BTreeSet::new();
    let mut labels = Vec::new();
    let seed = mixed_pair(pair);
    for index in 0..u64::from(qps) {
        let tries = (0_u64..1 << 20).map(|again| set_label(fmix64(seed ^ index ^ (again << 32))));
        let mut fresh = tries.filter(|label| seen.insert(label.source_port()));
        labels.extend(fresh.next());
    }
    labels
}

/// 64 bits from both addresses, the same for either end. Total, no table.
fn mixed_pair(pair: Pair) -> u64 {
    let mix = |seed, byte: &u8| fmix64(seed ^ u64::from(*byte));
    let bytes = pair.iter().flat_map(|address| address.bytes());
    bytes.fold(0x5a99_0000_0000_12b7, mix)
}

/// A label for programs.
///
/// `setting` is text to paste into a program, not a command.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// As in the file of hosts.
    from: &'a str,
    /// Likewise.
    to: &'a str,
    /// Of the QP among those of the pair, from 0.
    index: u32,
    /// 1 to 0xfffff.
    flow_label: u32,
    /// The UDP source port that a stack makes of it.
    sport: u16,
    /// With `--for`.
    #[serde(skip_serializing_if = "Option::is_none")]
    setting: Option<String>,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.roce-entropy-suggest/1";
}

/// A line per label, as a stream: a table may have millions of them.
///
/// Errors: standard output.
fn write(
    out: &mut impl Write,
    verb: &Suggest,
    named: &NamedJob,
    planned: &[Planned],
) -> io::Result<()> {
    if !verb.json {
        let setting = if verb.stack.is_some() { ",setting" } else { "" };
        writeln!(out, "pair,index,label,sport{setting}")?;
    }
    for it in planned {
        let name = |host: u32| {
            usize::try_from(host)
                .ok()
                .and_then(|host| named.names.get(host))
                .map_or("", String::as_str)
        };
        let (from, to) = (name(it.pair.0), name(it.pair.1));
        let (label, port) = (it.label.get(), it.label.source_port().get());
        let setting = verb.stack.map(|stack| match stack {
            Stack::Flowinfo => format!("sin6_flowinfo=htonl({label:#07x})"),
            Stack::Ah => format!("ah_attr.grh.flow_label={label:#07x}"),
        });
        if verb.json {
            let line = Line {
                from,
                to,
                index: it.index,
                flow_label: label,
                sport: port,
                setting,
            };
            json::write(out, &line)?;
        } else {
            let setting = setting.map_or_else(String::new, |setting| format!(",{setting}"));
            writeln!(out, "{from}/{to},{},{label},{port}{setting}", it.index)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Pair = [Address::V4([10, 0, 0, 1]), Address::V4([10, 0, 0, 2])];

    #[test]
    fn labels_are_set_and_ports_differ() {
        for labels in [
            mixed(PAIR, 4096),
            assigned(PAIR, 1, None, 16384),
            assigned(PAIR, 257, None, 512),
        ] {
            let ports: BTreeSet<SourcePort> =
                labels.iter().map(|label| label.source_port()).collect();
            assert_eq!(ports.len(), labels.len());
            assert!(labels.iter().all(|label| label.is_set()));
        }
        assert_eq!(mixed(PAIR, 16384).len(), 16384);
    }

    #[test]
    fn assigned_ports_start_where_no_carry_leaves_them() {
        let ports = assigned(PAIR, 1, None, 13);
        assert_eq!(ports[0].source_port().get() % 16, 0);
        let first = SourcePort::new(0xffff).unwrap();
        let ports = assigned(PAIR, 1, Some(first), 2)
            .into_iter()
            .map(|label| label.source_port().get());
        assert_eq!(ports.collect::<Vec<_>>(), [0xffff, 0xc000]);
    }
}
