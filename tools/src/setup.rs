//! `sapphire setup`: the SL2VL and VL arbitration tables of every port.
//!
//! Neither routes nor PathRecords are shown, but they matter: torus-2QoS gives SL2VL tables of its
//! own, so that the fabric is routed first. An engine that refuses leaves nothing to show.
//!
//! The order of origins, the later over the earlier: `qos_*` options of opensm.conf, tables of the
//! engine, scopes of the policy (`--scopes` says how these are fitted).

mod remarks;
mod text;

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use sa_compiler::pipeline::{self, PipelineError, Refused, remarks_of_engine};
use sa_compiler::qos_setup::{
    PortTables, ScopeFit, Scopes, SetupContext, TorusWarning, port_tables_with, torus_warnings,
};
use sa_compiler::state::FabricState;
use sa_fabric::options::VlArbEntry;
use sa_text::Remark;
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::inputs::{FabricArgs, failure, warn};
use crate::json::{self, Document};
use crate::output;

/// Shows the SL2VL and VL arbitration tables that ports are to have once the subnet has settled:
/// those of the qos_* options of opensm.conf, and over them those of the scopes in the policy's
/// qos-setup. Warnings and errors go to standard error.
///
/// Exit status 3: a scope has an error, such as ports or VLs that a device does not have; the
/// tables are shown all the same.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// Print one JSON line for each port
    #[arg(long)]
    json: bool,
    /// What the policy's scopes do; OpenSM reads them and programs nothing of them
    #[arg(long, value_enum, default_value_t = ScopeUse::Rfc)]
    scopes: ScopeUse,
    #[command(flatten)]
    fabric: FabricArgs,
}

/// What scopes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeUse {
    /// As the RFCs have it: an SL on a VL that the port does not operate is dropped (VL 15) and
    /// an error, a VL arbitration table is cut to what the port holds
    Rfc,
    /// Fitted as OpenSM fits the tables of opensm.conf: a VL loses the bits that the port cannot
    /// express, missing entries are 0:0, weights are cut to 8 bits
    Masked,
    /// As in OpenSM: nothing, only opensm.conf counts
    Ignored,
}

/// Errors: the fabric cannot be read or routed; a scope has an error (exit status 3).
pub(crate) fn run(verb: &Setup) -> Outcome {
    let given = verb.fabric.given()?;
    let inputs = &given.inputs;
    let sources = pipeline::read(inputs).map_err(|problem| failure(problem.into()))?;
    // Kept: routing consumes the sources, and their remarks are told only when it is known which of
    // them scopes replace.
    let said = sources.warnings.clone();
    let parts = match pipeline::route(sources) {
        Ok(parts) => parts,
        Err(PipelineError::Refused(refused)) => {
            warn(&said);
            return refuse(&refused);
        }
        Err(error) => return Err(failure(error)),
    };
    let fit = match verb.scopes {
        ScopeUse::Rfc => Some(ScopeFit::Rfc),
        ScopeUse::Masked => Some(ScopeFit::OpenSm),
        ScopeUse::Ignored => None,
    };
    let (file, policy) = (inputs.policy.as_deref(), parts.policy.as_ref());
    let scopes = fit
        .zip(policy)
        .map(|(fit, policy)| Scopes::new(policy, SetupContext::from_state(&parts), fit));
    let mut remarks = Vec::new();
    match (&scopes, file) {
        (Some(scopes), Some(file)) => {
            warn(&remarks::of_others(&said, policy, file));
            remarks = remarks::of_scopes(scopes, file);
        }
        _ => warn(&said),
    }
    warn(&warnings(&parts));
    // Before the tables: on a terminal they would scroll away otherwise.
    remarks::tell(&remarks);
    output::stream(|out| match verb.json {
        true => lines(out, &parts, scopes.as_ref()),
        false => text::write(out, &parts, scopes.as_ref()),
    })?;
    remarks::verdict(&remarks)
}

/// No routes, no tables.
///
/// The same words and the same exit status as of `sapphire route`.
fn refuse(refused: &Refused) -> Outcome {
    warn(&remarks_of_engine(&refused.refusal.warnings));
    Err(Failure::refused(refused.to_string()))
}

/// What reading did not say: QoS is off, the engine's remarks, and options that torus-2QoS
/// overrides.
fn warnings(parts: &FabricState) -> Vec<Remark> {
    let mut all = Vec::new();
    // Told first: it explains why nothing follows.
    if !parts.options.qos {
        all.push(Remark::warning(
            "qos-off",
            "QoS is off: no port gets tables",
        ));
    }
    all.extend(remarks_of_engine(parts.routes.warnings()));
    if parts.routes.torus().is_some() {
        let options = torus_warnings(&parts.options);
        all.extend(options.iter().map(TorusWarning::remark));
    }
    all
}

/// A line of JSON.
///
/// A port per line: `jq` and `grep` take one after the other, and nothing is held in memory for it.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// Of the port; of a switch's external port that of the switch.
    guid: String,
    /// From 0 on for switches.
    port: u8,
    /// As fabric files name it.
    node: &'a str,
    /// One row for a CA; for a switch one for each input, or as many as differ.
    sl2vl: Vec<Row>,
    /// VL and weight.
    vlarb_high: Vec<[u8; 2]>,
    /// Likewise.
    vlarb_low: Vec<[u8; 2]>,
    /// VLHighLimit.
    high_limit: u8,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.setup/1";
}

/// From which port in to which port out.
///
/// `vl` by SL: 15 means that the packet is dropped.
#[derive(Debug, Serialize)]
struct Row {
    /// Of a CA 0, as it has no inputs.
    r#in: u8,
    /// Likewise of a CA.
    out: u8,
    vl: [u8; 16],
}

/// One port after the other, made as they are written.
///
/// Errors: standard output.
fn lines(out: &mut impl Write, parts: &FabricState, scopes: Option<&Scopes<'_>>) -> io::Result<()> {
    for port in port_tables_with(parts, scopes) {
        json::write(out, &line(parts, &port))?;
    }
    Ok(())
}

/// A port with its tables, as they would be programmed.
fn line<'a>(parts: &'a FabricState, port: &PortTables) -> Line<'a> {
    let rows = port.sl2vl.iter().map(|row| Row {
        r#in: row.input,
        out: row.output,
        vl: row.table.0,
    });
    Line {
        guid: port.guid.to_string(),
        port: port.at.port,
        node: parts.subnet.fabric().node(port.at.node).name(),
        sl2vl: rows.collect(),
        vlarb_high: pairs(&port.vlarb_high),
        vlarb_low: pairs(&port.vlarb_low),
        high_limit: port.high_limit,
    }
}

/// VL and weight, in the order in which the port goes round them.
fn pairs(table: &[VlArbEntry]) -> Vec<[u8; 2]> {
    table.iter().map(|entry| [entry.vl, entry.weight]).collect()
}
