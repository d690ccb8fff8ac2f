//! Shortest ways, spread over the cables by what they carry already.
//!
//! Destination after destination: of all ways with the fewest hops each switch takes the one whose channels
//! weigh least, summed along the way; then the paths of the new column are counted. All columns are searched
//! again, each without its own paths, as the first ones were placed when little was known.
//! Source: Hoefler, Schneider and Lumsdaine, Optimized Routing for Large-Scale InfiniBand Networks, 2009.
//!
//! A channel weighs the paths of hosts that it carries: to take the lightest way is to add least to the sum of
//! the squares of all loads, so every pass lowers that sum. Where the fabric is small enough for more passes,
//! the last ones weigh the squares, which takes paths off the fullest channels.
//!
//! Of that the paths of the host that asks do not count, as a host does not send to two others at once: a switch
//! leaves out, of what its own cable carries, one path for each LID that it sends that way itself. On a torus
//! this is what gathers the paths of a host on few cables, where they are in nobody's way but each other's.
//!
//! Hops come before weights, so the search needs no heap: the channels that lead one hop nearer to a switch
//! make an acyclic graph, which is worked out once for all LIDs of that switch and then gone through in the
//! order of hops. Cost: O(channels on shortest ways) for each LID and pass.
//!
//! LIDs of one port are to differ: a channel that another LID of the port uses weighs more than any load.

use super::columns::Columns;
use super::graph::{Channel, Graph, NO_SLOT};
use crate::topology::count32;
use crate::watch::Stretch;

/// What a channel weighs more for each LID of the same port that uses it.
/// 44 bits are more than all paths of a fabric (2^16 times 2^16) over 2^12 hops; 128 LIDs and 2^12 hops more
/// stay below 64 bits.
const SAME_PORT: u64 = 1 << 44;

/// Paths of hosts by channel.
pub(super) struct Loads {
    /// By channel.
    paths: Vec<u64>,
    /// By switch: paths that arrive there, while a column is counted.
    arriving: Vec<u64>,
}

impl Loads {
    /// Nothing carries anything.
    pub(super) fn new(graph: &Graph) -> Self {
        Self {
            paths: vec![0; graph.channels()],
            arriving: vec![0; graph.switches()],
        }
    }

    /// What a channel carries.
    #[inline]
    pub(super) fn of(&self, channel: Channel) -> u64 {
        self.paths[channel as usize]
    }

    /// What the fullest channel carries.
    fn most(&self) -> u64 {
        self.paths.iter().copied().max().unwrap_or(0)
    }

    /// The sum of the squares of all loads: the less, the more evenly the channels are used.
    pub(super) fn squares(&self) -> u128 {
        let squares = self.paths.iter().map(|paths| u128::from(*paths).pow(2));
        squares.sum()
    }

    /// Adds the paths of hosts that a column leads, or takes them away. `order` has the switches that have a
    /// way, none before the one it leaves to.
    pub(super) fn count(&mut self, graph: &Graph, order: &[u32], slots: &[u8], is_added: bool) {
        // Nearest last: each switch has all that arrives before it hands it on.
        for switch in order {
            self.arriving[*switch as usize] = u64::from(graph.hosts(*switch));
        }
        for switch in order.iter().rev() {
            let slot = slots[*switch as usize];
            if slot == NO_SLOT {
                continue;
            }
            let channel = graph.channel(*switch, slot);
            let paths = self.arriving[*switch as usize];
            self.arriving[graph.to(channel) as usize] += paths;
            let sum = &mut self.paths[channel as usize];
            *sum = if is_added { *sum + paths } else { *sum - paths };
        }
    }
}

/// What a channel weighs for the paths that it carries.
#[derive(Debug, Clone, Copy)]
enum Weigh {
    Loads,
    /// At most 2^32, so that twelve bits of hops and [`SAME_PORT`] still fit. For fabrics whose channels carry
    /// fewer paths than [`MOST_SQUARED`].
    Squares,
}

const MOST_SQUARED: u64 = (1 << 16) - 1;

impl Weigh {
    const fn weight(self, paths: u64) -> u64 {
        match self {
            // Capped, so that sums over a way still fit; beyond it all are as full as can be.
            Self::Loads => paths,
            Self::Squares if paths < MOST_SQUARED => paths * paths,
            Self::Squares => MOST_SQUARED * MOST_SQUARED,
        }
    }
}

/// A channel that leads a hop nearer, and the switch it leads to, which would be looked up for each LID.
#[derive(Debug, Clone, Copy)]
struct Near {
    channel: Channel,
    to: u32,
}

/// Searches shortest ways, one destination after the other.
pub(super) struct Balance<'a> {
    graph: &'a Graph,
    loads: Loads,
    weigh: Weigh,
    /// By channel: what it weighs.
    weights: Vec<u64>,
    /// By channel: the same to a host of the switch that it leaves, whose other paths count for nothing.
    first: Vec<u64>,
    /// By channel: LIDs of hosts to which hosts of that switch leave by it.
    own: Vec<u64>,
    /// By switch: hops to the destination.
    hops: Vec<u32>,
    /// Switches, nearest to the destination first; itself before all.
    order: Vec<u32>,
    /// By place in `order`, from the second on: where its channels on shortest ways end in `nearer`.
    ends: Vec<u32>,
    nearer: Vec<Near>,
    /// By switch: what its way weighs.
    cost: Vec<u64>,
    /// By channel: [`SAME_PORT`] for every other LID of the port; and the channels that have some.
    extra: Vec<u64>,
    extras: Vec<Channel>,
}

/// Fills the columns to switches with hosts; switches that are not wired to a destination have no way. Ways to
/// switches without hosts are the layers' to search.
pub(super) fn fill(graph: &Graph, columns: &mut Columns, share: Stretch<'_>) -> Loads {
    let mut balance = Balance::new(graph);
    let passes = passes(graph, columns);
    for pass in 0..passes {
        let done = share.nth(pass, passes).count(graph.switches());
        // Squares only where they fit: with larger loads they would be cut, and say nothing.
        let is_small = balance.loads.most() < MOST_SQUARED / 2;
        balance.set(match pass {
            4.. if is_small => Weigh::Squares,
            _ => Weigh::Loads,
        });
        // Switches without hosts carry only management, and take what is left.
        for switch in graph.all_switches() {
            if graph.has_hosts(switch) {
                balance.aim_at(switch);
                balance.place(columns, switch, pass > 0);
            }
            done.add(1);
        }
    }
    balance.loads
}

/// Two, and up to six more where that costs little: on tori and random graphs of some dozen switches these take
/// a twentieth off the fullest channel.
fn passes(graph: &Graph, columns: &Columns) -> u64 {
    /// Looks at a channel: a second or two.
    const WORTH_IT: u64 = 1 << 29;
    let effort = (graph.channels() * columns.count()) as u64;
    2 + (WORTH_IT / effort.max(1)).min(6)
}

impl<'a> Balance<'a> {
    fn new(graph: &'a Graph) -> Self {
        let (switches, channels) = (graph.switches(), graph.channels());
        Self {
            graph,
            loads: Loads::new(graph),
            weigh: Weigh::Loads,
            weights: vec![0; channels],
            first: vec![0; channels],
            own: vec![0; channels],
            hops: vec![0; switches],
            order: Vec::new(),
            ends: Vec::new(),
            nearer: Vec::new(),
            cost: vec![0; switches],
            extra: vec![0; channels],
            extras: Vec::new(),
        }
    }

    /// Weighs all channels anew.
    fn set(&mut self, weigh: Weigh) {
        self.weigh = weigh;
        let channels = 0..count32(self.graph.channels());
        channels.for_each(|channel| self.weigh(channel));
    }

    /// Works out the channels on shortest ways to a switch.
    fn aim_at(&mut self, switch: u32) {
        let graph = self.graph;
        graph.spread_from(switch, &mut self.hops, &mut self.order);
        self.nearer.clear();
        self.ends.clear();
        for here in self.order.iter().skip(1) {
            let hops = self.hops[*here as usize];
            // Kept for all LIDs of the switch: their shortest ways are the same.
            let all = graph.leaving(*here).map(|channel| Near {
                channel,
                to: graph.to(channel),
            });
            let near = |near: &Near| self.hops[near.to as usize] < hops;
            self.nearer.extend(all.filter(near));
            self.ends.push(count32(self.nearer.len()));
        }
    }

    /// Fills the columns of the switch that was aimed at. `again`: they have ways, which are counted.
    fn place(&mut self, columns: &mut Columns, switch: u32, again: bool) {
        let all = columns.of(switch);
        for column in all.clone() {
            if columns.is_copy(column) {
                columns.copy_first(column);
                continue;
            }
            // What goes to a switch itself is for management.
            let is_counted = columns.is_host(column);
            let slots = columns.slots_mut(column);
            // Its own paths are taken out, or a column would flee from itself.
            if again && is_counted {
                self.count(slots, false);
            }
            self.choose(slots);
            if is_counted {
                self.count(slots, true);
            }
            let port = columns.lid(column).port;
            // Columns of one port lie side by side, so its other LIDs come right behind.
            match all.contains(&(column + 1)) && columns.lid(column + 1).port == port {
                true => self.remember(columns.slots(column)),
                false => self.forget_extra(),
            }
        }
    }

    /// Adds the paths of a column, or takes them away, and weighs its channels.
    fn count(&mut self, slots: &[u8], is_added: bool) {
        self.loads.count(self.graph, &self.order, slots, is_added);
        // From the second on: the first is the destination, which sends nothing.
        for nth in 1..self.order.len() {
            let here = self.order[nth];
            let channel = self.graph.channel(here, slots[here as usize]);
            let own = &mut self.own[channel as usize];
            match self.graph.has_hosts(here) {
                true if is_added => *own += 1,
                true => *own -= 1,
                false => {}
            }
            self.weigh(channel);
        }
    }

    fn weigh(&mut self, channel: Channel) {
        let (paths, place) = (self.loads.of(channel), channel as usize);
        let extra = self.extra[place];
        self.weights[place] = self.weigh.weight(paths) + extra;
        // A host does not send to two others at once: its own other paths are left out.
        self.first[place] = self.weigh.weight(paths - self.own[place]) + extra;
    }

    /// The lightest way of each switch; of equal ones the one by the lowest port.
    fn choose(&mut self, slots: &mut [u8]) {
        if let Some(to) = self.order.first() {
            self.cost[*to as usize] = 0;
        }
        let mut start = 0;
        // Nearest first: what a way costs beyond the next switch is known.
        for (here, end) in self.order.iter().skip(1).zip(&self.ends) {
            let (mut least, mut best) = (u64::MAX, Near { channel: 0, to: 0 });
            for near in &self.nearer[start..*end as usize] {
                let way = self.cost[near.to as usize] + self.first[near.channel as usize];
                // Two selections rather than a branch, which nothing would foretell.
                best = if way < least { *near } else { best };
                least = least.min(way);
            }
            start = *end as usize;
            self.cost[*here as usize] =
                self.cost[best.to as usize] + self.weights[best.channel as usize];
            slots[*here as usize] = self.graph.slot(best.channel);
        }
    }

    /// Makes the channels of a column heavier for other LIDs of the port.
    fn remember(&mut self, slots: &[u8]) {
        for nth in 1..self.order.len() {
            let here = self.order[nth];
            let channel = self.graph.channel(here, slots[here as usize]);
            if self.extra[channel as usize] == 0 {
                self.extras.push(channel);
            }
            self.extra[channel as usize] += SAME_PORT;
            self.weigh(channel);
        }
    }

    /// Before LIDs of another port.
    fn forget_extra(&mut self) {
        // Only those that were touched: clearing all would cost more than the column.
        while let Some(channel) = self.extras.pop() {
            self.extra[channel as usize] = 0;
            self.weigh(channel);
        }
    }
}
