//! Trees of multicast groups that close no credit loop with unicast, whoever joins.
//!
//! A proof for each join would be late: members hear the group within milliseconds. So what any group could use is judged once,
//! with the unicast routes, and a join takes part of it.
//!
//! ```text
//!  groups by SLs ──> all trees that they may have as usual ──> no loop with unicast: the usual trees
//!                                                  a loop ──> one tree for all, without one: that tree
//!                                                  none found ──> each set of members is judged by itself
//! ```
//!
//! *Usual* is the engine's tree, or else trees by shortest paths: one for each root, of which groups with that root take part. So
//! there are as many as switches, and all of them together hold what any membership can make. On trees and fat trees they close no
//! loop; elsewhere they mostly do. Above some size they are not even tried ([`MOST_USUAL`]).
//!
//! *One tree* is looked for twice. First the ways from one switch to all as a whole, for the switches in the middle of the fabric, then for
//! others: that finds what goes down from the root of `updn`, and the escape paths of Nue. Then a tree is grown cable by cable, each
//! only where what is there stays without a cycle (`grow`).
//!
//! What is judged is a *kind*: groups with the same SLs, since SLs decide about VLs. Kinds come one after the other, each with what
//! those before it use. Of switches those with hosts count, and those that are members themselves: ways to all others would make
//! circles that no group makes.

mod grow;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use sa_wire::SlVlMask;

use self::grow::Growth;
use super::graph::DependencyGraph;
use super::levels::Levels;
use super::proven::Proven;
use super::{CreditLoop, Judge};
use crate::shortest::distances::{Distances, UNREACHABLE};
use crate::tables::multicast::spanning::sls_of;
use crate::tables::{MulticastRoute, SpanningTree};
use crate::topology::{EndPortIx, SwitchIx, Topology};

/// Which groups there are, as far as the proof goes by it. Shape: by the SLs of an MLID, a bit each; switches whose port 0 is a member of
/// some MLID with just these.
pub type GroupKinds = BTreeMap<u16, BTreeSet<SwitchIx>>;

/// Switches times switches with hosts up to which the usual trees are judged: a fat tree of 24 ports, where that doubles the time of
/// a plan. Beyond there is one tree from the beginning.
const MOST_USUAL: usize = 1 << 18;
/// Turns that all tries of whole trees may look at together.
const MOST_TURNS: usize = 1 << 24;
/// Trees that are grown at most; fewer where a graph is so large that [`MOST_TURNS`] asks for fewer tries.
const MOST_GROWN: usize = 32;

/// Which trees groups may have.
pub struct GroupProof {
    ways: BTreeMap<u16, Way>,
    /// With unicast and all trees that are proved; none where there is nothing to be judged with it.
    graph: Option<DependencyGraph>,
}

/// What the groups of a kind have.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// The engine's tree or shortest paths, proved for any members.
    Usual,
    /// Parts of this tree, likewise.
    Tree(SpanningTree),
    /// The engine's tree or shortest paths, of which nothing is known.
    Unproved,
}

impl fmt::Debug for GroupProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupProof")
            .field("ways", &self.ways)
            .finish_non_exhaustive()
    }
}

impl GroupProof {
    /// The tree of groups with these SLs; none where they have the engine's, or shortest paths.
    pub fn tree(&self, sls: SlVlMask) -> Option<&SpanningTree> {
        match self.ways.get(&sls.0) {
            Some(Way::Tree(tree)) => Some(tree),
            _ => None,
        }
    }

    /// Groups with these SLs close no loop, whoever is in them.
    pub fn is_proved(&self, sls: SlVlMask) -> bool {
        matches!(self.ways.get(&sls.0), Some(Way::Usual | Way::Tree(_)))
    }

    /// A shortest loop that these groups close with unicast and with all groups that are proved. None where everything is.
    /// Cost: that of a search of the whole graph.
    pub fn loop_with(&self, topology: &Topology, groups: &[MulticastRoute]) -> Option<CreditLoop> {
        let mut graph = self.graph.as_ref()?.copy();
        graph.add_multicast(topology, groups);
        graph.shortest_loop()
    }
}

impl Judge<'_> {
    /// Finds trees for groups of these kinds. `from`: what the proof of these routes went on from, if it did.
    ///
    /// Where packets between hosts close a loop without any group, trees are judged by themselves.
    /// Cost: a proof of unicast from nothing, unless there is one to go on from; then some searches of its graph.
    pub fn prove_groups(&self, from: Option<&Proven>, kinds: &GroupKinds) -> GroupProof {
        let mut search = Search {
            judge: self,
            distances: Distances::measure(self.topology),
            graph: self.unicast_to_join(from),
        };
        let ways = kinds.iter();
        let ways: BTreeMap<u16, Way> = ways
            .map(|(sls, switches)| (*sls, search.way(SlVlMask(*sls), switches)))
            .collect();
        let is_open = ways.values().any(|way| *way == Way::Unproved);
        GroupProof {
            graph: is_open.then_some(search.graph),
            ways,
        }
    }

    /// Dependencies of everybody's unicast; of that between hosts where switches close a loop, which matters to nobody.
    pub(super) fn unicast_to_join(&self, from: Option<&Proven>) -> DependencyGraph {
        let next = from.and_then(|from| self.go_on(from));
        let graph = next.map_or_else(|| self.everybody(), |next| next.graph());
        if !graph.has_loop() {
            return graph;
        }
        let mut between = DependencyGraph::over(Arc::clone(&graph.channels));
        between.add_unicast_between_hosts(self.topology, self.routes, self.sls, &self.hosts);
        match between.has_loop() {
            // Told elsewhere; trees are none the better for being mixed into it.
            true => DependencyGraph::over(Arc::clone(&graph.channels)),
            false => between,
        }
    }
}

/// Who is in the largest group of a kind, and where.
struct Everybody {
    sls: SlVlMask,
    /// Of those whose packets have the same dependencies one at least.
    members: Vec<EndPortIx>,
    /// Ascending.
    sites: Vec<SwitchIx>,
}

/// Finds trees kind by kind.
struct Search<'a> {
    judge: &'a Judge<'a>,
    distances: Distances,
    /// What all that is found so far uses; without a cycle.
    graph: DependencyGraph,
}

impl Search<'_> {
    fn way(&mut self, sls: SlVlMask, switches: &BTreeSet<SwitchIx>) -> Way {
        let everybody = self.everybody(sls, switches);
        if let Some(graph) = self.with_usual(&everybody) {
            self.graph = graph;
            return Way::Usual;
        }
        self.one_tree(&everybody).map_or(Way::Unproved, Way::Tree)
    }

    /// All hosts, and port 0 of these switches.
    fn everybody(&self, sls: SlVlMask, switches: &BTreeSet<SwitchIx>) -> Everybody {
        let topology = self.judge.topology;
        let counts = |at: &SwitchIx| switches.contains(at) || topology.hosts(*at).next().is_some();
        let sites: Vec<SwitchIx> = topology.switch_ixs().filter(counts).collect();
        // Where all SL2VL tables are alike the packets of one host of a switch are those of all.
        let many = match self.graph.channels.tables() {
            0 | 1 => 1,
            _ => usize::MAX,
        };
        let hosts = sites.iter().flat_map(|at| topology.hosts(*at).take(many));
        let own = switches.iter().map(|at| topology.switch(*at).port0);
        Everybody {
            sls,
            members: hosts.map(|(_, end)| end).chain(own).collect(),
            sites,
        }
    }

    /// With all trees that groups may have as usual. None where these close a loop, and where there are too many of them.
    fn with_usual(&self, everybody: &Everybody) -> Option<DependencyGraph> {
        let topology = self.judge.topology;
        let mut graph = self.graph.copy();
        if self.judge.routes.multicast_tree().is_some() {
            let groups = self.judge.routes.worst_groups(topology);
            let routes = groups.iter().flat_map(|group| {
                sls_of(everybody.sls).map(|sl| MulticastRoute {
                    sl,
                    switches: group.switches.clone(),
                })
            });
            graph.add_multicast(topology, &routes.collect::<Vec<_>>());
            return (!graph.has_loop()).then_some(graph);
        }
        let switches = topology.switches.len();
        if switches.saturating_mul(everybody.sites.len()) > MOST_USUAL {
            return None;
        }
        for (nth, root) in (1_usize..).zip(topology.switch_ixs()) {
            let mut tree = SpanningTree::empty(topology);
            tree.spread(topology, &self.distances, root, &everybody.sites);
            self.add(&mut graph, &tree, everybody);
            // Where trees do not do, few of them show it.
            if nth.is_power_of_two() && nth.ilog2() % 3 == 0 && graph.has_loop() {
                return None;
            }
        }
        (!graph.has_loop()).then_some(graph)
    }

    /// One tree for all, which joins what is used. None where none was found.
    fn one_tree(&mut self, everybody: &Everybody) -> Option<SpanningTree> {
        let mut tree = SpanningTree::empty(self.judge.topology);
        // Once for each part of the fabric.
        for site in &everybody.sites {
            if !tree.reaches(*site) {
                let found = self.tree_around(*site, &tree, everybody)?;
                self.graph = found.1;
                tree = found.0;
            }
        }
        Some(tree)
    }

    /// The same tree with that of one more part, and the graph with both.
    fn tree_around(
        &self,
        site: SwitchIx,
        before: &SpanningTree,
        everybody: &Everybody,
    ) -> Option<(SpanningTree, DependencyGraph)> {
        let topology = self.judge.topology;
        let roots = self.roots(site, everybody);
        let tries = MOST_TURNS / self.graph.channels.turns().max(1);
        let mut whole = roots.iter().take(tries.max(8)).map(|root| {
            let mut tree = before.clone();
            tree.spread(topology, &self.distances, *root, &everybody.sites);
            tree
        });
        let found = whole.find_map(|tree| self.joined(tree, everybody));
        if found.is_some() {
            return found;
        }
        let levels = Levels::of(&self.graph)?;
        let mut grown = roots
            .iter()
            .take(tries.clamp(2, MOST_GROWN))
            .filter_map(|root| {
                let mut growth = Growth::new(self.graph.copy(), levels.clone(), everybody.sls);
                growth.grow(before.clone(), *root, &everybody.sites)
            });
        grown.find_map(|tree| self.joined(tree, everybody))
    }

    /// The tree, and the graph with it. None where that has a cycle.
    fn joined(
        &self,
        tree: SpanningTree,
        everybody: &Everybody,
    ) -> Option<(SpanningTree, DependencyGraph)> {
        let mut graph = self.graph.copy();
        self.add(&mut graph, &tree, everybody);
        (!graph.has_loop()).then_some((tree, graph))
    }

    /// Switches of the part with this one, those in the middle of it first.
    fn roots(&self, site: SwitchIx, everybody: &Everybody) -> Vec<SwitchIx> {
        let hops = |from: SwitchIx, to: SwitchIx| {
            let row = self.distances.from(from);
            let hops = row.get(to.index()).copied();
            hops.filter(|hops| *hops != UNREACHABLE)
        };
        let farthest = |root: SwitchIx| {
            let sites = everybody.sites.iter();
            sites.filter_map(|to| hops(root, *to)).max()
        };
        let all = self.judge.topology.switch_ixs();
        let reached = all.filter(|root| hops(site, *root).is_some());
        let mut roots: Vec<_> = reached.map(|root| (farthest(root), root)).collect();
        roots.sort_unstable();
        roots.into_iter().map(|(_, root)| root).collect()
    }

    fn add(&self, graph: &mut DependencyGraph, tree: &SpanningTree, everybody: &Everybody) {
        let topology = self.judge.topology;
        let groups = tree.whole(topology, &everybody.members, everybody.sls);
        graph.add_multicast(topology, &groups.collect::<Vec<_>>());
    }
}
