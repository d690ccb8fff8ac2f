//! What stands in each dump, whole or a part of it.
//!
//! The same functions write a file and a sample for its estimate: each takes the places of the
//! pieces that it is to write, switches, end ports or sources. Rows are made from the state while
//! they are written, so that a dump of a gigabyte needs no memory.
//!
//! | dump | pieces |
//! |---|---|
//! | `opensm-lfts.dump`, `opensm.fdbs`, `slvl` | switches |
//! | `opensm-sl2vl.dump` | switches, and CA and router ports |
//! | `psl` | sources |
//! | the others | none: written whole |

use std::io::{self, Write};

use routing::tables::MulticastTable;
use routing::{EndPortIx, NO_PATH, Peer, SwitchIx, Topology, Torus};
use sa_answer::whole;
use sa_fabric::formats::{fdbs, lfts, psl, sl2vl, slvl, subnet_lst, torus};
use sa_fabric::multicast;
use sa_snapshot::Snapshot;
use sa_wire::{Lid, NodeType};

use super::Table;
use crate::state::FabricState;

/// What dumps are made of.
///
/// Borrowed: an export ends before its fabric.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contents<'a> {
    pub(super) parts: &'a FabricState,
    pub(super) snapshot: &'a Snapshot,
    /// By ascending MLID; empty where nobody asked for groups.
    pub(super) groups: &'a [MulticastTable],
}

/// Pieces of a table that are about as long as each other: switches, ports, or sources.
pub(super) type Pieces = Vec<usize>;

impl Contents<'_> {
    /// The pieces of a table, those of one kind together. None where it is written as a whole,
    /// being no larger than the fabric's own files.
    ///
    /// SL2VL tables of switches and of CAs are two kinds, as the one has a thousand rows and the
    /// other one.
    pub(super) fn pieces(&self, table: Table) -> Option<Vec<Pieces>> {
        let topology = &self.parts.topology;
        let ends = || topology.end_ports.iter().enumerate();
        let of = |wanted: fn(&routing::EndPort) -> bool| {
            let some = ends().filter(|(_, end)| wanted(end));
            some.map(|(place, _)| place).collect()
        };
        match table {
            Table::Torus | Table::Subnet | Table::Multicast => None,
            Table::Lfts | Table::Fdbs | Table::SlVl => {
                Some(vec![(0..topology.switches.len()).collect()])
            }
            Table::Sl2Vl => Some(vec![
                of(|end| end.port_number == 0),
                of(|end| end.port_number != 0),
            ]),
            Table::PathSls => Some(vec![of(|end| end.node_type == NodeType::Ca)]),
        }
    }

    /// Writes a table, or of its pieces these alone. Errors: those of `out`.
    ///
    /// Tables without pieces do not look at `pieces`.
    pub(super) fn write(
        &self,
        table: Table,
        pieces: &[usize],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (parts, topology) = (self.parts, &self.parts.topology);
        match table {
            Table::Torus => parts
                .routes
                .torus()
                .map_or(Ok(()), |torus| write_torus(out, topology, torus)),
            Table::Subnet => subnet_lst::write(out, &parts.subnet),
            Table::Lfts => write_lfts(out, parts, pieces),
            Table::Fdbs => write_fdbs(out, parts, pieces),
            Table::Sl2Vl => write_sl2vl(out, parts, pieces),
            Table::SlVl => {
                let switches = pieces.iter().map(|place| ix(*place));
                slvl::write(out, sl2vl_of(parts, switches))
            }
            Table::Multicast => multicast::write(out, topology, self.groups),
            Table::PathSls => write_psl(out, parts, self.snapshot, pieces),
        }
    }
}

fn ix(place: usize) -> SwitchIx {
    SwitchIx(u32::try_from(place).unwrap_or(u32::MAX))
}

/// Switches that have a place only; the order is that of places.
pub(super) fn write_torus(
    out: &mut impl Write,
    topology: &Topology,
    torus: &Torus,
) -> io::Result<()> {
    let switches = torus.by_place().map(|placed| {
        let switch = topology.switch(placed.switch);
        (
            placed.at.0.map(u16::from),
            switch.guid,
            switch.description.as_str(),
        )
    });
    torus::write(out, switches)
}

/// Forwarding tables of some switches, with comments on who has each LID.
fn write_lfts(out: &mut impl Write, parts: &FabricState, switches: &[usize]) -> io::Result<()> {
    let topology = &parts.topology;
    let headings = switches.iter().map(|place| {
        let switch = topology.switch(ix(*place));
        lfts::Heading {
            lid: topology.end_port(switch.port0).lid,
            guid: switch.guid,
            description: &switch.description,
            ports: u8::try_from(switch.ports.len().saturating_sub(1)).unwrap_or(u8::MAX),
        }
    });
    let owner = |lid| {
        let end = topology.end_port(parts.routes.lids().owner(Lid::new(lid).ok()?)?);
        let (node_type, guid) = (end.node_type, end.guid);
        Some(lfts::Owner {
            node_type,
            guid,
            description: &end.description,
        })
    };
    lfts::write(out, headings, topology.max_lid(), owner, |nth, lid| {
        entry(parts, place(switches, nth), lid)
    })
}

/// The forwarding entry of a switch for a LID.
///
/// `NO_PATH` beyond the table's end.
fn entry(parts: &FabricState, switch: SwitchIx, lid: u16) -> u8 {
    let table = parts.routes.lft(switch);
    table.get(usize::from(lid)).copied().unwrap_or(NO_PATH)
}

/// The nth of some switches.
///
/// A place that is not there gives an index that no switch has, and its entries read as no path.
fn place(switches: &[usize], nth: usize) -> SwitchIx {
    ix(switches.get(nth).copied().unwrap_or(usize::MAX))
}

/// The same as ibdmchk reads it; hop counts as of an engine that keeps none.
fn write_fdbs(out: &mut impl Write, parts: &FabricState, switches: &[usize]) -> io::Result<()> {
    let topology = &parts.topology;
    let guids = switches
        .iter()
        .map(|place| topology.switch(ix(*place)).guid);
    fdbs::write(out, guids, topology.max_lid(), |nth, lid| {
        let switch = place(switches, nth);
        match entry(parts, switch, lid) {
            NO_PATH => fdbs::Entry::Unreachable,
            port => fdbs::Entry::without_hops(port, is_local(parts, switch, lid)),
        }
    })
}

/// True for LIDs of CAs and routers that are plugged into the switch.
///
/// For those OpenSM prints its odd line about a shorter way.
fn is_local(parts: &FabricState, switch: SwitchIx, lid: u16) -> bool {
    let owner = Lid::new(lid)
        .ok()
        .and_then(|lid| parts.routes.lids().owner(lid));
    let end = owner.map(|owner| parts.topology.end_port(owner));
    end.is_some_and(|end| {
        end.port_number != 0 && end.attached.is_some_and(|(own, _)| own == switch)
    })
}

/// Ports of a switch that have a cable, ascending.
///
/// Port 0 has no cable and is not among them.
fn cabled(topology: &Topology, switch: SwitchIx) -> Vec<u8> {
    let ports = (0u8..=u8::MAX).zip(&topology.switch(switch).ports);
    ports
        .filter(|(_, port)| port.peer != Peer::Nothing)
        .map(|(number, _)| number)
        .collect()
}

/// Tables of some end ports; of a switch, which is its port 0, all between cabled ports.
fn write_sl2vl(out: &mut impl Write, parts: &FabricState, ends: &[usize]) -> io::Result<()> {
    let topology = &parts.topology;
    let sections = ends.iter().map(|place| {
        let end = topology.end_port(end_ix(*place));
        let switch = end
            .attached
            .filter(|_| end.port_number == 0)
            .map(|(switch, _)| switch);
        // Index 0 is port 0, so there is always one.
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
    sl2vl::write(out, sections, |nth, input, output| {
        let end = end_ix(ends.get(nth).copied().unwrap_or(usize::MAX));
        match topology.end_port(end).attached {
            Some((switch, 0)) => parts.routes.sl2vl(switch, input, output),
            _ => parts.routes.end_port_sl2vl(end),
        }
    })
}

/// The index of an end port from its place.
fn end_ix(place: usize) -> EndPortIx {
    EndPortIx(u32::try_from(place).unwrap_or(u32::MAX))
}

/// The SL2VL tables of some switches between cabled ports.
///
/// Without port 0: ibdmchk knows no packets that begin or end in a switch.
pub(super) fn sl2vl_of<'a>(
    parts: &'a FabricState,
    switches: impl Iterator<Item = SwitchIx> + 'a,
) -> impl Iterator<Item = slvl::Entry> + 'a {
    let topology = &parts.topology;
    switches.flat_map(move |switch| {
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

/// The SL that the SA answers to a LID-LID Get of the source, for every ordered pair of some CA
/// ports and any.
///
/// From the snapshot, so that what is checked is what clients get. A port and itself are no pair.
fn write_psl(
    out: &mut impl Write,
    parts: &FabricState,
    snapshot: &Snapshot,
    sources: &[usize],
) -> io::Result<()> {
    let ends = &parts.topology.end_ports;
    let hosts: Vec<_> = ends
        .iter()
        .filter(|end| end.node_type == NodeType::Ca)
        .collect();
    // Nothing is collected: there may be 16 million pairs.
    let from = sources.iter().filter_map(|place| ends.get(*place));
    let pairs = from.flat_map(|from| hosts.iter().map(move |to| (from, *to)));
    let entries = pairs
        .filter(|(from, to)| from.guid != to.guid)
        .map(|(from, to)| psl::Entry {
            source: from.node_guid,
            dlid: to.lid,
            sl: whole::path_sl(snapshot, from.lid, to.lid),
        });
    psl::write(out, entries)
}
