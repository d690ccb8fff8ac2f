//! One spanning tree of the switches, of which every multicast group uses a part.
//!
//! One tree for all groups and not one for each: what closes no cycle for a group of everybody
//! closes none for any smaller one, so a single proof is enough, and a join changes the ports of
//! one MLID only. The price is that all groups load the same cables, which parallel cables soften:
//! a group takes the one of number MLID modulo their count, as OpenSM does.
//!
//! ```text
//!        root                 members on B and D     ports of the group
//!       /    \                                       root: to A, to D
//!      A      D                                      A: to root, to B
//!    /   \                                           B: to A, its host
//!   B     C                                          D: to root, its host
//! ```
//!
//! Source: OpenSM `osm_torus.c` (`torus_mcast_stree`).

use sa_wire::{Mlid, Sl};

use super::{MulticastRoute, MulticastTable, PortSet};
use crate::topology::{EndPortIx, Peer, SwitchIx, Topology, count32};

/// A spanning tree. Switches that it does not reach have no multicast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastTree {
    root: SwitchIx,
    /// By switch of `from`, together.
    /// Those of one switch follow each other, which `Pruning` relies on to find them by first and
    /// count.
    branches: Vec<Branch>,
}

/// A step away from the root: cables from one switch to another, of which a group uses one.
/// The cable back is not listed: cables lead both ways, and ports of `to` follow from the topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The switch nearer to the root.
    pub from: SwitchIx,
    /// The switch below it.
    pub to: SwitchIx,
    /// Ports of `from` that lead to `to`, in the order in which MLIDs are spread over them. Never
    /// empty.
    /// Their order is that of the engine's port group, as the modulo counts by it.
    pub ports: Vec<u8>,
}

impl MulticastTree {
    /// A tree of the branches that an engine chose. Branches from one switch must follow each
    /// other.
    pub(crate) fn new(root: SwitchIx, branches: impl Iterator<Item = Branch>) -> Self {
        Self {
            root,
            branches: branches.collect(),
        }
    }

    /// The switch at the root.
    pub const fn root(&self) -> SwitchIx {
        self.root
    }

    /// Every step away from the root, in the order of the engine.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// The part of the tree that reaches the members of a group, or of all groups that share an
    /// MLID. Branches without members are left out, as are members outside the tree; the way from
    /// the root down stays.
    /// Cost: O(switches + members), also for a group of two.
    pub fn table(&self, topology: &Topology, mlid: Mlid, members: &[EndPortIx]) -> MulticastTable {
        Pruning::new(self, topology).table(mlid, members)
    }

    /// Groups of everybody: see [`crate::Routes::worst_groups`].
    /// Two SLs, since a group may run on either level, and one MLID for each way of sharing.
    pub(crate) fn worst_groups(&self, topology: &Topology) -> Vec<MulticastRoute> {
        let members: Vec<EndPortIx> = topology.end_port_ixs().collect();
        let pruning = Pruning::new(self, topology);
        let first = Mlid::MIN.get();
        let mlids = (first..first + self.sharings()).filter_map(|mlid| Mlid::new(mlid).ok());
        // SL 0 and 8: those without dateline bits, one for each QoS level.
        let groups = mlids.flat_map(|mlid| {
            let table = pruning.table(mlid, &members);
            [0, 8].map(|sl| MulticastRoute {
                sl: Sl::from_low_bits(sl),
                switches: table.switches.clone(),
            })
        });
        groups.collect()
    }

    /// In how many ways MLIDs share the cables of branches out; no more than some.
    /// With bundles of 2 and 3 cables MLIDs repeat after 6: the least common multiple.
    fn sharings(&self) -> u16 {
        // 60 is the least common multiple of 1 to 6. A fabric with a bundle of 7 is checked for the
        // first 60 MLIDs, which use each of its cables but not every mixture.
        const MOST: u16 = 60;
        let cables = self.branches.iter().map(|branch| branch.ports.len());
        let ways = cables.fold(1_u16, |ways, cables| {
            let cables = u16::try_from(cables).unwrap_or(MOST).max(1);
            // The greatest common divisor, by trying: both numbers are small.
            let common = (1..=ways.min(cables))
                .rev()
                .find(|it| ways % it == 0 && cables % it == 0);
            (ways / common.unwrap_or(1)).saturating_mul(cables)
        });
        ways.min(MOST)
    }
}

/// Takes parts of a tree.
/// Made once for all groups that are asked about at the same time.
struct Pruning<'a> {
    tree: &'a MulticastTree,
    topology: &'a Topology,
    /// By switch: its first branch, and how many it has.
    /// A count of 0 for leaves and for switches outside.
    branches: Vec<(u32, u32)>,
    /// By switch: the tree reaches it.
    inside: Vec<bool>,
}

impl<'a> Pruning<'a> {
    fn new(tree: &'a MulticastTree, topology: &'a Topology) -> Self {
        let switches = topology.switches.len();
        let mut inside = vec![false; switches];
        inside[tree.root.index()] = true;
        let mut branches = vec![(0, 0); switches];
        for (ix, branch) in (0..).zip(&tree.branches) {
            inside[branch.to.index()] = true;
            let (first, count) = &mut branches[branch.from.index()];
            if *count == 0 {
                *first = ix;
            }
            *count += 1;
        }
        Self {
            tree,
            topology,
            branches,
            inside,
        }
    }

    /// Marks the ports of members first; `reach` then adds the cables between them.
    fn table(&self, mlid: Mlid, members: &[EndPortIx]) -> MulticastTable {
        let mut ports = vec![PortSet::default(); self.inside.len()];
        let mut left_out = Vec::new();
        for member in members {
            let attached = self.topology.end_port(*member).attached;
            match attached.filter(|(switch, _)| self.inside[switch.index()]) {
                Some((switch, port)) => ports[switch.index()].insert(port),
                None => left_out.push(*member),
            }
        }
        self.reach(mlid, self.tree.root, &mut ports);
        let switches = (0..count32(ports.len())).map(SwitchIx).zip(ports);
        MulticastTable {
            mlid,
            switches: switches.filter(|(_, ports)| !ports.is_empty()).collect(),
            left_out,
        }
    }

    /// Adds the cables to the subtrees below a switch that have members. True when there is any
    /// member at or below it. No deeper than the branches of the tree follow each other.
    /// Recursion is as deep as the tree, some dozens of switches on any torus in use.
    fn reach(&self, mlid: Mlid, from: SwitchIx, ports: &mut [PortSet]) -> bool {
        for branch in self.branches_from(from) {
            // A ring that is whole may lead back to where the tree began.
            if branch.to == self.tree.root || !self.reach(mlid, branch.to, ports) {
                continue;
            }
            // Parallel cables share the groups out.
            let port = branch.ports[usize::from(mlid.get()) % branch.ports.len()];
            ports[from.index()].insert(port);
            if let Peer::Switch { port, .. } = self.topology.peer(from, port) {
                ports[branch.to.index()].insert(port);
            }
        }
        // Not only members below: a switch with a member of its own has a port, too.
        !ports[from.index()].is_empty()
    }

    fn branches_from(&self, switch: SwitchIx) -> &[Branch] {
        let (first, count) = self.branches[switch.index()];
        &self.tree.branches[first as usize..][..count as usize]
    }
}
