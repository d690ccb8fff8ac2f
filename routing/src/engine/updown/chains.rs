//! The way down to each LID of a host.
//!
//! From a top of a tree there is one way to a host, so that whoever chooses the top for a LID
//! chooses all links on which packets to it come together. So LIDs are dealt one by one, each a
//! *chain* of switches from the destination up the tree, over the links that have the fewest LIDs:
//!
//! ```text
//! LIDs 1 2 3 4 at leaf A, 5 6 7 8 at leaf B, tops S and T, two middle switches M and N
//!   1: A <- M <- S    2: A <- N <- S    3: A <- M <- T    4: A <- N <- T    and so on for B
//! ```
//!
//! In a whole tree this gives each top-level link down the same number of LIDs, the same top for a
//! LID from everywhere, and shifts of hosts in order meet on no link.
//! Source: Zahavi, Johnson, Kerbyson and Lang, Optimized InfiniBand fat-tree routing for shift
//! all-to-all communication patterns, 2010.
//!
//! The LIDs of a port with LMC above 0 are dealt as several fabrics of one LID each, which begin at
//! different links and look at each other's counts among equals. So each of these is even, and
//! their sum is, too.
//!
//! One LID after the other, as each looks at the counts of those before. That is little work: a
//! look at the cables of as many switches as the tree has levels.

use std::collections::BTreeMap;

use super::cabling::{Bundle, Cabling};
use super::goals::Goal;
use super::ground::Ground;
use crate::topology::count32;

/// A link of a chain: the entry that a switch has for a LID.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The number of the LID.
    pub(super) host: u32,
    /// The switch that is the next one up.
    pub(super) switch: u32,
    /// The cable by which it goes on.
    pub(super) cable: u32,
}

/// The chains of all LIDs of hosts.
pub(super) struct Chains {
    /// By turn.
    links: Vec<Link>,
    /// By turn: its first link; one more entry at the end.
    first: Vec<u32>,
    /// Links by their switches, LIDs in order.
    by_switch: Vec<Link>,
    /// By switch: its first link in `by_switch`; one more entry at the end.
    first_of: Vec<u32>,
    /// By cable: LIDs of hosts that come down it.
    used: Vec<u32>,
}

impl Chains {
    /// Deals all LIDs of hosts.
    pub(super) fn new(ground: &Ground<'_>) -> Self {
        let goals = &ground.goals;
        let mut dealer = Dealer::new(ground);
        let mut first = vec![0];
        for turn in 0..goals.with_hosts() {
            for (host, goal) in (goals.first_host(turn)..).zip(goals.hosts(turn)) {
                dealer.deal(turn, host, *goal);
            }
            first.push(count32(dealer.links.len()));
        }
        let (by_switch, first_of) = by_switch(&dealer.links, ground.cabling.switches());
        Self {
            links: dealer.links,
            first,
            by_switch,
            first_of,
            used: dealer.total,
        }
    }

    /// True where all links from one level down to another have as many LIDs. Links to where there are no
    /// hosts have none.
    pub(super) fn are_even(&self, ground: &Ground<'_>) -> bool {
        let (cabling, heights) = (ground.cabling, &ground.heights);
        let widths = widths(cabling, heights);
        let mut levels = BTreeMap::new();
        (0..count32(cabling.switches())).all(|from| {
            let mut bundles = cabling.leaving(from).iter().filter(|bundle| {
                let far = bundle.far as usize;
                heights[far] < heights[from as usize] && widths[far] > 0
            });
            bundles.all(|bundle| {
                let level = [from, bundle.far].map(|end| heights[end as usize]);
                let cables = bundle.cable as usize..(bundle.cable + bundle.width) as usize;
                let mut used = self.used[cables].iter();
                used.all(|used| *levels.entry(level).or_insert(*used) == *used)
            })
        })
    }

    /// Links of all LIDs whose turn it is.
    pub(super) fn of(&self, turn: usize) -> &[Link] {
        &self.links[self.first[turn] as usize..self.first[turn + 1] as usize]
    }

    /// Links that leave a switch, LIDs in order.
    pub(super) fn leaving(&self, switch: u32) -> &[Link] {
        let switch = switch as usize;
        &self.by_switch[self.first_of[switch] as usize..self.first_of[switch + 1] as usize]
    }
}

/// Links by their switches, and where those of each begin.
fn by_switch(links: &[Link], switches: usize) -> (Vec<Link>, Vec<u32>) {
    let mut sorted = links.to_vec();
    // Stable, so that LIDs stay in order.
    sorted.sort_by_key(|link| link.switch);
    let first = (0..=count32(switches))
        .map(|switch| count32(sorted.partition_point(|link| link.switch < switch)));
    let first = first.collect();
    (sorted, first)
}

/// Deals one LID after the other.
struct Dealer<'a> {
    ground: &'a Ground<'a>,
    /// By switch: hosts below it in the tree, its own included.
    widths: Vec<u32>,
    /// By switch: bundles to those that are higher, the topmost first.
    above: Vec<Vec<u32>>,
    /// By offset, then by cable: LIDs with that offset that leave by it.
    used: Vec<Vec<u32>>,
    /// By cable: all LIDs that leave by it.
    total: Vec<u32>,
    links: Vec<Link>,
}

impl<'a> Dealer<'a> {
    fn new(ground: &'a Ground<'a>) -> Self {
        let cabling = ground.cabling;
        let all = 0..count32(cabling.switches());
        Self {
            ground,
            widths: widths(cabling, &ground.heights),
            above: all.map(|switch| above(ground, switch)).collect(),
            used: vec![vec![0; cabling.cables()]; ground.goals.offsets()],
            total: vec![0; cabling.cables()],
            links: Vec::new(),
        }
    }

    /// Deals a LID: a link further from the destination each time, up to a top.
    fn deal(&mut self, turn: usize, host: u32, goal: Goal) {
        let offset = usize::from(goal.offset);
        let mut link = self.ground.goals.switches()[turn];
        let mut ways = Vec::new();
        loop {
            self.ways(turn, link, &mut ways);
            let (late, early) = ways.split_at(offset % ways.len().max(1));
            let Some((switch, cable)) = self.least(early.iter().chain(late), offset) else {
                return;
            };
            self.used[offset][cable as usize] += 1;
            self.total[cable as usize] += 1;
            self.links.push(Link {
                host,
                switch,
                cable,
            });
            link = switch;
        }
    }

    /// Bundles that lead down to `link`, from switches that are higher and on a shortest way.
    fn ways(&self, turn: usize, link: u32, out: &mut Vec<(u32, Bundle)>) {
        let ground = self.ground;
        let above = self.above[link as usize].iter().map(|number| {
            let slope = ground.slopes.of(*number as usize..*number as usize + 1)[0];
            (slope, ground.cabling.bundle(*number))
        });
        let leading = above
            .filter(|(slope, bundle)| ground.steps.leads_on(turn, bundle.far, slope.back(link)));
        out.clear();
        out.extend(leading.map(|(_, bundle)| (bundle.far, ground.cabling.bundle(bundle.back))));
        // A leaf that lost its hosts looks like a top, and leads nowhere: switches below which there
        // are fewer than half as many hosts as below another are left out.
        let width = |far: u32| self.widths[far as usize];
        let most = out.iter().map(|(far, _)| width(*far)).max().unwrap_or(0);
        out.retain(|(far, _)| 2 * width(*far) >= most);
    }

    /// The cable with the fewest LIDs of this offset, then of all; of equals one of another bundle
    /// before the next of the same bundle, then the first. With the switch that it leaves.
    fn least<'b>(
        &self,
        ways: impl Iterator<Item = &'b (u32, Bundle)>,
        offset: usize,
    ) -> Option<(u32, u32)> {
        let used = &self.used[offset];
        let cables = ways.flat_map(|(from, bundle)| {
            (0..bundle.width).map(move |nth| (nth, *from, bundle.cable + nth))
        });
        let least = cables.min_by_key(|(nth, _, cable)| {
            (used[*cable as usize], self.total[*cable as usize], *nth)
        });
        least.map(|(_, from, cable)| (from, cable))
    }
}

/// Numbers of the bundles to switches that are higher, the topmost first: those that have the same
/// part in different branches of a tree come in the same order in each.
fn above(ground: &Ground<'_>, switch: u32) -> Vec<u32> {
    let (cabling, heights) = (ground.cabling, &ground.heights);
    let near = cabling.of(switch).zip(cabling.leaving(switch));
    let higher = near.filter(|(_, bundle)| heights[bundle.far as usize] > heights[switch as usize]);
    let mut above: Vec<_> = higher
        .map(|(number, bundle)| (bundle.far, count32(number)))
        .collect();
    ground.order.sort(&mut above);
    above.into_iter().map(|(_, number)| number).collect()
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
