//! A tree that is grown from its root, cable by cable, where what is used stays without a cycle.
//!
//! ```text
//!   n ── p ── c     to hang c below p: packets go from each neighbour n of p in the tree to c, and back
//!        │          n-p waits for p-c     c-p waits for p-n
//! ```
//!
//! Nearest cables come first. One that does not fit now never will, as there is only ever more in use; then the switch may
//! still be reached by another. Channels have levels, each above those that wait for it; what is added raises those that are in its
//! way, and where that comes back to where it began there is a cycle.
//!
//! The VL of a packet depends on the ports by which it enters and leaves a switch. Which ports of the last switch it may have come by is
//! not followed: all count. That may ask for too much, and never for too little.

use std::collections::VecDeque;

use sa_wire::SlVlMask;

use crate::proof::channels::VLS;
use crate::proof::graph::{DependencyGraph, Node};
use crate::proof::levels::Levels;
use crate::tables::SpanningTree;
use crate::topology::{SwitchIx, count32};

/// What is used, and the tree's part of it.
pub(super) struct Growth {
    graph: DependencyGraph,
    levels: Levels,
    sls: SlVlMask,
    /// By switch: links of the tree that leave it.
    links: Vec<Vec<u32>>,
}

impl Growth {
    /// `levels`: of the graph, which has no cycle.
    pub(super) fn new(graph: DependencyGraph, levels: Levels, sls: SlVlMask) -> Self {
        Self {
            links: vec![Vec::new(); graph.channels.switches()],
            graph,
            levels,
            sls,
        }
    }

    /// A tree over all of these switches that are in one part with the root. None where it does not reach them.
    pub(super) fn grow(
        &mut self,
        mut tree: SpanningTree,
        root: SwitchIx,
        sites: &[SwitchIx],
    ) -> Option<SpanningTree> {
        let mut left = self.sites_of_part(root, sites);
        tree.plant(root);
        left.retain(|site| *site != root);
        let mut open: VecDeque<u32> = self.graph.channels.links_from(root).collect();
        while !left.is_empty() {
            let link = open.pop_front()?;
            let cable = self.graph.channels.links[link as usize];
            if tree.reaches(cable.to) || !self.admits(link) {
                continue;
            }
            let far_port = self.graph.channels.slots(cable.to)[usize::from(cable.input)];
            tree.hang((cable.from, cable.port), (cable.to, far_port));
            left.retain(|site| *site != cable.to);
            open.extend(self.graph.channels.links_from(cable.to));
        }
        Some(tree)
    }

    /// Those that cables join with the root.
    fn sites_of_part(&self, root: SwitchIx, sites: &[SwitchIx]) -> Vec<SwitchIx> {
        let mut is_in = vec![false; self.links.len()];
        let mut open = vec![root];
        while let Some(here) = open.pop() {
            if !std::mem::replace(&mut is_in[here.index()], true) {
                open.extend(self.graph.channels.neighbours(here));
            }
        }
        let sites = sites.iter().copied();
        sites.filter(|site| is_in[site.index()]).collect()
    }

    /// Hangs the end of a link below its beginning, if that closes no cycle.
    fn admits(&mut self, link: u32) -> bool {
        let cable = self.graph.channels.links[link as usize];
        let back = self.back(link);
        let others = self.links[cable.from.index()].clone();
        let turns = others
            .iter()
            .flat_map(|other| [(self.back(*other), link), (back, *other)]);
        let ends: Vec<_> = turns.flat_map(|turn| self.ends(turn)).collect();
        let (is_free, _) = self.levels.take(&self.graph, ends.into_iter());
        if !is_free {
            return false;
        }
        self.links[cable.from.index()].push(link);
        self.links[cable.to.index()].push(back);
        true
    }

    /// What packets from one link to the next wait for: the turn, and which channel waits for which.
    fn ends(&self, (from, to): (u32, u32)) -> impl Iterator<Item = (u32, (Node, Node))> + use<> {
        let links = &self.graph.channels.links;
        let (one, next) = (links[from as usize], links[to as usize]);
        let turn = one.turns + u32::from(next.slot);
        let before = self.vls_into(one.from, one.slot);
        let beyond = self.vls_of(one.to, one.input, next.slot);
        // Where all tables are alike packets keep their VL.
        let is_straight = self.graph.edges.are_straight();
        let pairs = pairs_of(before, beyond).filter(move |(vl, far)| !is_straight || vl == far);
        let node = |link: u32, vl: usize| link * count32(VLS) + count32(vl);
        pairs.map(move |(vl, far)| (turn, (node(from, vl), node(to, far))))
    }

    /// VLs on which packets of the tree may leave by a slot, whichever way they came, a bit each.
    fn vls_into(&self, switch: SwitchIx, output: u8) -> u16 {
        let inputs = (0..=u8::MAX).zip(self.graph.channels.slots(switch));
        inputs
            .filter(|(input, _)| *input != output)
            .fold(0, |vls, (input, _)| {
                vls | self.vls_of(switch, input, output)
            })
    }

    /// The same for those that came by one slot.
    fn vls_of(&self, switch: SwitchIx, input: u8, output: u8) -> u16 {
        let channels = &self.graph.channels;
        let mapping = channels.mapping(channels.table(switch, input, output));
        let vls = mapping.spread(self.sls.0);
        vls.fold(0, |vls, (vl, _)| vls | 1 << vl)
    }

    /// The other direction of a cable.
    fn back(&self, link: u32) -> u32 {
        let cable = self.graph.channels.links[link as usize];
        self.graph.channels.links_from(cable.to).start + u32::from(cable.input)
    }
}

/// All pairs of two sets of VLs.
fn pairs_of(before: u16, beyond: u16) -> impl Iterator<Item = (usize, usize)> {
    let vls = |set: u16| (0..VLS).filter(move |vl| set >> vl & 1 == 1);
    vls(before).flat_map(move |vl| vls(beyond).map(move |far| (vl, far)))
}
