//! Routes of an earlier fabric, seen from the one there is now.
//!
//! Switches and ports are told by their GUIDs, since indices may be others.

use std::collections::HashMap;

use sa_snapshot::model::PathSl;
use sa_wire::{Guid, Lid};

use super::Same;
use crate::engine::dfsssp_nue::columns::next;
use crate::engine::dfsssp_nue::graph::{Graph, NO_SLOT, NOWHERE};
use crate::engine::dfsssp_nue::pairs::NO_VL;
use crate::shortest::destinations::Destination;
use crate::tables::{NO_PATH, Routes};
use crate::topology::{LidMap, Peer, SwitchIx, Topology};

/// An earlier fabric and its routes.
pub(super) struct Earlier<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    /// By switch: its index then.
    then: Vec<Option<SwitchIx>>,
    /// Who has which LID now.
    lids: LidMap,
}

impl<'a> Earlier<'a> {
    /// `now`: the fabric that is to be routed.
    pub(super) fn new(now: &Topology, topology: &'a Topology, routes: &'a Routes) -> Self {
        let all = topology.switch_ixs();
        let by_guid: HashMap<Guid, SwitchIx> =
            all.map(|ix| (topology.switch(ix).guid, ix)).collect();
        let now_all = now.switches.iter();
        Self {
            topology,
            routes,
            then: now_all
                .map(|switch| by_guid.get(&switch.guid).copied())
                .collect(),
            lids: LidMap::new(now),
        }
    }

    /// Whether there is a switch, or a cable between switches, that was not there then.
    pub(super) fn lacks_something(&self, graph: &Graph) -> bool {
        let is_new = |channel: u32| {
            let (from, to) = (graph.from(channel), graph.to(channel));
            let cables = (self.then[from as usize], self.then[to as usize]);
            let (Some(from_then), Some(to_then)) = cables else {
                return true;
            };
            let port = graph.port(channel);
            let peer = Peer::Switch {
                switch: to_then,
                port: graph.port(graph.back(channel)),
            };
            self.topology.peer(from_then, port) != peer
        };
        let mut channels = graph.all_switches().flat_map(|it| graph.leaving(it));
        self.then.contains(&None) || channels.any(is_new)
    }

    /// Whether a LID was where it is now.
    pub(super) fn has_lid(&self, now: &Topology, lid: &Destination) -> bool {
        let Ok(number) = Lid::new(lid.lid) else {
            return false;
        };
        let owners = (self.lids.owner(number), self.routes.lids().owner(number));
        let (Some(owner), Some(owner_then)) = owners else {
            return false;
        };
        let then = self.topology.end_port(owner_then);
        let at = self.then[lid.switch.index()].map(|switch| (switch, lid.port));
        then.guid == now.end_port(owner).guid && then.attached == at && at.is_some()
    }

    /// The VL of a pair; [`NO_VL`] where there was none.
    pub(super) fn vl(&self, from: u32, to: u32) -> u8 {
        let both = (self.then[from as usize], self.then[to as usize]);
        let (Some(from), Some(to)) = both else {
            return NO_VL;
        };
        let end = |switch| self.topology.switch(switch).port0;
        let lid = self.topology.end_port(end(to)).lid;
        let table = self.routes.facts().sl_table();
        match table.map(|table| table.sl(end(from), lid)) {
            Some(PathSl::Given(sl)) => sl.get(),
            _ => NO_VL,
        }
    }

    /// The port by which a switch forwarded to a LID; [`NO_PATH`] for none.
    fn port(&self, switch: u32, lid: u16) -> u8 {
        let then = self.then[switch as usize];
        let entry = then.and_then(|then| self.routes.lft(then).get(usize::from(lid)).copied());
        entry.unwrap_or(NO_PATH)
    }
}

/// Finds slots by ports, and what a column needs while it is filled.
pub(super) struct SlotsByPort {
    /// By switch, then by port; [`NO_SLOT`] where no cable is.
    slots: Vec<u8>,
    /// By switch: whether its way is that of the earlier routes, hop by hop.
    same: Vec<bool>,
    /// By switch: the number of the last way that passed it.
    passed: Vec<u32>,
    trail: Vec<(u32, u8)>,
}

/// Port numbers.
const PORTS: usize = 256;

impl SlotsByPort {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut slots = vec![NO_SLOT; graph.switches() * PORTS];
        for switch in graph.all_switches() {
            for channel in graph.leaving(switch) {
                let place = switch as usize * PORTS + usize::from(graph.port(channel));
                slots[place] = graph.slot(channel);
            }
        }
        Self {
            slots,
            same: vec![false; graph.switches()],
            passed: vec![NOWHERE; graph.switches()],
            trail: Vec::new(),
        }
    }

    /// Fills a column from the first of the earlier routes that know its LID and have a way. `pairs` learns
    /// which ways are others.
    pub(super) fn adopt(
        &mut self,
        graph: &Graph,
        found: [Option<(&Earlier<'_>, u16)>; 2],
        to: u32,
        slots: &mut [u8],
        pairs: &mut [Same],
    ) {
        for (earlier, lid) in found.into_iter().flatten() {
            self.take_over(graph, earlier, lid, to, slots);
        }
        let [first, last] = found;
        self.compare(graph, first, to, slots);
        for (is_same, pair) in self.same.iter().zip(pairs.iter_mut()) {
            pair.first &= is_same;
        }
        self.compare(graph, last, to, slots);
        for (is_same, pair) in self.same.iter().zip(pairs) {
            pair.last &= is_same;
        }
    }

    /// Where a way is whole, gives it to all switches on it that have none.
    fn take_over(
        &mut self,
        graph: &Graph,
        earlier: &Earlier<'_>,
        lid: u16,
        to: u32,
        slots: &mut [u8],
    ) {
        self.passed.fill(NOWHERE);
        for start in graph.all_switches() {
            let mut here = start;
            self.trail.clear();
            while here != to && slots[here as usize] == NO_SLOT {
                let slot = self.slot(here, earlier.port(here, lid));
                // A way that was there before and led nowhere, or one that goes round.
                if slot == NO_SLOT || self.passed[here as usize] != NOWHERE {
                    self.trail.clear();
                    break;
                }
                self.passed[here as usize] = start;
                self.trail.push((here, slot));
                here = graph.to(graph.channel(here, slot));
            }
            for (switch, slot) in self.trail.drain(..) {
                slots[switch as usize] = slot;
            }
        }
    }

    /// Finds the switches whose ways are those of earlier routes.
    fn compare(
        &mut self,
        graph: &Graph,
        found: Option<(&Earlier<'_>, u16)>,
        to: u32,
        slots: &[u8],
    ) {
        self.same.fill(false);
        let Some((earlier, lid)) = found else {
            return;
        };
        self.same[to as usize] = true;
        self.passed.fill(NOWHERE);
        for start in graph.all_switches() {
            let mut here = start;
            self.trail.clear();
            while !self.same[here as usize] && self.passed[here as usize] == NOWHERE {
                self.passed[here as usize] = start;
                let slot = slots[here as usize];
                if slot == NO_SLOT || slot != self.slot(here, earlier.port(here, lid)) {
                    self.trail.clear();
                    break;
                }
                self.trail.push((here, slot));
                here = next(graph, slots, here);
            }
            // It met one whose way is another.
            if !self.same[here as usize] {
                self.trail.clear();
            }
            for (switch, _) in self.trail.drain(..) {
                self.same[switch as usize] = true;
            }
        }
    }

    /// The slot of a port now.
    fn slot(&self, switch: u32, port: u8) -> u8 {
        self.slots[switch as usize * PORTS + usize::from(port)]
    }
}
