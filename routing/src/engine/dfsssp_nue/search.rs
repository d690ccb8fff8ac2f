//! Ways to one destination by turns that a layer admits.
//!
//! From the destination outwards, hop by hop: a switch joins by the channel whose way beyond carries least, among
//! those whose turn into the neighbour's own way is not blocked. A turn is asked for when a switch joins by it and
//! not before, so that no turn is used for nothing.
//! Source: Domke, Hoefler and Matsuoka, Routing on the Dependency Graph, 2016.
//!
//! Switches may have their way before the search begins; the others join those. A switch all of whose turns are
//! blocked is not reached, and what to do then is the caller's matter: see `nue`.

use super::balance::Loads;
use super::columns::next;
use super::graph::{Channel, Graph, NO_SLOT, NOWHERE};
use super::layer::Layer;

/// A search for ways to one destination after the other.
pub(super) struct Search {
    /// By switch: the lowest switch that is wired to it.
    parts: Vec<u32>,
    /// By switch: hops of its way; [`NOWHERE`] without one.
    hops: Vec<u32>,
    /// By switch: what its way carries.
    cost: Vec<u64>,
    /// By hops: switches with such ways.
    fronts: Vec<Vec<u32>>,
    /// By switch: the best channel to join by, while one hop is made.
    best: Vec<(u64, Channel)>,
    /// Switches that can join by this hop.
    joining: Vec<u32>,
    /// Switches with a way, nearest first.
    order: Vec<u32>,
}

impl Search {
    pub(super) fn new(graph: &Graph) -> Self {
        let count = graph.switches();
        let (mut parts, mut hops) = (vec![NOWHERE; count], vec![NOWHERE; count]);
        let mut reached = Vec::new();
        // Each part once: its lowest switch finds all others of it.
        for switch in graph.all_switches() {
            if parts[switch as usize] == NOWHERE {
                graph.spread_from(switch, &mut hops, &mut reached);
                for other in &reached {
                    parts[*other as usize] = switch;
                }
            }
        }
        Self {
            parts,
            hops,
            cost: vec![0; count],
            fronts: Vec::new(),
            best: vec![(u64::MAX, NOWHERE); count],
            joining: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Whether two switches are wired together.
    pub(super) fn are_joined(&self, one: u32, other: u32) -> bool {
        self.parts[one as usize] == self.parts[other as usize]
    }

    /// Switches with a way after a search, none before the one it leaves to.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Switches that are wired to `to` and have no way after a search for it.
    pub(super) fn unreached(&self, to: u32) -> impl Iterator<Item = u32> + '_ {
        let all = (0..).zip(&self.hops);
        let without = all.filter(|(_, hops)| **hops == NOWHERE);
        without
            .map(|(switch, _)| switch)
            .filter(move |switch| self.are_joined(*switch, to))
    }

    /// Gives a way to every switch without a slot that can have one. Turns of ways that are there must be
    /// used in the layer. True when all switches that are wired to the destination have one.
    pub(super) fn run(
        &mut self,
        graph: &Graph,
        layer: &mut Layer,
        loads: &Loads,
        to: u32,
        slots: &mut [u8],
    ) -> bool {
        self.begin(graph, loads, to, slots);
        let mut hops = 0;
        // Front after front: all ways of so many hops are known before the next hop is made.
        while hops < self.fronts.len() {
            self.look(graph, layer, loads, to, hops, slots);
            self.join(graph, layer, loads, to, hops, slots);
            hops += 1;
        }
        self.list();
        self.unreached(to).next().is_none()
    }

    /// Follows the ways that are there, and searches none.
    pub(super) fn trace(&mut self, graph: &Graph, loads: &Loads, to: u32, slots: &[u8]) {
        self.begin(graph, loads, to, slots);
        self.list();
    }

    fn list(&mut self) {
        self.order.clear();
        self.order.extend(self.fronts.iter().flatten());
    }

    /// Takes in the ways that are there.
    fn begin(&mut self, graph: &Graph, loads: &Loads, to: u32, slots: &[u8]) {
        self.hops.fill(NOWHERE);
        self.hops[to as usize] = 0;
        self.cost[to as usize] = 0;
        self.fronts.iter_mut().for_each(Vec::clear);
        self.settle(to, 0);
        let mut trail = Vec::new();
        // Ways that are there are walked to where one is known, then counted on the way back.
        for start in graph.all_switches() {
            let mut here = start;
            while self.hops[here as usize] == NOWHERE && slots[here as usize] != NO_SLOT {
                trail.push(here);
                here = next(graph, slots, here);
            }
            while let Some(here) = trail.pop() {
                let channel = graph.channel(here, slots[here as usize]);
                let beyond = graph.to(channel) as usize;
                self.cost[here as usize] = self.cost[beyond] + loads.of(channel);
                self.settle(here, self.hops[beyond] + 1);
            }
        }
    }

    /// Notes the hops of a switch.
    fn settle(&mut self, switch: u32, hops: u32) {
        self.hops[switch as usize] = hops;
        let hops = hops as usize;
        if self.fronts.len() <= hops {
            self.fronts.resize_with(hops + 1, Vec::new);
        }
        self.fronts[hops].push(switch);
    }

    /// Finds who can join switches of so many hops, and by which channel best.
    fn look(
        &mut self,
        graph: &Graph,
        layer: &Layer,
        loads: &Loads,
        to: u32,
        hops: usize,
        slots: &[u8],
    ) {
        for here in &self.fronts[hops] {
            let beyond = beyond(graph, to, *here, slots);
            for out in graph.leaving(*here) {
                let (into, switch) = (graph.back(out), graph.to(out) as usize);
                let is_open = self.hops[switch] == NOWHERE
                    && beyond.is_none_or(|beyond| !layer.is_blocked(graph, into, beyond));
                // Blocked turns stay so: whoever needs one waits for another neighbour.
                if !is_open {
                    continue;
                }
                if self.best[switch].1 == NOWHERE {
                    self.joining.push(graph.to(out));
                }
                let cost = self.cost[*here as usize] + loads.of(into);
                // Of equal cost the lower channel, so that the order of fronts does not matter.
                self.best[switch] = self.best[switch].min((cost, into));
            }
        }
    }

    /// Lets them join, each by the best channel whose turn is admitted.
    fn join(
        &mut self,
        graph: &Graph,
        layer: &mut Layer,
        loads: &Loads,
        to: u32,
        hops: usize,
        slots: &mut [u8],
    ) {
        // Taken out and put back: settling needs the whole of `self`.
        let mut joining = std::mem::take(&mut self.joining);
        for switch in joining.drain(..) {
            let (mut cost, mut channel) =
                std::mem::replace(&mut self.best[switch as usize], (u64::MAX, NOWHERE));
            while channel != NOWHERE {
                let beyond = beyond(graph, to, graph.to(channel), slots);
                if beyond.is_none_or(|beyond| layer.admit(graph, channel, beyond)) {
                    slots[switch as usize] = graph.slot(channel);
                    self.cost[switch as usize] = cost;
                    self.settle(switch, self.hops[graph.to(channel) as usize] + 1);
                    break;
                }
                // Its turn is blocked now, so another one comes out.
                (cost, channel) = self.best_of(graph, layer, loads, to, hops, switch, slots);
            }
        }
        self.joining = joining;
    }

    /// The best channel of one switch, as [`Self::look`] finds it.
    #[expect(
        clippy::too_many_arguments,
        reason = "the same as look, for one switch"
    )]
    fn best_of(
        &self,
        graph: &Graph,
        layer: &Layer,
        loads: &Loads,
        to: u32,
        hops: usize,
        switch: u32,
        slots: &[u8],
    ) -> (u64, Channel) {
        let open = graph.leaving(switch).filter_map(|channel| {
            let far = graph.to(channel);
            let is_near = self.hops[far as usize] as usize == hops;
            let beyond = is_near.then(|| beyond(graph, to, far, slots))?;
            // Only neighbours of this very hop: those of the next one are not known yet.
            let is_open = beyond.is_none_or(|beyond| !layer.is_blocked(graph, channel, beyond));
            is_open.then(|| (self.cost[far as usize] + loads.of(channel), channel))
        });
        open.min().unwrap_or((u64::MAX, NOWHERE))
    }
}

/// The channel by which a switch goes on; none at the destination.
fn beyond(graph: &Graph, to: u32, switch: u32, slots: &[u8]) -> Option<Channel> {
    (switch != to).then(|| graph.channel(switch, slots[switch as usize]))
}
