//! A layer: which turns packets on one VL may take, so that their dependencies close no cycle.
//!
//! A turn is *free* until somebody asks for it. Then it is admitted, and *used* from then on, or it would close
//! a cycle with turns that are used, and is *blocked*. As turns are only ever added, what is blocked stays so:
//! each turn is searched once per layer, and every later question is one look.
//!
//! The channels are kept in a topological order of the used turns. A turn that agrees with it costs nothing.
//! For one that does not, channels are searched from both of its ends towards each other, nearest in the order
//! first, so that neither side goes further than the other one makes it: the two meet, which is a cycle, or
//! pass each other, and then only what was found moves.
//! Source: Haeupler, Kavitha, Mathew, Sen and Tarjan, Incremental Cycle Detection, Topological Ordering, and
//! Strong Component Maintenance, 2012 (two-way search).
//!
//! Several turns can be tried together ([`Layer::undo`]). A turn that fails beside others that are only tried
//! is not blocked for good: undoing frees it again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::{Channel, Graph};
use crate::engine::order::Order;
use crate::topology::count32;

/// What is known of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Free,
    Used,
    Blocked,
}

/// The turns of one VL.
/// A byte per turn and some twenty per channel.
pub(super) struct Layer {
    turns: Vec<Turn>,
    order: Order,
    /// Turns that do not agree with the order are not asked for.
    is_rigid: bool,
    /// Turns that changed since the last [`Layer::keep`].
    tried: Vec<u32>,
    search: Search,
}

/// What a search needs, so that nothing is allocated for each.
#[derive(Default)]
struct Search {
    /// By channel: from which side this search found it.
    found: Vec<Side>,
    /// Channels that the second one leads to, and channels that lead to the first one.
    behind: Vec<Channel>,
    before: Vec<Channel>,
    /// Those of them that get another place.
    moved: Vec<Channel>,
    /// Those whose neighbours have not been looked at, with their places in the order.
    open_behind: BinaryHeap<Reverse<(u64, Channel)>>,
    open_before: BinaryHeap<(u64, Channel)>,
}

/// From which end of a new turn a channel was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Neither,
    Behind,
    Before,
}

impl Layer {
    /// No turn is used. `order` has every channel once; the more turns agree with it, the less is moved.
    pub(super) fn new(graph: &Graph, order: &[Channel]) -> Self {
        // Not generic over the graph: one layer lives as long as its VL.
        // One more before all others, so that there is always something to move behind.
        let head = count32(graph.channels());
        let nodes: Vec<Channel> = std::iter::once(head).chain(order.iter().copied()).collect();
        Self {
            turns: vec![Turn::Free; graph.turns()],
            order: Order::new(&nodes),
            is_rigid: false,
            tried: Vec::new(),
            search: Search {
                found: vec![Side::Neither; graph.channels() + 1],
                ..Search::default()
            },
        }
    }

    /// Whether only turns count as open that agree with the order as it is: no search is made for these.
    pub(super) const fn set_rigid(&mut self, is_rigid: bool) {
        self.is_rigid = is_rigid;
    }

    /// Whether a turn is known to close a cycle, or, in a rigid layer, not known to close none.
    #[inline]
    pub(super) fn is_blocked(&self, graph: &Graph, into: Channel, out: Channel) -> bool {
        match self.turns[graph.turn(into, out)] {
            Turn::Used => false,
            Turn::Blocked => true,
            // Rigid: as the order is, without a search.
            Turn::Free => self.is_rigid && self.order.label(into) >= self.order.label(out),
        }
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
                // Noted whichever it was: undoing frees a blocked turn too, as it was blocked beside others.
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
        // Channels keep their new places: an order that agrees with more turns agrees with fewer.
        for turn in self.tried.drain(..) {
            self.turns[turn as usize] = Turn::Free;
        }
    }

    /// Uses all of these turns, or none. A turn that cannot be used whatever the others are is remembered.
    pub(super) fn admit_all(&mut self, graph: &Graph, turns: &[(Channel, Channel)]) -> bool {
        let blocked = |(into, out): &(Channel, Channel)| self.is_blocked(graph, *into, *out);
        // The cheap question first: most sets that fail do so by a turn that is known.
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

    /// Uses turns that went together before, and searches nothing. [`Self::settle`] comes before anything else.
    pub(super) fn take(&mut self, graph: &Graph, turns: &[(Channel, Channel)]) {
        for (into, out) in turns {
            self.turns[graph.turn(*into, *out)] = Turn::Used;
        }
    }

    /// Finds an order for the turns that were taken. False where they close a cycle after all.
    /// Cost: O(turns), once for all of them.
    pub(super) fn settle(&mut self, graph: &Graph) -> bool {
        // Kahn's way: channels without a turn into them first. What is left over lies on cycles.
        let head = count32(graph.channels());
        let mut before = vec![0_u32; graph.channels()];
        for into in 0..head {
            self.followers(graph, into)
                .for_each(|out| before[out as usize] += 1);
        }
        let mut nodes: Vec<Channel> = (0..head).filter(|it| before[*it as usize] == 0).collect();
        nodes.sort_unstable_by_key(|channel| self.order.label(*channel));
        nodes.insert(0, head);
        let mut next = 1;
        while let Some(here) = nodes.get(next).copied() {
            next += 1;
            for out in self.followers(graph, here) {
                before[out as usize] -= 1;
                if before[out as usize] == 0 {
                    nodes.push(out);
                }
            }
        }
        let is_free = nodes.len() > graph.channels();
        if is_free {
            // Only then: an order of some channels would be none.
            self.order = Order::new(&nodes);
        }
        is_free
    }

    /// The channels into which used turns lead from one.
    fn followers(&self, graph: &Graph, here: Channel) -> impl Iterator<Item = Channel> {
        let outs = graph.leaving(graph.to(here));
        outs.filter(move |out| self.turns[graph.turn(here, *out)] == Turn::Used)
    }

    /// Puts one channel before another in the order. False where used turns lead from the second to the first:
    /// then nothing has changed.
    fn order(&mut self, graph: &Graph, first: Channel, second: Channel) -> bool {
        if self.order.label(first) < self.order.label(second) {
            return true;
        }
        let is_free = self.search(graph, first, second);
        if is_free {
            self.reorder(first);
        }
        // Marks are taken back channel by channel: clearing all would cost as much as the graph.
        let search = &mut self.search;
        let all = search.behind.drain(..).chain(search.before.drain(..));
        all.for_each(|channel| search.found[channel as usize] = Side::Neither);
        search.open_behind.clear();
        search.open_before.clear();
        is_free
    }

    /// Searches from both channels until the two sides pass each other in the order. False when they meet.
    fn search(&mut self, graph: &Graph, first: Channel, second: Channel) -> bool {
        self.find(second, Side::Behind);
        self.find(first, Side::Before);
        loop {
            let search = &mut self.search;
            let (Some(Reverse(low)), Some(high)) = (
                search.open_behind.peek().copied(),
                search.open_before.peek().copied(),
            ) else {
                return true;
            };
            if low.0 >= high.0 {
                return true;
            }
            // One from each side, so that neither goes further than the other makes it.
            search.open_behind.pop();
            search.open_before.pop();
            if !self.look_behind(graph, low.1) || !self.look_before(graph, high.1) {
                return false;
            }
        }
    }

    /// Finds channels that one leads to. False where one of them leads to the first one.
    fn look_behind(&mut self, graph: &Graph, here: Channel) -> bool {
        let outs = graph.leaving(graph.to(here));
        for out in outs {
            if self.turns[graph.turn(here, out)] == Turn::Used {
                match self.search.found[out as usize] {
                    Side::Before => return false,
                    Side::Behind => {}
                    Side::Neither => self.find(out, Side::Behind),
                }
            }
        }
        true
    }

    /// Finds channels that lead to one. False where the second one leads to one of them.
    fn look_before(&mut self, graph: &Graph, here: Channel) -> bool {
        for out in graph.leaving(graph.from(here)) {
            let into = graph.back(out);
            if self.turns[graph.turn(into, here)] == Turn::Used {
                match self.search.found[into as usize] {
                    Side::Behind => return false,
                    Side::Before => {}
                    Side::Neither => self.find(into, Side::Before),
                }
            }
        }
        true
    }

    /// Notes a channel that a search has found.
    fn find(&mut self, channel: Channel, side: Side) {
        let (search, label) = (&mut self.search, self.order.label(channel));
        search.found[channel as usize] = side;
        match side {
            Side::Before => {
                search.before.push(channel);
                search.open_before.push((label, channel));
            }
            _ => {
                search.behind.push(channel);
                search.open_behind.push(Reverse((label, channel)));
            }
        }
    }

    /// Moves what was found so that `first`, and all that leads to it, comes before all that was found behind.
    ///
    /// The place is right before the lowest channel behind whose neighbours were not looked at, or right behind
    /// `first` where that is lower. What lies on the wrong side of it was looked at, so nothing else is
    /// in the way.
    fn reorder(&mut self, first: Channel) {
        let (order, search) = (&mut self.order, &mut self.search);
        let last = (order.label(first), first);
        let open = search.open_behind.peek();
        let (label, place) = open.map_or(last, |Reverse(open)| (*open).min(last));
        let (before, behind) = (&mut search.before, &mut search.behind);
        search.moved.clear();
        let moved = &mut search.moved;
        before.sort_unstable_by_key(|channel| order.label(*channel));
        behind.sort_unstable_by_key(|channel| order.label(*channel));
        // Of what was found only those on the wrong side of the place move.
        moved.extend(before.iter().filter(|it| order.label(**it) > label));
        moved.extend(behind.iter().filter(|it| order.label(**it) < label));
        let mut to = place;
        if place != first {
            to = order.before(to);
            // What moves and lies before it was found behind.
            while search.found[to as usize] == Side::Behind {
                to = order.before(to);
            }
        }
        order.move_behind(moved, to);
    }
}
