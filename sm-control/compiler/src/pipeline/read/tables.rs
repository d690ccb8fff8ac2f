//! Forwarding and SL2VL tables from a directory of OpenSM dumps.
//!
//! The engine `files` takes what OpenSM dumped: `opensm-lfts.dump`, and `opensm-sl2vl.dump` where
//! QoS was on. Tables are taken at the LIDs of the dump, which are those of the `opensm-subnet.lst`
//! beside it. A switch of the fabric without a table has no routes; one in the dump that the fabric
//! lacks means that the files are of two fabrics.

use routing::{EndPortIx, GivenSl2Vl, SwitchIx};
use sa_fabric::ParseError;
use sa_fabric::detect::{DumpDir, Input, LoadError};
use sa_fabric::formats::{lfts, psl, sl2vl};
use sa_fabric::subnet::Subnet;
use sa_wire::{Guid, Lid, NodeType};

use super::ReadProblem;

/// Forwarding tables, which make a directory one of dumps to the engine.
const LFTS: &str = "opensm-lfts.dump";
/// SL2VL tables; without the file they are the configured ones.
const SL2VL: &str = "opensm-sl2vl.dump";

/// SLs of paths, where somebody recorded them: no dump of OpenSM's has them.
const PSL: &str = "psl";

/// SLs of paths that were recorded beside the tables. Errors: the file does not parse.
pub(super) fn path_sls(dumps: &DumpDir) -> Result<Option<Vec<psl::Entry>>, ReadProblem> {
    let input = dumps.read(PSL)?;
    let entries = input.map(|input| parsed(&input, psl::read));
    Ok(entries.transpose()?)
}

/// True when the directory holds forwarding tables.
pub(super) fn present(dumps: &DumpDir) -> bool {
    dumps.holds(LFTS)
}

/// Tables by switch, in the subnet's order, and SL2VL tables where they were dumped.
/// Errors: no tables; files that do not parse; switches that the fabric does not have.
pub(super) fn read(
    dumps: &DumpDir,
    subnet: &Subnet,
) -> Result<(Vec<Vec<u8>>, GivenSl2Vl), ReadProblem> {
    let input = dumps.read(LFTS)?.ok_or_else(|| {
        let directory = dumps.path.clone();
        ReadProblem::NoTables {
            directory,
            name: LFTS,
        }
    })?;
    // The dump of a subnet without switches is a file with nothing in it.
    let tables = match input.bytes.is_empty() && subnet.switches().is_empty() {
        true => Vec::new(),
        false => parsed(&input, lfts::read)?,
    };
    let max_lid = subnet
        .end_ports()
        .iter()
        .filter_map(|port| port.lids().last())
        .max();
    let mut by_switch = vec![Vec::new(); subnet.switches().len()];
    for table in tables {
        // A switch that comes twice keeps its last table, as OpenSM reads such a file.
        let place = switch(subnet, table.guid).and_then(|ix| by_switch.get_mut(ix));
        let place = place.ok_or_else(|| foreign(&input, table.at.line, table.guid))?;
        *place = table.table(Lid::raw(max_lid));
    }
    let sl2vl = match dumps.read(SL2VL)? {
        Some(input) => given_sl2vl(&input, subnet)?,
        None => GivenSl2Vl::default(),
    };
    Ok((by_switch, sl2vl))
}

/// By switch and pair of ports, and by end port. Errors: the file; a switch or port that the fabric
/// lacks.
fn given_sl2vl(input: &Input, subnet: &Subnet) -> Result<GivenSl2Vl, ReadProblem> {
    let mut given = GivenSl2Vl::default();
    for port in parsed(input, sl2vl::read)? {
        let unknown = || foreign(input, port.at.line, port.guid);
        // A switch's section is named by the GUID of its port 0, which is the node GUID.
        if port.node_type == NodeType::Switch {
            let ix = switch(subnet, port.guid).and_then(|ix| u32::try_from(ix).ok());
            let ix = SwitchIx(ix.ok_or_else(unknown)?);
            let rows = port.rows.iter();
            given
                .switches
                .extend(rows.map(|row| (ix, row.input, row.output, row.table)));
        } else {
            let ix = subnet
                .by_guid(port.guid)
                .and_then(|ix| u32::try_from(ix).ok());
            let ix = EndPortIx(ix.ok_or_else(unknown)?);
            given
                .end_ports
                .extend(port.rows.iter().map(|row| (ix, row.table)));
        }
    }
    Ok(given)
}

/// The place of a switch in the subnet.
///
/// Linear: one look for each switch of the dump.
fn switch(subnet: &Subnet, guid: Guid) -> Option<usize> {
    subnet
        .switches()
        .iter()
        .position(|node| subnet.fabric().node(*node).guid == guid)
}

/// Errors: with the name of the file.
fn parsed<T>(
    input: &Input,
    parse: impl Fn(&[u8]) -> Result<T, ParseError>,
) -> Result<T, LoadError> {
    parse(&input.bytes).map_err(|error| input.refused(error))
}

/// A GUID that is in the dump and not in the fabric, at its line.
fn foreign(input: &Input, line: u32, guid: Guid) -> ReadProblem {
    ReadProblem::ForeignTable {
        path: input.path.clone(),
        line,
        guid,
    }
}
