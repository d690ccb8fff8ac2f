//! Fresh switches beside switches that have old entries.
//!
//! A fresh switch passes no data, so it gets its whole table at once, and its links come up before routes change elsewhere. With its links
//! old entries that lead over them come to life, and together with the new ones of the fresh switch they may close a circle:
//!
//! ```text
//!  N, old: to F (a link that is down)     N, new: elsewhere
//!  F, new: to N                           a circle from the moment at which the link is up until N has its new entry
//! ```
//!
//! The same with what packets wait for: old entries elsewhere and the new ones of the fresh switch may close a credit loop. Where the change of routes
//! needs stages all LIDs that such a switch does not hold lead nowhere there until their stage ([`all_held_back`]).
//!
//! So a LID of such a circle leads nowhere at F at first. No packet is lost by that: the old entries led nowhere too. It changes
//! together with the others then, destination first.

use std::collections::BTreeMap;

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::attribute;

use super::order::differing;
use super::routes::Routes;
use super::wanted::Wanted;
use crate::model::attributes::Data;
use crate::model::{Block, Node, Subnet};
use crate::wanted::linear::{self, NO_PATH};

/// LIDs of fresh switches that wait, by switch and block: a bit each, the lowest for the first LID of the block.
pub(super) type HeldBack = BTreeMap<(NodeIx, Block), u64>;

/// Looks for circles of entries that change with those of fresh switches.
/// Cost: a walk for each entry that changes, and none where no switch is fresh.
pub(super) fn held_back(subnet: &Subnet, wanted: &Wanted, routes: &Routes) -> HeldBack {
    let mut held_back = HeldBack::new();
    let is_any = subnet.places().any(|(at, _)| is_fresh(subnet, at));
    for (number, changes) in routes.changes().filter(|_| is_any) {
        let block = linear::block(number);
        for (node, new) in changes {
            let held = subnet.node(*node).and_then(|it| it.tables.get(block));
            let places = held.into_iter().flatten().zip(new).enumerate();
            for (place, _) in places.filter(|(_, (held, new))| held != new) {
                let way = circle(subnet, wanted, *node, (block, place));
                for at in way.into_iter().filter(|at| is_fresh(subnet, *at)) {
                    *held_back.entry((at, block)).or_default() |= 1 << place;
                }
            }
        }
    }
    held_back
}

/// All LIDs that fresh switches do not hold as they are wanted: with the links of these switches up, old entries elsewhere and the new ones
/// there could close a credit loop.
pub(super) fn all_held_back(subnet: &Subnet, wanted: &Wanted) -> HeldBack {
    let fresh = wanted.tables.iter();
    let fresh = fresh.filter(|(at, _)| is_fresh(subnet, **at));
    let blocks = fresh.flat_map(|(at, blocks)| blocks.iter().map(move |it| (*at, it)));
    let blocks = blocks.filter(|(_, (block, _))| block.attribute == attribute::LINEAR_TABLE);
    let of = |(at, (block, data)): (NodeIx, (&Block, &Data))| {
        let held = subnet.node(at).and_then(|node| node.tables.get(*block));
        let empty = without(data, u64::MAX);
        let lids = differing(held.unwrap_or(&empty), data);
        (lids != 0).then_some(((at, *block), lids))
    };
    blocks.filter_map(of).collect()
}

/// A block in which these LIDs lead nowhere.
pub(super) fn without(data: &Data, lids: u64) -> Data {
    let mut data = *data;
    for (place, port) in data.iter_mut().enumerate() {
        if lids >> place & 1 == 1 {
            *port = NO_PATH;
        }
    }
    data
}

fn is_fresh(subnet: &Subnet, at: NodeIx) -> bool {
    subnet.node(at).is_some_and(Node::is_fresh)
}

/// The switches that a packet passes until it is back where it began, with old entries and those of fresh switches, once all links are up.
/// Empty where it does not come back.
fn circle(subnet: &Subnet, wanted: &Wanted, from: NodeIx, lid: (Block, usize)) -> Vec<NodeIx> {
    let (mut at, mut way) = (from, Vec::new());
    while way.len() < subnet.nodes().len() {
        way.push(at);
        let Some(next) = next(subnet, wanted, at, lid) else {
            return Vec::new();
        };
        if next == from {
            return way;
        }
        at = next;
    }
    Vec::new()
}

/// The switch after this one; none where the LID has no entry, or a host is there.
/// What is wanted counts of fresh switches, and what is held of others.
fn next(
    subnet: &Subnet,
    wanted: &Wanted,
    at: NodeIx,
    (block, place): (Block, usize),
) -> Option<NodeIx> {
    let data = match is_fresh(subnet, at) {
        true => wanted.tables.get(&at)?.get(&block)?,
        false => subnet.node(at)?.tables.get(block)?,
    };
    let port = *data.get(place)?;
    let far = subnet.peer(PortRef { node: at, port })?;
    subnet.node(far.node)?.is_switch().then_some(far.node)
}
