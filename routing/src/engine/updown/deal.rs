//! Which of several equal ways each LID gets.
//!
//! What counts is the way down: from a top of a tree there is one way to a host, so that whoever
//! chooses the top for a LID chooses all links on which packets to it come together. So LIDs are
//! dealt one by one, each a *chain* of switches from the destination up the tree, over the links
//! that have the fewest LIDs:
//!
//! ```text
//! LIDs 1 2 3 4 at leaf A, 5 6 7 8 at leaf B, tops S and T, two middle switches M and N
//!   1: A <- M <- S    2: A <- N <- S    3: A <- M <- T    4: A <- N <- T    and so on for B
//! ```
//!
//! Then whatever switch can join the chain on a shortest way joins it, and who can join those that
//! joined joins them. In a whole tree this gives each top-level link down the same number of LIDs,
//! the same top for a LID from everywhere, and shifts of hosts in order meet on no link.
//! Source: Zahavi, Johnson, Kerbyson and Lang, Optimized InfiniBand fat-tree routing for shift
//! all-to-all communication patterns, 2010.
//!
//! Where a cable is missing, or the fabric is no tree, a switch has no way to the chain or several;
//! it takes the link that has the fewest LIDs so far. Switches without hosts that cannot join are
//! passed by few packets, and take any.
//!
//! The LIDs of a port with LMC above 0 are dealt as several fabrics of one LID each, which begin at
//! different links and look at each other's counts among equals. So each of these is even, and
//! their sum is, too.

use super::cabling::{Bundle, Cabling};
use super::plan::{Ground, Plan};
use super::steps::leads_on;
use crate::tables::NO_PATH;
use crate::topology::count32;

/// A LID that is dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Goal {
    /// Which of the LIDs of its port it is, from 0.
    pub(super) offset: u16,
    /// The port of the switch behind which it is; 0 for the switch itself.
    pub(super) port: u8,
    pub(super) lid: u16,
}

/// Deals the LIDs of one switch after the other.
pub(super) struct Dealer<'a> {
    ground: Ground<'a>,
    plan: Plan,
    /// By switch: hosts below it in the tree, its own included.
    widths: Vec<u32>,
    /// By offset, then by cable: LIDs of hosts with that offset that leave by it.
    used: Vec<Vec<u32>>,
    /// By cable: all LIDs of hosts that leave by it.
    total: Vec<u32>,
    /// By switch: the last round in which it was on the way to the chain.
    joined: Vec<u32>,
    /// By switch: the last round in which it was found to border on one that is.
    seen: Vec<u32>,
    /// By switch: the bundle to the one that it borders on; none where it borders on several.
    only: Vec<Option<u32>>,
    /// Rounds so far: one for each LID.
    round: u32,
}

impl<'a> Dealer<'a> {
    pub(super) fn new(ground: Ground<'a>) -> Self {
        let (switches, cables) = (ground.cabling.switches(), ground.cabling.cables());
        Self {
            ground,
            plan: Plan::new(switches),
            widths: widths(ground.cabling, ground.heights),
            used: Vec::new(),
            total: vec![0; cables],
            joined: vec![0; switches],
            seen: vec![0; switches],
            only: vec![None; switches],
            round: 0,
        }
    }

    /// The columns of LIDs at a switch: by goal, then by switch, the port to take. `turn` says how
    /// many switches came before it.
    pub(super) fn columns(&mut self, at: u32, turn: u32, goals: &[Goal], out: &mut Vec<u8>) {
        let has_hosts = goals.iter().any(|goal| goal.port != 0);
        self.plan.prepare(&self.ground, at, turn, has_hosts);
        out.clear();
        for goal in goals {
            let begin = out.len();
            out.extend_from_slice(self.plan.usual());
            let column = &mut out[begin..];
            column[at as usize] = goal.port;
            if goal.port != 0 {
                self.deal(at, *goal, column);
            }
        }
    }

    /// Deals a LID of a host: chain and joining go on together, a step further from the
    /// destination each time.
    fn deal(&mut self, at: u32, goal: Goal, column: &mut [u8]) {
        let offset = usize::from(goal.offset);
        if self.used.len() <= offset {
            self.used.resize(offset + 1, vec![0; self.total.len()]);
        }
        self.round += 1;
        self.joined[at as usize] = self.round;
        let (mut front, mut link) = (vec![at], Some(at));
        while !front.is_empty() {
            link = link.and_then(|link| self.chain(at, link, offset, column));
            let next = self.bordering(&front);
            for from in &next {
                column[*from as usize] = self.join(*from, offset);
            }
            front.clear();
            front.extend(next.iter().chain(&link));
            for from in &front {
                self.joined[*from as usize] = self.round;
            }
        }
        self.others(offset, column);
    }

    /// Takes the next switch into the chain, above `link`: the one whose link has the fewest LIDs.
    /// None at a top.
    fn chain(&mut self, at: u32, link: u32, offset: usize, column: &mut [u8]) -> Option<u32> {
        let ground = self.ground;
        let (cabling, heights) = (ground.cabling, ground.heights);
        let row = ground.steps.to(at);
        let slopes = ground.slopes.of(cabling.of(link));
        let above = cabling
            .leaving(link)
            .iter()
            .zip(slopes)
            .filter(|(bundle, slope)| {
                heights[bundle.far as usize] > heights[link as usize]
                    && leads_on(row, bundle.far, slope.back(link))
            });
        let above = above.map(|(bundle, _)| (bundle.far, cabling.bundle(bundle.back)));
        let mut above: Vec<_> = above.collect();
        self.widest(&mut above);
        ground.order.sort(&mut above);
        // Each offset begins at another switch, so that the LIDs of a port part here.
        let (late, early) = above.split_at(offset % above.len().max(1));
        let (far, cable) = self.least(early.iter().chain(late).copied(), offset)?;
        column[far as usize] = self.take(cable, offset);
        // It has its way, and is not to look for another one among those that join.
        self.seen[far as usize] = self.round;
        Some(far)
    }

    /// Leaves out switches below which there are fewer than half as many hosts as below another: a
    /// leaf that lost its hosts looks like a top, and leads nowhere.
    fn widest(&self, above: &mut Vec<(u32, Bundle)>) {
        let width = |far: u32| self.widths[far as usize];
        let most = above.iter().map(|(far, _)| width(*far)).max().unwrap_or(0);
        above.retain(|(far, _)| 2 * width(*far) >= most);
    }

    /// Switches that can go on to one of `front` and have no way yet, each once.
    fn bordering(&mut self, front: &[u32]) -> Vec<u32> {
        let mut next = Vec::new();
        for near in front {
            for number in self.plan.behind(*near) {
                let Bundle {
                    far: from, back, ..
                } = self.ground.cabling.bundle(*number);
                let from = from as usize;
                if self.seen[from] == self.round {
                    self.only[from] = None;
                } else {
                    self.seen[from] = self.round;
                    self.only[from] = Some(back);
                    next.push(count32(from));
                }
            }
        }
        next
    }

    /// The port by which a switch goes on to one that is on the way to the chain.
    fn join(&mut self, from: u32, offset: usize) -> u8 {
        // Nearly always: a look through all its ways would cost most of the time.
        if let Some(only) = self.only[from as usize] {
            let only = self.ground.cabling.bundle(only);
            let least = self.least([(from, only)].into_iter(), offset);
            return least.map_or(NO_PATH, |(_, cable)| self.take(cable, offset));
        }
        let ways = self.plan.ways(from).iter();
        let ways = ways.map(|number| (from, self.ground.cabling.bundle(*number)));
        let joined = ways.filter(|(_, way)| self.joined[way.far as usize] == self.round);
        let least = self.least(joined, offset);
        // There is one, as it borders on one that joined.
        least.map_or(NO_PATH, |(_, cable)| self.take(cable, offset))
    }

    /// Switches with hosts that could not join: each takes the link with the fewest LIDs.
    fn others(&mut self, offset: usize, column: &mut [u8]) {
        for nth in 0..self.plan.sources().len() {
            let from = self.plan.sources()[nth];
            if self.joined[from as usize] == self.round {
                continue;
            }
            let ways = self.plan.ways(from).iter();
            let ways = ways.map(|number| (from, self.ground.cabling.bundle(*number)));
            if let Some((_, cable)) = self.least(ways, offset) {
                column[from as usize] = self.take(cable, offset);
            }
        }
    }

    /// The cable with the fewest LIDs of this offset, then of all; of equals one of another bundle
    /// before the next of the same bundle, then the first. With the number that came with it.
    fn least(
        &self,
        bundles: impl Iterator<Item = (u32, Bundle)>,
        offset: usize,
    ) -> Option<(u32, u32)> {
        let used = &self.used[offset];
        let cables = bundles.flat_map(|(from, bundle)| {
            (0..bundle.width).map(move |nth| (nth, from, bundle.cable + nth))
        });
        let least = cables.min_by_key(|(nth, _, cable)| {
            (used[*cable as usize], self.total[*cable as usize], *nth)
        });
        least.map(|(_, from, cable)| (from, cable))
    }

    /// Counts a LID on a cable. Returns the port that the cable leaves.
    fn take(&mut self, cable: u32, offset: usize) -> u8 {
        self.used[offset][cable as usize] += 1;
        self.total[cable as usize] += 1;
        self.ground.cabling.port(cable)
    }
}

/// By switch: hosts on it and on what is below it by height.
/// Cost: O(cables x leaves / 64).
fn widths(cabling: &Cabling, heights: &[u32]) -> Vec<u32> {
    let mut switches: Vec<u32> = (0..count32(heights.len())).collect();
    let leaves: Vec<u32> = switches
        .iter()
        .copied()
        .filter(|leaf| cabling.hosts(*leaf) > 0)
        .collect();
    let words = leaves.len().div_ceil(64);
    let mut below = vec![0_u64; words * heights.len()];
    for (nth, leaf) in leaves.iter().enumerate() {
        below[*leaf as usize * words + nth / 64] |= 1 << (nth % 64);
    }
    switches.sort_by_key(|switch| heights[*switch as usize]);
    for switch in &switches {
        let near = cabling.leaving(*switch).iter().map(|bundle| bundle.far);
        for far in near.filter(|far| heights[*far as usize] < heights[*switch as usize]) {
            for word in 0..words {
                below[*switch as usize * words + word] |= below[far as usize * words + word];
            }
        }
    }
    let hosts = |row: &[u64]| {
        let is_below = |nth: usize| row[nth / 64] >> (nth % 64) & 1 == 1;
        let leaves = leaves.iter().enumerate().filter(|(nth, _)| is_below(*nth));
        leaves.map(|(_, leaf)| cabling.hosts(*leaf)).sum()
    };
    if words == 0 {
        return vec![0; heights.len()];
    }
    below.chunks(words).map(hosts).collect()
}
