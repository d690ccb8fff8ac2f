//! What the switches hold, as the pipeline takes it.

use routing::{EndPortIx, GivenSl2Vl, NO_PATH, Peer, SwitchIx, Topology};
use sa_wire::SlToVl;
use sa_wire::records::{LinearForwardingTableRecord, SlToVlRecord};

use crate::sa_records::SaFabric;

impl SaFabric {
    /// Forwarding tables. Shape: by switch of the topology, then by LID.
    pub fn lfts(&self, topology: &Topology) -> Vec<Vec<u8>> {
        let last = usize::from(topology.max_lid());
        let table = |switch| table(topology, switch, self.blocks(topology, switch), last);
        topology.switch_ixs().map(table).collect()
    }

    /// The forwarding table of a switch. Shape: by LID.
    pub fn lft(&self, topology: &Topology, switch: SwitchIx) -> Vec<u8> {
        let last = usize::from(topology.max_lid());
        table(topology, switch, self.blocks(topology, switch), last)
    }

    /// True only if a switch holds this table, as it is told: quick, and enough for most. Shape: as
    /// [`Self::lft`].
    pub fn holds(&self, topology: &Topology, switch: SwitchIx, table: &[u8]) -> bool {
        let blocks = self.blocks(topology, switch);
        let mut pieces = table.chunks(BLOCK).zip(blocks).enumerate();
        let is_same = |(nth, (piece, block)): (usize, (&[u8], &LinearForwardingTableRecord))| {
            // LID 0 is nobody's.
            let first = usize::from(nth == 0);
            piece[first..] == block.ports[first..piece.len()]
        };
        blocks.len() * BLOCK >= table.len() && pieces.all(is_same)
    }

    fn blocks(&self, topology: &Topology, switch: SwitchIx) -> &[LinearForwardingTableRecord] {
        let port0 = topology.switch(switch).port0;
        let blocks = self.records.lfts.get(&topology.end_port(port0).lid.get());
        blocks.map_or(&[], Vec::as_slice)
    }

    /// SL2VL tables between ports that have a cable, and of end ports. Empty without QoS.
    pub fn sl2vl(&self, topology: &Topology) -> GivenSl2Vl {
        let mut given = GivenSl2Vl::default();
        // By LID: there are hundreds of records for each.
        let mut by_lid = vec![None; usize::from(u16::MAX) + 1];
        for end in topology.end_port_ixs() {
            by_lid[usize::from(topology.end_port(end).lid.get())] = Some(end);
        }
        for record in &self.records.sl2vl {
            let Some(end) = by_lid[usize::from(record.lid.get())] else {
                continue;
            };
            match place(topology, end, record) {
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

/// LIDs in a block of a table.
const BLOCK: usize = 64;

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
    let mut table = Vec::with_capacity(blocks.len() * BLOCK);
    blocks
        .iter()
        .for_each(|block| table.extend_from_slice(&block.ports));
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
