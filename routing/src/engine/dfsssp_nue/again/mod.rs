//! After a change: ways that are left stay, with their VLs, and what is missing is searched.
//!
//! Ways are looked for in three places, for each LID and switch:
//!
//! | | ways | VL of the pair |
//! |---|---|---|
//! | 1 | of the routes that were made from nothing, if all of the way is still there | theirs |
//! | 2 | of the routes before, if they lead to such a way | theirs, if the layer admits it |
//! | 3 | searched, to join those | theirs, or the first that admits it |
//!
//! The first place is why a repair brings the old tables back: then all of them are whole again. Pairs of the
//! first place go together, being part of what went together, and one pass over a layer puts them in order; all
//! others are asked for turn by turn. Where a
//! pair of hosts fits no VL, nothing is kept: the caller routes anew.
//!
//! Only what is lost is repaired so. Where switches or cables came that the routes from nothing did not know,
//! ways should use them, and the caller routes anew as well.

mod earlier;

use std::sync::Arc;

use self::earlier::{Earlier, SlotsByPort};
use super::Ways;
use super::balance::Loads;
use super::columns::Columns;
use super::graph::{Channel, Graph, NO_SLOT};
use super::layer::Layer;
use super::layers;
use super::pairs::{NO_VL, Pairs};
use super::search::Search;
use crate::engine::Before;
use crate::tables::Origin;
use crate::topology::Topology;
use crate::watch::Stretch;

/// Ways made from earlier ones.
pub(super) struct Kept {
    pub(super) ways: Ways,
    /// What they go back to: the same as before.
    pub(super) origin: Arc<Origin>,
}

/// Whether all ways of a pair are those of earlier routes.
#[derive(Debug, Clone, Copy)]
struct Same {
    /// Of the routes that were made from nothing.
    first: bool,
    /// Of the routes before.
    last: bool,
}

/// Until a way is found that is another.
const ALL: Same = Same {
    first: true,
    last: true,
};

/// Ways for a fabric that lost something. None where it has to be routed anew.
pub(super) fn route(
    graph: &Graph,
    topology: &Topology,
    vls: u8,
    before: Before<'_>,
    share: Stretch<'_>,
) -> Option<Kept> {
    let origin = Arc::clone(before.routes.origin.as_ref()?);
    let first = Earlier::new(topology, &origin.topology, &origin.routes);
    if first.lacks_something(graph) {
        return None;
    }
    let last = Earlier::new(topology, before.topology, before.routes);
    let mut again = Again::new(graph, topology, vls, first, last);
    again.adopt(topology, share.cut(0..40));
    again.keep_pairs()?;
    again.complete(share.cut(60..100))?;
    again.place_management();
    let Again { columns, pairs, .. } = again;
    Some(Kept {
        ways: Ways { columns, pairs },
        origin,
    })
}

/// Routes again, step by step.
struct Again<'a> {
    graph: &'a Graph,
    first: Earlier<'a>,
    last: Earlier<'a>,
    columns: Columns,
    pairs: Pairs,
    /// By destination, then by source.
    same: Vec<Same>,
    /// By VL.
    layers: Vec<Layer>,
    /// Admits whatever one destination needs.
    open: Layer,
    loads: Loads,
    search: Search,
    turns: Vec<(Channel, Channel)>,
}

impl<'a> Again<'a> {
    fn new(
        graph: &'a Graph,
        topology: &Topology,
        vls: u8,
        first: Earlier<'a>,
        last: Earlier<'a>,
    ) -> Self {
        let switches = graph.switches();
        let order = layers::first_order(graph);
        let layers = std::iter::repeat_with(|| Layer::new(graph, &order));
        Self {
            graph,
            first,
            last,
            columns: Columns::new(topology),
            pairs: Pairs::none(switches),
            same: vec![ALL; switches * switches],
            layers: layers.take(usize::from(vls)).collect(),
            open: Layer::new(graph, &order),
            loads: Loads::new(graph),
            search: Search::new(graph),
            turns: Vec::new(),
        }
    }

    /// Fills in what is left of earlier ways, and notes where those of each pair come from.
    fn adopt(&mut self, topology: &Topology, share: Stretch<'_>) {
        let done = share.count(self.graph.switches());
        let switches = self.graph.switches();
        let mut ports = SlotsByPort::new(self.graph);
        for to in self.graph.all_switches() {
            let same = &mut self.same[to as usize * switches..][..switches];
            for column in self.columns.of(to) {
                let found = [&self.first, &self.last].map(|earlier| {
                    let lid = self.columns.lid(column);
                    earlier.has_lid(topology, lid).then_some((earlier, lid.lid))
                });
                let slots = self.columns.slots_mut(column);
                ports.adopt(self.graph, found, to, slots, same);
                self.search.trace(self.graph, &self.loads, to, slots);
                if self.columns.is_host(column) {
                    let slots = self.columns.slots(column);
                    self.loads
                        .count(self.graph, self.search.order(), slots, true);
                }
            }
            done.add(1);
        }
    }

    /// Gives pairs whose ways are left the VL that they had. None where they do not go together, which means that
    /// the earlier routes were not what they should be.
    fn keep_pairs(&mut self) -> Option<()> {
        let pairs = self.of_hosts();
        for (from, to) in pairs.iter().copied() {
            let vl = self.first.vl(from, to);
            if self.same(from, to).first {
                self.columns.turns(self.graph, from, to, &mut self.turns);
                let layer = self.layers.get_mut(usize::from(vl))?;
                layer.take(self.graph, &self.turns);
                self.pairs.set(from, to, vl);
            }
        }
        let graph = self.graph;
        if !self.layers.iter_mut().all(|layer| layer.settle(graph)) {
            return None;
        }
        for (from, to) in pairs {
            let (vl, same) = (self.last.vl(from, to), self.same(from, to));
            if same.last && !same.first && self.admit(from, to, vl) {
                self.pairs.set(from, to, vl);
            }
        }
        Some(())
    }

    fn same(&self, from: u32, to: u32) -> Same {
        self.same[to as usize * self.graph.switches() + from as usize]
    }

    /// Searches the ways that are missing, and gives pairs of hosts without a VL one. None where one has none.
    fn complete(&mut self, share: Stretch<'_>) -> Option<()> {
        let done = share.count(self.graph.switches());
        for to in self.graph.all_switches() {
            let usual = self.usual_vl(to);
            for column in self.columns.of(to) {
                self.complete_column(to, column, usual);
            }
            for from in self.graph.all_switches() {
                let is_wired = from != to && self.search.are_joined(from, to);
                let is_of_hosts = self.graph.has_hosts(from) || self.graph.has_hosts(to);
                if is_wired && is_of_hosts && self.pairs.vl(from, to) == NO_VL {
                    let vl = self.first_vl(from, to, usual)?;
                    self.pairs.set(from, to, vl);
                }
            }
            done.add(1);
        }
        Some(())
    }

    /// The VL that most pairs to a switch have; 0 where none has one.
    fn usual_vl(&self, to: u32) -> u8 {
        let mut counts = vec![0_u32; self.layers.len()];
        for from in self.graph.all_switches() {
            if let Some(count) = counts.get_mut(usize::from(self.pairs.vl(from, to))) {
                *count += 1;
            }
        }
        let most = (0..)
            .zip(&counts)
            .max_by_key(|(vl, count)| (**count, NO_VL - vl));
        most.map_or(0, |(vl, _)| vl)
    }

    /// Searches what a column lacks: by turns of one VL, or, where that does not reach all, by any.
    fn complete_column(&mut self, to: u32, column: u32, vl: u8) {
        let (graph, is_host) = (self.graph, self.columns.is_host(column));
        let slots = self.columns.slots_mut(column);
        let mut missing = (0..).zip(slots.iter());
        let is_missing = |from: u32| from != to && self.search.are_joined(from, to);
        if !missing.any(|(from, slot)| *slot == NO_SLOT && is_missing(from)) {
            return;
        }
        self.search.trace(graph, &self.loads, to, slots);
        if is_host {
            self.loads.count(graph, self.search.order(), slots, false);
        }
        for layer in [&mut self.layers[usize::from(vl)], &mut self.open] {
            let is_whole = self.search.run(graph, layer, &self.loads, to, slots);
            // Pairs ask for their turns themselves, on the VL that they get.
            layer.undo();
            if is_whole {
                break;
            }
        }
        if is_host {
            self.loads.count(graph, self.search.order(), slots, true);
        }
    }

    /// A VL that admits a pair: the one it had, the usual one to its destination, or the first.
    fn first_vl(&mut self, from: u32, to: u32, usual: u8) -> Option<u8> {
        let had = [self.first.vl(from, to), self.last.vl(from, to), usual];
        let all = (0..=NO_VL).take(self.layers.len());
        let mut all = had.into_iter().chain(all);
        all.find(|vl| self.admit(from, to, *vl))
    }

    /// Pairs of switches without hosts. One that no VL admits goes by the VL it had, unproved.
    fn place_management(&mut self) {
        for to in self
            .graph
            .all_switches()
            .filter(|to| !self.graph.has_hosts(*to))
        {
            let usual = self.usual_vl(to);
            for from in self.graph.all_switches() {
                let is_wired = from != to && self.search.are_joined(from, to);
                if is_wired && self.pairs.vl(from, to) == NO_VL {
                    let vl = self.first_vl(from, to, usual).unwrap_or(usual);
                    self.pairs.set(from, to, vl);
                }
            }
        }
    }

    /// Whether a VL admits the ways of a pair. Its turns are used from then on.
    fn admit(&mut self, from: u32, to: u32, vl: u8) -> bool {
        let Some(layer) = self.layers.get_mut(usize::from(vl)) else {
            return false;
        };
        self.columns.turns(self.graph, from, to, &mut self.turns);
        layer.admit_all(self.graph, &self.turns)
    }

    /// Pairs of wired switches, one of which has hosts.
    fn of_hosts(&self) -> Vec<(u32, u32)> {
        let graph = self.graph;
        let all = graph.all_switches();
        let pairs = all.flat_map(|to| graph.all_switches().map(move |from| (from, to)));
        let is_meant = |(from, to): &(u32, u32)| {
            from != to
                && self.search.are_joined(*from, *to)
                && (graph.has_hosts(*from) || graph.has_hosts(*to))
        };
        pairs.filter(is_meant).collect()
    }
}
