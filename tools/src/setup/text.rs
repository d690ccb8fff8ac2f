//! Tables for people: equal ones once, with the ports that have them.
//!
//! A fabric of a thousand switches has some hundred thousand rows and a handful of different
//! tables. Two lists are printed, each with a line per different table:
//!
//! ```text
//! VL arbitration ...
//! where             ports  limit  high priority  low priority  which
//! switch to host    128    0      0:1            none          S0_0_0 1,2; S1_0_0 1; 7 more nodes
//!
//! SL to VL, the VL of SL 0 to 15
//! where             VLs                                              tables  for example
//! ```
//!
//! Groups are kept in a plain list and searched from its front: there are few, and the first is by
//! far the most frequent. A column for the origin is there only where a scope gave some table.

use std::io::{self, Write};

use sa_compiler::qos_setup::{
    PortTables, PortUse, Scopes, SlToVlRow, TableSource, port_tables_with,
};
use sa_compiler::state::FabricState;
use sa_fabric::options::VlArbEntry;
use sa_fabric::{NodeIx, PortRef};

/// With the origins of tables where there are scopes.
///
/// Writes nothing where no port has tables. Errors: the stream's.
pub(super) fn write(
    out: &mut impl Write,
    parts: &FabricState,
    scopes: Option<&Scopes<'_>>,
) -> io::Result<()> {
    let mut arbitration: Vec<Arbitration> = Vec::new();
    let mut mappings: Vec<Mapping> = Vec::new();
    for port in port_tables_with(parts, scopes) {
        add_arbitration(&mut arbitration, &port);
        for row in &port.sl2vl {
            add_mapping(&mut mappings, &port, row);
        }
    }
    // QoS is off, which was said on standard error.
    if arbitration.is_empty() {
        return Ok(());
    }
    // Kinds of ports in one order, whatever the order of switches; the sort keeps ports as they
    // came.
    arbitration.sort_by_key(|group| (group.place, group.source));
    mappings.sort_by_key(|group| (group.place, group.source, group.table));
    let is_scope = |source: TableSource| matches!(source, TableSource::Scope { .. });
    let with_source = arbitration.iter().any(|group| is_scope(group.source))
        || mappings.iter().any(|group| is_scope(group.source));
    write_arbitration(out, parts, &arbitration, with_source)?;
    writeln!(out)?;
    write_mappings(out, parts, &mappings, with_source)
}

/// Ports with the same VL arbitration.
///
/// All of it counts for being the same, the origin too: two equal tables of different scopes are
/// different decisions.
struct Arbitration {
    place: PortUse,
    source: TableSource,
    high: Vec<VlArbEntry>,
    low: Vec<VlArbEntry>,
    high_limit: u8,
    ports: Vec<PortRef>,
}

/// Tables from SL to VL that are the same, on ports of a kind.
///
/// Only counted, with one example: a row per pair of ports would be as long as the input.
struct Mapping {
    place: PortUse,
    source: TableSource,
    table: [u8; 16],
    tables: usize,
    /// The first one.
    first: (NodeIx, SlToVlRow),
}

/// Cost: a comparison with each group before, which are few.
fn add_arbitration(groups: &mut Vec<Arbitration>, port: &PortTables) {
    let same = groups.iter_mut().find(|group| {
        group.place == port.place
            && group.source == port.vlarb_source
            && group.high_limit == port.high_limit
            && group.high == port.vlarb_high
            && group.low == port.vlarb_low
    });
    match same {
        Some(group) => group.ports.push(port.at),
        None => groups.push(Arbitration {
            place: port.place,
            source: port.vlarb_source,
            high: port.vlarb_high.clone(),
            low: port.vlarb_low.clone(),
            high_limit: port.high_limit,
            ports: vec![port.at],
        }),
    }
}

/// By table: a switch of 64 ports gives some four thousand rows and two or three groups.
fn add_mapping(groups: &mut Vec<Mapping>, port: &PortTables, row: &SlToVlRow) {
    let same = groups.iter_mut().find(|group| {
        group.place == port.place && group.source == row.source && group.table == row.table.0
    });
    match same {
        Some(group) => group.tables += 1,
        None => groups.push(Mapping {
            place: port.place,
            source: row.source,
            table: row.table.0,
            tables: 1,
            first: (port.at.node, *row),
        }),
    }
}

/// Columns are as wide as their longest cell, the last one open.
fn write_arbitration(
    out: &mut impl Write,
    parts: &FabricState,
    groups: &[Arbitration],
    with_source: bool,
) -> io::Result<()> {
    writeln!(
        out,
        "VL arbitration, VL:weight in units of 64 bytes, without entries of weight 0"
    )?;
    let mut rows = vec![
        ["where", "ports", "limit", "high priority", "low priority"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(groups.iter().map(|group| {
        vec![
            kind(group.place).to_owned(),
            group.ports.len().to_string(),
            group.high_limit.to_string(),
            entries(&group.high),
            entries(&group.low),
        ]
    }));
    let sources = groups.iter().map(|group| source(group.source));
    let which = groups.iter().map(|group| names(parts, &group.ports));
    if with_source {
        add_column(&mut rows, "from", sources);
    }
    add_column(&mut rows, "which", which);
    let widths = widths(&rows);
    for row in &rows {
        let padded = row.iter().zip(&widths);
        let padded: Vec<_> = padded
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        writeln!(out, "{}", padded.join("  ").trim_end())?;
    }
    Ok(())
}

/// Puts a column at the end: its head on the first row, a cell on each of the others.
fn add_column(rows: &mut [Vec<String>], head: &str, cells: impl Iterator<Item = String>) {
    let cells = std::iter::once(head.to_owned()).chain(cells);
    for (row, cell) in rows.iter_mut().zip(cells) {
        row.push(cell);
    }
}

/// The longest cell of each column.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = 0..rows.first().map_or(0, Vec::len);
    let longest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(String::len).max().unwrap_or(0)
    };
    columns.map(longest).collect()
}

/// An example per group: the node, and for switches the ports in and out.
fn write_mappings(
    out: &mut impl Write,
    parts: &FabricState,
    groups: &[Mapping],
    with_source: bool,
) -> io::Result<()> {
    let origin = |text: String| match with_source {
        true => format!("{text:13}"),
        false => String::new(),
    };
    writeln!(out, "SL to VL, the VL of SL 0 to 15")?;
    let head = origin("from".to_owned());
    writeln!(
        out,
        "{:18}{:49}{:8}{head}for example",
        "where", "VLs", "tables"
    )?;
    for group in groups {
        let vls: String = group.table.iter().map(|vl| format!("{vl:<3}")).collect();
        let (node, row) = group.first;
        let name = parts.subnet.fabric().node(node).name();
        write!(
            out,
            "{:18}{vls} {:<8}{}{name}",
            kind(group.place),
            group.tables,
            origin(source(group.source))
        )?;
        match group.place {
            PortUse::Ca | PortUse::Router => writeln!(out)?,
            _ => writeln!(out, " from port {} to port {}", row.input, row.output)?,
        }
    }
    Ok(())
}

/// Where a table comes from: a scope by its line in the policy.
fn source(source: TableSource) -> String {
    match source {
        TableSource::Options => "opensm.conf".to_owned(),
        TableSource::Engine => "torus-2QoS".to_owned(),
        TableSource::Scope { line } => format!("line {line}"),
    }
}

/// By what is at the other end, since that is what decides on the tables of a torus.
const fn kind(place: PortUse) -> &'static str {
    match place {
        PortUse::Switch => "between switches",
        PortUse::Local => "switch to host",
        PortUse::Port0 => "switch port 0",
        PortUse::Ca => "CA",
        PortUse::Router => "router",
    }
}

/// Entries of weight 0 are skipped by hardware, and so here.
fn entries(table: &[VlArbEntry]) -> String {
    let weighty = table.iter().filter(|entry| entry.weight > 0);
    let words: Vec<_> = weighty
        .map(|entry| format!("{}:{}", entry.vl, entry.weight))
        .collect();
    // An empty cell would look like a column that is missing.
    if words.is_empty() {
        return "none".to_owned();
    }
    words.join(",")
}

/// Nodes that are named with their ports.
///
/// More would make lines that no terminal holds.
const NAMED: usize = 3;

/// The ports, by node: `S0_0_0 1,2; S1_0_0 1; 7 more nodes`.
fn names(parts: &FabricState, ports: &[PortRef]) -> String {
    // Ports come by node, so that neighbours are enough to compare.
    let nodes: Vec<_> = ports
        .chunk_by(|one, other| one.node == other.node)
        .collect();
    let fabric = parts.subnet.fabric();
    let mut words: Vec<_> = nodes
        .iter()
        .take(NAMED)
        .filter_map(|ports| {
            let node = fabric.node(ports.first()?.node);
            let numbers: Vec<_> = ports.iter().map(|at| at.port.to_string()).collect();
            Some(format!("{} {}", node.name(), numbers.join(",")))
        })
        .collect();
    // Says that something is left out, and how much.
    match nodes.len().saturating_sub(NAMED) {
        0 => {}
        more => words.push(format!("{more} more nodes")),
    }
    words.join("; ")
}
