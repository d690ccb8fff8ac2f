//! How many paths use each link.

use std::num::NonZero;
use std::thread;

use routing::placement::{Axis, Coordinate, Shape, Sign};
use routing::{Peer, Routes, SwitchIx, Topology, Torus};
use sa_wire::{Lid, Sl};

use super::path::direction;
use super::scene::{LinkId, Step};

/// Paths of the lower QoS level from every switch to every other one, by link, direction and VL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Load {
    shape: Shape,
    /// Shape: place of the lower end x 3 + axis.
    counts: Vec<OfLink>,
}

/// Shape: minus, plus; then by VL.
type OfLink = [[u32; VLS]; 2];

const VLS: usize = 16;

impl Load {
    /// Follows the forwarding tables from every switch in the torus to every other one.
    pub(crate) fn measure(topology: &Topology, routes: &Routes, torus: &Torus) -> Self {
        let work = Work {
            topology,
            routes,
            torus,
            shape: torus.shape(),
        };
        let places: Vec<_> = torus.by_place().map(|placed| placed.switch).collect();
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let share = places.len().div_ceil(threads).max(1);
        let counts = thread::scope(|scope| {
            let shares = places.chunks(share);
            let running: Vec<_> = shares
                .map(|share| scope.spawn(move || work.count(share)))
                .collect();
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
    pub(crate) fn per_cable(&self, link: LinkId, cables: usize) -> u32 {
        let busier = self
            .one_way(link, Sign::Plus)
            .max(self.one_way(link, Sign::Minus));
        let cables = u32::try_from(cables).unwrap_or(u32::MAX).max(1);
        busier.div_ceil(cables)
    }
}

#[derive(Clone, Copy)]
struct Work<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    torus: &'a Torus,
    shape: Shape,
}

/// How a switch forwards to the destination at hand.
#[derive(Clone, Copy)]
struct Way {
    switch: SwitchIx,
    output: u8,
    link: usize,
    sign: Sign,
    next: usize,
    next_input: u8,
}

impl Work<'_> {
    fn nothing(self) -> Vec<OfLink> {
        vec![[[0; VLS]; 2]; self.shape.places() * Axis::ALL.len()]
    }

    fn count(self, destinations: &[SwitchIx]) -> Vec<OfLink> {
        let mut counts = self.nothing();
        for destination in destinations {
            let ways = self.ways(*destination);
            for source in self.torus.switches() {
                let sl = self
                    .torus
                    .path_sl(Sl::default(), source.switch, *destination);
                self.follow(&ways, source.at, sl, &mut counts);
            }
        }
        counts
    }

    /// By place: the way on; none at the destination and where there is no path.
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

    fn follow(self, ways: &[Option<Way>], from: Coordinate, sl: Sl, counts: &mut [OfLink]) {
        let (mut here, mut input) = (self.shape.place(from), 0);
        // No path is longer than there are switches.
        for _ in 0..ways.len() {
            let Some(way) = ways.get(here).copied().flatten() else {
                return;
            };
            let table = self.routes.sl2vl(way.switch, input, way.output).0;
            let vl = table.get(usize::from(sl.get())).copied().unwrap_or(0);
            if let Some(link) = counts.get_mut(way.link) {
                link[usize::from(way.sign == Sign::Plus)][usize::from(vl) % VLS] += 1;
            }
            (here, input) = (way.next, way.next_input);
        }
    }
}

fn slot(shape: Shape, link: LinkId) -> usize {
    shape.place(link.low) * Axis::ALL.len() + link.axis.index()
}

fn add(mut sum: Vec<OfLink>, more: Vec<OfLink>) -> Vec<OfLink> {
    let pairs = sum.iter_mut().flatten().flatten();
    for (sum, more) in pairs.zip(more.iter().flatten().flatten()) {
        *sum += more;
    }
    sum
}
