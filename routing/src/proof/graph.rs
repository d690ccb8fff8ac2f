//! The graph of dependencies between channels.
//!
//! Nodes are channels: a VL of a directed cable between switches. An edge says that a packet may hold the one
//! and wait for the other. Edges are kept by turn, from a cable into the next one, so that the graph is as
//! large as the fabric and not as the number of its paths.
//!
//! Unicast and multicast are added to the same graph, as both hold the same buffers. What was added
//! cannot be taken out again but by turn, which is why a proof that goes on copies the graph first.

use std::sync::Arc;

use sa_wire::Vl;

use super::channels::{Channels, Link, VLS};
use super::edges::Edges;
use super::loads::VlPairs;
use super::{Channel, CreditLoop, cycle};
use crate::bits::Bits;
use crate::tables::Routes;
use crate::topology::{Topology, count32};

/// Which channel may wait for which. Filled by [`Self::add_unicast`] and [`Self::add_multicast`].
/// Never made smaller by adding; [`Self::shortest_loop`] may be asked in between.
pub struct DependencyGraph {
    pub(super) channels: Arc<Channels>,
    pub(super) edges: Edges,
    /// What packets to hosts need alone, where that was noted on the way.
    /// Kept so that a graph of hosts' packets need not begin from nothing
    /// ([`super::Judge::loops`]).
    pub(super) to_hosts: Option<Edges>,
}

/// Number of a channel: 16 times the link plus the VL.
pub(super) type Node = u32;

impl DependencyGraph {
    /// The channels of a fabric, none of which waits for another.
    pub fn new(topology: &Topology, routes: &Routes) -> Self {
        Self::over(Arc::new(Channels::new(topology, routes)))
    }

    /// The same dependencies, for others to be added.
    /// Channels are shared, since they never change; dependencies are copied.
    pub(super) fn copy(&self) -> Self {
        Self {
            channels: Arc::clone(&self.channels),
            edges: self.edges.clone(),
            to_hosts: None,
        }
    }

    /// No dependencies over the same channels, whatever SL2VL tables say.
    pub(super) fn wide(&self) -> Self {
        Self {
            channels: Arc::clone(&self.channels),
            edges: Edges::any(self.channels.turns()),
            to_hosts: None,
        }
    }

    /// The same over channels that are numbered already.
    pub(super) fn over(channels: Arc<Channels>) -> Self {
        let edges = match channels.tables() {
            // One table for every turn keeps a packet on its VL from the second cable on.
            0 | 1 => Edges::straight(channels.turns()),
            _ => Edges::any(channels.turns()),
        };
        Self {
            channels,
            edges,
            to_hosts: None,
        }
    }

    /// How many dependencies there are.
    /// For figures and tests; a graph that went on from another may hold some that are not there.
    pub fn edges(&self) -> u64 {
        self.edges.count()
    }

    /// A shortest cycle; none proves that there is no credit loop. Among equally short ones
    /// always the same.
    /// Cost: O(channels + dependencies) without a cycle.
    pub fn shortest_loop(&self) -> Option<CreditLoop> {
        let cycle = cycle::shortest(self)?.into_iter();
        Some(CreditLoop(cycle.map(|node| self.channel(node)).collect()))
    }

    /// All dependencies: channels that may be held while waiting for others, and these.
    /// Long: for tests and small fabrics.
    pub fn dependencies(&self) -> impl Iterator<Item = (Channel, Channel)> + '_ {
        self.nodes_on(0xffff).flat_map(move |node| {
            let nexts = self.successors(node);
            nexts.map(move |next| (self.channel(node), self.channel(next)))
        })
    }

    /// The channel of a number.
    fn channel(&self, node: Node) -> Channel {
        let link = self.channels.links[node as usize / VLS];
        let vl = Vl::new(u8::try_from(node as usize % VLS).unwrap_or(0)).unwrap_or_default();
        Channel {
            switch: link.from,
            port: link.port,
            vl,
        }
    }

    /// Whether there is a cycle at all.
    /// Cheaper than [`Self::shortest_loop`] where there is one.
    pub fn has_loop(&self) -> bool {
        cycle::is_any(self)
    }

    /// More than the largest number of a channel.
    pub(super) fn nodes(&self) -> usize {
        self.channels.links.len() * VLS
    }

    /// The channels of some VLs, a bit each, ascending.
    /// In the straight form cycles stay on one VL, so a search takes one after the other.
    pub(super) fn nodes_on(&self, vls: u64) -> impl Iterator<Item = Node> + use<> {
        let links = 0..count32(self.channels.links.len());
        links.flat_map(move |link| Bits(vls).map(move |vl| link * count32(VLS) + vl))
    }

    /// The channels of dependencies of a turn, which may not be there: which waits for which.
    pub(super) fn ends(
        &self,
        turn: u32,
        pairs: &VlPairs,
    ) -> impl Iterator<Item = (Node, Node)> + use<> {
        // Turns of a link follow each other, those of links without any have no place of their own.
        let links = &self.channels.links;
        let link = links.partition_point(|link| link.turns <= turn) - 1;
        let from = links[link];
        let next = self.channels.links_from(from.to).start + (turn - from.turns);
        let [waits, beyond] = [count32(link), next].map(|link| link * count32(VLS));
        let words = (0..).zip(*pairs);
        words.flat_map(move |(word, bits)| {
            Bits(bits).map(move |bit| {
                let before = word * 4 + bit / count32(VLS);
                (waits + before, beyond + bit % count32(VLS))
            })
        })
    }

    /// Channels that may wait for a channel.
    /// Dependencies are kept at the channel that waits, so this looks at all cables into the
    /// switch.
    pub(super) fn predecessors(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let (link, vl) = (node as usize / VLS, node as usize % VLS);
        let Link { from, slot, .. } = self.channels.links[link];
        let vls = if self.edges.are_straight() {
            vl..vl + 1
        } else {
            0..VLS
        };
        // Cables lead both ways.
        let backs = self.channels.links_from(from);
        backs.flat_map(move |back| {
            let Link { to, input, .. } = self.channels.links[back as usize];
            let before = self.channels.links_from(to).start + u32::from(input);
            let turn = self.channels.links[before as usize].turns + u32::from(slot);
            let waits = move |before: &usize| self.edges.beyond(turn, *before) >> vl & 1 == 1;
            let waiting = vls.clone().filter(waits);
            waiting.map(move |vl| before * count32(VLS) + count32(vl))
        })
    }

    /// Channels that a channel may wait for, ascending by port.
    pub(super) fn successors(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let (link, vl) = (node as usize / VLS, node as usize % VLS);
        let Link { to, turns, .. } = self.channels.links[link];
        let nexts = self.channels.links_from(to).zip(turns..);
        nexts.flat_map(move |(next, turn)| {
            let vls = self.edges.beyond(turn, vl);
            Bits(vls).map(move |vl| next * count32(VLS) + vl)
        })
    }
}
