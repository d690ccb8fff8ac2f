//! VLs that the layers leave over, shared out among them.
//!
//! Part of a layer closes no cycle where the whole closes none. So a layer may be divided over several VLs at
//! will, and a packet that waits holds up fewer others.

use super::graph::Graph;
use super::pairs::{NO_VL, Pairs};

/// Turns layers into VLs: all of `vls` are used, more of them by layers with more pairs of hosts. A layer with
/// several is divided by destination.
pub(super) fn spread(graph: &Graph, pairs: &mut Pairs, layers: usize, vls: u8) {
    let shares = shares(&weigh(graph, pairs, layers), vls);
    let mut first = Vec::with_capacity(layers);
    let mut next = 0;
    for share in &shares {
        first.push(next);
        next += share;
    }
    // By layer: destinations met so far. Every source takes the same VL of those of a layer.
    let mut turn = 0_u8;
    for to in graph.all_switches() {
        for from in graph.all_switches().filter(|from| *from != to) {
            let layer = pairs.vl(from, to);
            if layer != NO_VL {
                let layer = usize::from(layer);
                pairs.set(from, to, first[layer] + turn % shares[layer]);
            }
        }
        // Destinations with hosts take turns; the others follow the one before.
        if graph.has_hosts(to) {
            turn = turn.wrapping_add(1);
        }
    }
}

/// By layer: pairs of hosts.
fn weigh(graph: &Graph, pairs: &Pairs, layers: usize) -> Vec<u64> {
    let mut weights = vec![0; layers];
    for to in graph.all_switches().filter(|to| graph.has_hosts(*to)) {
        for from in graph.all_switches().filter(|from| *from != to) {
            let layer = pairs.vl(from, to);
            if layer != NO_VL {
                let hosts = u64::from(graph.hosts(from)) * u64::from(graph.hosts(to));
                weights[usize::from(layer)] += hosts;
            }
        }
    }
    weights
}

/// By layer: how many VLs it gets. Each one, and the rest one by one to the layer whose VLs carry most.
fn shares(weights: &[u64], vls: u8) -> Vec<u8> {
    let mut shares = vec![1_u8; weights.len()];
    for _ in weights.len()..usize::from(vls) {
        let load = |layer: &usize| weights[*layer] / u64::from(shares[*layer]);
        // Of equal ones the first.
        let most = (0..weights.len()).rev().max_by_key(load);
        if let Some(layer) = most {
            shares[layer] += 1;
        }
    }
    shares
}
