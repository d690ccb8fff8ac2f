//! What a node must be sent, in stages: those of a later stage wait for the answers to those before.

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::attribute;

use super::due::{Due, EMPTY, lower};
use super::routes::Routes;
use super::set::{Key, Memory};
use super::wanted::{Wanted, settable, without_change, without_order};
use crate::model::attributes::{STATE_CHANGE, port_info_data, switch_info_data};
use crate::model::{Block, Node, Port, PortState, Subnet};

/// Before tables, tables, what needs them, and last what holds the M_Key: Sets under way carry the old one. Changed routes of a
/// switch that passes data come before the last.
pub(super) type Stages = [Vec<Due>; 4];

/// All Sets that a node needs, and whether a table that packets need cannot be had of it.
pub(super) fn of_node(
    subnet: &Subnet,
    node: NodeIx,
    wanted: &Wanted,
    memory: &Memory,
    routes: &mut Routes,
) -> (Stages, bool) {
    let mut stages = Stages::default();
    let Some(found) = subnet.node(node) else {
        return (stages, false);
    };
    let mut is_held = false;
    let [before, tables, after, last] = &mut stages;
    // Once for all blocks: a first sweep of a large subnet has millions.
    let is_running = found.passes_data();
    let blocks = wanted.tables.get(&node);
    let differing = blocks.map(|blocks| found.tables.differing(blocks));
    for (block, data, holds) in differing.into_iter().flatten() {
        let key = key(found, block.end_port, block.attribute, block.modifier);
        if memory.is_in_vain(&key, data, holds) {
            is_held |= NEEDED.contains(&block.attribute);
        } else if is_running && Routes::takes(*block) {
            routes.add(node, *block, data);
        } else {
            tables.push(Due::Table(*block));
        }
    }
    // Behind what is wanted: packets of groups that are there come first.
    tables.extend(stale(found, node, wanted, memory));
    // Entries above the old top show only once all of them are there.
    let up = if routes.has(node) {
        &mut *last
    } else {
        &mut *after
    };
    of_switch(found, node, wanted, memory, before, up);
    let ports = wanted.ports.range(
        PortRef { node, port: 0 }..=PortRef {
            node,
            port: u8::MAX,
        },
    );
    // What is written to a port without a link says nothing, as the far end is not known.
    let is_down = |at: &PortRef| found.port(at.port).and_then(Port::state) == Some(PortState::Down);
    for (at, info) in ports.filter(|(at, _)| !is_down(at)) {
        let data = port_info_data(&settable(info));
        let holds = found.port(at.port).and_then(|port| port.info);
        let holds = holds.map(|info| port_info_data(&without_order(&settable(&info))));
        let key = key(found, at.port, attribute::PORT_INFO, u32::from(at.port));
        // An order to register again is carried out anew, whatever came of the one before.
        let is_order = without_order(info) != *info;
        let is_in_vain = !is_order && memory.is_in_vain(&key, &data, holds.as_ref());
        if holds.is_none() || holds == Some(data) || is_in_vain {
            continue;
        }
        let holds_key = found.end_port(at.port) == at.port;
        let stage = if holds_key { &mut *last } else { &mut *after };
        stage.push(Due::Port(at.port));
    }
    (stages, is_held)
}

/// Multicast entries that nobody wants, of an earlier SM or of groups that are gone: empty blocks in their places.
fn stale(
    found: &Node,
    node: NodeIx,
    wanted: &Wanted,
    memory: &Memory,
) -> impl Iterator<Item = Due> {
    let tables = wanted.tables.get(&node);
    let is_wanted = move |block: &Block| tables.is_some_and(|it| it.contains_key(block));
    let held = found.tables.multicast();
    let leaves = wanted.leaves_multicast;
    let stale = held.filter(move |(block, _)| !leaves && !is_wanted(block));
    let stale = stale.filter(|(block, held)| {
        let key = key(found, 0, block.attribute, block.modifier);
        !memory.is_in_vain(&key, &EMPTY, Some(held))
    });
    stale.map(|(block, _)| Due::Stale(*block))
}

/// LinearFDBTop goes down before the blocks above it are rewritten and up after those below are there, so that no entry
/// shows that was not meant. PortStateChange is cleared first: what changes from now on is seen by the next sweep.
fn of_switch(
    found: &Node,
    node: NodeIx,
    wanted: &Wanted,
    memory: &Memory,
    before: &mut Vec<Due>,
    after: &mut Vec<Due>,
) {
    let Some(info) = found.switch_info else {
        return;
    };
    let wanted = wanted.switches.get(&node);
    let low = lower(&info, wanted);
    if info.life_time_and_change & STATE_CHANGE != 0 || low != info {
        before.push(Due::Lower);
    }
    let Some(wanted) = wanted else {
        return;
    };
    let holds = switch_info_data(&without_change(&low));
    let data = switch_info_data(&without_change(wanted));
    let key = key(found, 0, attribute::SWITCH_INFO, 0);
    if holds != data && !memory.is_in_vain(&key, &data, Some(&holds)) {
        after.push(Due::Switch);
    }
}

/// What [`Memory`] knows a Set by.
pub(super) fn key(node: &Node, port: u8, attribute: u16, modifier: u32) -> Key {
    (node.guid(), port, attribute, modifier)
}

/// Tables without which packets go astray, deadlock, or leave their partition.
pub(super) const NEEDED: [u16; 3] = [
    attribute::LINEAR_TABLE,
    attribute::SL_TO_VL,
    attribute::PKEY_TABLE,
];
