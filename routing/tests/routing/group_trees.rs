//! Trees of groups: packets of each member, followed hop by hop, reach every other member once.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::{BTreeMap, BTreeSet};

use crate::common;

use common::build::FabricBuilder;
use common::generate::random_graph;
use common::trees::{cut, fat_tree, wide_graph};
use proptest::prelude::*;
use routing::engine::minhop;
use routing::tables::{GroupTrees, MulticastTable, PortSet};
use routing::{EndPortIx, Peer, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_wire::Mlid;

/// Where a packet arrives that this member sends. Nothing ends a packet that runs round but the count.
fn delivered(topology: &Topology, table: &MulticastTable, from: EndPortIx) -> Vec<EndPortIx> {
    let ports: BTreeMap<SwitchIx, PortSet> = table.switches.iter().copied().collect();
    let mut arrived = Vec::new();
    let mut under_way: Vec<_> = topology.end_port(from).attached.into_iter().collect();
    let mut steps = 0;
    while let Some((switch, input)) = under_way.pop() {
        steps += 1;
        assert!(steps <= topology.switches.len() + 1, "a circle");
        let out = ports.get(&switch).copied().unwrap_or_default();
        for port in out.iter().filter(|port| *port != input) {
            match topology.peer(switch, port) {
                _ if port == 0 => arrived.push(topology.switch(switch).port0),
                Peer::Switch { switch, port } => under_way.push((switch, port)),
                Peer::EndPort(end) => arrived.push(end),
                Peer::Nothing => panic!("no cable"),
            }
        }
    }
    arrived
}

fn assert_reaches(topology: &Topology, members: &[EndPortIx]) {
    let routes = minhop::route(topology);
    let table = GroupTrees::new(topology, &routes).table(Mlid::MIN, members);
    let in_reach = |end: &EndPortIx| !table.left_out.contains(end);
    let reached: BTreeSet<_> = members.iter().copied().filter(in_reach).collect();
    if members.len() < 2 {
        assert!(table.switches.is_empty());
        return;
    }
    for member in &reached {
        let mut arrived = delivered(topology, &table, *member);
        arrived.sort_unstable();
        let others: Vec<_> = reached.iter().copied().filter(|it| it != member).collect();
        assert_eq!(arrived, others, "from {member:?}");
    }
}

fn some(topology: &Topology, random: &mut Rng) -> Vec<EndPortIx> {
    let most = 1 + random.below(topology.end_ports.len() as u64);
    let all = topology.end_port_ixs();
    all.filter(|_| random.below(topology.end_ports.len() as u64) < most)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_member_hears_every_other_one_once(seed: u64, kind in 0_u8..3) {
        let mut random = Rng::new(seed);
        let mut fabric = match kind {
            0 => fat_tree(4, 0, Some(seed)),
            1 => wide_graph(seed),
            _ => random_graph(seed, false),
        };
        let cables: usize = random.below(6);
        cut(&mut fabric, cables, &mut random);
        let topology = fabric.build();
        for _ in 0..8 {
            let members = some(&topology, &mut random);
            assert_reaches(&topology, &members);
        }
    }
}

/// Of two switches from which all is as near the first is the root, and of two ways the lower port is taken.
#[test]
fn the_first_of_equal_roots_and_the_lowest_of_equal_ports() {
    let mut fabric = FabricBuilder {
        op_vls: 4,
        ..FabricBuilder::default()
    };
    for (guid, name) in [(0x20, "S0"), (0x21, "S1"), (0x30, "L0"), (0x31, "L1")] {
        fabric.switch(guid, 8, name);
    }
    for (leaf, nth) in [(0x30, 1), (0x31, 2)] {
        // To the second spine by the lower port, and twice.
        fabric.cable((0x21, nth), (leaf, 1));
        fabric.cable((0x21, nth + 4), (leaf, 3));
        fabric.cable((0x20, nth), (leaf, 2));
        fabric.host(leaf << 8, 1, leaf << 8, "host");
        fabric.cable((leaf << 8, 1), (leaf, 7));
    }
    let topology = fabric.build();
    let routes = minhop::route(&topology);
    let host = |end: &EndPortIx| topology.end_port(*end).port_number != 0;
    let members: Vec<_> = topology.end_port_ixs().filter(host).collect();
    let table = GroupTrees::new(&topology, &routes).table(Mlid::MIN, &members);
    let by_guid = table.switches.iter().map(|(switch, ports)| {
        let guid = topology.switch(*switch).guid.get();
        (guid, ports.iter().collect::<Vec<_>>())
    });
    let found: BTreeMap<u64, Vec<u8>> = by_guid.collect();
    let wanted = [(0x20, vec![1, 2]), (0x30, vec![2, 7]), (0x31, vec![2, 7])];
    assert_eq!(found, wanted.into());
}
