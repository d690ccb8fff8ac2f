//! `decode`: from labels, ports, QPNs to each other.
//!
//! Forwards a formula gives a label from QPNs or CM ports; backwards a port has 64 labels (20 bits
//! folded into 14), so that the inputs are needed to say which formula it was. With both, each
//! formula is marked `fits` or `no`: that is how one learns what a stack does.
//!
//! ```text
//! sapphire roce-entropy decode --port 0xc5a1 --qpn 0x48,0x49
//! ```
//!
//! Wrong formulas are in the table on purpose: a 32-bit product and swapped ports are mistakes that
//! drivers make.

use clap::Args;
use sa_entropy::method::qpn_label_u32;
use sa_wire::roce::{
    FlowLabel, Qpn, SourcePort, cm_label_rfc, cm_label_shipped, mixed_label, qpn_label,
};
use serde::Serialize;

use super::number;
use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};
use crate::wrong::Wrong;

/// Says what a flow label, a UDP source port, a pair of QPNs or of CM ports becomes.
///
/// With --port or --label, and what the flow was made of (--qpn, --cm), says which formula gave it.
/// Exit status 3: none of them did. Numbers are decimal or with 0x.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(crate) struct Decode {
    /// A flow label, 20 bits
    #[arg(long, value_name = "LABEL", value_parser = label, group = "what", conflicts_with = "port")]
    label: Option<FlowLabel>,
    /// A UDP source port as on the wire, 49152 to 65535
    #[arg(long, value_name = "PORT", value_parser = port, group = "what")]
    port: Option<SourcePort>,
    /// QPNs of both ends
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = qpns, group = "what")]
    qpn: Option<(Qpn, Qpn)>,
    /// Source and destination port of the CM connection, active side first (D is in the low 16 bits
    /// of the service id)
    #[arg(long, value_name = "S,D", value_parser = cm, group = "what")]
    cm: Option<(u16, u16)>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// `applies` is None where nothing was given to compare with.
#[derive(Debug, Serialize)]
struct Formula {
    formula: &'static str,
    about: &'static str,
    flow_label: u32,
    sport: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    applies: Option<bool>,
}

/// Labels and port of what was given, then all formulas.
#[derive(Debug, Serialize)]
struct Decoded {
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_label: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sport: Option<u16>,
    /// Of the port.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<u32>,
    formulas: Vec<Formula>,
}

impl Document for Decoded {
    const SCHEMA: &'static str = "sapphire.roce-entropy-decode/1";
}

pub(super) fn run(verb: &Decode) -> Outcome {
    // A label has one port; a port has 64 labels, so the other way nothing follows.
    let port = verb.port.or_else(|| verb.label.map(FlowLabel::source_port));
    let is_it = |label: FlowLabel| match (verb.label, port) {
        // A label that is known decides: two formulas may share a port by chance, hardly a label.
        (Some(wanted), _) => Some(label == wanted),
        (None, Some(port)) => Some(label.source_port() == port),
        (None, None) => None,
    };
    let formula = |(formula, about, label): (_, _, FlowLabel)| Formula {
        formula,
        about,
        flow_label: label.get(),
        sport: label.source_port().get(),
        applies: is_it(label),
    };
    let decoded = Decoded {
        flow_label: verb.label.map(FlowLabel::get),
        sport: port.map(SourcePort::get),
        labels: port
            .into_iter()
            .flat_map(SourcePort::labels)
            .map(FlowLabel::get)
            .collect(),
        formulas: formulas(verb).into_iter().map(formula).collect(),
    };
    if verb.json {
        json::print(&decoded)?;
    } else {
        print(&decoded);
    }
    verdict(&decoded)
}

/// Name, what it is about, and the label; only for inputs that were given.
fn formulas(verb: &Decode) -> Vec<(&'static str, &'static str, FlowLabel)> {
    let mut all = Vec::new();
    if let Some((local, remote)) = verb.qpn {
        all.push((
            "qpn",
            "product of the QPNs in 64 bits: drivers, where no label is set",
            qpn_label(local, remote),
        ));
        all.push((
            "qpn-u32",
            "the same cut to 32 bits, a mistake: the ends may disagree with others",
            qpn_label_u32(local, remote),
        ));
        all.push((
            "fmix64",
            "mixer over the sorted QPNs",
            mixed_label(local, remote),
        ));
    }
    if let Some((source, destination)) = verb.cm {
        all.push((
            "cm",
            "31 S + D: Linux's RDMA CM, on the active side",
            cm_label_shipped(source, destination),
        ));
        all.push((
            "cm-swapped",
            "31 D + S: the ports the wrong way round",
            // Which end is active is what captures do not say: both readings are shown.
            cm_label_shipped(destination, source),
        ));
        all.push((
            "cm-rfc",
            "D times S: the RFC v2, never shipped",
            cm_label_rfc(source, destination),
        ));
        all.push((
            "source-port",
            "S as it is",
            FlowLabel::from_low_bits(u32::from(source)),
        ));
    }
    all
}

/// Decimal and hexadecimal: drivers log either.
fn print(decoded: &Decoded) {
    if let Some(label) = decoded.flow_label {
        let note = if label == 0 {
            "  (not set: a driver computes one from the QPNs, or uses a fixed port)"
        } else {
            ""
        };
        outln!("flow label   {label} {label:#07x}{note}");
    }
    if let Some(port) = decoded.sport {
        outln!("source port  {port} {port:#06x}");
        let labels: Vec<String> = decoded.labels.iter().map(ToString::to_string).collect();
        outln!("its labels   {}", labels.join(" "));
    }
    for it in &decoded.formulas {
        let mark = match it.applies {
            Some(true) => "fits",
            Some(false) => "no",
            None => "",
        };
        outln!(
            "{:<12} label {:<7} {:#07x}  port {}  {mark:<4}  {}",
            it.formula,
            it.flow_label,
            it.flow_label,
            it.sport,
            it.about
        );
    }
}

/// Refused only where there was something to compare with and nothing fitted.
fn verdict(decoded: &Decoded) -> Outcome {
    let asked = decoded.formulas.iter().any(|it| it.applies.is_some());
    let found = decoded.formulas.iter().any(|it| it.applies == Some(true));
    // Forwards, without a port or label, every formula is only shown.
    if asked && !found {
        return Err(Failure::refused(
            "none of the formulas gives this: the label was set by an application, or the stack uses a port of its own".to_owned(),
        ));
    }
    Ok(())
}

fn label(word: &str) -> Result<FlowLabel, Wrong> {
    FlowLabel::new(number(word)?).map_err(Wrong::of)
}

/// Errors: not in 49152 to 65535, where no label leads.
fn port(word: &str) -> Result<SourcePort, Wrong> {
    let raw = u16::try_from(number(word)?).map_err(|_| Wrong::from("a port has 16 bits"))?;
    SourcePort::new(raw).map_err(Wrong::of)
}

/// `LOCAL,REMOTE` or `S,D`.
fn two(word: &str) -> Result<(u32, u32), Wrong> {
    let (one, other) = word
        .split_once(',')
        .ok_or("expected two numbers with a comma between")?;
    Ok((number(one)?, number(other)?))
}

fn qpns(word: &str) -> Result<(Qpn, Qpn), Wrong> {
    let (local, remote) = two(word)?;
    let qpn = |raw| Qpn::new(raw).map_err(Wrong::of);
    Ok((qpn(local)?, qpn(remote)?))
}

fn cm(word: &str) -> Result<(u16, u16), Wrong> {
    let (source, destination) = two(word)?;
    let port =
        |raw| u16::try_from(raw).map_err(|_| Wrong::from(format!("{raw}: a port has 16 bits")));
    Ok((port(source)?, port(destination)?))
}
