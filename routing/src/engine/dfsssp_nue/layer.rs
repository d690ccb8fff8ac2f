//! A layer: which turns packets on one VL may take, so that their dependencies close no cycle.
//!
//! A turn is *free* until somebody asks for it. Then it is admitted, and *used* from then on, or it would close
//! a cycle with turns that are used, and is *blocked*. As turns are only ever added, what is blocked stays so:
//! each turn is searched once per layer, and every later question is one look.
//!
//! The channels are kept in a topological order of the used turns. A turn that agrees with it costs nothing;
//! one that does not moves the channels between its two ends only.
//! Source: Pearce and Kelly, A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs, 2006.
//!
//! Several turns can be tried together ([`Layer::undo`]). A turn that fails beside others that are only tried
//! is not blocked for good: undoing frees it again.

use super::graph::{Channel, Graph};
use crate::topology::count32;

/// What is known of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Free,
    Used,
    Blocked,
}

/// The turns of one VL.
/// A byte per turn and eight per channel.
pub(super) struct Layer {
    turns: Vec<Turn>,
    /// By channel: its place in the order.
    places: Vec<u32>,
    /// By place: the channel.
    order: Vec<Channel>,
    /// Turns that changed since the last [`Layer::keep`].
    tried: Vec<u32>,
    search: Search,
}

/// What a search needs, so that nothing is allocated for each.
#[derive(Default)]
struct Search {
    /// By channel: whether this search was there.
    seen: Vec<bool>,
    /// Channels reached, forwards and backwards.
    behind: Vec<Channel>,
    before: Vec<Channel>,
    places: Vec<u32>,
}

impl Layer {
    /// No turn is used. `order` has every channel once; the more turns agree with it, the less is moved.
    pub(super) fn new(graph: &Graph, order: &[Channel]) -> Self {
        let mut places = vec![0; order.len()];
        for (place, channel) in (0..).zip(order) {
            places[*channel as usize] = place;
        }
        Self {
            turns: vec![Turn::Free; graph.turns()],
            places,
            order: order.to_vec(),
            tried: Vec::new(),
            search: Search {
                seen: vec![false; graph.channels()],
                ..Search::default()
            },
        }
    }

    /// Whether a turn is known to close a cycle.
    #[inline]
    pub(super) fn is_blocked(&self, graph: &Graph, into: Channel, out: Channel) -> bool {
        self.turns[graph.turn(into, out)] == Turn::Blocked
    }

    /// Uses a turn, unless it closes a cycle.
    #[inline]
    pub(super) fn admit(&mut self, graph: &Graph, into: Channel, out: Channel) -> bool {
        let turn = graph.turn(into, out);
        match self.turns[turn] {
            Turn::Used => true,
            Turn::Blocked => false,
            Turn::Free => {
                let is_good = self.order(graph, into, out);
                self.turns[turn] = if is_good { Turn::Used } else { Turn::Blocked };
                self.tried.push(count32(turn));
                is_good
            }
        }
    }

    /// What was tried stays.
    pub(super) fn keep(&mut self) {
        self.tried.clear();
    }

    /// What was tried since [`Self::keep`] is as before. The order may have changed; it is one all the same.
    pub(super) fn undo(&mut self) {
        for turn in self.tried.drain(..) {
            self.turns[turn as usize] = Turn::Free;
        }
    }

    /// Uses all of these turns, or none. A turn that cannot be used whatever the others are is remembered.
    pub(super) fn admit_all(&mut self, graph: &Graph, turns: &[(Channel, Channel)]) -> bool {
        let blocked = |(into, out): &(Channel, Channel)| self.is_blocked(graph, *into, *out);
        if turns.iter().any(blocked) {
            return false;
        }
        for (into, out) in turns {
            if self.admit(graph, *into, *out) {
                continue;
            }
            // Alone: is it this turn, or are it and the others too many?
            self.undo();
            match self.admit(graph, *into, *out) {
                true => self.undo(),
                false => self.keep(),
            }
            return false;
        }
        self.keep();
        true
    }

    /// Puts one channel before another in the order. False where used turns lead from the second to the first:
    /// then nothing has changed.
    fn order(&mut self, graph: &Graph, first: Channel, second: Channel) -> bool {
        let (low, high) = (self.places[second as usize], self.places[first as usize]);
        if high < low {
            return true;
        }
        let is_free = self.search_behind(graph, second, first, high);
        if is_free {
            self.search_before(graph, first, low);
            self.reorder();
        }
        let Search {
            seen,
            behind,
            before,
            ..
        } = &mut self.search;
        for channel in behind.drain(..).chain(before.drain(..)) {
            seen[channel as usize] = false;
        }
        is_free
    }

    /// Channels that wait, or that are waited for, between two places; false when the search meets `wanted`.
    fn search_behind(&mut self, graph: &Graph, from: Channel, wanted: Channel, last: u32) -> bool {
        let Search { seen, behind, .. } = &mut self.search;
        seen[from as usize] = true;
        behind.push(from);
        let mut next = 0;
        while let Some(here) = behind.get(next).copied() {
            next += 1;
            for out in graph.leaving(graph.to(here)) {
                let is_used = self.turns[graph.turn(here, out)] == Turn::Used;
                if !is_used || seen[out as usize] || self.places[out as usize] > last {
                    continue;
                }
                if out == wanted {
                    return false;
                }
                seen[out as usize] = true;
                behind.push(out);
            }
        }
        true
    }

    /// Channels from which used turns lead to one, not before a place.
    fn search_before(&mut self, graph: &Graph, to: Channel, first: u32) {
        let Search { seen, before, .. } = &mut self.search;
        seen[to as usize] = true;
        before.push(to);
        let mut next = 0;
        while let Some(here) = before.get(next).copied() {
            next += 1;
            for out in graph.leaving(graph.from(here)) {
                let into = graph.back(out);
                let is_used = self.turns[graph.turn(into, here)] == Turn::Used;
                if is_used && !seen[into as usize] && self.places[into as usize] >= first {
                    seen[into as usize] = true;
                    before.push(into);
                }
            }
        }
    }

    /// Gives the places of all channels that were found to them again: first those before, then those behind.
    fn reorder(&mut self) {
        let Search {
            behind,
            before,
            places,
            ..
        } = &mut self.search;
        let own = &self.places;
        behind.sort_unstable_by_key(|channel| own[*channel as usize]);
        before.sort_unstable_by_key(|channel| own[*channel as usize]);
        let all = before.iter().chain(behind.iter());
        places.clear();
        places.extend(all.clone().map(|channel| own[*channel as usize]));
        places.sort_unstable();
        for (place, channel) in places.iter().zip(all) {
            self.places[*channel as usize] = *place;
            self.order[*place as usize] = *channel;
        }
    }
}
