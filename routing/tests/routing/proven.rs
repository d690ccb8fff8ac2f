//! A proof that goes on from an earlier one, against one from nothing: the same loops, the same
//! pairs, the same path classes, and never a dependency less.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::build::FabricBuilder;
use common::generate::{TorusSpec, random_graph};
use common::trees::{cut, fat_tree};
use routing::engine::{Before, torus};
use routing::engine::{files, minhop};
use routing::paths::classes::{compile, compile_surveyed};
use routing::proof::{
    DependencyGraph, Hosts, Judge, Loops, PathSls, Proven, reachability, reachability_surveyed,
};
use routing::{GivenSl2Vl, NO_PATH, Qos, Routes, Survey, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_wire::{SlToVl, SlVlMask};

fn judge<'a>(topology: &'a Topology, routes: &'a Routes, sls: PathSls<'a>) -> Judge<'a> {
    Judge {
        topology,
        routes,
        sls,
        hosts: Hosts::default(),
    }
}

/// What became of a proof that was to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// It said all.
    WentOn,
    /// What was there before and what is there now close a cycle.
    Cycle,
    /// There was too much to go on from, or too little.
    FromNothing,
}

/// Goes on from a proof, compares with one from nothing, and gives what came of it and, where that
/// has no loop, the one to go on from then.
fn go_on(judge: &Judge<'_>, proven: Option<&Proven>) -> (Outcome, Option<Proven>) {
    let (topology, routes) = (judge.topology, judge.routes);
    let multicast = routes.worst_groups(topology);
    let mut full = judge.everybody();
    let survey = Survey::from_routes(topology, routes);
    let unicast = judge.loops(&full, |_| ());
    let keeps = judge
        .keep(&full, &survey)
        .filter(|_| unicast == Loops::default());
    let quick = proven.and_then(|proven| judge.go_on(proven));
    let Some(next) = quick else {
        return (Outcome::FromNothing, keeps);
    };
    let mut graph = next.graph();
    // Not the other way round: what was kept may have had a loop, which is gone now.
    assert!(!next.is_in_order() || !graph.has_loop());
    let all: BTreeSet<_> = graph.dependencies().collect();
    let missing = full.dependencies().find(|it| !all.contains(it));
    assert_eq!(missing, None);
    assert_same_pairs(topology, routes, next.survey());
    graph.add_multicast(topology, &multicast);
    if graph.has_loop() {
        assert!(graph.shortest_loop().is_some());
        return (Outcome::Cycle, keeps);
    }
    assert_eq!(unicast, Loops::default());
    full.add_multicast(topology, &multicast);
    assert!(!full.has_loop());
    assert_eq!(full.shortest_loop(), None);
    (Outcome::WentOn, keeps)
}

/// What a survey is for is the same as by one of all columns.
fn assert_same_pairs(topology: &Topology, routes: &Routes, survey: &Survey) {
    let pairs = reachability_surveyed(topology, routes, survey, 50);
    assert_eq!(pairs, reachability(topology, routes, 50));
    for qos in [Qos::On, Qos::Off] {
        let quick = compile_surveyed(topology, routes, qos, survey).unwrap();
        assert_eq!(quick, compile(topology, routes, qos).unwrap());
    }
}

/// A torus whose parts fail and come back.
struct Torus {
    spec: TorusSpec,
    lids: BTreeMap<u64, u16>,
    /// Node GUIDs of hosts without a cable.
    unplugged: Vec<u64>,
}

impl Torus {
    fn new(random: &mut Rng) -> Self {
        let mut radix = [0; 3].map(|_: u8| 3 + random.below(4));
        // Flat ones too.
        if random.below(4) == 0 {
            radix[random.below(3)] = 1;
        }
        let mut spec = TorusSpec {
            hosts: random.below(3),
            shuffle: (random.below(2) == 0).then(|| random.number()),
            lmc: random.below(4) / 3,
            op_vls: [4, 4, 4, 3][random.below(4)],
            ..TorusSpec::new(radix)
        };
        if random.below(4) == 0 {
            spec.parallel[random.below(3)] = 2;
        }
        let ends = spec.topology().end_ports;
        let lids = ends.iter().map(|end| (end.guid.get(), end.lid.get()));
        Self {
            lids: lids.collect(),
            spec,
            unplugged: Vec::new(),
        }
    }

    fn topology(&self) -> Topology {
        let mut fabric = self.spec.fabric();
        fabric.lids.clone_from(&self.lids);
        for host in &self.unplugged {
            fabric.uncable((*host, 1));
        }
        fabric.build()
    }

    /// Something fails or comes back. Cables most of the time.
    fn change(&mut self, random: &mut Rng) {
        let places = self.spec.places();
        let mut below = |limit: usize| random.below(limit);
        let at = places[below(places.len())];
        let spec = &mut self.spec;
        match below(10) {
            0..=3 => spec.missing_cables.push((at, below(3), None)),
            4 | 5 if !spec.missing_cables.is_empty() => {
                spec.missing_cables.remove(below(spec.missing_cables.len()));
            }
            6 if !spec.missing_switches.is_empty() => spec.missing_switches.clear(),
            6 => spec.missing_switches.push(at),
            7 if !self.unplugged.is_empty() => {
                self.unplugged.remove(below(self.unplugged.len()));
            }
            _ => {
                let hosts = places.len() * usize::from(spec.hosts);
                if hosts > 0 {
                    self.unplugged.push(0x10_0010 + 0x10 * below(hosts) as u64);
                }
            }
        }
    }
}

#[test]
fn after_changes_of_a_torus_the_proof_is_that_of_a_full_run() {
    let mut outcomes: BTreeMap<Outcome, u32> = BTreeMap::new();
    for seed in 0..60 {
        let mut random = Rng::new(seed);
        let mut torus = Torus::new(&mut random);
        let config = torus.spec.config();
        let mut topology = torus.topology();
        let Ok(mut routes) = torus::route(&topology, &config, Qos::On) else {
            continue;
        };
        let mut proven = go_on(&judge(&topology, &routes, PathSls::Engine), None).1;
        for _ in 0..5 {
            torus.change(&mut random);
            let next = torus.topology();
            let before = Before {
                topology: &topology,
                routes: &routes,
            };
            let Ok(rerouted) = torus::reroute(&next, &config, Qos::On, before) else {
                // As in the field: what is left is repaired.
                torus.spec.missing_cables.clear();
                torus.spec.missing_switches.clear();
                continue;
            };
            let judge = judge(&next, &rerouted, PathSls::Engine);
            let (outcome, keeps) = go_on(&judge, proven.as_ref());
            *outcomes.entry(outcome).or_default() += 1;
            if outcome != Outcome::WentOn {
                proven = keeps;
            }
            (topology, routes) = (next, rerouted);
        }
    }
    let times = |outcome| outcomes.get(&outcome).copied().unwrap_or(0);
    assert!(times(Outcome::WentOn) > 210, "{outcomes:?}");
    assert!(times(Outcome::FromNothing) > 20, "{outcomes:?}");
}

/// Tables with some entries gone or leading elsewhere.
fn spoilt(topology: &Topology, routes: &Routes, entries: u64, random: &mut Rng) -> Vec<Vec<u8>> {
    let tables = topology.switch_ixs().map(|ix| routes.lft(ix).to_vec());
    let mut tables: Vec<_> = tables.collect();
    for _ in 0..random.below(entries + 1) {
        let switch = random.below(tables.len());
        let ports = topology.switches[switch].ports.len() as u64;
        let table = &mut tables[switch];
        let lid = usize::try_from(1 + random.below(table.len() as u64 - 1)).unwrap();
        table[lid] = match random.below(3) {
            0 => NO_PATH,
            _ => u8::try_from(random.below(ports)).unwrap(),
        };
    }
    tables
}

/// Of the devices, or two of them at random.
fn some_tables(topology: &Topology, seed: u64) -> GivenSl2Vl {
    let mut random = Rng::new(seed);
    let mut given = GivenSl2Vl::default();
    if random.below(2) == 0 {
        return given;
    }
    let tables = [0; 2].map(|_: u8| SlToVl([0; 16].map(|_: u8| [0, 1, 2, 15][random.below(4)])));
    for switch in topology.switch_ixs() {
        let ports = (0..=u8::MAX).take(topology.switch(switch).ports.len());
        for (input, output) in ports
            .clone()
            .flat_map(|i| ports.clone().map(move |o| (i, o)))
        {
            let nth: usize = random.below(2);
            given.switches.push((switch, input, output, tables[nth]));
        }
    }
    given
}

/// Any tables: packets get lost, go in cycles, lose SLs on the way.
#[test]
fn after_changes_of_any_tables_the_proof_is_that_of_a_full_run() {
    let mut went_on = 0;
    for seed in 0..400 {
        let mut random = Rng::new(seed);
        let mut fabric = match random.below(2) {
            0 => random_graph(random.number(), false),
            _ => fat_tree(4, 0, Some(random.number())),
        };
        let topology = fabric.build();
        let tables = spoilt(&topology, &minhop::route(&topology), 3, &mut random);
        let sl2vl = random.number();
        let given = some_tables(&topology, sl2vl);
        let routes = files::route(&topology, &tables, &given).unwrap();
        let sls = PathSls::Any(SlVlMask(
            [1, 0x0102, 0xffff][usize::try_from(seed % 3).unwrap()],
        ));
        let first = judge(&topology, &routes, sls);
        let survey = Survey::from_routes(&topology, &routes);
        let proven = first.keep(&first.everybody(), &survey).unwrap();
        let lids = topology.end_ports.iter();
        fabric.lids = lids.map(|end| (end.guid.get(), end.lid.get())).collect();
        let cables: usize = random.below(3);
        cut(&mut fabric, cables, &mut random);
        let damaged = fabric.build();
        let tables = spoilt(&damaged, &routes, 4, &mut random);
        let given = some_tables(&damaged, sl2vl);
        let routes = files::route(&damaged, &tables, &given).unwrap();
        let (outcome, _) = go_on(&judge(&damaged, &routes, sls), Some(&proven));
        went_on += u32::from(outcome != Outcome::FromNothing);
    }
    assert!(went_on > 100, "{went_on}");
}

/// Four switches in a ring, each with port 1 to the next and 2 to the one before, and room for LIDs.
/// `around`: switches that send to the opposite one through the next; the others go the other way.
fn ring(around: [bool; 4]) -> (Topology, Routes) {
    let mut fabric = FabricBuilder {
        op_vls: 1,
        ..Default::default()
    };
    (1..=4).for_each(|guid| fabric.switch(guid, 4, "in a ring"));
    (0..4).for_each(|nth| fabric.cable((nth + 1, 1), ((nth + 1) % 4 + 1, 2)));
    // So that few entries of many change.
    fabric.host(9, 1, 9, "host");
    fabric.cable((9, 1), (1, 3));
    fabric.lids.insert(9, 500);
    let topology = fabric.build();
    let number = |guid: u64| usize::try_from(guid - 1).unwrap();
    let table = |from: SwitchIx| {
        let mut table = vec![NO_PATH; usize::from(topology.max_lid()) + 1];
        let here = number(topology.switch(from).guid.get());
        for end in &topology.end_ports {
            let (switch, port) = end.attached.unwrap();
            let there = number(topology.switch(switch).guid.get());
            table[usize::from(end.lid.get())] = match (there + 4 - here) % 4 {
                0 => port,
                1 => 1,
                // To the host on the first switch the same way always.
                2 if end.port_number == 0 && around[here] => 1,
                _ => 2,
            };
        }
        table
    };
    let tables: Vec<_> = topology.switch_ixs().map(table).collect();
    let routes = files::route(&topology, &tables, &GivenSl2Vl::default()).unwrap();
    (topology, routes)
}

/// Three of four turns before, three now, all four together: the cycle is not there.
#[test]
fn a_cycle_of_what_was_and_what_is_asks_for_a_proof_from_nothing() {
    let (topology, routes) = ring([true, true, true, false]);
    let sls = PathSls::Any(SlVlMask(1));
    let (_, proven) = go_on(&judge(&topology, &routes, sls), None);
    let proven = proven.expect("no loop");
    let (topology, routes) = ring([false, true, true, true]);
    let judge = judge(&topology, &routes, sls);
    assert_eq!(judge.loops(&judge.everybody(), |_| ()), Loops::default());
    let (outcome, next) = go_on(&judge, Some(&proven));
    assert_eq!(outcome, Outcome::Cycle);
    assert!(next.is_some(), "one from nothing can be gone on from");
    // With all four the cycle is real.
    let (topology, routes) = ring([true; 4]);
    let judge = Judge {
        topology: &topology,
        routes: &routes,
        ..judge
    };
    assert_eq!(go_on(&judge, Some(&proven)).0, Outcome::Cycle);
    assert!(judge.loops(&judge.everybody(), |_| ()).management.is_some());
}

/// A cable or host more, another LID, other SLs, other SL2VL tables.
#[test]
fn what_is_new_asks_for_a_proof_from_nothing() {
    let mut fabric = fat_tree(6, 0, None);
    let whole = fabric.build();
    fabric.lids = {
        let ends = whole.end_ports.iter();
        ends.map(|end| (end.guid.get(), end.lid.get())).collect()
    };
    let sls = SlVlMask(1);
    let goes_on = |before: &FabricBuilder, after: &FabricBuilder, given: &GivenSl2Vl, now| {
        let (was, is) = (before.build(), after.build());
        let routes = minhop::route(&was);
        let first = judge(&was, &routes, PathSls::Any(sls));
        let graph: DependencyGraph = first.everybody();
        let proven = first
            .keep(&graph, &Survey::from_routes(&was, &routes))
            .unwrap();
        // The tables of before, where they lead anywhere still.
        let tables: Vec<_> = was.switch_ixs().map(|ix| routes.lft(ix).to_vec()).collect();
        let routes = files::route(&is, &tables, given).unwrap();
        judge(&is, &routes, PathSls::Any(now))
            .go_on(&proven)
            .is_some()
    };
    let same = GivenSl2Vl::default();
    assert!(goes_on(&fabric, &fabric, &same, sls));
    assert!(!goes_on(&fabric, &fabric, &same, SlVlMask(3)));
    let other = some_tables(
        &whole,
        (0..)
            .find(|seed| !some_tables(&whole, *seed).switches.is_empty())
            .unwrap(),
    );
    assert!(!goes_on(&fabric, &fabric, &other, sls));
    // On the first leaf: a host, and a cable up.
    for port in [1, 4] {
        let mut less = fabric.clone();
        less.uncable((1, port));
        assert!(goes_on(&fabric, &less, &same, sls), "{port}");
        assert!(!goes_on(&less, &fabric, &same, sls), "{port}");
    }
    let mut moved = fabric.clone();
    let lid = moved.lids.values_mut().max().unwrap();
    *lid += 1;
    assert!(!goes_on(&fabric, &moved, &same, sls));
}

/// A ring of six, its LIDs sent the shorter way round, but for the host's on the first switch: all but
/// the last switches send it up, the second too where `is_long`.
fn long_way(is_long: bool) -> (Topology, Routes) {
    let mut fabric = FabricBuilder {
        op_vls: 1,
        ..Default::default()
    };
    (1..=6).for_each(|guid| fabric.switch(guid, 4, "in a ring"));
    (0..6).for_each(|nth| fabric.cable((nth + 1, 1), ((nth + 1) % 6 + 1, 2)));
    fabric.host(9, 1, 9, "host");
    fabric.cable((9, 1), (1, 3));
    fabric.lids.insert(9, 500);
    let topology = fabric.build();
    let table = |from: SwitchIx| {
        let mut table = vec![NO_PATH; usize::from(topology.max_lid()) + 1];
        for end in &topology.end_ports {
            let (switch, port) = end.attached.unwrap();
            let up = (switch.0 + 6 - from.0) % 6;
            let is_up = match (end.port_number, from.0) {
                (0, _) => up <= 3,
                (_, 1) => is_long,
                _ => true,
            };
            table[usize::from(end.lid.get())] = match (up, is_up) {
                (0, _) => port,
                (_, true) => 1,
                (_, false) => 2,
            };
        }
        table
    };
    let tables: Vec<_> = topology.switch_ixs().map(table).collect();
    let routes = files::route(&topology, &tables, &GivenSl2Vl::default()).unwrap();
    (topology, routes)
}

/// Nobody whose path is as before has such a long one.
#[test]
fn the_longest_path_may_become_shorter() {
    let sls = PathSls::Any(SlVlMask(1));
    let (topology, routes) = long_way(true);
    let first = judge(&topology, &routes, sls);
    let survey = Survey::from_routes(&topology, &routes);
    let proven = first.keep(&first.everybody(), &survey).unwrap();
    let (topology, routes) = long_way(false);
    let (outcome, _) = go_on(&judge(&topology, &routes, sls), Some(&proven));
    assert_ne!(outcome, Outcome::FromNothing);
}
