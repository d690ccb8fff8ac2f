//! LinearForwardingTable, in blocks of 64 LIDs.
//!
//! An entry is the output port for a LID; port 0 is the switch itself. Blocks are numbered from LID 0 on, which nobody has.
//! Source: IBA vol. 1, 14.2.5.10.

use sa_wire::smp::attribute;

use crate::model::attributes::Data;
use crate::model::{Block, Tables};

/// LIDs of a block.
const BLOCK: usize = 64;
/// No path to this LID.
///
/// A packet to it is dropped. No switch has a port 255, so it cannot be taken for one.
pub const NO_PATH: u8 = 0xff;

/// The blocks of a table. Shape: index of `table` = LID, as a routing engine makes it; values are output ports or
/// [`NO_PATH`]. LIDs behind its end have no path.
///
/// The last block is filled up with [`NO_PATH`]: it is written whole.
pub fn blocks(table: &[u8]) -> impl Iterator<Item = (Block, Data)> + '_ {
    (0..).zip(table.chunks(BLOCK)).map(|(number, lids)| {
        let mut data = [NO_PATH; BLOCK];
        for (to, from) in data.iter_mut().zip(lids) {
            *to = *from;
        }
        (block(number), data)
    })
}

/// The table of a switch as it is known: `NO_PATH` for LIDs of blocks that nobody wrote or read.
///
/// Shape: index = LID, as long as `lids` says. What is unknown may forward anywhere: who needs certainty asks for the block instead.
pub fn known(tables: &Tables, lids: usize) -> Vec<u8> {
    let numbers = (0..).take(lids.div_ceil(BLOCK));
    let mut table: Vec<u8> = numbers
        .flat_map(|number| {
            tables
                .get(block(number))
                .copied()
                .unwrap_or([NO_PATH; BLOCK])
        })
        .collect();
    table.truncate(lids);
    table
}

/// The block with LIDs from `64 * number` on.
///
/// Shape: `end_port` 0, as a switch has one table, written through port 0.
pub const fn block(number: u32) -> Block {
    Block {
        attribute: attribute::LINEAR_TABLE,
        end_port: 0,
        modifier: number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_ends_in_lids_without_path() {
        let table: Vec<u8> = (0..70).map(|lid| lid % 7).collect();
        let found: Vec<_> = blocks(&table).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[1].0.modifier, found[1].1[5], found[1].1[6]),
            (1, 69 % 7, NO_PATH)
        );
        assert_eq!(blocks(&[]).count(), 0);
    }

    #[test]
    fn what_is_written_is_known() {
        let table: Vec<u8> = (0..130).map(|lid| lid % 9).collect();
        let mut tables = Tables::default();
        for (block, data) in blocks(&table).filter(|(block, _)| block.modifier != 1) {
            tables.set(block, data);
        }
        let found = known(&tables, 130);
        assert_eq!((&found[..64], &found[128..]), (&table[..64], &table[128..]));
        assert!(
            found[64..128].iter().all(|port| *port == NO_PATH),
            "a block that nobody wrote"
        );
    }
}
