//! How many paths use each link of a torus.
//!
//! From each switch to each other one, a path counts once on every link that it crosses
//! ([`Counts`]). Hosts are left out: with as many at every switch they would only multiply all
//! counts. A 24x24x24 has 191 million paths.
//!
//! An example: in a ring of three switches, six paths of one hop each, every link has one path each
//! way. If two cables make up a link with five paths in its busier direction, one cable carries
//! three of them.

use routing::placement::{Axis, Direction, Shape, Sign};
use routing::{Routes, Topology, Torus};

use crate::draw::count::{ByVl, Counts, Destination, Source, VLS};
use sa_layout::torus::{LinkId, Step};

/// Paths of the lower QoS level from every switch to every other one, by link, direction and VL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Load {
    shape: Shape,
    /// Shape: place of the lower end x 3 + axis.
    /// Also for links that the shape has not; these stay 0.
    counts: Vec<OfLink>,
}

/// Shape: minus, plus; then by VL.
/// 128 bytes.
type OfLink = [ByVl; 2];

impl Load {
    /// Follows the forwarding tables from every switch in the torus to every other one.
    /// Switches outside the torus neither send nor receive here. Blocks until all is counted.
    pub(crate) fn measure(topology: &Topology, routes: &Routes, torus: &Torus) -> Self {
        let ends: Vec<_> = torus
            .by_place()
            .map(|placed| {
                // By the LID of port 0: hosts have LIDs of their own, which tables may forward otherwise.
                let port0 = topology.switch(placed.switch).port0;
                (placed.switch, topology.end_port(port0).lid)
            })
            .collect();
        let sources: Vec<_> = ends
            .iter()
            .map(|(switch, lid)| Source {
                switch: *switch,
                input: 0,
                lid: *lid,
            })
            .collect();
        let destinations: Vec<_> = ends
            .iter()
            .map(|(switch, lid)| Destination {
                switch: *switch,
                lid: *lid,
            })
            .collect();
        let counts = Counts::measure(topology, routes, &sources, &destinations);
        Self::of(&counts, torus)
    }

    /// Cables by link. Cables that lead in no direction are not drawn.
    fn of(counts: &Counts, torus: &Torus) -> Self {
        let shape = torus.shape();
        let mut by_link = vec![[[0; VLS]; 2]; shape.places() * Axis::ALL.len()];
        for placed in torus.by_place() {
            for direction in Direction::ALL {
                let step = Step {
                    from: placed.at,
                    direction,
                };
                let Some(link) = by_link.get_mut(slot(shape, step.link(shape))) else {
                    continue;
                };
                let sum = &mut link[usize::from(direction.sign == Sign::Plus)];
                for port in placed.ports(direction) {
                    let cable = counts.leaving(placed.switch, *port);
                    sum.iter_mut().zip(cable).for_each(|(sum, vl)| *sum += vl);
                }
            }
        }
        Self {
            shape,
            counts: by_link,
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

/// Three links belong to each place: those in the plus direction.
fn slot(shape: Shape, link: LinkId) -> usize {
    shape.place(link.low) * Axis::ALL.len() + link.axis.index()
}
