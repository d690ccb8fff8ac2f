//! The graph of dependencies between channels.

use std::sync::atomic::{AtomicU64, Ordering};

use sa_wire::Vl;

use super::channels::{Channels, Link, VLS};
use super::lanes::Lanes;
use super::{Channel, CreditLoop, cycle};
use crate::bits::Bits;
use crate::routes::Routes;
use crate::topology::{Topology, count32};

/// Which channel may wait for which. Filled by [`Self::add_unicast`] and [`Self::add_multicast`].
pub struct DependencyGraph {
    pub(super) channels: Channels,
    /// Shape: [`Lanes`] by turn.
    edges: Vec<AtomicU64>,
}

/// Words per turn.
const WORDS: usize = 4;

/// Number of a channel: 16 times the link plus the VL.
pub(super) type Node = u32;

impl DependencyGraph {
    /// Without dependencies.
    pub fn new(topology: &Topology, routes: &Routes) -> Self {
        let channels = Channels::new(topology, routes);
        let words = channels.turns() * WORDS;
        let edges = std::iter::repeat_with(AtomicU64::default)
            .take(words)
            .collect();
        Self { channels, edges }
    }

    /// How many dependencies there are.
    pub fn edges(&self) -> u64 {
        let bits = |edges: &AtomicU64| u64::from(edges.load(Ordering::Relaxed).count_ones());
        self.edges.iter().map(bits).sum()
    }

    /// A shortest circle; none proves that there is no credit loop. Among equally short ones
    /// always the same.
    pub fn shortest_loop(&self) -> Option<CreditLoop> {
        let circle = cycle::shortest(self)?;
        let channel = |node: Node| {
            let link = self.channels.links[node as usize / VLS];
            let vl = Vl::new(u8::try_from(node as usize % VLS).unwrap_or(0)).unwrap_or_default();
            Channel {
                switch: link.from,
                port: link.port,
                vl,
            }
        };
        Some(CreditLoop(circle.into_iter().map(channel).collect()))
    }

    /// Notes what packets wait for that take a turn.
    /// Many threads may do so at once: bits are only ever set, and read after all have ended.
    #[inline]
    pub(super) fn depend(&self, turn: u32, lanes: &Lanes) {
        let place = turn as usize * WORDS;
        for (edges, lanes) in self.edges[place..place + WORDS].iter().zip(lanes) {
            // Nearly always known already; reading keeps the cache line shared.
            if edges.load(Ordering::Relaxed) & lanes != *lanes {
                edges.fetch_or(*lanes, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.channels.links.len() * VLS
    }

    /// Channels that a channel may wait for, ascending by port.
    pub(super) fn successors(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let (link, vl) = (node as usize / VLS, node as usize % VLS);
        let Link { to, turns, .. } = self.channels.links[link];
        let of_link = self.edges.get(turns as usize * WORDS + vl / 4..);
        let by_slot = of_link.unwrap_or_default().iter();
        let nexts = self.channels.links_from(to).zip(by_slot.step_by(WORDS));
        nexts.flat_map(move |(next, edges)| {
            let lanes = edges.load(Ordering::Relaxed) >> (vl % 4 * VLS) & 0xffff;
            Bits(lanes).map(move |lane| next * count32(VLS) + lane)
        })
    }
}
