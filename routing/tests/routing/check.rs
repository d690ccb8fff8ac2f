//! The credit-loop check: recorded tables of OpenSM, planted loops, random tori.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use common::build::FabricBuilder;
use common::generate::{TorusSpec, random_graph, random_torus};
use common::trees::{cut, fat_tree as tree};
use common::{Case, cases, dumps};
use proptest::prelude::*;
use routing::engine::{files, minhop, torus};
use routing::proof::{
    Channel, DependencyGraph, Hosts, Judge, Loops, LostPair, PathSls, Reachability, reachability,
    unicast_loop,
};
use routing::reference::walk;
use routing::tables::{MulticastRoute, PathSlRule, PathSlTable, PortSet};
use routing::{EndPortIx, EngineKind, GivenSl2Vl, NO_PATH, Peer, Qos, Routes, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_snapshot::model::PathSl;
use sa_wire::{Lid, Sl, SlToVl, SlVlMask};

/// What the dumps of a case say, whoever made them.
fn dumped(case: &Case, topology: &Topology) -> Routes {
    let lfts = dumps::read_lfts(&case.text("opensm-lfts.dump.xz"), topology);
    let sl2vl = dumps::read_sl2vl(&case.text("opensm-sl2vl.dump.xz"), topology);
    let given = GivenSl2Vl {
        switches: sl2vl.switches,
        end_ports: sl2vl.end_ports,
    };
    let routes = files::route(topology, &lfts, &given).unwrap();
    assert_eq!(routes.engine(), EngineKind::Files);
    routes
}

/// SLs by pair as the SA answered, on both levels.
fn recorded_sls(case: &Case, topology: &Topology) -> HashMap<(EndPortIx, u16), SlVlMask> {
    let by_node: HashMap<u64, EndPortIx> = topology
        .end_port_ixs()
        .filter(|ix| topology.end_port(*ix).port_number != 0)
        .map(|ix| (topology.end_port(ix).node_guid.get(), ix))
        .collect();
    let mut sls = HashMap::new();
    for (guid, lid, sl) in dumps::read_psl(&case.text("psl.xz")) {
        if let Some(sl) = sl {
            sls.insert(
                (by_node[&guid], lid),
                SlVlMask(1 << (sl & 7) | 1 << (sl | 8)),
            );
        }
    }
    sls
}

fn dumped_graph(case: &Case, topology: &Topology, routes: &Routes) -> DependencyGraph {
    let sls = recorded_sls(case, topology);
    let by_pair = |source: EndPortIx, lid: Lid| {
        let first = routes
            .lids()
            .owner(lid)
            .map(|end| topology.end_port(end).lid.get());
        let known = first.and_then(|lid| sls.get(&(source, lid)));
        known.copied().unwrap_or(SlVlMask(0))
    };
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, PathSls::ByPair(&by_pair));
    graph
}

fn recorded_groups(case: &Case, topology: &Topology) -> Vec<MulticastRoute> {
    let tables = dumps::read_mcfdbs(&case.text("opensm.mcfdbs.xz"));
    let groups = dumps::read_groups(&case.text("mcgroups.txt"));
    let group = |(mlid, sl, _): (u16, u8, Vec<u64>)| MulticastRoute {
        sl: Sl::new(sl).unwrap(),
        switches: topology
            .switch_ixs()
            .filter_map(|ix| {
                let ports = tables.get(&(topology.switch(ix).guid.get(), mlid))?;
                Some((ix, ports.iter().copied().collect::<PortSet>()))
            })
            .collect(),
    };
    groups.into_iter().map(group).collect()
}

#[test]
fn opensms_unicast_tables_have_no_loop() {
    for case in cases().into_iter().filter(Case::is_up) {
        let topology = case.topology();
        let routes = dumped(&case, &topology);
        let graph = dumped_graph(&case, &topology, &routes);
        assert!(graph.edges() > 0, "{}", case.name);
        assert_eq!(graph.shortest_loop(), None, "{}", case.name);
    }
}

/// The flaw of the original: after some failures unicast and multicast together close a cycle.
#[test]
fn opensms_multicast_closes_loops_where_it_is_known_to() {
    let cyclic = ["s16-5x5x5-swmid", "s18-4x5x4-column", "s35-5x8-swmid"];
    for case in cases()
        .into_iter()
        .filter(|case| case.is_up() && case.has("mcgroups.txt"))
    {
        let topology = case.topology();
        let routes = dumped(&case, &topology);
        let groups = recorded_groups(&case, &topology);
        let mut alone = DependencyGraph::new(&topology, &routes);
        alone.add_multicast(&topology, &groups);
        assert_eq!(
            alone.shortest_loop(),
            None,
            "{}: a tree alone is harmless",
            case.name
        );
        let mut graph = dumped_graph(&case, &topology, &routes);
        graph.add_multicast(&topology, &groups);
        let found = graph.shortest_loop();
        assert_eq!(
            found.is_some(),
            cyclic.contains(&case.name.as_str()),
            "{}",
            case.name
        );
    }
}

#[test]
fn opensms_pairs_are_lost_where_the_sa_refused() {
    for case in cases().into_iter().filter(Case::is_up) {
        let topology = case.topology();
        let routes = dumped(&case, &topology);
        let refused = dumps::read_psl(&case.text("psl.xz"));
        let refused = refused.iter().filter(|(.., sl)| sl.is_none()).count() as u64;
        let found = reachability(&topology, &routes, 10);
        assert_eq!(found.lost_between_hosts, refused, "{}", case.name);
        assert_eq!(
            found.listed.len() as u64,
            found.lost.min(10),
            "{}",
            case.name
        );
    }
}

/// Every channel of a loop must lead to the next one's switch.
fn assert_closed(topology: &Topology, cycle: &[Channel]) {
    let next = cycle.iter().cycle().skip(1);
    for (channel, next) in cycle.iter().zip(next) {
        match topology.peer(channel.switch, channel.port) {
            Peer::Switch { switch, .. } => assert_eq!(switch, next.switch),
            other => panic!("{channel:?} leads to {other:?}"),
        }
    }
}

/// All SLs on VL 0.
fn flattened(topology: &Topology, routes: &Routes) -> Routes {
    let mut given = GivenSl2Vl::default();
    for switch in topology.switch_ixs() {
        let ports = u8::try_from(topology.switch(switch).ports.len()).unwrap();
        let pairs = (0..ports).flat_map(|input| (1..ports).map(move |output| (input, output)));
        let tables = pairs.map(|(input, output)| (switch, input, output, SlToVl([0; 16])));
        given.switches.extend(tables);
    }
    let lfts: Vec<_> = topology
        .switch_ixs()
        .map(|ix| routes.lft(ix).to_vec())
        .collect();
    files::route(topology, &lfts, &given).unwrap()
}

#[test]
fn a_torus_on_one_vl_has_a_loop_of_a_ring() {
    for radix in [5, 6, 8] {
        let spec = TorusSpec::new([radix, 5, 5]);
        let topology = spec.topology();
        let routes = torus::route(&topology, &spec.config(), Qos::On).unwrap();
        assert_eq!(unicast_loop(&topology, &routes, PathSls::Engine), None);
        let flat = flattened(&topology, &routes);
        let cycle = unicast_loop(&topology, &flat, PathSls::Engine).unwrap().0;
        assert_eq!(cycle.len(), 5, "the shortest ring");
        assert!(cycle.iter().all(|channel| channel.vl.get() == 0));
        assert_closed(&topology, &cycle);
    }
}

/// Large enough to be worked on by several threads.
#[test]
fn a_large_torus_is_proved_and_its_flat_copy_is_not() {
    let mut spec = TorusSpec {
        hosts: 2,
        ports: 10,
        ..TorusSpec::new([8, 8, 8])
    };
    spec.missing_switches.push([4, 4, 4]);
    let topology = spec.topology();
    let routes = torus::route(&topology, &spec.config(), Qos::On).unwrap();
    assert_eq!(unicast_loop(&topology, &routes, PathSls::Engine), None);
    assert_eq!(reachability(&topology, &routes, 1).lost, 0);
    let flat = flattened(&topology, &routes);
    let cycle = unicast_loop(&topology, &flat, PathSls::Engine).unwrap().0;
    assert_eq!(cycle.len(), 8);
    assert_closed(&topology, &cycle);
}

#[test]
fn rings_of_three_need_no_second_vl() {
    let spec = TorusSpec::new([3, 3, 3]);
    let topology = spec.topology();
    let routes = torus::route(&topology, &spec.config(), Qos::On).unwrap();
    let flat = flattened(&topology, &routes);
    assert_eq!(unicast_loop(&topology, &flat, PathSls::Engine), None);
}

/// Four switches in a ring, every packet sent clockwise.
#[test]
fn a_ring_that_turns_one_way_has_a_loop_of_four() {
    let spec = TorusSpec::new([4, 1, 1]);
    let topology = spec.topology();
    let lfts: Vec<Vec<u8>> = topology
        .switch_ixs()
        .map(|switch| {
            let clockwise = topology
                .cables(switch)
                .find(|(_, far, _)| far.index() == (switch.index() + 1) % 4);
            let mut table = vec![clockwise.unwrap().0; usize::from(topology.max_lid()) + 1];
            for end in topology
                .end_ports
                .iter()
                .filter(|end| end.attached.unwrap().0 == switch)
            {
                table[usize::from(end.lid.get())] = end.attached.unwrap().1;
            }
            table
        })
        .collect();
    let routes = files::route(&topology, &lfts, &GivenSl2Vl::default()).unwrap();
    assert_eq!(reachability(&topology, &routes, 1).lost, 0);
    let cycle = unicast_loop(&topology, &routes, PathSls::Any(SlVlMask(1 << 3)))
        .unwrap()
        .0;
    assert_eq!(cycle.len(), 4);
    assert!(cycle.iter().all(|channel| channel.vl.get() == 3));
    assert_closed(&topology, &cycle);
    // Without paths there are no waits.
    let nobody = |_: EndPortIx, _: Lid| SlVlMask(0);
    assert_eq!(
        unicast_loop(&topology, &routes, PathSls::ByPair(&nobody)),
        None
    );
}

/// Leaves with a host each, all cabled to all spines.
fn fat_tree(leaves: u8, spines: u8) -> Topology {
    let mut fabric = FabricBuilder::default();
    let (leaf, spine) = (
        |nth: u8| 0x100 + u64::from(nth),
        |nth: u8| 0x200 + u64::from(nth),
    );
    for nth in 0..spines {
        fabric.switch(spine(nth), leaves, &format!("spine {nth}"));
    }
    for nth in 0..leaves {
        let host = 0x1000 + 0x10 * u64::from(nth);
        fabric.switch(leaf(nth), spines + 1, &format!("leaf {nth}"));
        fabric.host(host, 1, host + 1, &format!("host {nth}"));
        fabric.cable((leaf(nth), spines + 1), (host, 1));
        for other in 0..spines {
            fabric.cable((leaf(nth), other + 1), (spine(other), nth + 1));
        }
    }
    fabric.op_vls = 1;
    fabric.build()
}

fn judged(topology: &Topology, routes: &Routes, sm: Option<EndPortIx>) -> Loops {
    let judge = judge(topology, routes, sm);
    judge.loops(&judge.everybody(), |_| ())
}

fn judge<'a>(topology: &'a Topology, routes: &'a Routes, sm: Option<EndPortIx>) -> Judge<'a> {
    Judge {
        topology,
        routes,
        sls: PathSls::Any(SlVlMask(1)),
        hosts: Hosts { sm },
    }
}

/// Tables of a fat tree in which each spine goes to the others by a leaf of its own.
fn by_own_leaves(topology: &Topology) -> Routes {
    let named = |name: String| {
        let mut all = topology.switch_ixs();
        all.find(|ix| topology.switch(*ix).description == name)
            .unwrap()
    };
    let next = |here: SwitchIx, to: SwitchIx| {
        let word = |ix: SwitchIx| topology.switch(ix).description.clone();
        let (from, towards) = (word(here), word(to));
        let number = |word: &str| word.split(' ').nth(1).unwrap().parse::<u8>().unwrap();
        let via = match (from.starts_with("leaf"), towards.starts_with("leaf")) {
            (true, true) => named(format!("spine {}", number(&towards) % 3)),
            (false, false) => named(format!("leaf {}", number(&from))),
            _ => to,
        };
        let mut cables = topology.cables(here);
        cables.find(|(_, far, _)| *far == via).unwrap().0
    };
    let table = |here: SwitchIx| {
        let mut table = vec![NO_PATH; usize::from(topology.max_lid()) + 1];
        for end in &topology.end_ports {
            let (to, port) = end.attached.unwrap();
            table[usize::from(end.lid.get())] = if to == here { port } else { next(here, to) };
        }
        table
    };
    let lfts: Vec<_> = topology.switch_ixs().map(table).collect();
    files::route(topology, &lfts, &GivenSl2Vl::default()).unwrap()
}

/// Packets from spine to spine turn at leaves, those between hosts never do, nor do those between
/// hosts and the SM, on whatever switch it is.
#[test]
fn a_cycle_of_packets_between_switches_alone_is_told_apart() {
    let topology = fat_tree(3, 3);
    let routes = by_own_leaves(&topology);
    assert_eq!(reachability(&topology, &routes, 1).lost, 0);
    let found = judged(&topology, &routes, None);
    assert_eq!(found.hosts, None);
    assert_closed(&topology, &found.management.unwrap().0);
    // Nor do those between hosts and switches, but for what an SM on a spine sends to other spines.
    let with_hosts = |sm| {
        let judge = judge(&topology, &routes, sm);
        judge.loop_with_hosts(&judge.everybody(), |_| ())
    };
    assert_eq!(with_hosts(None), None);
    let port0 = |name| {
        let mut all = topology.switches.iter();
        all.find(|switch| switch.description == name).unwrap().port0
    };
    for (sm, closes) in [("leaf 0", false), ("spine 0", true)] {
        let sm = Some(port0(sm));
        let found = judged(&topology, &routes, sm);
        assert!(found.hosts.is_none() && found.management.is_some());
        assert_eq!(with_hosts(sm).is_some(), closes);
    }
}

/// The packets between hosts, one path after the other, against the whole graph cut down.
#[test]
fn what_hosts_close_alone_is_found_as_by_single_paths() {
    let (mut closed, mut open) = (0, 0);
    for seed in 0..150 {
        let topology = random_graph(seed, false).build();
        let routes = minhop::route(&topology);
        let is_host = |end: EndPortIx| topology.end_port(end).port_number != 0;
        let by_pair = |source: EndPortIx, lid: Lid| {
            let owner = routes.lids().owner(lid);
            let counts = is_host(source) && owner.is_some_and(is_host);
            SlVlMask(u16::from(counts))
        };
        let alone = unicast_loop(&topology, &routes, PathSls::ByPair(&by_pair));
        let found = judged(&topology, &routes, None);
        assert_eq!(found.hosts.is_some(), alone.is_some(), "seed {seed}");
        closed += u32::from(found.hosts.is_some());
        open += u32::from(found.management.is_some());
    }
    assert!(closed > 0 && open > 0, "{closed} and {open} of 150");
}

/// A multicast table that is a ring instead of a tree sends its packets round for ever.
#[test]
fn a_multicast_ring_is_a_loop_on_its_vl() {
    let spec = TorusSpec::new([4, 1, 1]);
    let topology = spec.topology();
    let whole = minhop::route(&topology);
    let mut given = GivenSl2Vl::default();
    for switch in topology.switch_ixs() {
        for (input, output) in (0..37).flat_map(|i| (1..37).map(move |o| (i, o))) {
            given
                .switches
                .push((switch, input, output, SlToVl([6; 16])));
        }
    }
    let lfts: Vec<_> = topology
        .switch_ixs()
        .map(|ix| whole.lft(ix).to_vec())
        .collect();
    let routes = files::route(&topology, &lfts, &given).unwrap();
    let ports = |ix| {
        let cables = topology.cables(ix).map(|(port, ..)| port);
        cables
            .chain(topology.hosts(ix).map(|(port, _)| port))
            .collect()
    };
    let switches = topology.switch_ixs().map(|ix| (ix, ports(ix))).collect();
    let mut graph = DependencyGraph::new(&topology, &routes);
    graph.add_multicast(
        &topology,
        &[MulticastRoute {
            sl: Sl::new(2).unwrap(),
            switches,
        }],
    );
    let cycle = graph.shortest_loop().unwrap().0;
    assert_eq!(cycle.len(), 4);
    assert!(cycle.iter().all(|channel| channel.vl.get() == 6));
    assert_closed(&topology, &cycle);
}

/// A forwarding cycle is found though nothing ever arrives.
#[test]
fn a_forwarding_cycle_is_a_loop_and_loses_pairs() {
    let spec = TorusSpec {
        mesh: [true; 3],
        ..TorusSpec::new([3, 1, 1])
    };
    let topology = spec.topology();
    let routes = minhop::route(&topology);
    assert_eq!(unicast_loop(&topology, &routes, PathSls::Engine), None);
    let mut lfts: Vec<_> = topology
        .switch_ixs()
        .map(|ix| routes.lft(ix).to_vec())
        .collect();
    let (port, ..) = topology.cables(SwitchIx(1)).next().unwrap();
    let last = topology
        .end_ports
        .iter()
        .find(|e| e.attached.unwrap().0.0 == 2)
        .unwrap();
    lfts[1][usize::from(last.lid.get())] = port;
    let routes = files::route(&topology, &lfts, &GivenSl2Vl::default()).unwrap();
    let cycle = unicast_loop(&topology, &routes, PathSls::Any(SlVlMask(1)))
        .unwrap()
        .0;
    assert_eq!(cycle.len(), 2);
    assert_closed(&topology, &cycle);
    assert_eq!(reachability(&topology, &routes, 9).lost, 4);
}

type Place = (SwitchIx, u8, u8);

/// The dependencies of all walks, one by one. `sls` gives the SLs of a path.
fn plain_edges(
    topology: &Topology,
    routes: &Routes,
    sls: &dyn Fn(EndPortIx, Lid) -> Vec<u8>,
) -> BTreeSet<(Place, Place)> {
    let mut edges = BTreeSet::new();
    for source in topology.end_port_ixs() {
        for lid in (1..=topology.max_lid()).map(|lid| Lid::new(lid).unwrap()) {
            let Ok(walk) = walk(topology, routes, Qos::Off, source, lid) else {
                continue;
            };
            for sl in sls(source, lid) {
                let mut last: Option<Place> = None;
                for hop in &walk.hops {
                    let vl = routes.sl2vl(hop.switch, hop.input, hop.output).0[usize::from(sl)];
                    let peer = topology.peer(hop.switch, hop.output);
                    if vl == 15 || !matches!(peer, Peer::Switch { .. }) {
                        break;
                    }
                    let here = (hop.switch, hop.output, vl);
                    edges.extend(last.map(|last| (last, here)));
                    last = Some(here);
                }
            }
        }
    }
    edges
}

/// Length of a shortest cycle, breadth first from every place.
fn plain_loop(edges: &BTreeSet<(Place, Place)>) -> Option<usize> {
    let from = |start: Place| {
        let mut reached = BTreeSet::new();
        let mut front = BTreeSet::from([start]);
        for length in 1.. {
            let next = edges
                .iter()
                .filter(|(a, _)| front.contains(a))
                .map(|(_, b)| *b);
            let next: BTreeSet<Place> = next.filter(|b| !reached.contains(b)).collect();
            if next.contains(&start) {
                return Some(length);
            }
            if next.is_empty() {
                return None;
            }
            reached.extend(next.iter().copied());
            front = next;
        }
        None
    };
    let starts: BTreeSet<Place> = edges.iter().map(|(a, _)| *a).collect();
    starts.into_iter().filter_map(from).min()
}

/// The graph against the walks: as many dependencies, and the same shortest cycle.
fn assert_same(topology: &Topology, routes: &Routes, sls: PathSls<'_>, numbers: &[u8]) {
    assert_same_by_pair(topology, routes, sls, &|_, _| numbers.to_vec());
}

fn assert_same_by_pair(
    topology: &Topology,
    routes: &Routes,
    sls: PathSls<'_>,
    numbers: &dyn Fn(EndPortIx, Lid) -> Vec<u8>,
) {
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, sls);
    let edges = plain_edges(topology, routes, numbers);
    assert_eq!(graph.edges(), edges.len() as u64);
    let cycle = graph.shortest_loop();
    assert_eq!(
        cycle.as_ref().map(|cycle| cycle.0.len()),
        plain_loop(&edges)
    );
    if let Some(cycle) = cycle {
        assert_closed(topology, &cycle.0);
        let place = |channel: &Channel| (channel.switch, channel.port, channel.vl.get());
        let next = cycle.0.iter().cycle().skip(1);
        for (from, to) in cycle.0.iter().zip(next) {
            assert!(edges.contains(&(place(from), place(to))));
        }
    }
}

/// One switch with many cables among many with one: turns are numbered switch after switch.
#[test]
fn a_hub_makes_the_dependencies_of_the_walks() {
    let mut fabric = FabricBuilder {
        op_vls: 4,
        ..Default::default()
    };
    fabric.switch(1, 40, "hub");
    for leaf in 0..40_u8 {
        let (guid, host) = (0x100 + u64::from(leaf), 0x1000 + 16 * u64::from(leaf));
        fabric.switch(guid, 3, "leaf");
        fabric.cable((guid, 3), (1, leaf + 1));
        fabric.host(host, 1, host + 1, "host");
        fabric.cable((host, 1), (guid, 1));
    }
    let topology = fabric.build();
    let routes = minhop::route(&topology);
    let all: Vec<u8> = (0..16).collect();
    assert_same(&topology, &routes, PathSls::Engine, &all);
    assert_eq!(reachability(&topology, &routes, 1).lost, 0);
}

/// Tables of minhop with two entries in `most` spoilt: gone, or leading elsewhere.
fn spoilt(topology: &Topology, random: &mut Rng, most: u64) -> Routes {
    let routes = minhop::route(topology);
    let spoil = |switch| {
        let ports = topology.switch(switch).ports.len() as u64;
        let mut table = routes.lft(switch).to_vec();
        for entry in &mut table {
            match random.below(most) {
                0 => *entry = NO_PATH,
                1 => *entry = u8::try_from(random.below(ports)).unwrap(),
                _ => {}
            }
        }
        table
    };
    let tables: Vec<_> = topology.switch_ixs().map(spoil).collect();
    files::route(topology, &tables, &GivenSl2Vl::default()).unwrap()
}

/// Every pair walked by itself.
fn plain_reachability(topology: &Topology, routes: &Routes) -> Reachability {
    let mut found = Reachability::default();
    for lid in (1..=topology.max_lid()).map(|lid| Lid::new(lid).unwrap()) {
        let Some(owner) = routes.lids().owner(lid) else {
            continue;
        };
        let to = topology.end_port(owner);
        for source in topology.end_port_ixs().filter(|source| *source != owner) {
            found.pairs += 1;
            if walk(topology, routes, Qos::Off, source, lid).is_err() {
                found.lost += 1;
                found.listed.push(LostPair { source, lid });
                let is_host = |port_number| port_number != 0;
                let are_hosts =
                    is_host(to.port_number) && is_host(topology.end_port(source).port_number);
                found.lost_between_hosts += u64::from(are_hosts && to.lid == lid);
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn lost_pairs_are_those_without_a_walk(seed: u64, most in 0_usize..200) {
        let topology = random_graph(seed, false).build();
        let routes = spoilt(&topology, &mut Rng::new(seed ^ 1), 12);
        let mut plain = plain_reachability(&topology, &routes);
        plain.listed.truncate(most);
        prop_assert_eq!(reachability(&topology, &routes, most), plain);
    }

    /// Several LIDs to a switch, which go different ways, most of them the shortest.
    #[test]
    fn lost_pairs_of_a_tree_are_those_without_a_walk(seed: u64, is_whole: bool) {
        let mut random = Rng::new(seed);
        let mut fabric = tree(4, 2, Some(seed));
        if !is_whole {
            cut(&mut fabric, random.below(8), &mut random);
        }
        let topology = fabric.build();
        let most = [60, 600, u64::MAX][random.below(3)];
        let routes = spoilt(&topology, &mut random, most);
        let plain = plain_reachability(&topology, &routes);
        prop_assert_eq!(reachability(&topology, &routes, usize::MAX), plain);
    }

    #[test]
    fn sls_of_a_torus_make_the_dependencies_of_the_walks(seed: u64) {
        let spec = random_torus(seed, 30);
        let topology = spec.topology();
        let Ok(routes) = torus::route(&topology, &spec.config(), Qos::On) else { return Ok(()) };
        let torus = routes.torus().unwrap();
        let levels = [0, 8].map(|hint| Sl::new(hint).unwrap());
        let by_pair = |source: EndPortIx, lid| {
            let from = topology.end_port(source).lid;
            levels.map(|hint| routes.path_sl(hint, from, lid).unwrap().get()).to_vec()
        };
        assert_same_by_pair(&topology, &routes, PathSls::Engine, &by_pair);
        let by_switch = |from, to| {
            SlVlMask(levels.iter().fold(0, |sls, hint| sls | 1 << torus.path_sl(*hint, from, to).get()))
        };
        assert_same_by_pair(&topology, &routes, PathSls::BySwitch(&by_switch), &by_pair);
    }

    /// More loads and tables than the quick ways have room for.
    #[test]
    fn wild_tables_make_the_dependencies_of_the_walks(seed: u64) {
        let topology = random_graph(seed, false).build();
        let mut random = Rng::new(seed);
        let mut given = GivenSl2Vl::default();
        for switch in topology.switch_ixs() {
            for (input, output) in (0..13).flat_map(|i| (1..13).map(move |o| (i, o))) {
                let vl = |_: u8| random.below(16);
                given.switches.push((switch, input, output, SlToVl([0; 16].map(vl))));
            }
        }
        let lfts: Vec<_> = {
            let routes = minhop::route(&topology);
            topology.switch_ixs().map(|ix| routes.lft(ix).to_vec()).collect()
        };
        let routes = files::route(&topology, &lfts, &given).unwrap();
        let all: Vec<u8> = (0..16).collect();
        assert_same(&topology, &routes, PathSls::Any(SlVlMask::ALL), &all);
    }

    /// SLs from a table, by switches or by pairs, among them the policy's and unknown ones.
    #[test]
    fn sls_of_a_table_make_the_dependencies_of_the_walks(seed: u64, is_by_switch: bool) {
        let topology = random_graph(seed, false).build();
        let routes = minhop::route(&topology);
        let kinds = 1 + Rng::new(seed).below(4);
        let sl = |from: u32, to: u32| match (from % kinds * 31 + to % kinds * 17) % 7 {
            0 => PathSl::Unknown,
            1 => PathSl::Policy,
            sl => PathSl::Given(Sl::from_low_bits(sl.to_le_bytes()[0])),
        };
        let switch = |end: EndPortIx| topology.end_port(end).attached.map(|(switch, _)| switch);
        let by_switch = |from: SwitchIx, to: SwitchIx| match sl(from.0, to.0) {
            PathSl::Given(sl) => Some(sl),
            _ => None,
        };
        let owner = |lid| routes.lids().owner(lid).unwrap();
        let by_pair = |from: EndPortIx, lid: Lid| match (is_by_switch, switch(from), switch(owner(lid))) {
            (true, Some(from), Some(to)) => PathSl::from(by_switch(from, to)),
            (true, ..) => PathSl::Unknown,
            (false, ..) => sl(from.0, u32::from(lid.get())),
        };
        let table = match is_by_switch {
            true => PathSlTable::by_switch(&topology, by_switch),
            false => PathSlTable::by_pair(&topology, by_pair),
        };
        let routes = routes.clone().with_path_sl(PathSlRule::Table(Arc::new(table)));
        let policys = [2, 9];
        let numbers = |source: EndPortIx, lid| {
            let slid = topology.end_port(source).lid;
            let sl = |hint| routes.path_sl(Sl::new(hint).unwrap(), slid, lid);
            policys.iter().filter_map(|hint| sl(*hint)).map(|sl| sl.get()).collect()
        };
        for source in topology.end_port_ixs() {
            let lids = topology.end_ports.iter().flat_map(|end| end.lids());
            for lid in lids {
                let hint = Sl::new(9).unwrap();
                let expected = match by_pair(source, lid) {
                    PathSl::Policy => Some(hint),
                    PathSl::Given(sl) => Some(sl),
                    PathSl::Unknown => None,
                };
                prop_assert_eq!(routes.path_sl(hint, topology.end_port(source).lid, lid), expected);
            }
        }
        let sls = PathSls::EngineOver(SlVlMask(1 << 2 | 1 << 9));
        assert_same_by_pair(&topology, &routes, sls, &numbers);
    }

    #[test]
    fn accepted_tori_reach_everything_without_loops(seed: u64) {
        let spec = random_torus(seed, 80);
        let topology = spec.topology();
        let Ok(routes) = torus::route(&topology, &spec.config(), Qos::On) else { return Ok(()) };
        let warns = |code| routes.warnings().iter().any(|warning| warning.code() == code);
        // Two VLs are not enough around a failed switch: accepted, with a warning.
        let is_promised = !(warns("no-failed-switch-support") && warns("switch-missing"));
        let cycle = unicast_loop(&topology, &routes, PathSls::Engine);
        prop_assert!(cycle.is_none() || !is_promised, "{:?}", cycle);
        for pair in reachability(&topology, &routes, usize::MAX).listed {
            // Only what has no place may be lost.
            let to = routes.lids().owner(pair.lid).unwrap();
            let is_outside = |end| routes.coordinate(end).is_none();
            prop_assert!(is_outside(pair.source) || is_outside(to), "{:?}", pair);
        }
    }

    #[test]
    fn path_sls_do_not_depend_on_damage(seed: u64) {
        let spec = random_torus(seed, 80);
        let mut whole = spec.clone();
        whole.missing_switches.clear();
        whole.missing_cables.clear();
        let (damaged, whole_topology) = (spec.topology(), whole.topology());
        let Ok(routes) = torus::route(&damaged, &spec.config(), Qos::On) else { return Ok(()) };
        let before = torus::route(&whole_topology, &whole.config(), Qos::On).unwrap();
        let lid = |topology: &Topology, guid: u64| {
            topology.end_ports.iter().find(|end| end.guid.get() == guid).map(|end| end.lid)
        };
        let guids: Vec<_> = damaged
            .end_port_ixs()
            .filter(|end| routes.coordinate(*end).is_some())
            .map(|end| damaged.end_port(end).guid.get())
            .collect();
        for (from, to) in guids.iter().flat_map(|from| guids.iter().map(move |to| (*from, *to))) {
            let sl = |routes: &Routes, topology: &Topology| {
                let (from, to) = (lid(topology, from).unwrap(), lid(topology, to).unwrap());
                routes.path_sl(Sl::new(9).unwrap(), from, to)
            };
            prop_assert_eq!(sl(&routes, &damaged), sl(&before, &whole_topology));
        }
    }

    #[test]
    fn dependencies_are_those_of_the_walks(seed: u64, drops: bool) {
        let topology = random_graph(seed, drops).build();
        let routes = minhop::route(&topology);
        let sls = SlVlMask(0b1000_0110_0010_1011);
        assert_same(&topology, &routes, PathSls::Any(sls), &[0, 1, 3, 5, 9, 10, 15]);
    }

    #[test]
    fn given_tables_make_the_dependencies_of_the_walks(seed: u64) {
        let topology = random_graph(seed, false).build();
        let routes = minhop::route(&topology);
        let mut random = Rng::new(seed);
        let mut given = GivenSl2Vl::default();
        for switch in topology.switch_ixs() {
            for (input, output) in (0..13).flat_map(|i| (1..13).map(move |o| (i, o))) {
                let vl = |_: u8| [0, 5, 14, 15][random.below(4)];
                given.switches.push((switch, input, output, SlToVl([0; 16].map(vl))));
            }
        }
        let lfts: Vec<_> = topology.switch_ixs().map(|ix| routes.lft(ix).to_vec()).collect();
        let routes = files::route(&topology, &lfts, &given).unwrap();
        let by_pair = |_: EndPortIx, _: Lid| SlVlMask(0b1011);
        assert_same(&topology, &routes, PathSls::ByPair(&by_pair), &[0, 1, 3]);
    }

    #[test]
    fn a_ring_of_minhop_has_the_loops_of_its_walks(length: u8, flat: bool) {
        let spec = TorusSpec::new([3 + length % 7, 1, 1]);
        let topology = spec.topology();
        let routes = minhop::route(&topology);
        let routes = if flat { flattened(&topology, &routes) } else { routes };
        assert_same(&topology, &routes, PathSls::Any(SlVlMask(0b1001)), &[0, 3]);
    }
}
