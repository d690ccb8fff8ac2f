//! What the switches hold, as the pipeline takes it.

use std::collections::HashMap;

use routing::{EndPortIx, GivenSl2Vl, NO_PATH, Peer, SwitchIx, Topology};
use sa_wire::SlToVl;
use sa_wire::records::{LinearForwardingTableRecord, SlToVlRecord};

use super::Live;

impl Live {
    /// Forwarding tables. Shape: by switch of the topology, then by LID.
    pub fn lfts(&self, topology: &Topology) -> Vec<Vec<u8>> {
        let last = usize::from(topology.max_lid());
        let switches = topology.switches.iter();
        let lids = switches.map(|switch| topology.end_port(switch.port0).lid.get());
        let blocks = lids.map(|lid| self.records.lfts.get(&lid).map_or(&[][..], Vec::as_slice));
        let tables = topology.switch_ixs().zip(blocks);
        tables
            .map(|(switch, blocks)| table(topology, switch, blocks, last))
            .collect()
    }

    /// SL2VL tables between ports that have a cable, and of end ports. Empty without QoS.
    pub fn sl2vl(&self, topology: &Topology) -> GivenSl2Vl {
        let mut given = GivenSl2Vl::default();
        let ends = topology.end_port_ixs();
        let by_lid: HashMap<u16, EndPortIx> = ends
            .map(|end| (topology.end_port(end).lid.get(), end))
            .collect();
        for record in &self.records.sl2vl {
            let Some(end) = by_lid.get(&record.lid.get()) else {
                continue;
            };
            match place(topology, *end, record) {
                Some(Place::Switch(switch)) => {
                    given.switches.push((
                        switch,
                        record.input,
                        record.output,
                        unpacked(record.vls),
                    ));
                }
                Some(Place::End(end)) => given.end_ports.push((end, unpacked(record.vls))),
                None => {}
            }
        }
        given
    }
}

enum Place {
    Switch(SwitchIx),
    End(EndPortIx),
}

/// Whose table it is; none of a switch's port without a cable.
fn place(topology: &Topology, end: EndPortIx, record: &SlToVlRecord) -> Option<Place> {
    let Some((switch, 0)) = topology.end_port(end).attached else {
        return Some(Place::End(end));
    };
    let ports = &topology.switch(switch).ports;
    let output = ports.get(usize::from(record.output));
    let is_cabled = output.is_some_and(|port| port.peer != Peer::Nothing);
    let counts = is_cabled && usize::from(record.input) < ports.len();
    counts.then_some(Place::Switch(switch))
}

/// Entries that name no port of the switch lead nowhere.
fn table(
    topology: &Topology,
    switch: SwitchIx,
    blocks: &[LinearForwardingTableRecord],
    last: usize,
) -> Vec<u8> {
    let ports = topology.switch(switch).ports.len();
    let mut table: Vec<u8> = blocks.iter().flat_map(|block| block.ports).collect();
    table.resize(last + 1, NO_PATH);
    for (lid, port) in table.iter_mut().enumerate() {
        // LID 0 is nobody's.
        if usize::from(*port) >= ports || lid == 0 {
            *port = NO_PATH;
        }
    }
    table
}

pub(super) fn unpacked(vls: [u8; 8]) -> SlToVl {
    let mut table = [0; 16];
    for (pair, byte) in table.chunks_exact_mut(2).zip(vls) {
        pair.copy_from_slice(&[byte >> 4, byte & 0xf]);
    }
    SlToVl(table)
}
