//! The tables of minhop against its rule, done the plain way.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::common;

use common::build::FabricBuilder;
use common::generate::{TorusSpec, random_graph};
use common::trees::{cut, fat_tree, wide_graph};
use proptest::prelude::*;
use routing::engine::minhop;
use routing::{NO_PATH, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_wire::Lid;

/// Hops that no path has.
const NEVER: u32 = 255;

/// Hops from every switch to one, breadth first.
fn hops_to(topology: &Topology, to: SwitchIx) -> Vec<u32> {
    let mut hops = vec![NEVER; topology.switches.len()];
    let mut front = vec![to];
    for count in 0..NEVER {
        front.retain(|here| hops[here.index()] == NEVER);
        front.iter().for_each(|here| hops[here.index()] = count);
        let next = front.iter().flat_map(|here| topology.cables(*here));
        front = next.map(|(_, far, _)| far).collect();
    }
    hops
}

/// LIDs in OpenSM's order: first those of lower offset; of the switch with most hosts; by its port; those of switches last.
fn in_turn(topology: &Topology) -> Vec<(Lid, SwitchIx, u8, usize)> {
    let ends = (0_usize..).zip(&topology.end_ports);
    let mut lids: Vec<_> = ends
        .filter_map(|(nth, end)| Some((nth, end, end.attached?)))
        .flat_map(|(nth, end, (to, port))| {
            let hosts = topology.hosts(to).count();
            let rank = (port == 0, Reverse(if port == 0 { 0 } else { hosts }));
            let place = if port == 0 { nth } else { to.index() };
            let lids = end.lids().enumerate();
            lids.map(move |(offset, lid)| ((offset, rank, place, port), (lid, to, port, nth)))
        })
        .collect();
    lids.sort();
    lids.into_iter().map(|(_, lid)| lid).collect()
}

/// The cable of a LID of one port, of several that it has: `went` holds the far switches of those before it, `last` the port of
/// the one right before it.
fn of_siblings(
    nearer: &[(u8, SwitchIx)],
    used: &[u32; 256],
    went: &BTreeMap<SwitchIx, u32>,
    last: u8,
) -> Option<u8> {
    let mut nearer = nearer.to_vec();
    let behind = nearer.iter().position(|(port, _)| *port > last);
    nearer.rotate_left(behind.unwrap_or(0));
    let load = |port: u8| used[usize::from(port)];
    let fresh = nearer.iter().filter(|(_, far)| !went.contains_key(far));
    // The first of equals.
    if let Some((port, _)) = fresh.min_by_key(|(port, _)| load(*port)) {
        return Some(*port);
    }
    // Only a lower load, or at the same load a switch with fewer than any port taken before it, takes over.
    let (mut best, mut fewest) = (None, u32::MAX);
    for (port, far) in &nearer {
        let lids = went[far];
        let is_better = best.is_none_or(|best| {
            load(*port) < load(best) || load(*port) == load(best) && lids < fewest
        });
        if is_better {
            (best, fewest) = (Some(*port), fewest.min(lids));
        }
    }
    best
}

/// In turn; each by the port of fewest LIDs of hosts, then of the lowest number, of those
/// from which it is one hop less. Every port is looked at for every LID.
fn plain_tables(topology: &Topology) -> Vec<Vec<u8>> {
    let all = topology.switch_ixs();
    let hops: Vec<_> = all.map(|to| hops_to(topology, to)).collect();
    let lids = in_turn(topology);
    let table = |from: SwitchIx| {
        let cables: Vec<_> = topology.cables(from).collect();
        let mut table = vec![NO_PATH; usize::from(topology.max_lid()) + 1];
        let mut used = [0_u32; 256];
        let mut went = vec![BTreeMap::new(); topology.end_ports.len()];
        let mut last = vec![0_u8; topology.end_ports.len()];
        for (lid, to, port, nth) in &lids {
            if *to == from {
                table[lid.index()] = *port;
                continue;
            }
            let hops = &hops[to.index()];
            let own = hops[from.index()];
            let is_nearer = |far: SwitchIx| own != NEVER && hops[far.index()] < own;
            let nearer = cables.iter().filter(|(_, far, _)| is_nearer(*far));
            let nearer: Vec<_> = nearer.map(|(port, far, _)| (*port, *far)).collect();
            let several = topology.end_ports[*nth].lmc.lids() > 1;
            let plain = || nearer.iter().map(|(port, _)| *port);
            let best = match several {
                true => of_siblings(&nearer, &used, &went[*nth], last[*nth]),
                false => plain().min_by_key(|port| (used[usize::from(*port)], *port)),
            };
            let Some(best) = best else { continue };
            table[lid.index()] = best;
            last[*nth] = best;
            used[usize::from(best)] += u32::from(*port != 0);
            let far = nearer.iter().find(|(port, _)| *port == best).unwrap().1;
            *went[*nth].entry(far).or_insert(0) += 1;
        }
        table
    };
    topology.switch_ixs().map(table).collect()
}

fn assert_plain(topology: &Topology) {
    let routes = minhop::route(topology);
    for (switch, plain) in topology.switch_ixs().zip(plain_tables(topology)) {
        assert_eq!(routes.lft(switch), plain, "{switch:?}");
    }
}

/// In order and out of it: the LIDs of a leaf side by side and far from each other.
#[test]
fn trees_have_the_tables_of_the_rule() {
    for (k, lmc, shuffle) in [
        (4, 2, None),
        (6, 1, Some(1)),
        (8, 0, None),
        (12, 1, Some(2)),
    ] {
        assert_plain(&fat_tree(k, lmc, shuffle).build());
    }
}

/// Ports that lie on shortest paths to some of the switches behind them and not to others.
#[test]
fn trees_with_failed_cables_have_the_tables_of_the_rule() {
    for seed in 0..30 {
        let mut random = Rng::new(seed);
        let k = [4, 6, 8, 10][random.below(4)];
        let lmc = random.below(3);
        let mut fabric = fat_tree(k, lmc, (seed % 2 == 0).then_some(seed));
        let cables = 1 + random.below(60);
        cut(&mut fabric, cables, &mut random);
        assert_plain(&fabric.build());
    }
}

/// Large enough to be worked on by several threads, which begin in the middle of a group of rows.
#[test]
fn a_large_tree_has_the_tables_of_the_rule() {
    let mut fabric = fat_tree(16, 1, Some(3));
    cut(&mut fabric, 5, &mut Rng::new(3));
    assert_plain(&fabric.build());
}

/// A switch with a cable to each of 200 others, which are cabled in threes, and hosts on all.
#[test]
fn a_hub_of_200_cables_has_the_tables_of_the_rule() {
    for cables in [64_u8, 65, 128, 129, 200] {
        let mut fabric = FabricBuilder {
            op_vls: 1,
            lmc: 1,
            ..Default::default()
        };
        let leaf = |nth: u8| 0x100 + u64::from(nth);
        fabric.switch(1, 254, "hub");
        for nth in 1..=cables {
            fabric.switch(leaf(nth), 8, "leaf");
            fabric.cable((1, nth), (leaf(nth), 1));
            let host = 0x1000 + u64::from(nth);
            fabric.host(host, 1, host, "host");
            fabric.cable((host, 1), (leaf(nth), 2));
            if nth % 3 != 0 && nth < cables {
                fabric.cable((leaf(nth), 3), (leaf(nth + 1), 4));
            }
        }
        assert_plain(&fabric.build());
    }
}

/// Farther than hops are counted, and rings, where both ways are equally long.
#[test]
fn rows_and_rings_have_the_tables_of_the_rule() {
    for (length, mesh) in [(240, true), (9, false), (10, false)] {
        let spec = TorusSpec {
            mesh: [mesh; 3],
            ports: 6,
            hosts: 2,
            ..TorusSpec::new([length, 1, 1])
        };
        assert_plain(&spec.topology());
    }
    let mut fabric = FabricBuilder {
        op_vls: 1,
        ..Default::default()
    };
    for switch in 1..=300_u64 {
        fabric.switch(switch, 2, "in a row");
    }
    for switch in 1..300_u64 {
        fabric.cable((switch, 2), (switch + 1, 1));
    }
    let topology = fabric.build();
    let routes = minhop::route(&topology);
    let entries = topology
        .switch_ixs()
        .flat_map(|switch| &routes.lft(switch)[1..]);
    let lost = entries.filter(|port| **port == NO_PATH).count();
    assert_eq!(lost, 45 * 46, "pairs of 255 hops and more");
    assert_plain(&topology);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn irregular_fabrics_have_the_tables_of_the_rule(seed: u64) {
        assert_plain(&random_graph(seed, false).build());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn irregular_fabrics_of_large_switches_have_the_tables_of_the_rule(seed: u64) {
        assert_plain(&wide_graph(seed).build());
    }
}
