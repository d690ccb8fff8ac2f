//! What each host gets of a link's bandwidth when all hosts send at once.
//!
//! A random permutation says who sends to whom: each host sends to one and gets from one. Flows
//! over one link share it evenly, and a flow is as fast as its worst link lets it: with `n` flows
//! there its share is `1/n`. The figure is the mean over all flows of many permutations.
//!
//! ```text
//! flow    links    flows on them    share
//! a -> c  1 4      2 1              1/2
//! b -> d  1 5      2 3              1/3      mean with the others of all permutations
//! ```
//!
//! This is the measure of the simulator ORCS, which draws bisections: there half of the hosts send
//! to the other half. A flow does not get what another leaves over, so the figure is a lower bound
//! of what fair sharing would give.
//! Source: Hoefler, Schneider and Lumsdaine, Multistage switches are not crossbars: effects of
//! static routing in high-performance networks, 2008.

use crate::parallel;
use crate::quality::links::Links;
use crate::tables::Routes;
use crate::topology::{SwitchIx, Topology};

/// Shares of a link's bandwidth, 0 to 1, over random permutations of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bandwidth {
    /// How many permutations were drawn.
    pub permutations: u32,
    /// The mean over all flows of all permutations: the effective bandwidth. 0 without flows.
    pub mean: f64,
    /// The mean over the flows of the worst permutation.
    pub least: f64,
    /// Flows without a path, over all permutations. Their share is 0 and counts in the means.
    pub lost: u64,
}

/// Draws permutations of all CA and router ports and shares the links out.
///
/// Packets go to the first LID of a port. A port that is dealt to itself sends nothing. The same
/// seed gives the same figures, however many cores there are.
/// Cost: O(permutations x hosts x hops).
pub fn bandwidth(topology: &Topology, routes: &Routes, permutations: u32, seed: u64) -> Bandwidth {
    let (links, hosts) = (Links::new(topology), hosts(topology));
    // A walk of four hops, each of some table entries that lie far apart.
    let effort = permutations as usize * hosts.len() * 16;
    let parts = parallel::over_range(permutations as usize, effort, |range| {
        let mut flows = Flows::new(&links, &hosts, routes);
        range
            .map(|nth| flows.share(Dice::new(seed, nth as u64)))
            .collect::<Vec<_>>()
    });
    summary(permutations, parts.into_iter().flatten())
}

/// Something that sends and receives: its switch, the port of the switch, and its first LID.
type Host = (SwitchIx, u8, u16);

/// CA and router ports that are plugged into a switch.
fn hosts(topology: &Topology) -> Vec<Host> {
    let ends = topology.end_ports.iter();
    let hosts = ends.filter_map(|end| {
        let (switch, port) = end.attached.filter(|(_, port)| *port != 0)?;
        Some((switch, port, end.lid.get()))
    });
    hosts.collect()
}

/// The shares of one permutation, summed up.
#[derive(Default)]
struct Shares {
    sum: f64,
    flows: u64,
    lost: u64,
}

/// Added in the order of the permutations, as sums of fractions depend on it.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 flows")]
fn summary(permutations: u32, shares: impl Iterator<Item = Shares>) -> Bandwidth {
    let mut least = f64::INFINITY;
    let mut all = Shares::default();
    for shares in shares.filter(|shares| shares.flows > 0) {
        least = least.min(shares.sum / shares.flows as f64);
        all.sum += shares.sum;
        all.flows += shares.flows;
        all.lost += shares.lost;
    }
    Bandwidth {
        permutations,
        mean: all.sum / all.flows.max(1) as f64,
        least: if all.flows == 0 { 0.0 } else { least },
        lost: all.lost,
    }
}

/// The flows of one permutation after the other. One per thread.
struct Flows<'a> {
    links: &'a Links,
    hosts: &'a [Host],
    routes: &'a Routes,
    /// By host: the number of the host that it sends to.
    to: Vec<usize>,
    /// By number of the link: flows on it.
    used: Vec<u32>,
    /// The links of all flows, one flow after the other.
    ways: Vec<u32>,
    /// By flow that arrives: where its links end in `ways`.
    ends: Vec<usize>,
}

/// Switches behind the first one of a path: longer ones no SA grants.
const MOST_HOPS: usize = 64;

impl<'a> Flows<'a> {
    fn new(links: &'a Links, hosts: &'a [Host], routes: &'a Routes) -> Self {
        Self {
            links,
            hosts,
            routes,
            to: (0..hosts.len()).collect(),
            used: vec![0; links.numbers()],
            ways: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Draws a permutation and shares the links out among its flows.
    fn share(&mut self, mut dice: Dice) -> Shares {
        // From the same order each time, so that a permutation depends on its own number alone.
        self.to.clear();
        self.to.extend(0..self.hosts.len());
        dice.shuffle(&mut self.to);
        self.ways.clear();
        self.ends.clear();
        let mut shares = Shares::default();
        for (from, to) in self.to.iter().enumerate().filter(|(from, to)| from != *to) {
            shares.flows += 1;
            let begin = self.ways.len();
            if walk(
                self.links,
                self.routes,
                self.hosts[from].0,
                self.hosts[*to],
                &mut self.ways,
            ) {
                self.ends.push(self.ways.len());
            } else {
                self.ways.truncate(begin);
                shares.lost += 1;
            }
        }
        shares.sum = self.sum();
        shares
    }

    /// The sum of the shares of all flows that arrive.
    fn sum(&mut self) -> f64 {
        self.used.fill(0);
        for link in &self.ways {
            self.used[*link as usize] += 1;
        }
        let mut begin = 0;
        let shares = self.ends.iter().map(|end| {
            let way = &self.ways[begin..*end];
            begin = *end;
            let worst = way.iter().map(|link| self.used[*link as usize]).max();
            // Between hosts of one switch no link is shared.
            1.0 / f64::from(worst.unwrap_or(1))
        });
        shares.sum()
    }
}

/// Adds the links of a path to `way`. False where packets do not arrive.
fn walk(links: &Links, routes: &Routes, from: SwitchIx, to: Host, way: &mut Vec<u32>) -> bool {
    let (switch, port, lid) = to;
    let mut here = from;
    for _ in 0..=MOST_HOPS {
        let entry = routes.lft(here)[usize::from(lid)];
        if here == switch {
            return entry == port;
        }
        let Some(link) = links.behind(here, entry) else {
            return false;
        };
        way.push(link.number);
        here = link.far;
    }
    false
}

/// Numbers that look random, the same for a seed on every machine: SplitMix64.
/// Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014.
struct Dice(u64);

impl Dice {
    /// For the nth permutation of a seed.
    fn new(seed: u64, nth: u64) -> Self {
        // Neighbouring seeds must not give each other's permutations, so both are mixed first.
        let mut first = Self(seed);
        Self(first.number() ^ nth.wrapping_mul(0xff51_afd7_ed55_8ccd))
    }

    const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A permutation, each as likely as any other (Fisher and Yates).
    fn shuffle(&mut self, list: &mut [usize]) {
        for last in (1..list.len()).rev() {
            // There are fewer than 2^16 hosts: the bias of a remainder is below 2^-48.
            let drawn = self.number() % (last as u64 + 1);
            list.swap(last, usize::try_from(drawn).unwrap_or(0));
        }
    }
}
