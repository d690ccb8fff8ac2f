//! How many paths use each link.
//!
//! It counts paths and no traffic: from each switch to each other one, a path counts once on every
//! link that it crosses, on the VL that it has there. So the most loaded link is the one that
//! all-to-all traffic fills first. Hosts are left out: with as many at every switch they would only
//! multiply all counts.
//!
//! Cost: switches squared times the length of a path. For one destination the forwarding tables are
//! looked up once per switch, and all sources then follow these; destinations are shared out over
//! the cores. A 24x24x24 has 191 million paths.
//!
//! An example: in a ring of three switches, six paths of one hop each, every link has one path each
//! way. If two cables make up a link with five paths in its busier direction, one cable carries
//! three of them.

use std::num::NonZero;
use std::thread;

use routing::placement::{Axis, Coordinate, Shape, Sign};
use routing::{Peer, Routes, SwitchIx, Topology, Torus};
use sa_wire::{Lid, Sl};

use super::path::direction;
use super::scene::{LinkId, Step};

/// Paths of the lower QoS level from every switch to every other one, by link, direction and VL.
/// A count fits 32 bits: no link has more paths than there are pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Load {
    shape: Shape,
    /// Shape: place of the lower end x 3 + axis.
    /// Also for links that the shape has not; these stay 0.
    counts: Vec<OfLink>,
}

/// Shape: minus, plus; then by VL.
/// 128 bytes.
type OfLink = [[u32; VLS]; 2];

/// VL 15 is never a path's, but an SL2VL entry of it means that packets are dropped, so there is a
/// place for it.
const VLS: usize = 16;

impl Load {
    /// Follows the forwarding tables from every switch in the torus to every other one.
    /// Switches outside the torus neither send nor receive here. Blocks until all is counted.
    pub(crate) fn measure(topology: &Topology, routes: &Routes, torus: &Torus) -> Self {
        let work = Work {
            topology,
            routes,
            torus,
            shape: torus.shape(),
        };
        let places: Vec<_> = torus.by_place().map(|placed| placed.switch).collect();
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        // Whole destinations: what is looked up for one is of no use to another.
        let share = places.len().div_ceil(threads).max(1);
        let counts = thread::scope(|scope| {
            let shares = places.chunks(share);
            let running: Vec<_> = shares
                .map(|share| scope.spawn(move || work.count(share)))
                .collect();
            // A thread that panicked is left out: a picture with less load is better than none.
            let finished = running.into_iter().filter_map(|it| it.join().ok());
            finished.fold(work.nothing(), add)
        });
        Self {
            shape: torus.shape(),
            counts,
        }
    }

    /// Paths by VL that cross a link in one direction.
    pub(crate) fn by_vl(&self, link: LinkId, sign: Sign) -> [u32; VLS] {
        let of_link = self.counts.get(slot(self.shape, link));
        of_link.map_or([0; VLS], |counts| counts[usize::from(sign == Sign::Plus)])
    }

    /// Paths that cross a link in one direction.
    pub(crate) fn one_way(&self, link: LinkId, sign: Sign) -> u32 {
        self.by_vl(link, sign).iter().sum()
    }

    /// Paths on each cable of a link, in its busier direction.
    /// Rounded up: cables of one link share its paths by destination, and one of them has the
    /// remainder.
    pub(crate) fn per_cable(&self, link: LinkId, cables: usize) -> u32 {
        let busier = self
            .one_way(link, Sign::Plus)
            .max(self.one_way(link, Sign::Minus));
        let cables = u32::try_from(cables).unwrap_or(u32::MAX).max(1);
        busier.div_ceil(cables)
    }
}

/// What all threads read; copied, as it is four references and a shape.
#[derive(Clone, Copy)]
struct Work<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    torus: &'a Torus,
    shape: Shape,
}

/// How a switch forwards to the destination at hand.
/// Computed once per switch and destination, followed once per source.
#[derive(Clone, Copy)]
struct Way {
    /// The one that forwards.
    switch: SwitchIx,
    output: u8,
    /// Place in the counts.
    link: usize,
    /// Which of the link's two directions.
    sign: Sign,
    /// Place of the switch that comes next.
    next: usize,
    /// By which port packets come in there, on which SL2VL depends.
    next_input: u8,
}

impl Work<'_> {
    /// All counts at 0.
    fn nothing(self) -> Vec<OfLink> {
        vec![[[0; VLS]; 2]; self.shape.places() * Axis::ALL.len()]
    }

    /// Counts for some destinations, over all sources.
    fn count(self, destinations: &[SwitchIx]) -> Vec<OfLink> {
        let mut counts = self.nothing();
        for destination in destinations {
            let ways = self.ways(*destination);
            for source in self.torus.switches() {
                let sl = self
                    .torus
                    // The lower QoS level: the other one has the same paths, on other VLs.
                    .path_sl(Sl::default(), source.switch, *destination);
                self.follow(&ways, source.at, sl, &mut counts);
            }
        }
        counts
    }

    /// By place: the way on; none at the destination and where there is no path.
    /// By the LID of the destination's port 0: its hosts have LIDs of their own, which tables may
    /// forward otherwise.
    fn ways(self, destination: SwitchIx) -> Vec<Option<Way>> {
        let port0 = self.topology.switch(destination).port0;
        let lid = self.topology.end_port(port0).lid;
        let mut ways = vec![None; self.shape.places()];
        for placed in self.torus.switches() {
            if let Some(way) = ways.get_mut(self.shape.place(placed.at)) {
                *way = self.way(placed.switch, placed.at, lid);
            }
        }
        ways
    }

    /// None where the table has no entry, or leads out of the torus.
    fn way(self, switch: SwitchIx, from: Coordinate, lid: Lid) -> Option<Way> {
        let output = self.routes.output(switch, lid)?;
        let direction = direction(self.torus, switch, output)?;
        let Peer::Switch { port, .. } = self.topology.peer(switch, output) else {
            return None;
        };
        let step = Step { from, direction };
        Some(Way {
            switch,
            output,
            link: slot(self.shape, step.link(self.shape)),
            sign: direction.sign,
            next: self.shape.place(step.to(self.shape)),
            next_input: port,
        })
    }

    /// Adds one path to the counts, hop by hop.
    fn follow(self, ways: &[Option<Way>], from: Coordinate, sl: Sl, counts: &mut [OfLink]) {
        let (mut here, mut input) = (self.shape.place(from), 0);
        // No path is longer than there are switches.
        // Tables that were read may run in a circle; so the walk has a bound.
        for _ in 0..ways.len() {
            let Some(way) = ways.get(here).copied().flatten() else {
                return;
            };
            let table = self.routes.sl2vl(way.switch, input, way.output).0;
            // SL2VL of the output by the input, where packets wait for credits.
            let vl = table.get(usize::from(sl.get())).copied().unwrap_or(0);
            if let Some(link) = counts.get_mut(way.link) {
                link[usize::from(way.sign == Sign::Plus)][usize::from(vl) % VLS] += 1;
            }
            (here, input) = (way.next, way.next_input);
        }
    }
}

/// Three links belong to each place: those in the plus direction.
fn slot(shape: Shape, link: LinkId) -> usize {
    shape.place(link.low) * Axis::ALL.len() + link.axis.index()
}

/// Order does not matter, so the result is the same with any number of threads.
fn add(mut sum: Vec<OfLink>, more: Vec<OfLink>) -> Vec<OfLink> {
    let pairs = sum.iter_mut().flatten().flatten();
    for (sum, more) in pairs.zip(more.iter().flatten().flatten()) {
        *sum += more;
    }
    sum
}
