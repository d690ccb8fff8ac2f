//! A routed fabric as OpenSM's dump files.

use std::io::{self, Write};
use std::path::Path;

use routing::multicast::MulticastTable;
use routing::{NO_PATH, Peer, SwitchIx, Topology, Torus};
use sa_snapshot::Snapshot;
use sa_wire::NodeType;
use thiserror::Error;

use crate::dump::{fdbs, lfts, multicast, psl, sl2vl, slvl, subnet_lst, torus};
use crate::outlet::{Folder, Out, Readers, WriteError};
use crate::pipeline::Parts;
use crate::slow_sa;

/// A dump that could not be written.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct ExportError(#[from] WriteError);

/// Up to this many CA ports `psl` is written without being asked for.
pub const PSL_PORTS: usize = 1000;

/// Whether to write `psl`, which grows with the square of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Psl {
    /// Up to [`PSL_PORTS`] CA ports.
    WhenSmall,
    /// In any case.
    Always,
}

/// Writes every dump of a routed fabric into `directory`, which is made when missing. There are no
/// multicast groups, so `opensm.mcfdbs` is empty; [`multicast_tables`] writes it with groups.
/// Errors: [`ExportError`], the first.
pub fn all(
    directory: &Path,
    parts: &Parts,
    snapshot: &Snapshot,
    wanted: Psl,
) -> Result<(), ExportError> {
    let directory = &Folder::make(directory)?;
    if let Some(torus) = parts.routes.torus() {
        place(directory, &parts.topology, torus)?;
    }
    file(directory, "opensm-subnet.lst", |out| {
        subnet_lst::write(out, &parts.subnet)
    })?;
    file(directory, "opensm-lfts.dump", |out| write_lfts(out, parts))?;
    file(directory, "opensm.fdbs", |out| write_fdbs(out, parts))?;
    file(directory, "opensm-sl2vl.dump", |out| {
        write_sl2vl(out, parts)
    })?;
    file(directory, "slvl", |out| {
        slvl::write(out, sl2vl_tables(parts))
    })?;
    write_multicast(directory, &parts.topology, &[])?;
    let hosts = parts
        .topology
        .end_ports
        .iter()
        .filter(|end| end.node_type == NodeType::Ca);
    if wanted == Psl::Always || hosts.count() <= PSL_PORTS {
        file(directory, "psl", |out| write_psl(out, parts, snapshot))?;
    }
    Ok(())
}

/// Writes `opensm-torus.dump` alone: the placement of a torus, routed or refused.
/// Errors: [`ExportError`].
pub fn placement(directory: &Path, topology: &Topology, torus: &Torus) -> Result<(), ExportError> {
    place(&Folder::make(directory)?, topology, torus)
}

fn place(directory: &Folder, topology: &Topology, torus: &Torus) -> Result<(), ExportError> {
    file(directory, "opensm-torus.dump", |out| {
        let switches = torus.by_place().map(|placed| {
            let switch = topology.switch(placed.switch);
            (
                placed.at.0.map(u16::from),
                switch.guid,
                switch.description.as_str(),
            )
        });
        torus::write(out, switches)
    })
}

/// Writes `opensm.mcfdbs` alone, with these tables, by ascending MLID.
/// Errors: [`ExportError`].
pub fn multicast_tables(
    directory: &Path,
    topology: &Topology,
    tables: &[MulticastTable],
) -> Result<(), ExportError> {
    write_multicast(&Folder::make(directory)?, topology, tables)
}

fn write_multicast(
    directory: &Folder,
    topology: &Topology,
    tables: &[MulticastTable],
) -> Result<(), ExportError> {
    file(directory, "opensm.mcfdbs", |out| {
        multicast::write(out, topology, tables)
    })
}

fn file(
    directory: &Folder,
    name: &str,
    write: impl FnOnce(&mut Out) -> io::Result<()>,
) -> Result<(), ExportError> {
    Ok(directory.write_with(name, Readers::All, write)?)
}

fn switches(topology: &Topology) -> impl Iterator<Item = SwitchIx> {
    (0u32..).map(SwitchIx).take(topology.switches.len())
}

fn ix(place: usize) -> SwitchIx {
    SwitchIx(u32::try_from(place).unwrap_or(u32::MAX))
}

fn write_lfts(out: &mut impl Write, parts: &Parts) -> io::Result<()> {
    let topology = &parts.topology;
    let headings = topology.switches.iter().map(|switch| lfts::Heading {
        lid: topology.end_port(switch.port0).lid,
        guid: switch.guid,
        description: &switch.description,
        ports: u8::try_from(switch.ports.len().saturating_sub(1)).unwrap_or(u8::MAX),
    });
    let owner = |lid| {
        let end = topology.end_port(parts.routes.lids().owner(lid)?);
        let (node_type, guid) = (end.node_type, end.guid);
        Some(lfts::Owner {
            node_type,
            guid,
            description: &end.description,
        })
    };
    lfts::write(out, headings, topology.max_lid(), owner, |place, lid| {
        entry(parts, place, lid)
    })
}

/// The forwarding entry of a switch for a LID.
fn entry(parts: &Parts, place: usize, lid: u16) -> u8 {
    parts
        .routes
        .lft(ix(place))
        .get(usize::from(lid))
        .copied()
        .unwrap_or(NO_PATH)
}

fn write_fdbs(out: &mut impl Write, parts: &Parts) -> io::Result<()> {
    let guids = parts.topology.switches.iter().map(|switch| switch.guid);
    fdbs::write(
        out,
        guids,
        parts.topology.max_lid(),
        |place, lid| match entry(parts, place, lid) {
            NO_PATH => fdbs::Entry::Unreachable,
            port => fdbs::Entry::without_hops(port, is_local(parts, place, lid)),
        },
    )
}

/// True for LIDs of CAs and routers that are plugged into the switch.
fn is_local(parts: &Parts, place: usize, lid: u16) -> bool {
    let owner = parts
        .routes
        .lids()
        .owner(lid)
        .map(|owner| parts.topology.end_port(owner));
    owner.is_some_and(|end| {
        end.port_number != 0 && end.attached.is_some_and(|(switch, _)| switch == ix(place))
    })
}

/// Ports of a switch that have a cable, ascending.
fn cabled(topology: &Topology, switch: SwitchIx) -> Vec<u8> {
    let ports = (0u8..=u8::MAX).zip(&topology.switch(switch).ports);
    ports
        .filter(|(_, port)| port.peer != Peer::Nothing)
        .map(|(number, _)| number)
        .collect()
}

fn write_sl2vl(out: &mut impl Write, parts: &Parts) -> io::Result<()> {
    let topology = &parts.topology;
    let sections = topology.end_ports.iter().map(|end| {
        let switch = end
            .attached
            .filter(|_| end.port_number == 0)
            .map(|(switch, _)| switch);
        let ports = switch.map_or(0, |switch| topology.switch(switch).ports.len() - 1);
        sl2vl::Section {
            node_type: end.node_type,
            guid: end.guid,
            lid: end.lid,
            description: &end.description,
            ports: u8::try_from(ports).unwrap_or(u8::MAX),
            cabled: switch.map_or_else(Vec::new, |switch| cabled(topology, switch)),
        }
    });
    sl2vl::write(out, sections, |place, input, output| {
        let end = routing::EndPortIx(u32::try_from(place).unwrap_or(u32::MAX));
        match topology.end_port(end).attached {
            Some((switch, 0)) => parts.routes.sl2vl(switch, input, output),
            _ => parts.routes.end_port_sl2vl(end),
        }
    })
}

/// The SL2VL tables of all switches between cabled ports.
pub fn sl2vl_tables(parts: &Parts) -> impl Iterator<Item = slvl::Entry> + '_ {
    let topology = &parts.topology;
    switches(topology).flat_map(move |switch| {
        let guid = topology.switch(switch).guid;
        let ports = cabled(topology, switch);
        let pairs: Vec<(u8, u8)> = ports
            .iter()
            .flat_map(|input| ports.iter().map(|output| (*input, *output)))
            .collect();
        pairs.into_iter().map(move |(input, output)| {
            let table = parts.routes.sl2vl(switch, input, output);
            slvl::Entry {
                guid,
                input,
                output,
                table,
            }
        })
    })
}

/// The SL that the SA answers to a LID-LID Get of the source, for every ordered pair of CA ports.
fn write_psl(out: &mut impl Write, parts: &Parts, snapshot: &Snapshot) -> io::Result<()> {
    let hosts: Vec<_> = parts
        .topology
        .end_ports
        .iter()
        .filter(|end| end.node_type == NodeType::Ca)
        .collect();
    let pairs = hosts
        .iter()
        .flat_map(|from| hosts.iter().map(move |to| (*from, *to)));
    let entries = pairs
        .filter(|(from, to)| from.guid != to.guid)
        .map(|(from, to)| psl::Entry {
            source: from.node_guid,
            dlid: to.lid,
            sl: slow_sa::path_sl(snapshot, from.lid, to.lid),
        });
    psl::write(out, entries)
}
