//! A spanning tree whose packets, going any way along it, close no cycle with unicast.
//!
//! Members are assumed everywhere and groups on SL 0 (or 8), as torus-2QoS does.
//!
//! Bundles are joined first as if nothing could close a cycle, and the whole is tried at once; mostly that is
//! good. Only where it is not is every bundle tried by itself, which takes an order mended again and again.
//!
//! A member may sit anywhere, so packets come from every cable of the tree and leave by every
//! other: all turns of a switch count, also those against the dimension order.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::graph::{Edge, Graph, Neighbours, Node, node};
use super::plan::Context;
use super::vls::{VLS, axis_of};
use crate::placement::PoolIx;

/// An undirected bundle of cables: a switch and one of its groups.
/// Named from either end: `(a, group)` and its far switch with `group ^ 1` are the same.
pub(super) type Bundle = (PoolIx, u8);

/// A tree while it grows.
struct Tree<'a> {
    context: &'a Context<'a>,
    /// By switch: groups in the tree, a bit each.
    groups: Vec<u8>,
}

impl Tree<'_> {
    /// Adds a bundle. False, and nothing changes, where that closes a cycle of dependencies.
    /// Cost: the turns at both its ends, at most some dozens.
    fn add(&mut self, graph: &mut Graph<'_>, bundle: Bundle, far: PoolIx) -> bool {
        self.turn(bundle, far);
        let mut around = [bundle.0, far].into_iter();
        let is_good =
            // Also turns between other bundles there: a new input may put a VL on a cable that had
            // it not.
            around.all(|switch| self.each_turn_around(switch, |from, to| graph.add(from, to)));
        if is_good {
            graph.keep();
        } else {
            graph.take_back();
            self.turn(bundle, far);
        }
        is_good
    }

    /// Puts a bundle in, or takes it out.
    /// Done twice it changes nothing, which is how a bundle is taken back.
    fn turn(&mut self, (near, group): Bundle, far: PoolIx) {
        self.groups[near as usize] ^= 1 << group;
        self.groups[far as usize] ^= 1 << (group ^ 1);
    }

    /// The turns of packets all over the tree.
    fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for switch in self.context.torus.pool_ixs() {
            for (group, other) in self.neighbours_of(switch) {
                self.each_turn_behind((switch, group), other, |from, to| {
                    edges.push((from, 1 << (to % 24)));
                    true
                });
            }
        }
        edges
    }

    /// All turns of packets that come to a switch or leave it, as long as `act` is true.
    fn each_turn_around(&self, switch: PoolIx, mut act: impl FnMut(Node, Node) -> bool) -> bool {
        self.neighbours_of(switch).all(|(group, other)| {
            self.each_turn_behind((switch, group), other, &mut act)
                && self.each_turn_behind((other, group ^ 1), switch, &mut act)
        })
    }

    /// The turns that packets take at the end of a cable, as long as `act` is true.
    fn each_turn_behind(
        &self,
        (from, group): Bundle,
        to: PoolIx,
        mut act: impl FnMut(Node, Node) -> bool,
    ) -> bool {
        let axis = axis_of(group);
        // From a host, and from every other cable of the tree.
        // The VL that a packet leaves on depends on the axis it came by, and a host is one more
        // input.
        let before = self.groups_of(from).filter(|before| *before != group);
        let inputs = std::iter::once(None).chain(before.map(|before| Some(axis_of(before))));
        let mut vls = [false; VLS];
        inputs.for_each(|input| vls[self.context.vls.leaving_vl(input, axis, 0)] = true);
        let mut used = (0..vls.len()).filter(|vl| vls[*vl]);
        used.all(|vl| {
            let mut onward = self.groups_of(to).filter(|next| *next != group ^ 1);
            onward.all(|next| {
                let beyond = self.context.vls.leaving_vl(Some(axis), axis_of(next), 0);
                act(node(from, group, vl), node(to, next, beyond))
            })
        })
    }

    /// Groups of a switch in the tree, and where they lead.
    fn neighbours_of(&self, switch: PoolIx) -> impl Iterator<Item = (u8, PoolIx)> + '_ {
        let groups = self.groups_of(switch);
        groups.filter_map(move |group| Some((group, self.context.neighbours.get(switch, group)?)))
    }

    /// Groups of a switch in the tree.
    fn groups_of(&self, switch: PoolIx) -> impl Iterator<Item = u8> + use<> {
        let groups = self.groups[switch as usize];
        (0..6).filter(move |group| groups >> group & 1 == 1)
    }
}

/// Adds bundles in the given order, each that joins two parts and closes no cycle. By switch: its
/// groups in the tree, a bit each. None when not all is joined that cables join.
///
/// Cost: O(bundles), as long as the whole closes no cycle; else a trial for each.
pub(super) fn span(
    context: &Context<'_>,
    graph: &mut Graph<'_>,
    order: &[Bundle],
) -> Option<Vec<u8>> {
    let free = join(context, order, |tree, bundle, far| {
        tree.turn(bundle, far);
        true
    });
    // If no cycle is closed in the end, none was on the way.
    let (tree, pieces) = if graph.add_at_once(&free.0.edges()) {
        free
    } else {
        join(context, order, |tree, bundle, far| {
            tree.add(graph, bundle, far)
        })
    };
    // Damage may cut the fabric itself into pieces; a tree over the pieces is no fault of the
    // order.
    (pieces == context.pieces).then_some(tree.groups)
}

/// A tree of all bundles that join two parts and that `add` does not refuse, and how many parts are
/// left.
/// Kruskal's way: a bundle within one part would close a ring of the tree.
fn join<'a>(
    context: &'a Context<'a>,
    order: &[Bundle],
    mut add: impl FnMut(&mut Tree<'a>, Bundle, PoolIx) -> bool,
) -> (Tree<'a>, usize) {
    let switches = context.neighbours.switches();
    let mut tree = Tree {
        context,
        groups: vec![0; switches],
    };
    let mut parts = Parts::new(switches);
    for bundle in order {
        let Some(far) = context.neighbours.get(bundle.0, bundle.1) else {
            continue;
        };
        if parts.root(bundle.0) != parts.root(far) && add(&mut tree, *bundle, far) {
            parts.join(bundle.0, far);
        }
    }
    (tree, parts.count)
}

/// All bundles, those near a switch first.
/// Each bundle is listed once, by its plus end. At equal distance z comes before y before x.
pub(super) fn around(context: &Context<'_>, center: PoolIx) -> Vec<Bundle> {
    let neighbours = &context.neighbours;
    let hops = distances(neighbours, center);
    let plus = [1, 3, 5];
    let switches = context.torus.pool_ixs();
    let all = switches.flat_map(|switch| plus.map(|group| (switch, group)));
    let far = |(switch, group): &Bundle| neighbours.get(*switch, *group);
    let mut all: Vec<Bundle> = all.filter(|bundle| far(bundle).is_some()).collect();
    // Stable: bundles that are equally near stay in the order of placement.
    all.sort_by_key(|bundle| {
        let near = hops[bundle.0 as usize];
        let far = far(bundle).map_or(near, |far| hops[far as usize]);
        (near.min(far), Reverse(bundle.1))
    });
    all
}

/// Into how many pieces the cables join the switches.
pub(super) fn pieces(neighbours: &Neighbours) -> usize {
    let mut parts = Parts::new(neighbours.switches());
    for switch in 0..crate::topology::count32(neighbours.switches()) {
        for (_, other) in neighbours.around(switch) {
            if parts.root(switch) != parts.root(other) {
                parts.join(switch, other);
            }
        }
    }
    parts.count
}

/// By switch: hops from the centre, the most where it is not reached.
/// By cables, over all of them.
fn distances(neighbours: &Neighbours, center: PoolIx) -> Vec<u32> {
    let mut hops = vec![u32::MAX; neighbours.switches()];
    hops[center as usize] = 0;
    let mut queue = VecDeque::from([center]);
    while let Some(here) = queue.pop_front() {
        for (_, next) in neighbours.around(here) {
            if hops[next as usize] == u32::MAX {
                hops[next as usize] = hops[here as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    hops
}

/// Switches that are joined already.
/// Union of sets; paths are halved as they are followed.
struct Parts {
    above: Vec<PoolIx>,
    count: usize,
}

impl Parts {
    /// Every switch by itself.
    fn new(switches: usize) -> Self {
        Self {
            above: (0..crate::topology::count32(switches)).collect(),
            count: switches,
        }
    }

    /// The switch that stands for those it is joined with.
    fn root(&mut self, mut switch: PoolIx) -> PoolIx {
        while self.above[switch as usize] != switch {
            let above = self.above[self.above[switch as usize] as usize];
            self.above[switch as usize] = above;
            switch = above;
        }
        switch
    }

    /// Makes one of two parts, which are not the same.
    fn join(&mut self, a: PoolIx, b: PoolIx) {
        let (a, b) = (self.root(a), self.root(b));
        self.above[a as usize] = b;
        self.count -= 1;
    }
}
