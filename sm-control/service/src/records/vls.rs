//! SLtoVLMappingTableRecords and VLArbitrationTableRecords; all zeros where OpenSM sets up none.
//! Source: OpenSM `osm_sa_slvl_record.c`, `osm_sa_vlarb_record.c`.
//!
//! What a table says comes from two places. Which VL an SL takes is the routing engine's, because
//! deadlock freedom depends on it; how VLs share a link is the options' (`qos_*`). Without `qos`
//! OpenSM programs neither, and the tables are zeros.
//!
//! A switch has an SL-to-VL table for each pair of input and output port: 36 ports and port 0 make
//! 1,369 records. Arbitration has four blocks for each port: low priority, entries 1 to 32 and 33
//! to 64, then high priority.
//!
//! ```text
//!  SLtoVL, switch LID 9, input 1, output 2     vls 01 23 45 67 00 00 00 00: SL 0 on VL 0, SL 1 on VL 1 ..
//!  VLArb, port 2, block 1                      (VL 0, 4) (VL 1, 4) .. 32 entries of low priority
//! ```

use core::ops::ControlFlow;

use routing::{EndPortIx, SwitchIx};
use sa_compiler::qos_setup::{PortTables, TablesByEnd};
use sa_fabric::PortRef;
use sa_fabric::options::{PortClass, VlArbEntry, fit_sl2vl};
use sa_fabric::subnet::EndPort;
use sa_wire::SlToVl;
use sa_wire::records::{SlToVlRecord, VlArbitrationRecord};
use zerocopy::IntoBytes;

use super::out::Out;
use super::query::Query;
use super::view::View;

/// One for each CA and router port, whatever ports are asked for; one for each pair of ports of a
/// switch, by output, then by input port. A large table, so it is streamed.
pub(super) fn sl_to_vl(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    for end in view.ends_by_lid(query.wanted("lid")) {
        // A CA has one table for its port, whichever pair is asked for.
        if !view.is_switch(end.at.node) {
            if view.shows(end.at) {
                out.push(sl_to_vl_record(view, end, 0, 0).as_bytes())?;
            }
            continue;
        }
        let outputs = chosen(view, end, query.wanted("output_port"));
        let inputs = chosen(view, end, query.wanted("input_port"));
        for output in outputs.filter(|port| view.shows(port_of(end, *port))) {
            for input in inputs.clone() {
                out.push(sl_to_vl_record(view, end, input, output).as_bytes())?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// The one port that is asked for, if there is such a port; else all.
///
/// Port 0 counts, as tables are for it too.
fn chosen(view: &View<'_>, end: &EndPort, wanted: Option<u64>) -> impl Iterator<Item = u8> + Clone {
    let last = view.node(end.at.node).port_count();
    (0..=last).filter(move |port| wanted.is_none_or(|wanted| wanted == u64::from(*port)))
}

/// One table, packed as two VLs to a byte.
fn sl_to_vl_record(view: &View<'_>, end: &EndPort, input: u8, output: u8) -> SlToVlRecord {
    let table = match view.is_switch(end.at.node) {
        true => switch_table(view, end, input, output),
        false => end_table(view, end),
    };
    SlToVlRecord {
        lid: end.lid.get().into(),
        input,
        output,
        reserved: 0.into(),
        vls: table.map_or([0; 8], SlToVlRecord::packed),
    }
}

/// None where OpenSM programs no tables.
fn end_table(view: &View<'_>, end: &EndPort) -> Option<SlToVl> {
    let index = view.parts.subnet.by_guid(end.guid)?;
    let index = EndPortIx(u32::try_from(index).ok()?);
    let has_one = view.parts.options.qos;
    has_one.then(|| view.parts.routes.end_port_sl2vl(index))
}

/// None on ports without a link, and on a port 0 that is not enhanced: nothing is sent out there,
/// so nobody sets a table up.
fn switch_table(view: &View<'_>, end: &EndPort, input: u8, output: u8) -> Option<SlToVl> {
    let at = port_of(end, output);
    let has_one = match output {
        0 => view.node(at.node).enhanced_port0,
        _ => view.peer(at).is_some(),
    };
    let switch = view.switch(at.node)?;
    (view.parts.options.qos && has_one).then(|| sl2vl(view, at, switch, input))
}

/// What the engine says, but for port 0. The tables of port 0 are configured as those of the other
/// ports, but for what comes from port 0 itself.
fn sl2vl(view: &View<'_>, at: PortRef, switch: SwitchIx, input: u8) -> SlToVl {
    let parts = view.parts;
    let table = parts.routes.sl2vl(switch, input, at.port);
    let keeps_configured = parts.routes.facts().keeps_configured_sl2vl;
    let is_configured = keeps_configured && at.port == 0 && input != 0;
    let ports = &parts.topology.switch(switch).ports;
    let own = ports.first().map(|port| port.configured_sl2vl);
    if is_configured && own == Some(table) {
        let external = parts.options.qos_tables(PortClass::SwitchExternal).sl2vl;
        return fit_sl2vl(external, parts.subnet.operational_vls(at, &parts.options));
    }
    table
}

/// Four blocks for each port. The port filter does not count on CAs and routers.
pub(super) fn vl_arbitration(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    let ends = view.ends_by_lid(query.wanted("lid"));
    let tables = TablesByEnd::new(view.parts);
    for end in ends {
        let own = own_tables(view, end, &tables);
        let filter = query
            .wanted("port_num")
            .filter(|_| view.is_switch(end.at.node));
        // A table of a CA port is asked for by its LID; the port in the request is another thing
        // there.
        let ports: Vec<u8> = match view.is_switch(end.at.node) {
            true => chosen(view, end, filter).collect(),
            false => vec![end.at.port],
        };
        for port in ports
            .into_iter()
            .filter(|port| view.shows(port_of(end, *port)))
        {
            let of_port = own.iter().find(|tables| tables.at.port == port);
            for block in 1..=BLOCKS {
                let is_wanted = query
                    .wanted("block_num")
                    .is_none_or(|wanted| wanted == u64::from(block));
                if is_wanted {
                    out.push(vl_arbitration_record(end, port, block, of_port).as_bytes())?;
                }
            }
        }
    }
    ControlFlow::Continue(())
}

/// The arbitration tables of an end port, or of all ports of its switch.
fn own_tables(view: &View<'_>, end: &EndPort, tables: &TablesByEnd<'_>) -> Vec<PortTables> {
    let index = view.parts.subnet.by_guid(end.guid);
    let index = index.and_then(|index| u32::try_from(index).ok());
    index.map_or_else(Vec::new, |index| tables.of(EndPortIx(index)))
}

/// One block. Without tables all entries are VL 0 with weight 0, which is "skip".
fn vl_arbitration_record(
    end: &EndPort,
    port: u8,
    block: u8,
    tables: Option<&PortTables>,
) -> VlArbitrationRecord {
    let table = tables.map_or(&[][..], |tables| match block {
        1 | 2 => &tables.vlarb_low,
        _ => &tables.vlarb_high,
    });
    // Blocks 2 and 4 are the second halves.
    let skip = if block.is_multiple_of(2) { ENTRIES } else { 0 };
    let mut entries = [[0; 2]; ENTRIES];
    for (place, entry) in entries.iter_mut().zip(table.iter().skip(skip)) {
        let VlArbEntry { vl, weight } = *entry;
        *place = [vl, weight];
    }
    VlArbitrationRecord {
        lid: end.lid.get().into(),
        port,
        block,
        reserved: 0.into(),
        entries,
    }
}

/// A port of the same node.
const fn port_of(end: &EndPort, port: u8) -> PortRef {
    PortRef {
        node: end.at.node,
        port,
    }
}

/// Of each port: two of low, two of high priority.
const BLOCKS: u8 = 4;
/// Entries of a block, each a VL and a weight.
const ENTRIES: usize = 32;
