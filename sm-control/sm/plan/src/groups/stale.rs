//! Groups whose old ports a switch keeps: it refuses to take them away, or does not answer.
//!
//! ```text
//!  after the first round: ports that are held ─┐
//!                                              ├──> the links of both ──> a circle: no new ports until the old ones are gone
//!  the tree that is wanted ────────────────────┘                     └──> none: the second round as ever
//! ```
//!
//! To wait for such a switch in any case would leave members of most groups without packets for as long as it is mute. A circle is worse: in it
//! packets run round and multiply.
//!
//! Links count in both directions, whichever end forwards to them, so a group may wait that need not. Where nothing is left of old trees this
//! costs a look at each block that is held.

use std::collections::{BTreeMap, BTreeSet};

use routing::{Peer, SwitchIx, Topology};
use sa_compiler::state::FabricState;
use sa_sm::model::{Block, Node, Subnet};

use super::{EMPTY, Multicast, lost, mlids, ports_of};
use crate::places::Index;

impl Multicast {
    /// MLIDs that get no new ports yet. `held`: what switches have after the first round.
    pub(super) fn held_back(&self, held: &Subnet, parts: &FabricState) -> BTreeSet<u16> {
        let stale = self.stale(held);
        // Packets go on by the old ports for as long as these are there, so to wait for them would not end.
        if stale.is_empty() || self.rest(held, parts).is_some() {
            return stale;
        }
        let index = Index::new(held, parts);
        let mut links: BTreeMap<u16, Links> = BTreeMap::new();
        for (at, node) in held.places() {
            let Some(switch) = index.switch(node.guid()) else {
                continue;
            };
            let wanted = self.tables.get(&at).into_iter().flatten();
            for (block, data) in node.tables.multicast_perhaps().chain(wanted) {
                for (mlid, mask) in mlids(*block).zip(data.chunks_exact(2)) {
                    if stale.contains(&mlid) {
                        let ports = ports_of(*block, mask);
                        let links = links.entry(mlid).or_default();
                        ports.for_each(|port| links.add(&parts.topology, switch, port));
                    }
                }
            }
        }
        let circles = links.into_iter().filter(|(_, links)| links.has_circle());
        circles.map(|(mlid, _)| mlid).collect()
    }

    /// MLIDs of which some switch holds a port that is not wanted, or may hold it.
    fn stale(&self, held: &Subnet) -> BTreeSet<u16> {
        let switches = held.places().filter(|(_, node)| node.is_switch());
        let of_switch = |(at, node): (_, &Node)| {
            let wanted = self.tables.get(&at);
            let lost = |(block, held): (&Block, _)| {
                let wanted = wanted.and_then(|wanted| wanted.get(block));
                lost(*block, held, wanted.unwrap_or(&EMPTY))
            };
            let blocks = node.tables.multicast_perhaps();
            blocks.flat_map(lost).collect::<Vec<_>>()
        };
        switches.flat_map(of_switch).collect()
    }
}

/// Links between switches to which a group is forwarded by either end.
#[derive(Default)]
struct Links(BTreeSet<[(SwitchIx, u8); 2]>);

impl Links {
    fn add(&mut self, topology: &Topology, switch: SwitchIx, port: u8) {
        let Peer::Switch {
            switch: far,
            port: far_port,
        } = topology.peer(switch, port)
        else {
            return;
        };
        let mut ends = [(switch, port), (far, far_port)];
        // Once, whichever end names it.
        ends.sort_unstable();
        self.0.insert(ends);
    }

    /// Some link joins two switches that others join already.
    fn has_circle(&self) -> bool {
        let mut trees: BTreeMap<SwitchIx, SwitchIx> = BTreeMap::new();
        self.0.iter().any(|[(one, _), (far, _)]| {
            let [one, far] = [one, far].map(|switch| root(&trees, *switch));
            // A root has no entry, which is what ends the walk to it.
            one == far || trees.insert(one, far).is_some()
        })
    }
}

/// What stands for the tree that a switch is in.
fn root(trees: &BTreeMap<SwitchIx, SwitchIx>, mut switch: SwitchIx) -> SwitchIx {
    while let Some(next) = trees.get(&switch) {
        switch = *next;
    }
    switch
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(pairs: &[(u32, u32)]) -> Links {
        let ends = pairs
            .iter()
            .zip(1_u8..)
            .map(|((one, far), port)| [(SwitchIx(*one), port), (SwitchIx(*far), port)]);
        Links(ends.collect())
    }

    #[test]
    fn a_circle_needs_a_link_more_than_a_tree_has() {
        assert!(!links(&[]).has_circle());
        assert!(!links(&[(0, 1), (1, 2), (3, 2), (4, 5)]).has_circle());
        assert!(links(&[(0, 1), (1, 2), (3, 2), (3, 0)]).has_circle());
        assert!(links(&[(0, 1), (0, 1)]).has_circle(), "two cables");
        assert!(links(&[(7, 7)]).has_circle(), "a cable to itself");
    }
}
