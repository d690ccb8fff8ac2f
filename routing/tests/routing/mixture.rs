//! Changes of tables, against mixtures drawn at random: where one of them has a credit loop, the change is not called safe.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use common::build::FabricBuilder;
use common::generate::random_graph;
use routing::engine::{EngineInput, Request, by_kind, files};
use routing::proof::mixture::{Change, Safety, Stage};
use routing::proof::{DependencyGraph, Hosts, Judge, PathSls, unicast_loop};
use routing::{EngineKind, GivenSl2Vl, NO_PATH, Peer, Qos, Routes, Topology};
use sa_rig::rng::Rng;
use sa_wire::SlVlMask;

const SLS: PathSls<'static> = PathSls::Any(SlVlMask(1));

/// Up and down by the roots that are named.
fn up_down(topology: &Topology, root: usize) -> Routes {
    let root = topology.switches[root % topology.switches.len()].guid;
    let request = Request {
        topology,
        qos: Qos::Off,
        input: EngineInput::Roots(&[root]),
        before: None,
    };
    by_kind(EngineKind::UpDown).route(&request).unwrap()
}

/// Switches in a ring, a host at each.
fn ring(count: u64) -> Topology {
    let mut fabric = FabricBuilder::default();
    for switch in 0..count {
        fabric.switch(0x20_0000 + switch, 4, &format!("sw{switch}"));
    }
    for switch in 0..count {
        let (here, host) = (0x20_0000 + switch, 0x10_0000 + switch * 0x10);
        fabric.cable((here, 1), (0x20_0000 + (switch + 1) % count, 2));
        fabric.host(host, 1, host + 1, &format!("h{switch}"));
        fabric.cable((host, 1), (here, 3));
    }
    fabric.build()
}

/// Tables of some moment. `chance`: by LID, that a switch has its new entry if it may, in 256. With `is_ordered` it may where all switches on
/// its new way have theirs.
fn mixed(
    topology: &Topology,
    [old, new]: [&[Vec<u8>]; 2],
    chance: &[u64],
    is_ordered: bool,
    random: &mut Rng,
) -> Routes {
    let mut tables = old.to_vec();
    for (lid, chance) in chance.iter().enumerate() {
        let takes: Vec<bool> = old.iter().map(|_| random.below(256) < *chance).collect();
        for switch in topology.switch_ixs() {
            let mut here = switch;
            // Ways of an engine do not circle, and end at a host or a switch's own port.
            let may = loop {
                if !takes[here.index()] {
                    break false;
                }
                match topology.peer(here, new[here.index()][lid]) {
                    Peer::Switch { switch, .. } if is_ordered => here = switch,
                    _ => break true,
                }
            };
            if may {
                tables[switch.index()][lid] = new[switch.index()][lid];
            }
        }
    }
    files::route(topology, &tables, &GivenSl2Vl::default()).unwrap()
}

fn rows(topology: &Topology, routes: &Routes) -> Vec<Vec<u8>> {
    topology
        .switch_ixs()
        .map(|switch| routes.lft(switch).to_vec())
        .collect()
}

#[test]
fn no_mixture_of_a_safe_change_has_a_loop() {
    let (mut safe, mut staged, mut drained, mut loops) = (0, 0, 0, 0);
    let graphs = (0..400).map(|seed| random_graph(seed, false).build());
    let rings = (0..20).map(|seed| ring(5 + seed / 5));
    for (seed, topology) in (0..).zip(graphs.chain(rings)) {
        let (before, after) = (
            up_down(&topology, 0),
            up_down(&topology, 1 + usize::try_from(seed).unwrap() % 5),
        );
        let (old, new) = (rows(&topology, &before), rows(&topology, &after));
        let tables = [old.as_slice(), new.as_slice()];
        let judge = Judge {
            topology: &topology,
            routes: &after,
            sls: SLS,
            hosts: Hosts::default(),
        };
        let rows: Vec<Option<Vec<u8>>> = old.iter().cloned().map(Some).collect();
        let change = Change {
            judge,
            old: &rows,
            old_sl2vl: None,
        };
        let lids = change.lids();
        if lids.is_empty() {
            continue;
        }
        let mut random = Rng::new(seed);
        let lid_count = usize::from(topology.max_lid()) + 1;
        let stages = match change.safety(None) {
            Safety::AtOnce => vec![Stage {
                lids: lids.clone(),
                leads_nowhere: false,
                passes: 0,
            }],
            Safety::InStages(stages) => {
                staged += 1;
                drained += usize::from(stages.pairs > 0);
                stages.stages
            }
            Safety::Unproved => panic!("seed {seed}: at the worst all lead nowhere"),
        };
        let is_at_once = stages.len() == 1;
        safe += usize::from(is_at_once);
        let (mut now, mut graph) = (old.clone(), DependencyGraph::new(&topology, &after));
        for stage in &stages {
            let mut goal = now.clone();
            let mut chance = vec![0; lid_count];
            for lid in stage.lids.iter().map(|lid| usize::from(*lid)) {
                chance[lid] = 128;
                for (switch, goal) in goal.iter_mut().enumerate() {
                    goal[lid] = match stage.leads_nowhere {
                        true if old[switch][lid] != new[switch][lid] => NO_PATH,
                        true => old[switch][lid],
                        false => new[switch][lid],
                    };
                }
            }
            // Packets of all these moments may be under way together.
            for _ in 0..20 {
                let tables = [now.as_slice(), &goal];
                let routes = mixed(
                    &topology,
                    tables,
                    &chance,
                    !stage.leads_nowhere,
                    &mut random,
                );
                graph.add_unicast_between_hosts(&topology, &routes, SLS, &Hosts::default());
                assert!(!graph.has_loop(), "seed {seed}");
            }
            now = goal;
            if stage.passes > 0 {
                graph = DependencyGraph::new(&topology, &after);
            }
        }
        assert!(now == new, "seed {seed}: all is changed");
        // Without stages.
        let any = vec![128; lid_count];
        let mut finds = || {
            let routes = mixed(&topology, tables, &any, false, &mut random);
            unicast_loop(&topology, &routes, SLS).is_some()
        };
        loops += usize::from((0..20).any(|_| finds()));
    }
    println!(
        "{safe} safe, {staged} in stages, {drained} of them drained, {loops} with a loop in any order"
    );
    assert!(
        safe > 20 && staged > 5 && drained > 2 && loops > 2,
        "{safe} {staged} {drained} {loops}"
    );
}
