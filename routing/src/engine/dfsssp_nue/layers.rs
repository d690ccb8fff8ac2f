//! Shortest ways, layered over the VLs pair by pair.
//!
//! A pair of switches, with the ways of all LIDs between them, goes to the first layer that admits all its turns,
//! and keeps to its VL from end to end. A pair and not a LID, since the SL is what an SA tells by pair, and pairs
//! of switches are fewer. Pairs that are far apart come first, as short ways fit in where long ones do not.
//! Source: Domke, Hoefler and Nagel, Deadlock-Free Oblivious Routing for Arbitrary Topologies, 2011.
//!
//! Where pairs of hosts find no layer, the fabric needs another method: see `nue`. Switches without hosts are
//! searched afterwards by turns that the layers admit, as what goes to them is management alone and need not be
//! shortest. Pairs of two such switches that find nothing go by a layer that does not admit them: hosts take no
//! part in these, and the proof tells what they can close.

use super::balance::Loads;
use super::columns::Columns;
use super::escape::{self, Tree};
use super::graph::{Channel, Graph, NO_SLOT};
use super::layer::Layer;
use super::pairs::Pairs;
use super::search::Search;
use crate::shortest::distances::Distances;
use crate::watch::Stretch;

/// Layers of pairs.
struct Layers<'a> {
    graph: &'a Graph,
    /// How many there may be.
    most: usize,
    /// The order that every layer begins with.
    order: Vec<Channel>,
    layers: Vec<Layer>,
    /// The layer that took the last switch without hosts: the first one for the next.
    last: usize,
    /// Turns of a pair, while it is looked at.
    turns: Vec<(Channel, Channel)>,
}

/// Gives each pair a layer, and says how many there are; searches the columns of switches without hosts anew.
/// None where pairs of hosts are left over.
pub(super) fn fit(
    graph: &Graph,
    distances: &Distances,
    columns: &mut Columns,
    loads: &Loads,
    most: u8,
    share: Stretch<'_>,
) -> Option<(Pairs, usize)> {
    let mut layers = Layers::new(graph, most);
    let mut pairs = Pairs::none(graph.switches());
    let with_hosts = graph.all_switches().filter(|to| graph.has_hosts(*to));
    let with_hosts = with_hosts.count();
    let placing = 100 * with_hosts as u64 / (graph.switches() as u64).max(1);
    let done = share.cut(0..placing).count(with_hosts * graph.switches());
    // Farther than a byte counts to is told as the farthest.
    for hops in (0..=u8::MAX).rev() {
        for to in graph.all_switches().filter(|to| graph.has_hosts(*to)) {
            let all = (0..).zip(distances.from(Graph::ix(to)));
            let mut placed = 0;
            for (from, _) in all.filter(|(_, far)| **far == hops) {
                layers.place(columns, from, to, &mut pairs)?;
                placed += 1;
            }
            done.add(placed);
        }
    }
    drop(done);
    let done = share.cut(placing..100).count(graph.switches() - with_hosts);
    let mut search = Search::new(graph);
    for to in graph.all_switches().filter(|to| !graph.has_hosts(*to)) {
        let slots = columns.slots_mut(columns.of(to).start);
        let vl = layers.search(&mut search, loads, to, slots)?;
        pairs.set_all(to, vl, |from| search.are_joined(from, to));
        for column in columns.of(to).skip(1) {
            columns.copy_first(column);
        }
        done.add(1);
    }
    Some((pairs, layers.layers.len()))
}

/// The order of channels that layers begin with.
pub(super) fn first_order(graph: &Graph) -> Vec<Channel> {
    Tree::from(graph, escape::middle(graph)).channels(graph)
}

impl<'a> Layers<'a> {
    fn new(graph: &'a Graph, most: u8) -> Self {
        let order = first_order(graph);
        Self {
            graph,
            most: usize::from(most),
            // Something for pairs that need none: there is always a layer 0.
            layers: vec![Layer::new(graph, &order)],
            last: 0,
            order,
            turns: Vec::new(),
        }
    }

    /// Gives a pair its layer, if it has ways. None where no layer takes it.
    fn place(&mut self, columns: &Columns, from: u32, to: u32, pairs: &mut Pairs) -> Option<()> {
        if from != to && columns.has_way(columns.of(to).start, from) {
            columns.turns(self.graph, from, to, &mut self.turns);
            pairs.set(from, to, self.first()?);
        }
        Some(())
    }

    /// The first layer that admits all turns that were collected.
    fn first(&mut self) -> Option<u8> {
        let (graph, turns) = (self.graph, &self.turns);
        let mut layers = self.layers.iter_mut();
        let found = layers.position(|layer| layer.admit_all(graph, turns));
        let layer = found.or_else(|| {
            self.grow()?;
            let last = self.layers.len() - 1;
            // Shortest ways to one switch close no cycle by themselves.
            let is_free = self.layers[last].admit_all(graph, &self.turns);
            is_free.then_some(last)
        });
        u8::try_from(layer?).ok()
    }

    /// One more layer, if there may be one.
    fn grow(&mut self) -> Option<()> {
        (self.layers.len() < self.most).then(|| {
            self.layers.push(Layer::new(self.graph, &self.order));
        })
    }

    /// Searches ways to a switch without hosts on one of the layers, or on a new one; where none has them all, on
    /// one that has them for all switches with hosts.
    fn search(
        &mut self,
        search: &mut Search,
        loads: &Loads,
        to: u32,
        slots: &mut [u8],
    ) -> Option<u8> {
        // Mostly there are ways that agree with the order of a layer, for which no cycle is looked for.
        for is_rigid in [true, false] {
            let layers = &mut self.layers;
            layers.iter_mut().for_each(|it| it.set_rigid(is_rigid));
            let found = self.search_until(search, loads, to, slots, false);
            if found.is_some() {
                return found;
            }
        }
        if self.grow().is_some() {
            self.last = self.layers.len() - 1;
            return self.search_until(search, loads, to, slots, false);
        }
        let found = self.search_until(search, loads, to, slots, true)?;
        attach(self.graph, to, slots);
        Some(found)
    }

    /// Searches layer after layer, until one reaches everybody, or at least all switches with hosts. Begins with
    /// the one that took the last switch: those before it are full, mostly.
    fn search_until(
        &mut self,
        search: &mut Search,
        loads: &Loads,
        to: u32,
        slots: &mut [u8],
        is_enough_for_hosts: bool,
    ) -> Option<u8> {
        let graph = self.graph;
        let may_lack = |switch: u32| is_enough_for_hosts && !graph.has_hosts(switch);
        let count = self.layers.len();
        for number in (self.last..count).chain(0..self.last) {
            let layer = &mut self.layers[number];
            slots.fill(NO_SLOT);
            search.run(graph, layer, loads, to, slots);
            if search.unreached(to).all(may_lack) {
                layer.keep();
                self.last = number;
                return u8::try_from(number).ok();
            }
            layer.undo();
        }
        None
    }
}

/// Joins switches without a way to neighbours that have one, whatever their turns are.
pub(super) fn attach(graph: &Graph, to: u32, slots: &mut [u8]) {
    let mut is_growing = true;
    while is_growing {
        is_growing = false;
        for switch in graph.all_switches().filter(|it| *it != to) {
            let has_way = |far: u32| far == to || slots[far as usize] != NO_SLOT;
            let mut all = graph.leaving(switch);
            if slots[switch as usize] == NO_SLOT
                && let Some(channel) = all.find(|channel| has_way(graph.to(*channel)))
            {
                slots[switch as usize] = graph.slot(channel);
                is_growing = true;
            }
        }
    }
}
