//! What of a node is read back, and how much of a subnet a round reads.
//!
//! All of it comes of the model: what is not known there is not asked for.

use std::collections::BTreeSet;

use sa_wire::smp::{ALL_INPUTS, ALL_OUTPUTS, attribute};

use crate::model::{Block, Node, PortState, Subnet};
use crate::reading::{multicast_blocks, readable};

/// What is asked for of a node.
///
/// The order of the variants is that in which a node is read: tables before ports, each by its modifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// A block of a table.
    Table(Block),
    /// PortInfo of a port.
    Port(u8),
}

/// How many questions a round may have so that all of a subnet is read in `whole` where there is one each `interval`: at least one. Units: any,
/// the same for both. Cost: a look at each node.
///
/// A sweep interval of 10 s and a whole reading in an hour give 360 rounds, so each takes a 360th of all blocks, rounded up: it is
/// through a little earlier, never later.
/// Ports without a link are counted though they are not asked, which errs in the same direction.
pub fn share(subnet: &Subnet, interval: u64, whole: u64) -> usize {
    let count = |node: &Node| {
        node.tables.count() + multicast(node).count() + usize::from(node.port_count())
    };
    let all: usize = subnet.nodes().iter().map(count).sum();
    // The product saturates: a wrong share of a subnet that no memory holds does no harm, a panic would.
    let all = u64::try_from(all).unwrap_or(u64::MAX);
    let share = all.saturating_mul(interval).div_ceil(whole.max(1));
    usize::try_from(share.max(1)).unwrap_or(usize::MAX)
}

/// In their order.
pub(super) fn items(node: &Node) -> BTreeSet<Item> {
    let is_readable = |block: &Block| {
        // One Set for many ports cannot be read back in one piece.
        // A modifier with "all inputs" or "all outputs" is for Set alone (IBA vol. 1, 14.2.5.8): a Get would have no single answer.
        block.attribute != attribute::SL_TO_VL || block.modifier & (ALL_INPUTS | ALL_OUTPUTS) == 0
    };
    let held = node
        .tables
        .blocks()
        .map(|(block, _)| *block)
        .filter(is_readable);
    let tables = held.chain(multicast(node)).map(Item::Table);
    // An end port that there is a way to, or a port with a link: on what others hold nobody relies.
    let ports = node.ports().filter(|(number, port)| {
        let is_end = node.end_port(*number) == *number && port.route.is_some();
        port.info.is_some() && (is_end || port.state() > Some(PortState::Down))
    });
    tables
        .chain(ports.map(|(number, _)| Item::Port(number)))
        .collect()
}

/// Blocks of the multicast table; the model does not keep those that are empty.
///
/// Empty ones are read too, and those that no sweep has read: an entry that somebody else has put there is what this looks for.
fn multicast(node: &Node) -> impl Iterator<Item = Block> {
    multicast_blocks(node, 0..readable(node, None))
}
