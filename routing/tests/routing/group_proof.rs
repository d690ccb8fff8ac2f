//! Trees that are proved: unicast and groups, followed packet by packet, close no circle, whoever is a member.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::{BTreeMap, BTreeSet};

use routing::engine::{dfsssp_nue, minhop, torus, updn};
use routing::proof::{GroupKinds, GroupProof, Hosts, Judge, PathSls};
use routing::tables::{GroupTrees, MulticastTable};
use routing::{EndPortIx, EngineKind, Qos, Routes, Topology};
use sa_rig::rng::Rng;
use sa_wire::{Mlid, SlVlMask};

use crate::common::generate::TorusSpec;
use crate::common::trees::fat_tree;
use crate::common::{Case, cases};
use crate::dfsssp_nue::{any, dragonfly};
use crate::packets::{PATHS, follow_group, follow_unicast, has_circle};

fn judge<'a>(topology: &'a Topology, routes: &'a Routes) -> Judge<'a> {
    Judge {
        topology,
        routes,
        sls: PathSls::EngineOver(PATHS),
        hosts: Hosts::default(),
    }
}

struct Group {
    sls: SlVlMask,
    members: Vec<EndPortIx>,
}

/// Some hosts, and now and then a switch.
fn some_group(topology: &Topology, random: &mut Rng) -> Group {
    let many = 1 + random.below(6_u64);
    let members = topology.end_port_ixs().filter(|end| {
        let rarer = if topology.end_port(*end).port_number == 0 {
            6
        } else {
            1
        };
        random.below(many * rarer) == 0
    });
    let members = members.collect();
    let second = 1 << random.below(16_u64);
    let sls = match random.below(4_u64) {
        0 => 1 | second,
        1 => second,
        _ => 1,
    };
    Group {
        sls: SlVlMask(sls),
        members,
    }
}

fn kinds(topology: &Topology, groups: &[Group]) -> GroupKinds {
    let mut kinds = GroupKinds::new();
    for group in groups {
        let own = group.members.iter().map(|end| topology.end_port(*end));
        let own = own.filter(|end| end.port_number == 0);
        let own = own.filter_map(|end| end.attached.map(|(at, _)| at));
        kinds.entry(group.sls.0).or_default().extend(own);
    }
    kinds
}

fn table(
    topology: &Topology,
    routes: &Routes,
    proof: &GroupProof,
    group: &Group,
) -> MulticastTable {
    let tree = proof.tree(group.sls);
    let trees = match tree {
        Some(tree) => GroupTrees::of_tree(topology, tree),
        None => GroupTrees::new(topology, routes),
    };
    trees.table(Mlid::MIN, &group.members)
}

/// Groups whose trees were proved as usual, those that share one, and those without a proof.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    usual: usize,
    one: usize,
    open: usize,
}

/// Routes that close no circle by themselves.
fn routed(topology: &Topology, engine: EngineKind) -> Option<Routes> {
    let routes = match engine {
        EngineKind::MinHop => minhop::route(topology),
        EngineKind::UpDown => updn::route(topology, &[], None).unwrap(),
        _ => dfsssp_nue::route(topology, Qos::On, None),
    };
    (!has_circle(&follow_unicast(topology, &routes))).then_some(routes)
}

fn assert_no_circle(name: &str, topology: &Topology, routes: &Routes, random: &mut Rng) -> Tally {
    let groups: Vec<Group> = (0..4).map(|_| some_group(topology, random)).collect();
    let kinds = kinds(topology, &groups);
    let proof = judge(topology, routes).prove_groups(None, &kinds);
    let mut tally = Tally::default();
    for (sls, switches) in &kinds {
        let is_proved = proof.is_proved(SlVlMask(*sls));
        match (is_proved, proof.tree(SlVlMask(*sls))) {
            (false, _) => tally.open += 1,
            (true, None) => tally.usual += 1,
            (true, Some(tree)) => {
                tally.one += 1;
                assert!(switches.iter().all(|at| tree.reaches(*at)), "{name}");
            }
        }
    }
    let mut waits = follow_unicast(topology, routes);
    // These, and others that join later.
    for round in 0..3 {
        let mut sets: Vec<&Group> = groups.iter().collect();
        let later: Vec<Group> = (0..round * 4)
            .map(|_| {
                let other = some_group(topology, random);
                let like = &groups[random.below(groups.len())];
                let has_own = |end: &EndPortIx| match topology.end_port(*end).attached {
                    Some((at, 0)) => kinds[&like.sls.0].contains(&at),
                    _ => true,
                };
                let members = other.members.into_iter().filter(has_own).collect();
                Group {
                    sls: like.sls,
                    members,
                }
            })
            .collect();
        sets.extend(&later);
        for group in sets.into_iter().filter(|group| proof.is_proved(group.sls)) {
            let table = table(topology, routes, &proof, group);
            assert!(
                table
                    .left_out
                    .iter()
                    .all(|end| cut_off(topology, *end, &group.members)),
                "{name}"
            );
            follow_group(
                (topology, routes),
                &table,
                (group.sls, &group.members),
                &mut waits,
            );
        }
        assert!(!has_circle(&waits), "{name}, round {round}: {proof:?}");
    }
    tally
}

/// No cables lead from a member to any other.
fn cut_off(topology: &Topology, end: EndPortIx, members: &[EndPortIx]) -> bool {
    let Some((start, _)) = topology.end_port(end).attached else {
        return true;
    };
    let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(here) = open.pop() {
        let fars = topology.cables(here).map(|(_, far, _)| far);
        open.extend(fars.filter(|far| seen.insert(*far)));
    }
    let attached = members
        .iter()
        .filter_map(|it| topology.end_port(*it).attached);
    attached.filter(|(at, _)| !seen.contains(at)).count() > 0
}

#[test]
fn unicast_and_proved_groups_close_no_circle() {
    let engines = [
        EngineKind::MinHop,
        EngineKind::UpDown,
        EngineKind::DfssspNue,
    ];
    let mut tallies = BTreeMap::new();
    for seed in 0..300 {
        let (name, fabric) = any(seed);
        let topology = fabric.build();
        let mut random = Rng::new(seed);
        for engine in engines {
            let Some(routes) = routed(&topology, engine) else {
                assert_eq!(engine, EngineKind::MinHop);
                continue;
            };
            let words = format!("{name} {seed} {engine}");
            let found = assert_no_circle(&words, &topology, &routes, &mut random);
            let tally: &mut Tally = tallies.entry((engine.name(), name)).or_default();
            tally.usual += found.usual;
            tally.one += found.one;
            tally.open += found.open;
        }
    }
    for (kind, tally) in &tallies {
        println!("{kind:?}: {tally:?}");
    }
    let sum = |of: fn(&Tally) -> usize| tallies.values().map(of).sum::<usize>();
    assert!(sum(|it| it.usual) > 100 && sum(|it| it.one) > 100);
}

/// Where shortest paths close a circle with unicast, another tree is found; on a whole fat tree OpenSM's are kept.
#[test]
fn which_fabrics_keep_the_usual_trees() {
    let host = |topology: &Topology| -> Group {
        let is_host = |end: &EndPortIx| topology.end_port(*end).port_number != 0;
        Group {
            sls: SlVlMask(1),
            members: topology.end_port_ixs().filter(is_host).collect(),
        }
    };
    let ring = TorusSpec::new([6, 1, 1]).fabric().build();
    let fly = dragonfly(5, 4, 2).build();
    let tree = fat_tree(4, 0, None).build();
    for (name, topology, engine, is_usual) in [
        ("ring", &ring, EngineKind::UpDown, false),
        ("ring", &ring, EngineKind::DfssspNue, false),
        ("dragonfly", &fly, EngineKind::UpDown, false),
        ("dragonfly", &fly, EngineKind::DfssspNue, false),
        ("fat tree", &tree, EngineKind::MinHop, true),
        ("fat tree", &tree, EngineKind::UpDown, true),
    ] {
        let routes = routed(topology, engine).unwrap();
        let group = host(topology);
        let kinds = kinds(topology, std::slice::from_ref(&group));
        let proof = judge(topology, &routes).prove_groups(None, &kinds);
        let found = (proof.is_proved(group.sls), proof.tree(group.sls).is_none());
        assert_eq!(found, (true, is_usual), "{name} {engine}");
    }
}

/// After some failures the tree of torus-2QoS closes a circle with unicast; then another one is found, and else its own is kept.
#[test]
fn the_tree_of_torus_2qos_is_replaced_where_it_closes_a_circle() {
    let mut replaced = Vec::new();
    for case in cases().into_iter().filter(Case::is_up) {
        let topology = case.topology();
        let Ok(routes) = torus::route(&topology, &case.config(), Qos::On) else {
            continue;
        };
        let sls = SlVlMask(1);
        let judge = Judge {
            topology: &topology,
            routes: &routes,
            sls: PathSls::Engine,
            hosts: Hosts::default(),
        };
        // Whoever closes a circle by unicast alone is refused before.
        if judge.loops(&judge.everybody(), |_| ()).hosts.is_some() {
            continue;
        }
        let kinds = GroupKinds::from([(sls.0, BTreeSet::new())]);
        let proof = judge.prove_groups(None, &kinds);
        assert!(proof.is_proved(sls), "{}", case.name);
        if let Some(tree) = proof.tree(sls) {
            let hosts = topology
                .switch_ixs()
                .filter(|at| topology.hosts(*at).next().is_some());
            assert!(
                hosts.into_iter().all(|at| tree.reaches(at)),
                "{}",
                case.name
            );
            replaced.push(case.name);
        }
    }
    println!("{replaced:?}");
    for name in ["s16-5x5x5-swmid", "s18-4x5x4-column", "s35-5x8-swmid"] {
        assert!(replaced.iter().any(|it| it == name), "{name}: {replaced:?}");
    }
}
