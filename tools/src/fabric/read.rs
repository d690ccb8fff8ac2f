//! `sapphire fabric read`: the fabric of a running SA, as files.
//!
//! Tables are asked for one after another (nodes, ports, links, forwarding tables and so on) and
//! written in the formats in which OpenSM dumps them, so every verb with `--fabric` takes the
//! directory. A fabric that changes meanwhile is noticed and refused (exit 3), because half of one
//! and half of another is worse than none; whoever gets that asks again.
//!
//! ```text
//! sapphire fabric read --via umad -o now
//! sapphire check now
//! sapphire compile --fabric now -o now.snap
//! ```
//!
//! Only what an SA tells can be written: tables of SL2VL and P_Keys are often kept from those
//! without the SA's key, which `--opensm-conf` holds. What was not told has no file, and the verbs
//! that read the directory then say what they assume.
//!
//! LMC is the one fact of a fabric that these formats have no place for; the last line says to give
//! it with the files.
//!
//! Errors and their exit status: a port that is not there, or silence, is 4; tables that do not fit
//! together, or a fabric that never settles while it is read, is 3; a directory that cannot be
//! written is 1.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sa_fabric::display;
use sa_fabric::intake::{self, Kind};
use sa_fabric::options::OpenSmOptions;
use sa_fabric::sa_records::{SaFabric, size, write};
use sa_source::{SaReadError, SaSource, SaTransport, TransportError, Wants};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::inputs::{or_fail, warn};
use crate::json::{self, Document};
use crate::wrong::Wrong;
use crate::{progress, room, time};

#[derive(Debug, Args)]
pub(crate) struct Read {
    /// How to reach the SA: ibsim:NODE (with IBSIM_SOCKNAME), umad, umad:DEVICE or
    /// umad:DEVICE:PORT
    #[arg(long, value_name = "VIA", default_value = "umad", value_parser = transport)]
    via: SaTransport,
    /// LID of the SA [default: what the SM wrote into the port]
    #[arg(long, value_name = "LID", value_parser = clap::value_parser!(u16).range(1..0xc000))]
    sa_lid: Option<u16>,
    /// Wait so long for each table, each time; a number alone counts ms
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = time::milliseconds)]
    timeout: Duration,
    /// Tries after the first
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// opensm.conf of the SM, for sa_key (P_Key tables) and qos (SL2VL tables)
    #[arg(long, value_name = "FILE")]
    opensm_conf: Option<PathBuf>,
    /// Directory for opensm-subnet.lst, opensm-lfts.dump and so on; made when missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Not through a ring: the daemon behind it has its fabric from a source that is better read
/// itself. Errors say what is expected, without the ring that other verbs have.
fn transport(text: &str) -> Result<SaTransport, Wrong> {
    let expected = "expected ibsim:NODE, umad, umad:DEVICE or umad:DEVICE:PORT";
    match text.parse() {
        Ok(SaTransport::Ring { .. }) | Err(TransportError::NoSocket | TransportError::Unknown) => {
            Err(Wrong::from(expected))
        }
        Err(error @ TransportError::NoPortNumber) => Err(Wrong::of(error)),
        Ok(transport) => Ok(transport),
    }
}

/// Errors: nobody answers (4); what was told is incomplete or changes all the time (3); a file (1).
pub(crate) fn run(verb: &Read) -> Outcome {
    let source = SaSource {
        sa_lid: verb.sa_lid,
        // A day at most.
        timeout_ms: u32::try_from(verb.timeout.as_millis()).unwrap_or(u32::MAX),
        retries: verb.retries,
        ..SaSource::over(verb.via.clone())
    };
    // Before the port is opened: a mistake in a file should not wait for the fabric.
    let wants = wants(verb)?;
    let mut ask = source.open().map_err(unreachable)?;
    let live =
        sa_source::read_watched(&mut ask, &wants, progress::watch()).map_err(
            |error| match error {
                SaReadError::Ask(error) => unreachable(error),
                SaReadError::Incomplete(_) | SaReadError::Unsettled { .. } => {
                    Failure::refused(format!("{}: {error}", live_name(&source)))
                }
                other => Failure::failed(other),
            },
        )?;
    // What the SA would not tell, such as P_Key tables without the key.
    warn(live.notes());
    let bytes = or_fail(progress::step("estimating sizes", || size(&live)))?;
    if let Some(why) = room::lacks(&verb.output, bytes) {
        return Err(Failure::refused(format!(
            "{}: the files would take about {}: {why}; make room or name a directory elsewhere. \
             Nothing was written",
            verb.output.display(),
            room::in_words(bytes)
        )));
    }
    room::tell(&verb.output, bytes);
    let written = or_fail(progress::step("writing", || write(&live, &verb.output)))?;
    report(verb, &live, &written)
}

/// What `opensm.conf` says of the key and of QoS.
/// Without the file neither is known.
fn wants(verb: &Read) -> Outcome<Wants> {
    let Some(path) = &verb.opensm_conf else {
        return Ok(Wants::default());
    };
    let bytes = or_fail(intake::read(Kind::Options, path))?;
    let options = OpenSmOptions::parse(&bytes)
        .map_err(|error| Failure::failed_at(path, error.at, error.problem))?;
    Ok(Wants {
        sa_key: options.sa_key,
        // Only where the file says it: a default is not what somebody has set.
        qos: options.qos_given.then_some(options.qos),
    })
}

/// What was read, and where it was written to.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// Who was asked, in words.
    sa: &'a str,
    switches: usize,
    /// Of CAs and routers.
    ports: usize,
    /// Cables, not their ends.
    links: usize,
    lmc: u8,
    qos: bool,
    /// Alias GUIDs.
    aliases: usize,
    /// The SA showed its P_Key tables.
    pkey_tables: bool,
    out: &'a str,
    /// By name, in the order of writing.
    files: &'a [&'a str],
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.fabric-read/1";
}

/// For people one line, with the files that were written; they differ by what the SA told.
fn report(verb: &Read, live: &SaFabric, written: &[&str]) -> Outcome {
    let (records, output) = (live.records(), verb.output.display());
    let switches = records.switches.len();
    let ends = records.nodes.len() - switches;
    // Each cable is told twice, once from each end.
    let links = records.links.len() / 2;
    let out = output.to_string();
    if verb.json {
        return json::print(&Report {
            sa: live.whom(),
            switches,
            ports: ends,
            links,
            lmc: live.lmc().get(),
            qos: live.qos(),
            aliases: live.aliases().len(),
            pkey_tables: records.pkeys.is_some(),
            out: &out,
            files: written,
        });
    }
    outln!(
        "{out}: {}, {}, {} of {}: {}",
        display::count(switches, "switch", "switches"),
        display::count(ends, "CA or router port", "CA and router ports"),
        display::count(links, "link", "links"),
        live.whom(),
        written.join(", ")
    );
    // Of these formats LMC is the one thing that has an option of its own.
    if live.lmc().get() > 0 {
        outln!("give --lmc {} with these files", live.lmc().get());
    }
    Ok(())
}

/// As far as the options tell it; there is no answer to take a name from.
fn live_name(source: &SaSource) -> String {
    match source.sa_lid {
        Some(lid) => format!("the SA at LID {lid}"),
        None => "the SA".to_owned(),
    }
}

/// Exit 4 for all that keeps an answer away, a missing port as well.
fn unreachable(error: impl std::fmt::Display) -> Failure {
    Failure::unreachable(error.to_string())
}
