//! MulticastForwardingTable: masks of 16 ports for 32 MLIDs a block.

use std::collections::BTreeMap;

use sa_wire::Mlid;
use sa_wire::smp::attribute;

use crate::model::Block;
use crate::model::attributes::Data;

/// The blocks of a switch, by group of ports and block of MLIDs. `routes`: output ports of each MLID, the ports of
/// members among them. MLIDs at which the switch's table ends, and ports that it has not, are left out: `mlids` is
/// MulticastFDBCap, `ports` the largest port number. Blocks of which nothing is used are not among them.
///
/// Blocks that a switch holds and that are not among them are to become empty: that is the writing's, which knows what is held.
pub fn blocks<P>(
    routes: impl IntoIterator<Item = (Mlid, P)>,
    mlids: u16,
    ports: u8,
) -> BTreeMap<Block, Data>
where
    P: IntoIterator<Item = u8>,
{
    let mut blocks = BTreeMap::new();
    for (mlid, outputs) in routes {
        let index = mlid.get() - Mlid::MIN.get();
        // A group beyond its table cannot be forwarded by this switch.
        if index >= mlids {
            continue;
        }
        // Ports beyond the switch's own would name a position that it refuses.
        for port in outputs.into_iter().filter(|port| *port <= ports) {
            let data = blocks.entry(block(index, port)).or_insert([0; 64]);
            set(data, index, port);
        }
    }
    blocks
}

/// The block with a port of an MLID. Shape: MLIDs from 0xc000 on as 0, 1, ..
///
/// Source: IBA vol. 1, 14.2.5.12: the upper four bits name sixteen ports, the lower nine 32 MLIDs.
pub fn block(mlid: u16, port: u8) -> Block {
    Block {
        attribute: attribute::MULTICAST_TABLE,
        end_port: 0,
        modifier: (u32::from(port / PORTS) << 28) | u32::from(mlid / MLIDS),
    }
}

/// Sets the bit of a port in an entry of its block. Entries are big-endian masks of 16 ports.
fn set(data: &mut Data, mlid: u16, port: u8) {
    let [high, low] = (1u16 << (port % PORTS)).to_be_bytes();
    let entry = usize::from(mlid % MLIDS) * 2;
    if let Some([first, second]) = data.get_mut(entry..entry + 2) {
        *first |= high;
        *second |= low;
    }
}

/// Ports of a mask.
const PORTS: u8 = 16;
/// MLIDs of a block.
const MLIDS: u16 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_lie_in_masks_of_sixteen() {
        let mlid = |raw| Mlid::new(raw).unwrap();
        let routes = [
            (mlid(0xc000), vec![1, 2]),
            (mlid(0xc021), vec![0, 16, 35, 200]),
        ];
        let found = blocks(routes, 64, 36);
        let at: Vec<u32> = found.keys().map(|block| block.modifier).collect();
        assert_eq!(at, [0, 1, 0x1000_0001, 0x2000_0001]);
        let first = found.values().next().unwrap();
        assert_eq!(
            first[..4],
            [0, 6, 0, 0],
            "as OpenSM writes ports 1 and 2 of 0xc000"
        );
        assert_eq!(found[&block(0x21, 35)][2..4], [0, 8]);
        assert!(
            blocks([(mlid(0xc040), vec![1])], 64, 36).is_empty(),
            "behind the table"
        );
    }
}
