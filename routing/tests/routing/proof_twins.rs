//! The proof against its plain way: every path of every pair followed by itself, and cycles looked
//! for through every channel. The same dependencies must be counted, and the same loops found.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use common::build::FabricBuilder;
use common::generate::random_graph;
use common::trees::{cut, fat_tree, wide_graph};
use proptest::prelude::*;
use routing::engine::{files, minhop};
use routing::proof::{Channel, CreditLoop, DependencyGraph, Hosts, Judge, PathSls, unicast_loop};
use routing::{EndPortIx, GivenSl2Vl, NO_PATH, Peer, Routes, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_wire::{Lid, SlToVl, SlVlMask, Vl};

/// Switch, port, VL.
type Place = (SwitchIx, u8, u8);

type Edges = BTreeSet<(Place, Place)>;

/// The dependencies of packets with some SLs, of the pairs that count, from source to destination.
fn plain_edges(
    topology: &Topology,
    routes: &Routes,
    sls: SlVlMask,
    counts: &dyn Fn(EndPortIx, EndPortIx) -> bool,
) -> Edges {
    let mut edges = HashSet::new();
    for lid in (1..=topology.max_lid()).map(|lid| Lid::new(lid).unwrap()) {
        let Some(owner) = routes.lids().owner(lid) else {
            continue;
        };
        let Some((to, _)) = topology.end_port(owner).attached else {
            continue;
        };
        for source in topology
            .end_port_ixs()
            .filter(|source| counts(*source, owner))
        {
            let Some(from) = topology.end_port(source).attached else {
                continue;
            };
            for sl in (0..16).filter(|sl| sls.0 >> sl & 1 == 1) {
                edges.extend(plain_path(topology, routes, from, (to, lid), sl));
            }
        }
    }
    edges.into_iter().collect()
}

/// The dependencies of one packet, until it is there, lost, dropped, or goes round.
fn plain_path(
    topology: &Topology,
    routes: &Routes,
    (mut here, mut input): (SwitchIx, u8),
    (to, lid): (SwitchIx, Lid),
    sl: usize,
) -> Vec<(Place, Place)> {
    let (mut edges, mut passed) = (Vec::new(), HashSet::new());
    let mut last = None;
    while here != to {
        let output = routes.output(here, lid);
        let peer = output.map(|output| (output, topology.peer(here, output)));
        let Some((output, Peer::Switch { switch, port })) = peer else {
            break;
        };
        let vl = routes.sl2vl(here, input, output).0[sl];
        if vl == 15 || (switch, port) == (here, output) {
            break;
        }
        let place = (here, output, vl);
        edges.extend(last.map(|last| (last, place)));
        if !passed.insert((here, input)) {
            break;
        }
        last = Some(place);
        (here, input) = (switch, port);
    }
    edges
}

/// A shortest cycle: of those equally short the one through the lowest place, and of those the one
/// that a search breadth first, lowest places first, finds first. No bound is known to it.
fn plain_loop(edges: &Edges) -> Option<CreditLoop> {
    let mut nexts: HashMap<Place, Vec<Place>> = HashMap::new();
    for (from, to) in edges {
        nexts.entry(*from).or_default().push(*to);
    }
    let starts: BTreeSet<Place> = edges.iter().map(|(from, _)| *from).collect();
    let mut best: Option<Vec<Place>> = None;
    let mut done = HashSet::new();
    for start in starts {
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        if let Some(cycle) = cycle_through(&nexts, &done, start, limit) {
            best = Some(cycle);
        }
        done.insert(start);
    }
    let channel = |(switch, port, vl): Place| {
        let vl = Vl::new(vl).unwrap();
        Channel { switch, port, vl }
    };
    best.map(|cycle| CreditLoop(cycle.into_iter().map(channel).collect()))
}

fn cycle_through(
    nexts: &HashMap<Place, Vec<Place>>,
    done: &HashSet<Place>,
    start: Place,
    limit: usize,
) -> Option<Vec<Place>> {
    let mut before: HashMap<Place, Place> = HashMap::new();
    let mut queue = VecDeque::from([(start, 1)]);
    while let Some((place, length)) = queue.pop_front() {
        if length >= limit {
            return None;
        }
        for next in nexts.get(&place).into_iter().flatten() {
            if *next == start {
                let mut way = vec![place];
                while way[way.len() - 1] != start {
                    way.push(before[&way[way.len() - 1]]);
                }
                way.reverse();
                return Some(way);
            }
            if !done.contains(next) && !before.contains_key(next) {
                before.insert(*next, place);
                queue.push_back((*next, length + 1));
            }
        }
    }
    None
}

/// A fabric with tables of minhop, of which one entry in `spoilt` is gone or leads elsewhere.
fn routed(topology: &Topology, random: &mut Rng, sl2vl: &GivenSl2Vl) -> Routes {
    let routes = minhop::route(topology);
    let spoilt = [u64::MAX, 300, 40, 8][random.below(4)];
    let spoil = |switch| {
        let ports = topology.switch(switch).ports.len() as u64;
        let mut table = routes.lft(switch).to_vec();
        for entry in table.iter_mut().skip(1) {
            match random.below(spoilt) {
                0 => *entry = NO_PATH,
                1 => *entry = u8::try_from(random.below(ports)).unwrap(),
                _ => {}
            }
        }
        table
    };
    let tables: Vec<_> = topology.switch_ixs().map(spoil).collect();
    files::route(topology, &tables, sl2vl).unwrap()
}

/// The same few tables everywhere, at random.
fn some_tables(topology: &Topology, tables: &[SlToVl], random: &mut Rng) -> GivenSl2Vl {
    let mut given = GivenSl2Vl::default();
    for switch in topology.switch_ixs() {
        let cabled = topology.switch(switch).ports.iter().zip(0..);
        let cabled = cabled.filter(|(port, number)| *number == 0 || port.peer != Peer::Nothing);
        let cabled: Vec<u8> = cabled.map(|(_, number)| number).collect();
        for (input, output) in cabled
            .iter()
            .flat_map(|i| cabled.iter().map(move |o| (*i, *o)))
        {
            let table = tables[random.below(tables.len())];
            given.switches.push((switch, input, output, table));
        }
    }
    given
}

/// A table with VLs as a data VL table has them, and some SLs that are dropped.
fn some_table(random: &mut Rng) -> SlToVl {
    SlToVl([0; 16].map(|_: u8| [0, 1, 2, 2, 7, 15][random.below(6)]))
}

fn some_fabric(random: &mut Rng) -> FabricBuilder {
    match random.below(3) {
        0 => random_graph(random.number(), false),
        1 => {
            let mut fabric = wide_graph(random.number());
            // Few hosts: every pair is followed by itself.
            let hosts: Vec<u64> = fabric
                .nodes
                .keys()
                .copied()
                .filter(|g| *g > 0xffff)
                .collect();
            for host in hosts.iter().skip(12) {
                fabric.uncable((*host, 1));
                fabric.nodes.remove(host);
            }
            fabric
        }
        _ => {
            let mut fabric = fat_tree(4, 0, Some(random.number()));
            let cables: usize = random.below(12);
            cut(&mut fabric, cables, random);
            fabric
        }
    }
}

/// A graph and the judge's loops against the plain way.
fn assert_plain(topology: &Topology, routes: &Routes, sls: SlVlMask, random: &mut Rng) {
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, PathSls::Any(sls));
    let edges = plain_edges(topology, routes, sls, &|_, _| true);
    assert_eq!(graph.edges(), edges.len() as u64);
    let any = plain_loop(&edges);
    assert_eq!(graph.shortest_loop(), any);

    let ends = topology.end_ports.len() as u64;
    let sm = (random.below(2) == 0).then(|| EndPortIx(u32::try_from(random.below(ends)).unwrap()));
    let hosts = Hosts { sm };
    let counts = |from, to| hosts.include(topology, from) && hosts.include(topology, to);
    let edges_of_hosts = plain_edges(topology, routes, sls, &counts);
    let mut of_hosts = DependencyGraph::new(topology, routes);
    of_hosts.add_unicast_between_hosts(topology, routes, PathSls::Any(sls), &hosts);
    assert_eq!(of_hosts.edges(), edges_of_hosts.len() as u64);
    let some = |from, to| hosts.include(topology, from) || hosts.include(topology, to);
    let edges_with_hosts = plain_edges(topology, routes, sls, &some);
    let plain = plain_loop(&edges_of_hosts);
    assert_eq!(of_hosts.shortest_loop(), plain);

    let sls = PathSls::Any(sls);
    let judge = Judge {
        topology,
        routes,
        sls,
        hosts,
    };
    let everybody = judge.everybody();
    assert_eq!(everybody.edges(), edges.len() as u64);
    let found = judge.loops(&everybody, |_| ());
    let with_hosts = judge.loop_with_hosts(&everybody, |graph| {
        assert_eq!(graph.edges(), edges_with_hosts.len() as u64);
    });
    assert_eq!(with_hosts, plain_loop(&edges_with_hosts));
    assert_eq!(found.management, any.filter(|_| plain.is_none()));
    assert_eq!(found.hosts, plain);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The tables that devices come with, and one other table everywhere.
    #[test]
    fn where_tables_are_alike_the_proof_is_that_of_single_paths(seed: u64, is_given: bool) {
        let mut random = Rng::new(seed);
        let topology = some_fabric(&mut random).build();
        let given = match is_given {
            true => some_tables(&topology, &[some_table(&mut random)], &mut random),
            false => GivenSl2Vl::default(),
        };
        let routes = routed(&topology, &mut random, &given);
        let sls = [1, 0x0102, 0xffff][random.below(3)];
        assert_plain(&topology, &routes, SlVlMask(sls), &mut random);
    }

    #[test]
    fn where_tables_are_mixed_the_proof_is_that_of_single_paths(seed: u64) {
        let mut random = Rng::new(seed);
        let topology = some_fabric(&mut random).build();
        let tables = [some_table(&mut random), some_table(&mut random)];
        let given = some_tables(&topology, &tables, &mut random);
        let routes = routed(&topology, &mut random, &given);
        assert_plain(&topology, &routes, SlVlMask(0x0113), &mut random);
    }

    /// Hosts' packets have an SL more: not all turns have the same VLs.
    #[test]
    fn paths_that_are_added_by_and_by_make_the_dependencies_of_all(seed: u64) {
        let mut random = Rng::new(seed);
        let topology = some_fabric(&mut random).build();
        let routes = routed(&topology, &mut random, &GivenSl2Vl::default());
        let hosts = Hosts::default();
        let of_hosts = |from, to| hosts.include(&topology, from) || hosts.include(&topology, to);
        let mut graph = DependencyGraph::new(&topology, &routes);
        let (some, all) = (SlVlMask(0b110), SlVlMask(0b1000));
        graph.add_unicast_of_hosts(&topology, &routes, PathSls::Any(some), &hosts);
        graph.add_unicast(&topology, &routes, PathSls::Any(all));
        let mut edges = plain_edges(&topology, &routes, some, &of_hosts);
        edges.extend(plain_edges(&topology, &routes, all, &|_, _| true));
        prop_assert_eq!(graph.edges(), edges.len() as u64);
        prop_assert_eq!(graph.shortest_loop(), plain_loop(&edges));
    }
}

/// Large enough to be worked on by several threads. Its shortest loop is one of 4.
#[test]
fn a_tree_of_several_threads_has_the_proof_of_single_paths() {
    for cables in [0, 7] {
        let mut fabric = fat_tree(8, 2, Some(9));
        fabric.lids.insert(1, 9000);
        cut(&mut fabric, cables, &mut Rng::new(4));
        let topology = fabric.build();
        let routes = minhop::route(&topology);
        assert_plain(&topology, &routes, SlVlMask(1), &mut Rng::new(1));
    }
}

/// Rings of so many switches in which packets go round, the first of the lowest numbers. One of two
/// has two cables, one of one has a cable to itself.
fn rings(lengths: &[u64]) -> (Topology, Routes) {
    let mut fabric = FabricBuilder {
        op_vls: 1,
        ..Default::default()
    };
    let mut first = 1;
    for length in lengths {
        let next = |nth: u64| first + (nth + 1) % length;
        (0..*length).for_each(|nth| fabric.switch(first + nth, 4, "in a ring"));
        for nth in 0..*length {
            fabric.cable((first + nth, 1), (next(nth), 2));
        }
        first += length;
    }
    let topology = fabric.build();
    let table = |switch: SwitchIx| {
        let mut table = vec![1; usize::from(topology.max_lid()) + 1];
        let own = topology.end_port(topology.switch(switch).port0).lid;
        table[usize::from(own.get())] = 0;
        table
    };
    let tables: Vec<_> = topology.switch_ixs().map(table).collect();
    let routes = files::route(&topology, &tables, &GivenSl2Vl::default()).unwrap();
    (topology, routes)
}

/// The search comes to the longest first and must not be content with it.
#[test]
fn a_shorter_loop_behind_a_longer_one_is_found() {
    for (lengths, shortest) in [
        (&[6, 5, 4][..], 4),
        (&[5, 4, 3], 3),
        (&[4, 3], 3),
        (&[4, 3, 2], 2),
        (&[4, 2], 2),
        (&[3, 2], 2),
        (&[4, 2, 1], 1),
        (&[3, 1], 1),
    ] {
        let (topology, routes) = rings(lengths);
        let found = unicast_loop(&topology, &routes, PathSls::Any(SlVlMask(1)));
        assert_eq!(found.unwrap().0.len(), shortest, "{lengths:?}");
        assert_plain(&topology, &routes, SlVlMask(1), &mut Rng::new(1));
    }
}
