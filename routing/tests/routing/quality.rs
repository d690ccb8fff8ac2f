//! Figures of quality against their definitions, done the plain way: path by path, and over every
//! permutation there is.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::BTreeMap;

use common::build::FabricBuilder;
use common::generate::{TorusSpec, random_graph};
use common::trees::{cut, fat_tree};
use proptest::prelude::*;
use routing::engine::{EngineInput, Request, by_kind, files, minhop};
use routing::quality::{Loads, bandwidth, loads};
use routing::reference::{Hop, walk};
use routing::watch::Watch;
use routing::{EndPortIx, EngineKind, GivenSl2Vl, Qos, Routes, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_wire::Lid;

/// Links of a path between switches; none where there is no path.
fn links(
    topology: &Topology,
    routes: &Routes,
    from: EndPortIx,
    lid: Lid,
) -> Option<Vec<(SwitchIx, u8)>> {
    let walk = walk(topology, routes, Qos::Off, from, lid).ok()?;
    let links = walk.hops.iter().rev().skip(1);
    Some(
        links
            .map(|Hop { switch, output, .. }| (*switch, *output))
            .collect(),
    )
}

/// CA and router ports on a switch.
fn hosts(topology: &Topology) -> Vec<EndPortIx> {
    let is_host = |end: &EndPortIx| {
        let end = topology.end_port(*end);
        end.port_number != 0 && end.attached.is_some()
    };
    topology.end_port_ixs().filter(is_host).collect()
}

fn plain_loads(topology: &Topology, routes: &Routes) -> Loads {
    let cables = topology.switch_ixs().flat_map(|switch| {
        let cables = topology.cables(switch);
        cables.map(move |(port, ..)| ((switch, port), 0))
    });
    let mut paths: BTreeMap<(SwitchIx, u8), u64> = cables.collect();
    let hosts = hosts(topology);
    for (from, to) in hosts.iter().flat_map(|a| hosts.iter().map(move |b| (a, b))) {
        for lid in topology.end_port(*to).lids().filter(|_| from != to) {
            for link in links(topology, routes, *from, lid).unwrap_or_default() {
                *paths.get_mut(&link).unwrap() += 1;
            }
        }
    }
    let sum: u64 = paths.values().sum();
    Loads {
        links: paths.len(),
        unused: paths.values().filter(|paths| **paths == 0).count(),
        most: paths.values().max().copied().unwrap_or(0),
        mean: sum as f64 / paths.len().max(1) as f64,
    }
}

/// All permutations of `0..count` (Heap's way).
fn permutations(count: usize) -> Vec<Vec<usize>> {
    fn go(left: usize, list: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if left <= 1 {
            all.push(list.clone());
            return;
        }
        for nth in 0..left {
            go(left - 1, list, all);
            list.swap(if left.is_multiple_of(2) { nth } else { 0 }, left - 1);
        }
    }
    let mut all = Vec::new();
    go(count, &mut (0..count).collect(), &mut all);
    all
}

/// The mean share over all flows of all permutations of at most seven hosts.
fn plain_bandwidth(topology: &Topology, routes: &Routes) -> f64 {
    let hosts = hosts(topology);
    let (mut sum, mut flows) = (0.0, 0);
    for to in permutations(hosts.len()) {
        let pairs = hosts.iter().zip(to.iter().map(|to| hosts[*to]));
        let pairs = pairs.filter(|(from, to)| *from != to);
        let ways: Vec<_> = pairs
            .map(|(from, to)| links(topology, routes, *from, topology.end_port(to).lid))
            .collect();
        let mut used = BTreeMap::new();
        for link in ways.iter().flatten().flatten() {
            *used.entry(*link).or_insert(0) += 1;
        }
        flows += ways.len();
        let worst = |way: &Vec<_>| way.iter().map(|link| used[link]).max().unwrap_or(1);
        sum += ways
            .iter()
            .flatten()
            .map(|way| 1.0 / f64::from(worst(way)))
            .sum::<f64>();
    }
    sum / flows.max(1) as f64
}

/// Some entries lead elsewhere: dead ends, cycles, the wrong host.
fn spoilt(topology: &Topology, seed: u64) -> Routes {
    let mut random = Rng::new(seed);
    let good = minhop::route(topology);
    let mut tables: Vec<_> = topology
        .switch_ixs()
        .map(|ix| good.lft(ix).to_vec())
        .collect();
    for (switch, table) in topology.switch_ixs().zip(&mut tables) {
        let ports = topology.switch(switch).ports.len();
        for entry in table {
            if random.one_in(12) {
                *entry = u8::try_from(random.below(ports)).unwrap();
            }
        }
    }
    files::route(topology, &tables, &GivenSl2Vl::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn paths_over_links_are_those_of_single_walks(seed: u64) {
        let topology = random_graph(seed, false).build();
        let good = minhop::route(&topology);
        prop_assert_eq!(loads(&topology, &good), plain_loads(&topology, &good));
        let bad = spoilt(&topology, seed);
        prop_assert_eq!(loads(&topology, &bad), plain_loads(&topology, &bad));
    }
}

#[test]
fn paths_over_the_links_of_trees_and_tori_are_those_of_single_walks() {
    let mut damaged = fat_tree(6, 1, Some(5));
    cut(&mut damaged, 12, &mut Rng::new(7));
    for topology in [
        fat_tree(6, 0, None).build(),
        damaged.build(),
        TorusSpec::new([4, 3, 2]).topology(),
        Topology::default(),
    ] {
        let routes = minhop::route(&topology);
        assert_eq!(loads(&topology, &routes), plain_loads(&topology, &routes));
    }
}

/// Two leaves of three hosts with one cable and with three.
fn two_leaves(cables: u8) -> Topology {
    let mut fabric = FabricBuilder {
        op_vls: 1,
        ..Default::default()
    };
    fabric.switch(1, 8, "left");
    fabric.switch(2, 8, "right");
    for port in 1..=cables {
        fabric.cable((1, port), (2, port));
    }
    for host in 0..6_u8 {
        let guid = 0x10 + u64::from(host);
        fabric.host(guid, 1, guid, "host");
        fabric.cable((guid, 1), (1 + u64::from(host % 2), 5 + host / 2));
    }
    fabric.build()
}

#[test]
fn loads_of_two_leaves_are_those_counted_by_hand() {
    let of = |cables| {
        let topology = two_leaves(cables);
        loads(&topology, &minhop::route(&topology))
    };
    let one = Loads {
        links: 2,
        unused: 0,
        most: 9,
        mean: 9.0,
    };
    assert_eq!(of(1), one);
    let three = Loads {
        links: 6,
        unused: 0,
        most: 3,
        mean: 3.0,
    };
    assert_eq!(of(3), three);
    let four = Loads {
        links: 8,
        unused: 2,
        most: 3,
        mean: 18.0 / 8.0,
    };
    assert_eq!(of(4), four, "three LIDs take three of four cables");
}

/// Whoever crosses shares the one cable; with three cables nobody shares.
#[test]
fn effective_bandwidth_is_that_over_all_permutations() {
    for (cables, seed) in [(1, 1), (2, 2), (3, 3)] {
        let topology = two_leaves(cables);
        let routes = minhop::route(&topology);
        let drawn = bandwidth(&topology, &routes, 20_000, seed);
        let expected = plain_bandwidth(&topology, &routes);
        assert!(
            (drawn.mean - expected).abs() < 0.01,
            "{cables} cables: {drawn:?} for {expected}"
        );
        assert_eq!(drawn.lost, 0);
        assert!(drawn.least <= drawn.mean, "{drawn:?}");
        if cables == 3 {
            assert!((drawn.least - 1.0).abs() < 1e-12, "{drawn:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Few hosts, so that all permutations can be gone through; tables with lost pairs too.
    #[test]
    fn effective_bandwidth_of_irregular_fabrics_is_that_over_all_permutations(seed: u64) {
        let topology = random_graph(seed, false).build();
        prop_assume!(hosts(&topology).len() <= 6);
        for routes in [minhop::route(&topology), spoilt(&topology, seed)] {
            let drawn = bandwidth(&topology, &routes, 10_000, seed);
            let expected = plain_bandwidth(&topology, &routes);
            prop_assert!((drawn.mean - expected).abs() < 0.02, "{:?} for {}", drawn, expected);
        }
    }
}

/// Large enough for several threads. By `ftree`: OpenSM's min-hop, whose tables ours are, sends so many LIDs of this tree over one
/// spine that its bandwidth is a fifth.
#[test]
fn a_seed_gives_its_figures_again_and_another_seed_others() {
    let topology = fat_tree(12, 0, None).build();
    let request = Request {
        topology: &topology,
        qos: Qos::Off,
        input: EngineInput::Nothing,
        before: None,
        watch: Watch::default(),
    };
    let routes = by_kind(EngineKind::FatTree).route(&request).unwrap();
    let first = bandwidth(&topology, &routes, 60, 1);
    assert_eq!(first, bandwidth(&topology, &routes, 60, 1));
    assert_ne!(
        first.mean.to_bits(),
        bandwidth(&topology, &routes, 60, 2).mean.to_bits()
    );
    assert!(first.mean > 0.4 && first.mean < 0.9, "{first:?}");
    assert_eq!(
        bandwidth(&topology, &routes, 0, 1).mean.to_bits(),
        0.0_f64.to_bits()
    );
}
