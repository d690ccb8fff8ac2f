//! updn and ftree: every wired pair has a path, no circle of channels, even links, and tables that
//! stay where they are when something fails.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::build::FabricBuilder;
use common::generate::{TorusSpec, random_graph};
use common::trees::{cut, fat_tree, wide_graph};
use proptest::prelude::*;
use routing::engine::{Before, ftree, minhop, updn};
use routing::proof::{PathSls, reachability, unicast_loop};
use routing::quality::{bandwidth, loads};
use routing::reference::walk;
use routing::{EndPortIx, NO_PATH, Qos, Routes, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_wire::SlVlMask;

/// As many pairs as shortest paths of any kind connect, and no loop, of switches' packets neither.
fn assert_sound(topology: &Topology, routes: &Routes) {
    let wired = reachability(topology, &minhop::route(topology), 0).lost;
    let found = reachability(topology, routes, 3);
    assert_eq!(found.lost, wired, "{:?}", found.listed);
    let sls = PathSls::Any(SlVlMask::ALL);
    assert_eq!(unicast_loop(topology, routes, sls), None);
}

fn up_down(topology: &Topology) -> Routes {
    updn::route(topology, &[], None).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn irregular_fabrics_are_reached_without_a_loop(seed: u64) {
        let topology = random_graph(seed, false).build();
        assert_sound(&topology, &up_down(&topology));
    }

    /// Roots that somebody names are often bad ones.
    #[test]
    fn any_roots_will_do(seed: u64) {
        let topology = random_graph(seed, false).build();
        let mut random = Rng::new(seed);
        let named = topology.switches.iter().filter(|_| random.one_in(3));
        let named: Vec<_> = named.map(|switch| switch.guid).collect();
        assert_sound(&topology, &updn::route(&topology, &named, None).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn fabrics_of_large_switches_are_reached_without_a_loop(seed: u64) {
        let topology = wide_graph(seed).build();
        assert_sound(&topology, &up_down(&topology));
    }

    #[test]
    fn trees_with_damage_are_reached_without_a_loop(seed: u64) {
        let mut random = Rng::new(seed);
        let k = [4, 6, 8][random.below(3)];
        let mut fabric = fat_tree(k, random.below(2), random.one_in(2).then_some(seed));
        let most = 1 << random.below(6);
        let cables = random.below(most);
        cut(&mut fabric, cables, &mut random);
        let topology = fabric.build();
        assert_sound(&topology, &up_down(&topology));
        // Much damage makes something else of a tree, and then there are reasons.
        match ftree::route(&topology, &[], None) {
            Ok(routes) => assert_sound(&topology, &routes),
            Err(refusal) => assert!(!refusal.reasons.is_empty()),
        }
    }
}

#[test]
fn tori_and_meshes_are_reached_without_a_loop() {
    for (radix, mesh) in [
        ([4, 4, 1], false),
        ([3, 4, 5], false),
        ([5, 5, 1], true),
        ([9, 1, 1], false),
    ] {
        let topology = TorusSpec {
            mesh: [mesh; 3],
            lmc: 1,
            ..TorusSpec::new(radix)
        }
        .topology();
        assert_sound(&topology, &up_down(&topology));
    }
}

#[test]
fn an_empty_fabric_and_a_single_switch_are_no_trouble() {
    let empty = Topology::default();
    assert_sound(&empty, &up_down(&empty));
    assert_sound(&empty, &ftree::route(&empty, &[], None).unwrap());
    let mut one = FabricBuilder {
        op_vls: 1,
        ..Default::default()
    };
    one.switch(1, 4, "alone");
    for host in 2..5 {
        one.host(host, 1, host, "host");
        one.cable((host, 1), (1, u8::try_from(host).unwrap() - 1));
    }
    let topology = one.build();
    assert_sound(&topology, &up_down(&topology));
    assert_sound(&topology, &ftree::route(&topology, &[], None).unwrap());
}

/// Hosts in the order in which LIDs were dealt is not to be known from outside: pods by their
/// middle switches, leaves in order, ports in order.
fn hosts_in_order(topology: &Topology) -> Vec<EndPortIx> {
    let mut hosts: Vec<_> = topology
        .end_port_ixs()
        .filter_map(|ix| {
            let end = topology.end_port(ix);
            let (leaf, port) = end.attached.filter(|(_, port)| *port != 0)?;
            let pod = topology.cables(leaf).map(|(_, far, _)| far).min();
            Some((pod, leaf, port, ix))
        })
        .collect();
    hosts.sort_unstable();
    hosts.into_iter().map(|(.., ix)| ix).collect()
}

/// The most flows on a link between switches when each host sends to the one `shift` places on.
fn most_flows(topology: &Topology, routes: &Routes, hosts: &[EndPortIx], shift: usize) -> usize {
    let mut used: BTreeMap<(SwitchIx, u8), usize> = BTreeMap::new();
    for (nth, from) in hosts.iter().enumerate() {
        let to = topology.end_port(hosts[(nth + shift) % hosts.len()]).lid;
        let hops = walk(topology, routes, Qos::Off, *from, to).unwrap().hops;
        for hop in hops.iter().rev().skip(1) {
            *used.entry((hop.switch, hop.output)).or_default() += 1;
        }
    }
    used.values().max().copied().unwrap_or(0)
}

/// Every LID of a host comes down one link of each level, and each such link has equally many.
#[test]
fn whole_trees_are_even_and_shifts_meet_nowhere() {
    for (k, shuffle) in [(4, None), (6, Some(1)), (8, None), (8, Some(2))] {
        let topology = fat_tree(k, 0, shuffle).build();
        for routes in [
            up_down(&topology),
            ftree::route(&topology, &[], None).unwrap(),
        ] {
            assert_sound(&topology, &routes);
            let hosts = hosts_in_order(&topology);
            let count = hosts.len() as u64;
            let figures = loads(&topology, &routes);
            // All but the hosts of its pod come to a host by one link from a top switch.
            let pod = count / u64::from(k);
            let leaf = u64::from(k) / 2;
            assert_eq!(figures.most, count - leaf, "{figures:?} pod {pod}");
            for shift in 1..hosts.len() {
                assert_eq!(
                    most_flows(&topology, &routes, &hosts, shift),
                    1,
                    "k {k} shift {shift}"
                );
            }
        }
    }
}

/// Switches on the way, for each LID of a port.
fn ways(
    topology: &Topology,
    routes: &Routes,
    from: EndPortIx,
    to: EndPortIx,
) -> BTreeSet<Vec<SwitchIx>> {
    let lids = topology.end_port(to).lids();
    let hops = lids.map(|lid| walk(topology, routes, Qos::Off, from, lid).unwrap().hops);
    hops.map(|hops| hops.iter().map(|hop| hop.switch).collect())
        .collect()
}

#[test]
fn the_lids_of_a_port_take_different_ways() {
    let topology = fat_tree(8, 2, None).build();
    let routes = up_down(&topology);
    assert_sound(&topology, &routes);
    let hosts = hosts_in_order(&topology);
    let (first, last) = (hosts[0], hosts[hosts.len() - 1]);
    assert_eq!(ways(&topology, &routes, first, last).len(), 4);
    assert_eq!(ways(&topology, &routes, last, first).len(), 4);
    let figures = loads(&topology, &routes);
    assert_eq!(figures.most, 4 * (hosts.len() as u64 - 4), "{figures:?}");
}

/// Entries of two tables of one fabric that differ, by LID.
fn changed(topology: &Topology, old: &Routes, new: &Routes) -> BTreeSet<usize> {
    let lids = topology.switch_ixs().flat_map(|switch| {
        let pairs = old.lft(switch).iter().zip(new.lft(switch)).enumerate();
        pairs
            .filter(|(_, (old, new))| old != new)
            .map(|(lid, _)| lid)
    });
    lids.collect()
}

fn after(topology: &Topology, (before, routes): (&Topology, &Routes)) -> Routes {
    let before = Before {
        topology: before,
        routes,
    };
    updn::route(topology, &[], Some(before)).unwrap()
}

/// A cable between switches that fails moves only LIDs that some switch sent over it, and comes
/// back with the tables of before; so do several, whatever their order.
#[test]
fn tables_stay_where_they_are_and_come_back() {
    let mut random = Rng::new(5);
    for (k, lmc, seed) in [(4, 0, None), (6, 1, Some(3)), (8, 0, None)] {
        let fabric = fat_tree(k, lmc, seed);
        let whole = fabric.build();
        let routes = up_down(&whole);
        for _ in 0..12 {
            let switch = SwitchIx(random.below(u32::try_from(whole.switches.len()).unwrap()));
            let cables: Vec<_> = whole.cables(switch).collect();
            let (port, far, far_port) = cables[random.below(cables.len())];
            let mut hurt = fabric.clone();
            hurt.uncable((whole.switch(switch).guid.get(), port));
            let hurt = hurt.build();
            let left = after(&hurt, (&whole, &routes));
            assert_sound(&hurt, &left);
            let over =
                |lid: &usize| routes.lft(switch)[*lid] == port || routes.lft(far)[*lid] == far_port;
            let moved = changed(&whole, &routes, &left);
            assert!(moved.iter().all(over), "LIDs that went elsewhere moved");
            assert!(!moved.is_empty());
            let back = after(&whole, (&hurt, &left));
            assert!(changed(&whole, &routes, &back).is_empty());
            assert!(back.warnings().is_empty());
        }
    }
}

/// A leaf with three hosts and two cables left: one way for each LID would put two on one of them.
#[test]
fn paths_move_from_links_that_have_more_than_others() {
    let mut hurt = fat_tree(6, 0, None);
    let whole = hurt.build();
    let (port, ..) = whole.cables(SwitchIx(0)).next().unwrap();
    hurt.uncable((whole.switch(SwitchIx(0)).guid.get(), port));
    let hurt = hurt.build();
    assert_eq!(loads(&whole, &up_down(&whole)).most, 51);
    let from_nothing = up_down(&hurt);
    let kept = after(&hurt, (&whole, &up_down(&whole)));
    for routes in [from_nothing, kept] {
        assert_sound(&hurt, &routes);
        // Three LIDs from 51 hosts each, over two links; a switch with three hosts cannot be shared out.
        let most = loads(&hurt, &routes).most;
        assert!(most <= 3 * 51 / 2 + 3, "{most}");
    }
}

/// The same tables whichever failed first, and each of them from any step.
#[test]
fn tables_depend_on_what_is_missing_alone() {
    let fabric = fat_tree(6, 0, Some(9));
    let whole = fabric.build();
    let routes = up_down(&whole);
    let mut random = Rng::new(11);
    for _ in 0..10 {
        let mut one = fabric.clone();
        cut(&mut one, 2, &mut random);
        let mut both = one.clone();
        cut(&mut both, 2, &mut random);
        let (one, both) = (one.build(), both.build());
        let first = after(&one, (&whole, &routes));
        let long = after(&both, (&one, &first));
        let short = after(&both, (&whole, &routes));
        assert!(changed(&both, &long, &short).is_empty());
        assert_sound(&both, &long);
    }
}

/// What is new makes a whole fabric of its own.
#[test]
fn a_new_host_is_dealt_anew() {
    let mut fabric = fat_tree(4, 0, None);
    let (host, leaf) = fabric
        .cables
        .iter()
        .find(|(at, _)| at.0 >= 0x10_0000)
        .map(|(at, leaf)| (*at, *leaf))
        .unwrap();
    fabric.uncable(host);
    let without = fabric.build();
    let routes = up_down(&without);
    fabric.cable(host, leaf);
    let with = fabric.build();
    let grown = after(&with, (&without, &routes));
    assert!(changed(&with, &up_down(&with), &grown).is_empty());
}

/// Pairs, the most paths and bandwidth beside shortest paths without any order, on damaged trees.
#[test]
fn links_of_trees_are_used_more_evenly_than_by_minhop() {
    for seed in 0..6 {
        let mut fabric = fat_tree(8, 0, Some(seed));
        cut(
            &mut fabric,
            usize::try_from(4 * seed).unwrap(),
            &mut Rng::new(seed),
        );
        let topology = fabric.build();
        let (ours, theirs) = (up_down(&topology), minhop::route(&topology));
        let most = |routes: &Routes| loads(&topology, routes).most;
        let mean = |routes: &Routes| bandwidth(&topology, routes, 100, seed).mean;
        assert!(
            most(&ours) <= most(&theirs),
            "{} {}",
            most(&ours),
            most(&theirs)
        );
        assert!(
            mean(&ours) > mean(&theirs),
            "{} {}",
            mean(&ours),
            mean(&theirs)
        );
    }
}

#[test]
fn what_is_no_fat_tree_is_refused_with_what_breaks_its_levels() {
    let codes = |fabric: &FabricBuilder| {
        let refusal = ftree::route(&fabric.build(), &[], None).unwrap_err();
        refusal
            .reasons
            .iter()
            .map(|reason| (reason.code(), reason.to_string()))
            .collect::<Vec<_>>()
    };
    let torus = TorusSpec::new([3, 3, 1]).fabric();
    assert!(
        codes(&torus)
            .iter()
            .all(|(code, _)| *code == "level-broken")
    );
    let mut tree = fat_tree(6, 0, None);
    // Between two leaves, each of which gives up a host for it.
    let hosts: Vec<_> = tree
        .cables
        .iter()
        .filter(|(at, _)| at.0 >= 0x10_0000)
        .collect();
    let (a, b) = ((*hosts[0].0, *hosts[0].1), (*hosts[40].0, *hosts[40].1));
    tree.uncable(a.0);
    tree.uncable(b.0);
    tree.cable(a.1, b.1);
    let found = codes(&tree);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "level-broken");
    assert!(
        found[0].1.contains(&format!("port {}", a.1.1.min(b.1.1))),
        "{found:?}"
    );
    assert!(found[0].1.contains("both on level 0"), "{found:?}");
    let missing = sa_wire::Guid::new(0x77).unwrap();
    let refusal = updn::route(&tree.build(), &[missing], None).unwrap_err();
    assert_eq!(refusal.reasons[0].code(), "roots-missing");
}

/// No entry leads out of a port without a cable, and each LID has one everywhere.
#[test]
fn every_switch_has_an_entry_for_every_lid() {
    let topology = fat_tree(6, 1, Some(4)).build();
    let routes = up_down(&topology);
    let lids = topology.end_ports.iter().flat_map(|end| end.lids());
    for (lid, switch) in lids.flat_map(|lid| topology.switch_ixs().map(move |ix| (lid, ix))) {
        assert_ne!(routes.lft(switch)[lid.index()], NO_PATH);
    }
}
