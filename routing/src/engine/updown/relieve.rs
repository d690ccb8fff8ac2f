//! Paths moved away from links that have more than others of their level.
//!
//! A chain brings all packets to a LID down one way. Where a leaf has three hosts and, as a cable
//! failed, two links, that leaves two LIDs on one of them. So where chains come out uneven, some switches
//! are given another shortest way for some LIDs, until no link of a level can be relieved by that:
//!
//! ```text
//! leaf with hosts 1 2 3         chains:  1 by M, 2 by N, 3 by M      M has twice the paths of N
//! links down from M and N       after:   3 by M from half of the fabric, by N from the others
//! ```
//!
//! A path moves only to where no link then has as many paths as the one that it leaves. So the fullest
//! links get emptier with every move, and the work ends. Whole trees have even chains and are left as
//! they are, for the sake of shifts that meet nowhere. Where something failed, only entries move that
//! lost their way: all others stay.

use std::collections::BTreeMap;

use super::goals::Goal;
use super::ground::Ground;
use crate::quality::links::Links;
use crate::quality::loads::paths;
use crate::tables::Lft;
use crate::topology::{SwitchIx, Topology, count32};
use crate::watch::Stretch;

/// Whose entries may move.
pub(super) struct Movable<'a> {
    /// Asked with a LID: false where no switch may give it another port. Ways to it are not looked at then.
    pub(super) is_any: &'a dyn Fn(u16) -> bool,
    /// Asked with a switch, a LID, and the port of now.
    pub(super) is: &'a dyn Fn(u32, u16, u8) -> bool,
}

/// Moves paths away from full links; of entries that are `movable`.
/// Cost: that of counting paths, O(switches x LIDs) on all cores, and [`MOST_WORK`].
///
/// Shape: `lft` is whole; entries change, none is taken away. The same tables give the same moves.
pub(super) fn relieve(
    topology: &Topology,
    ground: &Ground<'_>,
    lft: &mut Lft,
    movable: &Movable<'_>,
    share: Stretch<'_>,
) {
    let links = Links::new(topology);
    let mut relief = Relief {
        ground,
        movable,
        paths: paths(topology, &links, lft),
        links,
        tree: Tree::default(),
        // A budget, as the number of moves is not known: a fabric that is odd must not hold up a reroute.
        left: MOST_WORK / ground.cabling.switches().max(1),
    };
    // A move may fill another link a little more, so full links are looked for again.
    for nth in 0..PASSES {
        let full = relief.full_links(topology);
        let done = share.nth(nth, PASSES).count(full.len());
        let moves = full.iter().map(|link| {
            done.add(1);
            relief.relieve(*link, lft)
        });
        let moves: usize = moves.sum();
        // Nothing moved: no link can be relieved by one entry.
        if moves == 0 {
            return;
        }
    }
}

/// How often all full links are gone through.
const PASSES: u64 = 8;

/// Entries that are looked at, at most.
const MOST_WORK: usize = 1 << 23;

/// How many hundredths more paths than its level's mean make a link a full one.
const FULL: u64 = 102;

/// A link, by the switch that it leaves.
#[derive(Debug, Clone, Copy)]
struct From {
    switch: u32,
    port: u8,
    number: u32,
}

/// The tables are not in here: they are lent to each move, as counting goes on beside it.
struct Relief<'a> {
    ground: &'a Ground<'a>,
    movable: &'a Movable<'a>,
    links: Links,
    /// By number of the link.
    paths: Vec<u64>,
    tree: Tree,
    /// LIDs that may still be looked at.
    left: usize,
}

impl Relief<'_> {
    /// Links with more paths than others of their level, the fullest first.
    fn full_links(&self, topology: &Topology) -> Vec<From> {
        let all = topology.switch_ixs().flat_map(|switch| {
            topology.cables(switch).filter_map(move |(port, ..)| {
                let link = self.links.behind(switch, port)?;
                let level = [switch, link.far].map(|end| self.ground.heights[end.index()]);
                let from = From {
                    switch: switch.0,
                    port,
                    number: link.number,
                };
                Some((level, from))
            })
        });
        let all: Vec<_> = all.collect();
        let of = |from: &From| self.paths[from.number as usize];
        let mut levels: BTreeMap<[u32; 2], (u64, u64)> = BTreeMap::new();
        for (level, from) in &all {
            let (sum, count) = levels.entry(*level).or_default();
            *sum += of(from);
            *count += 1;
        }
        // In whole numbers: counts of large fabrics times a hundred fit 64 bits.
        let is_full = |level: &[u32; 2], from: &From| {
            let (sum, count) = levels[level];
            of(from) * count * 100 > sum * FULL
        };
        let full = all.into_iter().filter(|(level, from)| is_full(level, from));
        let mut full: Vec<_> = full.map(|(_, from)| from).collect();
        // Of equal ones by number, so that the order does not depend on how they were collected.
        full.sort_by_key(|from| (u64::MAX - of(from), from.number));
        full
    }

    /// Moves paths away from a link. Returns how many entries changed.
    fn relieve(&mut self, link: From, lft: &mut Lft) -> usize {
        let goals = &self.ground.goals;
        let mut moves = 0;
        // Hosts alone: paths to switches are few, and nobody waits for them.
        for turn in 0..goals.with_hosts() {
            for goal in goals.hosts(turn) {
                // Its own LIDs leave by their ports, and what does not use the link cannot relieve it.
                let entry = lft.table(SwitchIx(link.switch))[usize::from(goal.lid)];
                let is_others = entry != link.port || goals.switches()[turn] == link.switch;
                if is_others || !(self.movable.is_any)(goal.lid) {
                    continue;
                }
                if self.left == 0 {
                    return moves;
                }
                self.left -= 1;
                moves += self.move_some(link, turn, *goal, lft);
            }
        }
        moves
    }

    /// Moves paths to one LID, those of switches that are the farthest first: these are the fewest.
    fn move_some(&mut self, link: From, turn: usize, goal: Goal, lft: &mut Lft) -> usize {
        // From far to near: a switch far away brings few paths, so a move overshoots least.
        self.tree.grow(self.ground, &self.links, turn, goal, lft);
        let mut moves = 0;
        for nth in 0..self.tree.order.len() {
            let from = self.tree.order[nth];
            let paths = self.tree.through[from as usize];
            let entry = lft.table(SwitchIx(from))[usize::from(goal.lid)];
            if paths == 0
                || !(self.movable.is)(from, goal.lid, entry)
                || !self.tree.passes(from, link.number)
            {
                continue;
            }
            let Some(port) = self.better(link, turn, from, paths) else {
                continue;
            };
            // Taken off the old way before the new one is counted: both share their end.
            self.add(from, paths, u64::wrapping_sub);
            lft.table_mut(SwitchIx(from))[usize::from(goal.lid)] = port;
            self.tree.next[from as usize] = self.step(from, port);
            self.add(from, paths, u64::wrapping_add);
            moves += 1;
        }
        moves
    }

    /// The port by which `paths` paths from a switch meet links with fewer than `link` has, those that
    /// come included; of several the one where the fullest has the fewest.
    fn better(&self, link: From, turn: usize, from: u32, paths: u64) -> Option<u8> {
        let Ground {
            // Only shortest ways that climb and then descend: another one could close a loop.
            cabling,
            slopes,
            steps,
            ..
        } = self.ground;
        let bundles = cabling
            .leaving(from)
            .iter()
            .zip(slopes.of(cabling.of(from)));
        let ways = bundles.filter(|(_, slope)| steps.leads_on(turn, from, **slope));
        let cables = ways.flat_map(|(way, _)| way.cable..way.cable + way.width);
        let ports = cables.map(|cable| cabling.port(cable));
        let most = ports.filter_map(|port| Some((self.most(link, from, port)? + paths, port)));
        // Strictly fewer: moves between equal links would go round for ever.
        let least = most.min_by_key(|(most, _)| *most);
        let (_, port) = least.filter(|(most, _)| *most < self.paths[link.number as usize])?;
        Some(port)
    }

    /// The most paths over a link on the way behind another port, up to where that meets the way
    /// there is. None where it leads over `link`.
    fn most(&self, link: From, from: u32, port: u8) -> Option<u64> {
        let (first, mut here) = self.step(from, port)?;
        let mut most = self.paths[first as usize];
        // By the same link, or by the way that it has: no other way.
        if first == link.number || self.tree.next[from as usize] == Some((first, here)) {
            return None;
        }
        while let Some((number, far)) = self.tree.next[here as usize] {
            if number == link.number {
                return None;
            }
            // Where both ways are one its load does not change.
            if !self.tree.is_on_way(from, here) {
                most = most.max(self.paths[number as usize]);
            }
            here = far;
        }
        Some(most)
    }

    /// The link behind a port, and where it leads.
    fn step(&self, from: u32, port: u8) -> Option<(u32, u32)> {
        let link = self.links.behind(SwitchIx(from), port)?;
        Some((link.number, link.far.0))
    }

    /// Adds paths to all links from a switch on, or takes them away.
    fn add(&mut self, from: u32, paths: u64, sum: fn(u64, u64) -> u64) {
        let mut here = from;
        while let Some((number, far)) = self.tree.next[here as usize] {
            let all = &mut self.paths[number as usize];
            *all = sum(*all, paths);
            // `wrapping_sub` and `wrapping_add` undo each other exactly, whatever the order.
            // What comes through the first switch stays what it was.
            let through = &mut self.tree.through[far as usize];
            *through = sum(*through, paths);
            here = far;
        }
    }
}

/// The ways of all switches to one LID.
#[derive(Default)]
struct Tree {
    /// By switch: the number of the link that it takes, and where that leads; none at the
    /// destination.
    next: Vec<Option<(u32, u32)>>,
    /// By switch: paths of hosts that leave it, its own included.
    through: Vec<u64>,
    /// Switches, the farthest first.
    order: Vec<u32>,
}

impl Tree {
    fn grow(&mut self, ground: &Ground<'_>, links: &Links, turn: usize, goal: Goal, lft: &Lft) {
        let to = ground.goals.switches()[turn];
        let switches = 0..count32(ground.cabling.switches());
        // Memory is used again for each LID: there are tens of thousands.
        self.next.clear();
        self.next.extend(switches.clone().map(|from| {
            let entry = lft.table(SwitchIx(from))[usize::from(goal.lid)];
            let link = links.behind(SwitchIx(from), entry);
            let link = link.filter(|_| from != to);
            link.map(|link| (link.number, link.far.0))
        }));
        self.through.clear();
        let hosts = switches
            .clone()
            .map(|from| u64::from(ground.cabling.hosts(from)));
        self.through.extend(hosts);
        self.order.clear();
        self.order.extend(switches);
        self.order
            .sort_by_key(|from| std::cmp::Reverse(ground.steps.count(turn, *from)));
        // Far switches come first, so each has its sum when it hands it on.
        for from in &self.order {
            if let Some((_, far)) = self.next[*from as usize] {
                self.through[far as usize] += self.through[*from as usize];
            }
        }
    }

    /// True if packets from a switch go over a link.
    fn passes(&self, from: u32, link: u32) -> bool {
        let mut here = from;
        while let Some((number, far)) = self.next[here as usize] {
            if number == link {
                return true;
            }
            here = far;
        }
        false
    }

    /// True if packets from a switch come through another one, the last one left out.
    fn is_on_way(&self, from: u32, switch: u32) -> bool {
        let mut here = from;
        while let Some((_, far)) = self.next[here as usize] {
            here = far;
            if here == switch {
                return true;
            }
        }
        false
    }
}
