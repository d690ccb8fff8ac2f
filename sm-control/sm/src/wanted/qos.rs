//! SLtoVLMappingTable and VLArbitrationTable of a port.
//!
//! Tables are cut to the VLs that the port is to operate ([`super::port_info`]), not to those that it operates now: VLs that change
//! come with the tables that fit them. The tables come from options ([`PortQos::of_options`]), from the routing engine or from a
//! policy; here they only become what a port takes.
//! Source: OpenSM `osm_qos.c`.
//!
//! Nothing of it is read back here: which blocks differ is found by the writing, block by block.

use std::collections::BTreeMap;

use sa_fabric::options::{QosTables, VlArbEntry, fit_sl2vl, fit_vl_arb};
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::{ALL_INPUTS, ALL_OUTPUTS, attribute};
use sa_wire::{DataVls, SlToVl};

use crate::model::Block;
use crate::model::attributes::Data;

/// The tables of a port, cut to what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortQos {
    /// High-priority table. Shape: as many entries as the port has, at most 64; empty with one VL.
    pub vlarb_high: Vec<VlArbEntry>,
    /// Low-priority table. Shape: like the other.
    pub vlarb_low: Vec<VlArbEntry>,
    /// SL2VL, for all input ports alike.
    pub sl2vl: SlToVl,
}

impl PortQos {
    /// Tables of the options of a class of ports, for a port that is to have this PortInfo. `None`: it tells VLs that do not
    /// exist.
    pub fn of_options(tables: &QosTables, wanted: &PortInfoRecord) -> Option<Self> {
        let vls = DataVls::from_code(wanted.operational_vls_and_enforcement >> 4).ok()?;
        // A port of one VL has nothing to arbitrate.
        // VLCap is a code: 1 stands for VL0 alone.
        let has_many = wanted.vl_cap_and_init_type >> 4 > 1;
        let fit = |table: &[VlArbEntry], room: u8| match has_many {
            true => fit_vl_arb(table, room.min(MOST), vls),
            false => Vec::new(),
        };
        Some(Self {
            vlarb_high: fit(&tables.vlarb_high, wanted.vl_arb_high_cap),
            vlarb_low: fit(&tables.vlarb_low, wanted.vl_arb_low_cap),
            sl2vl: fit_sl2vl(tables.sl2vl, vls),
        })
    }

    /// The blocks of both arbitration tables. Shape: as of [`arbitration`].
    pub fn arbitration(&self, end_port: u8, port: u8) -> Vec<(Block, Data)> {
        arbitration(&self.vlarb_high, &self.vlarb_low, end_port, port)
    }
}

/// The blocks of both arbitration tables of a port. Shape: `end_port` and `port` as in [`super::pkeys::blocks`].
///
/// Source: IBA vol. 1, 14.2.5.9: 1 and 2 are the low-priority table, 3 and 4 the high one, 32 entries each.
pub fn arbitration(
    high: &[VlArbEntry],
    low: &[VlArbEntry],
    end_port: u8,
    port: u8,
) -> Vec<(Block, Data)> {
    // A table of up to 32 entries has no second block: nothing is written for it.
    let blocks = [(1, low), (3, high)]
        .into_iter()
        .flat_map(|(first, table)| {
            let numbered = (first..).zip(table.chunks(ENTRIES));
            numbered.map(|(number, entries)| {
                let mut data = [0; 64];
                for (to, entry) in data.chunks_exact_mut(2).zip(entries) {
                    to.copy_from_slice(&[entry.vl, entry.weight]);
                }
                let block = Block {
                    attribute: attribute::VL_ARBITRATION,
                    end_port,
                    modifier: (number << 16) | u32::from(port),
                };
                (block, data)
            })
        });
    blocks.collect()
}

/// The SL2VL block of a CA's or router's port.
///
/// There is one for each port: it has no inputs to tell apart, so the modifier is 0.
pub fn sl_to_vl(end_port: u8, table: SlToVl) -> (Block, Data) {
    packed(end_port, 0, table)
}

/// The SL2VL block of a switch, from an input port to an output port.
///
/// Shape: input 0 is the switch's own port 0. Source: IBA vol. 1, 14.2.5.8.
pub fn switch_sl_to_vl(input: u8, output: u8, table: SlToVl) -> (Block, Data) {
    packed(0, (u32::from(input) << 8) | u32::from(output), table)
}

/// The SL2VL blocks of a switch with optimised programming (OptimizedSLtoVLMappingProgramming in SwitchInfo, option
/// `use_optimized_slvl`): one for all ports with the table that most have, then one for each output port with another. `outputs`:
/// by output port, for all input ports alike; a table that depends on the input is written by [`switch_sl_to_vl`].
///
/// Order matters: the one for all ports first, as it overwrites the others.
pub fn optimised_sl_to_vl(outputs: &BTreeMap<u8, SlToVl>) -> Vec<(Block, Data)> {
    let count = |table: &SlToVl| outputs.values().filter(|other| *other == table).count();
    // Of two that are as common the one of the lower port, so that the answer is the same each time.
    let most = outputs
        .iter()
        .max_by_key(|(port, table)| (count(table), core::cmp::Reverse(**port)));
    let Some((_, common)) = most else {
        return Vec::new();
    };
    let others = outputs.iter().filter(|(_, table)| *table != common);
    let others = others.map(|(port, table)| packed(0, ALL_INPUTS | u32::from(*port), *table));
    let all = packed(0, ALL_INPUTS | ALL_OUTPUTS, *common);
    core::iter::once(all).chain(others).collect()
}

/// Two SLs a byte, the lower one first.
/// Shape: 16 SLs of four bits, 8 bytes of the 64.
fn packed(end_port: u8, modifier: u32, table: SlToVl) -> (Block, Data) {
    let mut data = [0; 64];
    for (to, pair) in data.iter_mut().zip(table.0.chunks_exact(2)) {
        if let [even, odd] = pair {
            *to = (even << 4) | (odd & 0xf);
        }
    }
    let block = Block {
        attribute: attribute::SL_TO_VL,
        end_port,
        modifier,
    };
    (block, data)
}

/// Entries of a block.
const ENTRIES: usize = 32;
/// Entries of the largest table.
const MOST: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_with_64_entries_gets_both_blocks() {
        let entry = VlArbEntry { vl: 9, weight: 3 };
        let tables = QosTables {
            high_limit: 0,
            vlarb_high: vec![entry; 64],
            vlarb_low: vec![entry; 64],
            sl2vl: SlToVl([9; 16]),
        };
        let mut wanted = PortInfoRecord {
            vl_cap_and_init_type: 4 << 4,
            operational_vls_and_enforcement: 4 << 4,
            vl_arb_high_cap: 64,
            vl_arb_low_cap: 40,
            ..PortInfoRecord::default()
        };
        let qos = PortQos::of_options(&tables, &wanted).unwrap();
        let blocks = qos.arbitration(0, 7);
        let at: Vec<u32> = blocks.iter().map(|(block, _)| block.modifier).collect();
        assert_eq!(at, [0x1_0007, 0x2_0007, 0x3_0007, 0x4_0007]);
        assert_eq!(
            blocks[1].1[14..18],
            [1, 3, 0, 0],
            "8 of the last block are its own"
        );
        assert_eq!(blocks[3].1[62..], [1, 3], "VL 9 of eight VLs");
        assert_eq!(
            sl_to_vl(1, qos.sl2vl).1[..9],
            [0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0]
        );
        wanted.vl_cap_and_init_type = 1 << 4;
        let one = PortQos::of_options(&tables, &wanted).unwrap();
        assert!(
            one.arbitration(0, 7).is_empty(),
            "one VL has nothing to arbitrate"
        );
        wanted.operational_vls_and_enforcement = 0;
        assert_eq!(PortQos::of_options(&tables, &wanted), None);
    }

    #[test]
    fn optimised_switches_get_what_differs() {
        let (usual, odd) = (SlToVl([1; 16]), SlToVl([2; 16]));
        let outputs = BTreeMap::from([(1, odd), (2, usual), (3, usual), (9, odd), (10, usual)]);
        let found = optimised_sl_to_vl(&outputs);
        let at: Vec<u32> = found.iter().map(|(block, _)| block.modifier).collect();
        assert_eq!(
            at,
            [0x30000, 0x20001, 0x20009],
            "0x30000 is what OpenSM sends for all ports"
        );
        assert_eq!((found[0].1[0], found[1].1[0]), (0x11, 0x22));
        let tied = BTreeMap::from([(4, odd), (5, usual)]);
        assert_eq!(optimised_sl_to_vl(&tied)[0].1[0], 0x22, "the lower port's");
        assert!(optimised_sl_to_vl(&BTreeMap::new()).is_empty());
    }
}
