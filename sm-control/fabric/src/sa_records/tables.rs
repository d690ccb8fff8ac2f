//! What the switches hold, as the pipeline takes it.
//!
//! Records name switches by LID and come in blocks of 64 LIDs; routing wants tables by switch of a
//! [`Topology`], LIDs up to the fabric's largest, and `NO_PATH` where nothing leads. Entries that
//! name a port which the switch does not have count as no path, as a packet would be dropped there.
//!
//! Whole tables are copies: at 4,000 switches and 48,000 LIDs some 200 MB. [`SaFabric::holds`]
//! compares in place for those who only want to know whether a table is still the same.

use std::sync::Arc;

use routing::{EndPortIx, GivenSl2Vl, NO_PATH, Peer, SwitchIx, Topology};
use sa_wire::records::{LinearForwardingTableRecord, SlToVlRecord};

use crate::sa_records::SaFabric;

impl SaFabric {
    /// Forwarding tables. Shape: by switch of the topology, then by LID.
    ///
    /// Blocks beyond the largest LID are cut off.
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

    /// The forwarding table of a switch, written to its place. Shape: `row` by LID, as [`Self::lft`].
    pub fn write_lft(&self, topology: &Topology, switch: SwitchIx, row: &mut [u8]) {
        let ports = topology.switch(switch).ports.len();
        let (mut rest, blocks) = (&mut *row, self.blocks(topology, switch));
        for block in blocks {
            let (piece, behind) = rest.split_at_mut(rest.len().min(BLOCK));
            for (to, port) in piece.iter_mut().zip(block.ports) {
                *to = known(port, ports);
            }
            rest = behind;
        }
        // Short where LinearFDBTop is below the largest LID: what is not set leads nowhere.
        rest.fill(NO_PATH);
        // LID 0 is nobody's.
        row.iter_mut().take(1).for_each(|port| *port = NO_PATH);
    }

    /// True only if a switch of this topology has the table that it had in `before`: both lie in one memory.
    /// False does not mean that they differ.
    pub fn shares_lft(&self, topology: &Topology, switch: SwitchIx, before: &Self) -> bool {
        let port0 = topology.switch(switch).port0;
        let lid = topology.end_port(port0).lid.get();
        match (self.records.lfts.get(&lid), before.records.lfts.get(&lid)) {
            (Some(own), Some(theirs)) => Arc::ptr_eq(own, theirs),
            _ => false,
        }
    }

    /// True only if a switch holds this table, as it is told: quick, and enough for most. Shape: as
    /// [`Self::lft`].
    ///
    /// False for tables that differ only where no LID is, too: then the slow way tells.
    pub fn holds(&self, topology: &Topology, switch: SwitchIx, table: &[u8]) -> bool {
        let blocks = self.blocks(topology, switch);
        let mut pieces = table.chunks(BLOCK).zip(blocks).enumerate();
        let is_same = |(nth, (piece, block)): (usize, (&[u8], &LinearForwardingTableRecord))| {
            // LID 0 is nobody's.
            let first = usize::from(nth == 0);
            piece[first..] == block.ports[first..piece.len()]
        };
        // `zip` ends with the shorter one, so what is missing must be asked for.
        blocks.len() * BLOCK >= table.len() && pieces.all(is_same)
    }

    /// Empty for a switch without records.
    fn blocks(&self, topology: &Topology, switch: SwitchIx) -> &[LinearForwardingTableRecord] {
        let port0 = topology.switch(switch).port0;
        let blocks = self.records.lfts.get(&topology.end_port(port0).lid.get());
        blocks.map_or(&[], |blocks| blocks.as_slice())
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
                        SlToVlRecord::unpacked(record.vls),
                    ));
                }
                Some(Place::End(end)) => given
                    .end_ports
                    .push((end, SlToVlRecord::unpacked(record.vls))),
                None => {}
            }
        }
        given
    }
}

/// LIDs in a block of a table.
const BLOCK: usize = 64;

/// Whose SL2VL table a record is.
enum Place {
    Switch(SwitchIx),
    End(EndPortIx),
}

/// Whose table it is; none of a switch's port without a cable.
///
/// A switch has a record for each pair of its ports, cabled or not; only output ports that lead
/// somewhere matter.
fn place(topology: &Topology, end: EndPortIx, record: &SlToVlRecord) -> Option<Place> {
    // Port 0 of a switch is attached to itself; all others are CAs or routers.
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
    // Short where LinearFDBTop is below the largest LID: what is not set leads nowhere.
    table.resize(last + 1, NO_PATH);
    for (lid, port) in table.iter_mut().enumerate() {
        // LID 0 is nobody's.
        *port = if lid == 0 {
            NO_PATH
        } else {
            known(*port, ports)
        };
    }
    table
}

/// An entry of a switch with so many ports, port 0 included.
const fn known(port: u8, ports: usize) -> u8 {
    if (port as usize) < ports {
        port
    } else {
        NO_PATH
    }
}
