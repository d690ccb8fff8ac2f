//! The tree of any group, whatever the engine.
//!
//! An engine that makes one spanning tree for all groups has proved it together with its paths; its groups take part of
//! that. For every other engine a group's tree follows shortest paths, where the proof has nothing against it
//! ([`crate::proof::GroupProof`]); else groups take part of a tree that it found. A group whose members have fewer than two ports
//! between them needs no table: nobody is there to send to.
//!
//! ```text
//!  torus-2qos, torus-proved     one tree ──> the part of it with members     every group by the same cables
//!  minhop, updn, ftree, ..      members  ──> a tree of shortest ways         each group has its own
//!                               or one tree that is proved ──> the part of it between the members
//! ```

use sa_wire::Mlid;

use super::shortest::ShortestTrees;
use super::{MulticastTable, MulticastTree, SpanningTree};
use crate::tables::Routes;
use crate::topology::{EndPortIx, Topology};

/// Trees of groups. Made once for all groups that are asked about at the same time.
pub struct GroupTrees<'a> {
    topology: &'a Topology,
    by: By<'a>,
}

enum By<'a> {
    /// The engine's one tree.
    Engine(&'a MulticastTree),
    Shortest(ShortestTrees<'a>),
    /// One for all, which was proved.
    Spanning(&'a SpanningTree),
}

impl<'a> GroupTrees<'a> {
    /// `routes` are those of the topology. Cost: hops between all pairs of switches, where the engine has no tree.
    pub fn new(topology: &'a Topology, routes: &'a Routes) -> Self {
        let by = match routes.multicast_tree() {
            Some(tree) => By::Engine(tree),
            None => By::Shortest(ShortestTrees::new(topology)),
        };
        Self { topology, by }
    }

    /// Parts of this tree, whatever the engine has.
    pub const fn of_tree(topology: &'a Topology, tree: &'a SpanningTree) -> Self {
        let by = By::Spanning(tree);
        Self { topology, by }
    }

    /// Where the packets of an MLID go. `members`: of all groups that share it, each at most once.
    pub fn table(&self, mlid: Mlid, members: &[EndPortIx]) -> MulticastTable {
        match &self.by {
            _ if members.len() < 2 => MulticastTable {
                mlid,
                switches: Vec::new(),
                left_out: Vec::new(),
            },
            By::Engine(tree) => tree.table(self.topology, mlid, members),
            By::Shortest(trees) => trees.table(mlid, members),
            By::Spanning(tree) => tree.table(self.topology, mlid, members),
        }
    }
}
