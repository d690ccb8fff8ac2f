//! `sapphire setup`: the SL2VL and VL arbitration tables of every port.

mod text;

use std::io::{self, BufWriter, Write};

use clap::Args;
use serde::Serialize;
use sm_control::fabric::options::VlArbEntry;
use sm_control::pipeline::{self, Parts, PipelineError, Refused};
use sm_control::qos_setup::{PortTables, port_tables, torus_warnings};

use crate::failure::{Failure, Outcome};
use crate::inputs::{FabricArgs, failure, warn};

/// Shows what OpenSM programs on ports once the subnet has settled. Warnings go to standard error.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    #[command(flatten)]
    fabric: FabricArgs,
    /// Print one JSON line for each port
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(verb: &Setup) -> Outcome {
    let inputs = verb.fabric.inputs();
    let sources = pipeline::read(&inputs).map_err(|problem| failure(problem.into()))?;
    warn(&sources.warnings);
    let parts = match pipeline::route(sources) {
        Ok(parts) => parts,
        Err(PipelineError::Refused(refused)) => return refuse(&refused),
        Err(error) => return Err(failure(error)),
    };
    warn(&warnings(&parts));
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if verb.json {
        lines(&mut out, &parts)
    } else {
        text::write(&mut out, &parts)
    };
    match written.and_then(|()| out.flush()) {
        // Whoever reads it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Failure::failed),
    }
}

/// No routes, no tables.
fn refuse(refused: &Refused) -> Outcome {
    let warnings = refused.refusal.warnings.iter();
    warn(&warnings.map(ToString::to_string).collect::<Vec<_>>());
    Err(Failure::Refused(refused.to_string()))
}

fn warnings(parts: &Parts) -> Vec<String> {
    let mut all = Vec::new();
    if !parts.options.qos {
        all.push("QoS is off: no port gets tables".to_owned());
    }
    all.extend(parts.routes.warnings().iter().map(ToString::to_string));
    if parts.routes.torus().is_some() {
        all.extend(
            torus_warnings(&parts.options)
                .iter()
                .map(ToString::to_string),
        );
    }
    all
}

/// A line of JSON.
#[derive(Debug, Serialize)]
struct Line<'a> {
    guid: String,
    port: u8,
    node: &'a str,
    sl2vl: Vec<Row>,
    vlarb_high: Vec<[u8; 2]>,
    vlarb_low: Vec<[u8; 2]>,
    high_limit: u8,
}

#[derive(Debug, Serialize)]
struct Row {
    r#in: u8,
    out: u8,
    vl: [u8; 16],
}

fn lines(out: &mut impl Write, parts: &Parts) -> io::Result<()> {
    for port in port_tables(parts) {
        serde_json::to_writer(&mut *out, &line(parts, &port))?;
        writeln!(out)?;
    }
    Ok(())
}

fn line<'a>(parts: &'a Parts, port: &PortTables) -> Line<'a> {
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

fn pairs(table: &[VlArbEntry]) -> Vec<[u8; 2]> {
    table.iter().map(|entry| [entry.vl, entry.weight]).collect()
}
