//! The search for ways and a multicast tree that close no cycle.
//!
//! The ways, vls and SLs of torus-2QoS stay wherever they close no cycle of dependencies. The
//! other ways are searched for one by one, in a graph that is kept free of cycles all the time;
//! so is the multicast tree. What cannot be routed so is lost, and named.
//!
//! What comes first gets the room. Usual ways and usual tree together, where they close no cycle; else the
//! tree and then the ways, from one centre after the other, since with a tree everybody is reached by
//! multicast and a way has more choice than a tree; else the ways and then the tree. The best of these is
//! taken, so that an attempt costs time and nothing else.
//!
//! ```text
//! usual ways + usual tree, no cycle               -> done
//! tree first, from up to 17 centres, until nothing is lost
//! ways first, then the first tree that fits
//! the best by (pairs lost, no tree, ways changed)
//! ```
//!
//! It is a search that gives up nothing it has laid, not an optimum. That is why order matters, and
//! why destinations that lost pairs are laid first the next time.

use super::cycles;
use super::graph::{Graph, Neighbours};
use super::lacking::Lacking;
use super::steps::Steps;
use super::tree::{self, Bundle};
use super::unicast::Layer;
use super::usual::{self, Columns, Usual};
use super::vls::PathVls;
use crate::engine::torus::lft::Changes;
use crate::engine::torus::tree::TorusTree;
use crate::engine::torus::warning::TorusWarning;
use crate::error::SwitchName;
use crate::placement::{Coordinate, PoolIx, Torus};
use crate::topology::{Topology, count32};
use crate::watch::Stretch;

/// How a damaged torus is routed.
/// Nothing is changed yet: `mend` applies it to tables.
pub(super) struct Plan {
    /// What differs from the unicast routes of torus-2QoS.
    pub(super) changes: Changes,
    /// None when no tree was found that closes no cycle.
    pub(super) tree: Option<TorusTree>,
}

/// What the search goes by.
/// Worked out once for all attempts; read by all threads.
pub(super) struct Context<'a> {
    pub(super) torus: &'a Torus,
    pub(super) neighbours: Neighbours,
    /// By switch: its place.
    /// A copy beside the torus, since places are asked for in every inner loop.
    pub(super) places: Vec<Coordinate>,
    pub(super) steps: Steps,
    pub(super) vls: PathVls,
    pub(super) columns: Vec<Columns>,
    /// Into how many pieces the cables join the switches.
    /// A tree cannot join more than cables do, so this many parts are left of a good one.
    pub(super) pieces: usize,
    pub(super) usual_tree: Option<&'a TorusTree>,
}

/// Plans routes for what is there, the best of several attempts: as few pairs lost as possible,
/// then with a multicast tree, then as few changes as possible. `vls` is the fewest data VLs
/// between switches; `usual_tree` the tree that torus-2QoS would use.
/// Cost: up to 18 runs over all destinations that have to be laid anew; mostly one.
pub(super) fn plan(
    torus: &Torus,
    vls: u8,
    usual_tree: Option<&TorusTree>,
    share: Stretch<'_>,
) -> Plan {
    let context = Context::new(torus, vls, usual_tree);
    let usual = Usual::all(&context, share.cut(0..20));
    if let Some(plan) = context.usual_plan(&usual) {
        return plan;
    }
    let mut order: Vec<PoolIx> = torus.pool_ixs().collect();
    let mut best: Option<Plan> = None;
    let centers = std::iter::once(None).chain(context.centers().map(Some));
    for (nth, center) in (0..).zip(centers) {
        let Some(attempt) = context.tree_first(center, &usual, &order, of_attempt(share, nth))
        else {
            continue;
        };
        if attempt.is_complete() {
            return attempt;
        }
        // Who came too late once comes first the next time.
        // Sorting is stable, so all others keep their order, and attempts stay deterministic.
        promote(&mut order, &attempt.changes);
        if best
            .as_ref()
            .is_none_or(|best| attempt.cost() < best.cost())
        {
            best = Some(attempt);
        }
    }
    let last = context.unicast_first(&usual, share.cut(95..100));
    match best {
        Some(best) if best.cost() <= last.cost() => best,
        // Fewest pairs lost decides, so a plan without a tree may win over one with.
        _ => last,
    }
}

/// What one attempt is of all. Mostly the first is good, so half is its own.
fn of_attempt(share: Stretch<'_>, nth: u64) -> Stretch<'_> {
    match nth {
        0 => share.cut(20..70),
        _ => share
            .cut(70..95)
            .nth(nth.min(MOST_CENTERS as u64) - 1, MOST_CENTERS as u64),
    }
}

/// Switches that a tree is tried around. Each takes a run over all destinations.
const MOST_CENTERS: usize = 16;

impl Plan {
    /// Nothing is lost: no other plan is looked for.
    fn is_complete(&self) -> bool {
        self.changes.lost.is_empty() && self.tree.is_some()
    }

    /// What plans are compared by, the worst first.
    /// Smaller is better, field by field.
    fn cost(&self) -> (usize, bool, usize) {
        let Changes { rerouted, lost } = &self.changes;
        (lost.len(), self.tree.is_none(), rerouted.len())
    }
}

/// Destinations that lost sources come first in the next attempt.
fn promote(order: &mut [PoolIx], changes: &Changes) {
    let mut lost = vec![false; order.len()];
    for (to, _) in &changes.lost {
        lost[*to as usize] = true;
    }
    order.sort_by_key(|to| !lost[*to as usize]);
}

impl<'a> Context<'a> {
    /// Works out what all attempts have in common.
    pub(super) fn new(torus: &'a Torus, vls: u8, usual_tree: Option<&'a TorusTree>) -> Self {
        let neighbours = Neighbours::new(torus);
        Self {
            torus,
            places: torus.switches().iter().map(|placed| placed.at).collect(),
            steps: Steps::new(torus),
            vls: PathVls::new(vls),
            columns: usual::all_columns(torus),
            pieces: tree::pieces(&neighbours),
            usual_tree,
            neighbours,
        }
    }
}

impl Context<'_> {
    /// Where a switch is.
    pub(super) fn at(&self, switch: PoolIx) -> Coordinate {
        self.places[switch as usize]
    }

    /// Usual ways and usual tree, if they are complete and close no cycle.
    /// The plan wherever no way has to change.
    fn usual_plan(&self, usual: &Usual<'_>) -> Option<Plan> {
        if usual.has_gaps.contains(&true) {
            return None;
        }
        let mut graph = Graph::new(&self.neighbours);
        // The graph has the tree's turns now; the ways' are merged at once, as nothing of them may
        // change.
        let tree = self.tree(&mut graph, None)?;
        graph.merge(&usual.graph);
        graph.sort().then(|| Plan {
            changes: Changes::default(),
            tree: Some(tree),
        })
    }

    /// The tree before the ways; some of these have to be searched for then.
    fn tree_first(
        &self,
        center: Option<PoolIx>,
        usual: &Usual<'_>,
        order: &[PoolIx],
        share: Stretch<'_>,
    ) -> Option<Plan> {
        let mut graph = Graph::new(&self.neighbours);
        let tree = self.tree(&mut graph, center)?;
        let (_, changes) = self.lay(graph, usual, order, share);
        Some(Plan {
            changes,
            tree: Some(tree),
        })
    }

    /// Ways before the tree.
    /// Never none: at worst all pairs are lost. What no tree fits has no multicast.
    fn unicast_first(&self, usual: &Usual<'_>, share: Stretch<'_>) -> Plan {
        let order: Vec<PoolIx> = self.torus.pool_ixs().collect();
        let (graph, changes) = self.lay(Graph::new(&self.neighbours), usual, &order, share);
        let centers = std::iter::once(None).chain(self.centers().map(Some));
        let mut trees = centers.filter_map(|center| self.tree(&mut graph.clone(), center));
        let tree = trees.next();
        Plan { changes, tree }
    }

    /// Lays ways beside what is in a graph. Destinations whose usual ways lie on no cycle keep
    /// them; the others are laid one by one in the given order.
    ///
    /// With cycles: the dependencies on them, but for those of the tree that is in the graph, are
    /// not to be used; every destination that would use one counts as having gaps.
    fn lay<'g>(
        &'g self,
        mut graph: Graph<'g>,
        usual: &Usual<'g>,
        order: &[PoolIx],
        share: Stretch<'_>,
    ) -> (Graph<'g>, Changes) {
        let mut all = graph.clone();
        all.merge(&usual.graph);
        let has_gaps = match cycles::on_cycles(&all) {
            None => {
                graph.merge(&usual.graph);
                graph.sort();
                usual.has_gaps.clone()
            }
            Some(mut cycles) => {
                // What is in the graph for good (the tree) is no reason to lay a destination anew.
                graph.remove_from(&mut cycles.edges);
                let good = Usual::without(self, &cycles.edges, share.cut(0..20));
                graph.merge(&good.graph);
                all.remove(&cycles.edges);
                all.sort();
                // Against the order of all usual ways, so that what comes in later mostly goes
                // along it.
                graph.sort_like(&all, &cycles.component);
                good.has_gaps
            }
        };
        let lacking = Lacking::new(self, &graph, &has_gaps);
        let mut layer = Layer::new(self, graph);
        let done = share.cut(20..100).count(order.len());
        // One by one, as each may take what the next would need: the order is part of the result.
        for to in order {
            if has_gaps[*to as usize] {
                layer.lay(*to, lacking.for_destination(*to));
            }
            done.add(1);
        }
        layer.finish()
    }

    /// The usual tree; or as much of it as closes no cycle, then bundles around a switch, which is
    /// the root if the usual tree has none.
    /// None where what is joined is less than cables join, or nobody is there to be the root.
    fn tree(&self, graph: &mut Graph<'_>, center: Option<PoolIx>) -> Option<TorusTree> {
        let usual = self.usual_tree.iter();
        let mut order: Vec<Bundle> = usual.flat_map(|tree| tree.bundles(self.torus)).collect();
        if let Some(center) = center {
            order.extend(tree::around(self, center));
        }
        let groups = tree::span(self, graph, &order)?;
        let root = self.usual_tree.map(TorusTree::root).or(center)?;
        Some(TorusTree::spanned(self.torus, root, &groups))
    }

    /// Switches to try a tree around, evenly spread.
    /// From half way through the order of placement on, and round to its beginning.
    fn centers(&self) -> impl Iterator<Item = PoolIx> + '_ {
        let switches = self.neighbours.switches();
        let count = switches.min(MOST_CENTERS);
        (0..count).map(move |number| count32((switches / 2 + number * switches / count) % switches))
    }
}

/// Tells what differs from torus-2QoS.
/// Counts are of ordered pairs of switches, whatever hosts are on them.
pub(super) fn report(
    topology: &Topology,
    torus: &Torus,
    plan: &Plan,
    usual: Option<&TorusTree>,
    warnings: &mut Vec<TorusWarning>,
) {
    const EXAMPLES: usize = 8;
    let name = |ix: PoolIx| {
        let placed = torus.get(ix);
        SwitchName::new(topology, placed.switch, Some(placed.at))
    };
    let Changes { rerouted, lost } = &plan.changes;
    if !rerouted.is_empty() {
        let some = rerouted.iter().take(EXAMPLES);
        warnings.push(TorusWarning::Rerouted {
            count: rerouted.len(),
            examples: some.map(|(to, from, _)| (name(*from), name(*to))).collect(),
        });
    }
    if !lost.is_empty() {
        let some = lost.iter().take(EXAMPLES);
        warnings.push(TorusWarning::PairsLost {
            count: lost.len(),
            examples: some.map(|(to, from)| (name(*from), name(*to))).collect(),
        });
    }
    let Some(tree) = &plan.tree else {
        warnings.push(TorusWarning::NoTree);
        return;
    };
    // Also where torus-2QoS had none at all.
    if usual != Some(tree) {
        let root = name(tree.root());
        warnings.push(TorusWarning::OtherTree { root });
    }
    let outside = torus.pool_ixs().filter(|ix| !tree.holds(*ix));
    let switches: Vec<_> = outside.map(name).collect();
    if !switches.is_empty() {
        warnings.push(TorusWarning::OutsideTree { switches });
    }
}
