//! How much of the multicast tables has to be known.
//!
//! ```text
//!  MLIDs   0xc000..  0xc020..  0xc040..  0xc060..
//!  wanted     x
//!  held       x         x        none
//!          <─────────── read ──────────>            by the audit
//! ```
//!
//! Subnet Managers give a new group the lowest MLID that is free, so tables are filled from below. They are read until a block of 32
//! MLIDs is empty at all switches, and none above it is wanted or known to be used. An entry that an earlier Subnet Manager has left above
//! that is found by the audit, in its turn, and is cleared then.
//!
//! All of a table of 1,024 MLIDs would be 32 Gets a switch, of 16,384 MLIDs and 36 ports 1,536: after each start, and while a subnet waits for
//! its next master.

use core::ops::Range;

use sa_wire::records::{PortInfoRecord, SwitchInfoRecord};
use sa_wire::smp::attribute;

use crate::model::attributes::Data;
use crate::model::{Block, Node, Subnet};
use crate::writing::Wanted;

/// How many blocks of MLIDs have to be known of each switch that has so many: those in use, and the one above them.
pub(super) fn needed(subnet: &Subnet, wanted: &Wanted) -> u16 {
    let tables = wanted.tables.values();
    let wanted = tables.flat_map(|blocks| blocks.range(block(0, 0)..=block(u8::MAX, u32::MAX)));
    let nodes = subnet.nodes().iter();
    let held = nodes.flat_map(|node| node.tables.multicast());
    let is_used = |(_, data): &(&Block, &Data)| **data != [0; 64];
    let used = wanted.chain(held).filter(is_used);
    let last = used.map(|(block, _)| number(*block)).max();
    last.map_or(1, |last| last + 2)
}

/// How many blocks of 32 MLIDs a switch looks at, and is to look at: none where it has told no SwitchInfo. `wanted`: its SwitchInfo to be.
///
/// Up to the larger of what the switch looks at now and what it is to look at.
pub(crate) fn readable(node: &Node, wanted: Option<&SwitchInfoRecord>) -> u16 {
    let port0 = node.port(0).and_then(|port| port.info);
    let Some((info, port0)) = node.switch_info.zip(port0) else {
        return 0;
    };
    // Without the capability a switch looks at all of its table.
    let has_top = port0.capability_mask.get() & PortInfoRecord::MULTICAST_FDB_TOP != 0;
    let all = info.multicast_cap.get().div_ceil(MLIDS).min(MOST_BLOCKS);
    // Entries above the top forward nothing, and count again when it is raised.
    let wanted = wanted.map_or(0, |wanted| wanted.multicast_top.get());
    let top = info.multicast_top.get().max(wanted);
    // MulticastFDBTop is the last MLID itself; 0xbfff, one below the first, stands for none.
    match top.checked_sub(NO_MLID) {
        Some(mlids) if has_top => mlids.div_ceil(MLIDS).min(all),
        _ => all,
    }
}

/// The blocks below `count` of all ports, but for those that are known already.
///
/// Some may have been acknowledged by an earlier Set: those hold what was written.
pub(super) fn unknown(node: &Node, count: u16) -> impl Iterator<Item = Block> {
    let all = blocks(node, node.tables.multicast_known()..count);
    all.filter(|block| node.tables.get(*block).is_none())
}

/// Those with these numbers, of all ports: the mask of an entry is 16 bits wide, so a switch with more ports has its table several times.
pub(crate) fn blocks(node: &Node, numbers: Range<u16>) -> impl Iterator<Item = Block> + use<> {
    let positions = 0..=u32::from(node.port_count() / PORTS);
    positions.flat_map(move |position| {
        let numbers = numbers.clone().map(u32::from);
        numbers.map(move |number| block(0, (position << 28) | number))
    })
}

/// Which 32 MLIDs it has.
fn number(block: Block) -> u16 {
    let [_, _, high, low] = block.modifier.to_be_bytes();
    u16::from_be_bytes([high, low]) & (MOST_BLOCKS - 1)
}

const fn block(end_port: u8, modifier: u32) -> Block {
    Block {
        attribute: attribute::MULTICAST_TABLE,
        end_port,
        modifier,
    }
}

/// MulticastFDBTop of a switch without any entry.
const NO_MLID: u16 = 0xbfff;
/// MLIDs of a block.
const MLIDS: u16 = 32;
/// Blocks that a modifier can name.
const MOST_BLOCKS: u16 = 0x200;
/// Ports of a mask.
const PORTS: u8 = 16;
