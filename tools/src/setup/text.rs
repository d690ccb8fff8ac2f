//! Tables for people: equal ones once, with the ports that have them.

use std::io::{self, Write};

use sm_control::fabric::options::VlArbEntry;
use sm_control::fabric::{NodeIx, PortRef};
use sm_control::pipeline::Parts;
use sm_control::qos_setup::{PortTables, PortUse, SlToVlRow, port_tables};

pub(super) fn write(out: &mut impl Write, parts: &Parts) -> io::Result<()> {
    let mut arbitration: Vec<Arbitration> = Vec::new();
    let mut mappings: Vec<Mapping> = Vec::new();
    for port in port_tables(parts) {
        add_arbitration(&mut arbitration, &port);
        for row in &port.sl2vl {
            add_mapping(&mut mappings, &port, row);
        }
    }
    if arbitration.is_empty() {
        return Ok(());
    }
    arbitration.sort_by_key(|group| group.place);
    mappings.sort_by_key(|group| (group.place, group.table));
    write_arbitration(out, parts, &arbitration)?;
    writeln!(out)?;
    write_mappings(out, parts, &mappings)
}

/// Ports with the same VL arbitration.
struct Arbitration {
    place: PortUse,
    high: Vec<VlArbEntry>,
    low: Vec<VlArbEntry>,
    high_limit: u8,
    ports: Vec<PortRef>,
}

/// Tables from SL to VL that are the same, on ports of a kind.
struct Mapping {
    place: PortUse,
    table: [u8; 16],
    tables: usize,
    /// The first one.
    first: (NodeIx, SlToVlRow),
}

fn add_arbitration(groups: &mut Vec<Arbitration>, port: &PortTables) {
    let same = groups.iter_mut().find(|group| {
        group.place == port.place
            && group.high_limit == port.high_limit
            && group.high == port.vlarb_high
            && group.low == port.vlarb_low
    });
    match same {
        Some(group) => group.ports.push(port.at),
        None => groups.push(Arbitration {
            place: port.place,
            high: port.vlarb_high.clone(),
            low: port.vlarb_low.clone(),
            high_limit: port.high_limit,
            ports: vec![port.at],
        }),
    }
}

fn add_mapping(groups: &mut Vec<Mapping>, port: &PortTables, row: &SlToVlRow) {
    let same = groups
        .iter_mut()
        .find(|group| group.place == port.place && group.table == row.table.0);
    match same {
        Some(group) => group.tables += 1,
        None => groups.push(Mapping {
            place: port.place,
            table: row.table.0,
            tables: 1,
            first: (port.at.node, *row),
        }),
    }
}

fn write_arbitration(
    out: &mut impl Write,
    parts: &Parts,
    groups: &[Arbitration],
) -> io::Result<()> {
    let rows: Vec<_> = groups
        .iter()
        .map(|group| {
            [
                kind(group.place).to_owned(),
                group.ports.len().to_string(),
                group.high_limit.to_string(),
                entries(&group.high),
                entries(&group.low),
                names(parts, &group.ports),
            ]
        })
        .collect();
    writeln!(
        out,
        "VL arbitration, VL:weight in units of 64 bytes, without entries of weight 0"
    )?;
    let heads = [
        "where",
        "ports",
        "limit",
        "high priority",
        "low priority",
        "which",
    ];
    let widths: Vec<_> = (0..)
        .zip(heads)
        .map(|(column, head): (usize, _)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells
                .map(String::len)
                .chain([head.len()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |cells: [&str; 6]| {
        let padded = cells.iter().zip(&widths);
        let padded: Vec<_> = padded
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    writeln!(out, "{}", line(heads))?;
    for row in &rows {
        writeln!(out, "{}", line(row.each_ref().map(String::as_str)))?;
    }
    Ok(())
}

fn write_mappings(out: &mut impl Write, parts: &Parts, groups: &[Mapping]) -> io::Result<()> {
    writeln!(out, "SL to VL, the VL of SL 0 to 15")?;
    writeln!(out, "{:18}{:49}{:8}for example", "where", "VLs", "tables")?;
    for group in groups {
        let vls: String = group.table.iter().map(|vl| format!("{vl:<3}")).collect();
        let (node, row) = group.first;
        let name = parts.subnet.fabric().node(node).name();
        write!(
            out,
            "{:18}{vls} {:<8}{name}",
            kind(group.place),
            group.tables
        )?;
        match group.place {
            PortUse::Ca | PortUse::Router => writeln!(out)?,
            _ => writeln!(out, " from port {} to port {}", row.input, row.output)?,
        }
    }
    Ok(())
}

const fn kind(place: PortUse) -> &'static str {
    match place {
        PortUse::Switch => "between switches",
        PortUse::Local => "switch to host",
        PortUse::Port0 => "switch port 0",
        PortUse::Ca => "CA",
        PortUse::Router => "router",
    }
}

fn entries(table: &[VlArbEntry]) -> String {
    let weighty = table.iter().filter(|entry| entry.weight > 0);
    let words: Vec<_> = weighty
        .map(|entry| format!("{}:{}", entry.vl, entry.weight))
        .collect();
    if words.is_empty() {
        return "none".to_owned();
    }
    words.join(",")
}

/// Nodes that are named with their ports.
const NAMED: usize = 3;

/// The ports, by node: `S0_0_0 1,2; S1_0_0 1; 7 more nodes`.
fn names(parts: &Parts, ports: &[PortRef]) -> String {
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
    match nodes.len().saturating_sub(NAMED) {
        0 => {}
        more => words.push(format!("{more} more nodes")),
    }
    words.join("; ")
}
