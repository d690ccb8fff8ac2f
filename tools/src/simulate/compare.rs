//! What differs between a fabric and the same fabric with failures.
//!
//! Ports have other indices in the damaged fabric, so that switches are matched by GUID and entries
//! by LID. Three comparisons, by cost:
//!
//! ```text
//! hosts cut off    per node
//! entries          switches x LIDs in use
//! SLs              pairs of switches, times a path_sl each; lists only then go to hosts
//! ```
//!
//! SLs are compared as requests of the first QoS level get them: an application that asked before
//! the failure holds that SL in its connections.

use std::collections::HashMap;

use routing::tables::{ChangedEntries, changed_entries};
use routing::{EndPortIx, SwitchIx};
use sa_compiler::pipeline::Compiled;
use sa_compiler::state::FabricState;
use sa_fabric::subnet::Subnet;
use sa_wire::{Guid, NodeType, Sl};

/// Most pairs that a list holds.
///
/// Lists of a large failure would be longer than the fabric; numbers beside them count all.
const LISTED: usize = 1000;

/// What differs.
///
/// Small, whatever the fabric: numbers, and lists that are cut.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Hosts that nothing connects any more.
    pub(crate) cut_off: Vec<String>,
    /// Ordered pairs of hosts that are wired together and have no path.
    pub(crate) pairs_lost: u64,
    /// Some of them.
    pub(super) lost: Vec<(String, String)>,
    /// Ordered pairs of hosts whose SL differs on the first QoS level.
    pub(crate) sl_changes: u64,
    /// Some of them: from, to, before, after.
    pub(super) sl_changed: Vec<(String, String, u8, u8)>,
    /// Forwarding entries that differ.
    pub(super) changed: ChangedEntries,
}

impl Difference {
    /// Cost: the square of the switches for SLs, switches times LIDs for entries.
    pub(crate) fn new(before: &Compiled, after: &Compiled) -> Self {
        let mut found = Self {
            cut_off: cut_off(&before.parts.subnet, &after.parts.subnet),
            pairs_lost: after.proof.reachability.lost_between_hosts,
            lost: lost(after),
            changed: changed_entries(
                (&before.parts.topology, &before.parts.routes),
                (&after.parts.topology, &after.parts.routes),
            ),
            ..Self::default()
        };
        found.compare_sls(&before.parts, &after.parts);
        found
    }

    /// Pairs of switches first: hosts of a switch share its SLs.
    fn compare_sls(&mut self, before: &FabricState, after: &FabricState) {
        let switches = common_switches(before, after);
        let hosts: Vec<Vec<EndPortIx>> = switches
            .iter()
            .map(|(_, new)| after.topology.hosts(*new).map(|(_, end)| end).collect())
            .collect();
        let sl = |parts: &FabricState, from: SwitchIx, to: SwitchIx| {
            let lid = |ix| {
                let port0 = parts.topology.switch(ix).port0;
                parts.topology.end_port(port0).lid
            };
            parts.routes.path_sl(Sl::default(), lid(from), lid(to))
        };
        for ((old_from, new_from), from_hosts) in switches.iter().zip(&hosts) {
            for ((old_to, new_to), to_hosts) in switches.iter().zip(&hosts) {
                let was = sl(before, *old_from, *old_to);
                let is = sl(after, *new_from, *new_to);
                // What is not known on one side is no change that anybody can tell.
                let (Some(was), Some(is)) = (was, is) else {
                    continue;
                };
                let (was, is) = (was.get(), is.get());
                // By far the most pairs: hosts are looked at only where something changed.
                if was == is {
                    continue;
                }
                // Counted for all hosts, listed for some: a switch without hosts adds nothing.
                self.sl_changes += from_hosts.len() as u64 * to_hosts.len() as u64;
                for from in from_hosts {
                    for to in to_hosts
                        .iter()
                        .take(LISTED - self.sl_changed.len().min(LISTED))
                    {
                        let (from, to) = (name(after, *from), name(after, *to));
                        self.sl_changed.push((from, to, was, is));
                    }
                }
            }
        }
    }
}

/// Switches that are in both, by their indices.
fn common_switches(before: &FabricState, after: &FabricState) -> Vec<(SwitchIx, SwitchIx)> {
    // By GUID, since indices shift when a switch is gone.
    let by_guid: HashMap<Guid, SwitchIx> = before
        .topology
        .switch_ixs()
        .map(|ix| (before.topology.switch(ix).guid, ix))
        .collect();
    let new = after.topology.switch_ixs();
    new.filter_map(|new| Some((*by_guid.get(&after.topology.switch(new).guid)?, new)))
        .collect()
}

/// By ports: a host that loses both of its ports is named twice.
fn cut_off(before: &Subnet, after: &Subnet) -> Vec<String> {
    let gone = before.cut_off(after);
    gone.map(|node| node.description.clone()).collect()
}

/// Lost pairs of hosts among those that the check lists.
///
/// By base LIDs, so that a pair with several paths is named once.
pub(crate) fn lost(after: &Compiled) -> Vec<(String, String)> {
    let parts = &after.parts;
    let is_host = |end: EndPortIx| parts.topology.end_port(end).node_type != NodeType::Switch;
    let listed = after.proof.reachability.listed.iter();
    let pairs = listed.filter_map(|pair| {
        let to = parts.routes.lids().owner(pair.lid)?;
        let is_base = parts.topology.end_port(to).lid == pair.lid;
        // A pair with several LIDs would be listed once per LID otherwise.
        let is_pair = is_base && is_host(pair.source) && is_host(to);
        is_pair.then(|| (name(parts, pair.source), name(parts, to)))
    });
    pairs.take(LISTED).collect()
}

fn name(parts: &FabricState, end: EndPortIx) -> String {
    parts.topology.end_port(end).description.clone()
}
