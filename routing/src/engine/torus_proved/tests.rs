//! The quick ways against plain ones, on small tori with damage.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;

use super::graph::{Edge, Graph, Neighbours, Node, node};
use super::phases::{Parts, Phases};
use super::plan::Context;
use super::steps;
use super::sweep::Sweep;
use super::vls::axis_of;
use crate::placement::{Axis, Direction, Shape};
use crate::placement::{PoolIx, Torus};
use crate::topology::{SwitchIx, count32};
use proptest::prelude::*;
use sa_rig::rng::Rng;

/// A torus without each switch and cable that chance takes, a few in a hundred.
fn torus(shape: Shape, mut chance: impl FnMut() -> u8) -> Torus {
    let places = shape.places();
    let mut torus = Torus::empty(shape, places, 0);
    for (number, at) in shape.coordinates().enumerate() {
        if chance() >= 8 {
            torus.put(SwitchIx(count32(number)), at);
        }
    }
    for ix in torus.pool_ixs() {
        for axis in Axis::ALL {
            let at = torus.get(ix).at;
            let radix = shape.radix_of(axis);
            let is_end = at.on(axis) + 1 == radix && (shape.is_mesh(axis) || radix == 2);
            let next = torus.pool_at(shape.neighbour(at, axis.plus()));
            if let Some(next) = next.filter(|_| radix > 1 && !is_end && chance() >= 4) {
                let (there, back) = (axis.plus().group(), axis.minus().group());
                torus.group_mut(ix, usize::from(there)).push(1 + there);
                torus.group_mut(next, usize::from(back)).push(1 + back);
            }
        }
    }
    torus
}

fn any_torus() -> impl Strategy<Value = Torus> {
    let radix = prop::array::uniform3(1_u8..7);
    let mesh = prop::array::uniform3(prop::bool::weighted(0.2));
    let is_whole = prop::bool::weighted(0.2);
    (radix, mesh, is_whole, any::<u64>()).prop_map(|(radix, mesh, is_whole, seed)| {
        let mut rng = Rng::new(seed);
        let chance = move || if is_whole { 99 } else { rng.below(100) };
        torus(Shape { radix, mesh }, chance)
    })
}

/// One dependency: a node, and a group and vl at its end.
type Single = (Node, u32);

fn singles<'e>(edges: impl IntoIterator<Item = &'e Edge>) -> BTreeSet<Single> {
    let bits = |(node, bits): &Edge| {
        let (node, bits) = (*node, *bits);
        (0..24)
            .filter(move |bit| bits >> bit & 1 == 1)
            .map(move |bit| (node, bit))
    };
    edges.into_iter().flat_map(bits).collect()
}

/// Every source followed by itself, as packets go. What the ways depend on, and the sources that
/// do not get there.
fn plain(context: &Context<'_>, to: PoolIx) -> (BTreeSet<Single>, Vec<PoolIx>) {
    let (mut edges, mut left) = (BTreeSet::new(), Vec::new());
    for from in context.torus.pool_ixs() {
        match plain_way(context, from, to) {
            Some(way) => edges.extend(way.windows(2).map(|pair| (pair[0], pair[1] % 24))),
            None => left.push(from),
        }
    }
    (edges, left)
}

fn plain_way(context: &Context<'_>, from: PoolIx, to: PoolIx) -> Option<Vec<Node>> {
    let (start, end) = (context.at(from), context.at(to));
    let shape = context.torus.shape();
    let class = Axis::ALL.into_iter().fold(0, |class, axis| {
        let crosses = shape.crosses_dateline(axis, start.on(axis), end.on(axis));
        class | u8::from(crosses) << axis.index()
    });
    let (mut here, mut input, mut way) = (from, None, Vec::new());
    while here != to {
        let group = context.steps.group(here, end);
        let next = steps::next(&context.neighbours, here, group)?;
        let axis = axis_of(group);
        way.push(node(
            here,
            group,
            context.vls.leaving_vl(input, axis, class),
        ));
        if way.len() > context.places.len() {
            return None;
        }
        (here, input) = (next, Some(axis));
    }
    Some(way)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Classes carried together put on each cable what every source puts there by itself.
    #[test]
    fn classes_go_the_ways_of_their_sources(torus in any_torus(), vls in 1_u8..9) {
        let context = Context::new(&torus, vls, None);
        let mut sweep = Sweep::new(torus.switches().len());
        let mut phases = Phases::new(&context);
        for to in torus.pool_ixs() {
            let (edges, left) = plain(&context, to);
            sweep.column(&context, to);
            sweep.left.sort_unstable();
            prop_assert_eq!(&sweep.left, &left);
            prop_assert_eq!(&singles(&sweep.edges), &edges);
            let [x, y, _] = context.at(to).0;
            phases.enter(x, y);
            if let Some(Parts { shared, own }) = phases.column(to) {
                prop_assert_eq!(singles(shared.iter().chain(own)), edges);
                prop_assert!(left.is_empty());
            }
        }
    }

    /// Any dependency is taken unless it closes a cycle, and none is forgotten or left behind.
    #[test]
    fn only_cycles_are_refused(tries in prop::collection::vec(any::<(u32, u32, bool)>(), 600)) {
        let shape = Shape { radix: [3, 2, 1], mesh: [false; 3] };
        let torus = torus(shape, || 99);
        let neighbours = Neighbours::new(&torus);
        let mut graph = Graph::new(&neighbours);
        let mut kept = graph.clone();
        for (from, turn, is_kept) in tries {
            let from = from % count32(graph.nodes());
            let Some(to) = graph.behind(from, turn % 24) else { continue };
            let closes = reaches(&graph, to, from);
            prop_assert_eq!(graph.add(from, to), !closes);
            if is_kept {
                graph.keep();
                kept = graph.clone();
            } else {
                graph.take_back();
            }
            let all = 0..count32(graph.nodes());
            let mut all = all.into_iter();
            prop_assert!(all.all(|node| graph.bits(node) == kept.bits(node)));
        }
    }
}

fn reaches(graph: &Graph<'_>, from: Node, to: Node) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        graph.each_behind(node, |next| {
            if seen.insert(next) {
                open.push(next);
            }
        });
    }
    seen.contains(&to)
}

/// On a torus without damage all is made of parts; a dead switch leaves most of it so.
#[test]
fn most_columns_are_made_of_parts() {
    let shape = Shape {
        radix: [5, 5, 5],
        mesh: [false; 3],
    };
    let whole = torus(shape, || 99);
    let mut number = 0;
    let damaged = torus(shape, || {
        number += 1;
        if number == 63 { 0 } else { 99 }
    });
    let parts = |torus: &Torus| {
        let context = Context::new(torus, 8, None);
        let mut phases = Phases::new(&context);
        let is_parts = |to: &PoolIx| {
            let [x, y, _] = context.at(*to).0;
            phases.enter(x, y);
            phases.column(*to).is_some()
        };
        torus.pool_ixs().filter(is_parts).count()
    };
    assert_eq!(parts(&whole), 125);
    assert_eq!(damaged.switches().len(), 124);
    assert_eq!(parts(&damaged), 120);
    let directions = Direction::ALL.map(|direction| damaged.neighbour(0, direction));
    assert!(directions.iter().all(Option::is_some));
}
