//! Changes of tables, against mixtures drawn at random: where one of them has a credit loop, the change is not called safe.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::build::FabricBuilder;
use common::generate::random_graph;
use routing::engine::{EngineInput, Request, by_kind, files};
use routing::proof::mixture::{Change, ChangedTree, Moved, Safety, Stage};
use routing::proof::{DependencyGraph, Hosts, Judge, PathSls, unicast_loop};
use routing::tables::MulticastRoute;
use routing::watch::Watch;
use routing::{EngineKind, GivenSl2Vl, NO_PATH, Peer, Qos, Routes, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_wire::{Sl, SlVlMask};

const SLS: PathSls<'static> = PathSls::Any(SlVlMask(1));

/// Up and down by the roots that are named.
fn up_down(topology: &Topology, root: usize) -> Routes {
    let root = topology.switches[root % topology.switches.len()].guid;
    let request = Request {
        topology,
        qos: Qos::Off,
        input: EngineInput::Roots(&[root]),
        before: None,
        watch: Watch::default(),
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
        let rows: Vec<Option<Vec<u8>>> = old.iter().cloned().map(Some).collect();
        let moved = Moved::default();
        let change = change((&topology, &after), &rows, &moved);
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
                drained += usize::from(stages.waiting.iter().any(|it| it.hosts > 0));
                stages.stages
            }
            Safety::Unproved => panic!("seed {seed}: at the worst all lead nowhere"),
        };
        let finds = go_through(&topology, tables, &stages, Packets::default(), seed);
        assert!(!finds, "seed {seed}: packets of before");
        let is_at_once = stages.len() == 1;
        safe += usize::from(is_at_once);
        let (mut now, mut graph) = (old.clone(), DependencyGraph::new(&topology, &after));
        for stage in &stages {
            let (goal, chance) = goal_of(stage, &now, [&old, &new]);
            let chance: Vec<u64> = chance.iter().map(|all| all / 2).collect();
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

/// Packets where they can be, by moments that follow each other: none is forgotten before it has arrived.
#[derive(Default)]
struct Packets {
    /// Of a LID, on a cable: the switch and the port that it left.
    places: BTreeSet<(usize, Cable)>,
    waits: BTreeMap<Cable, BTreeSet<Cable>>,
}

type Cable = (usize, u8);

impl Packets {
    /// All have passed so many switches more by these tables, or are gone. What they have waited for is over.
    fn pass(&mut self, topology: &Topology, routes: &Routes, passes: usize) {
        let switches: Vec<SwitchIx> = topology.switch_ixs().collect();
        for _ in 0..passes {
            let places = core::mem::take(&mut self.places).into_iter();
            let nexts = places.filter_map(|(lid, (switch, port))| {
                let Peer::Switch { switch: far, .. } = topology.peer(switches[switch], port) else {
                    return None;
                };
                let port = routes.lft(far).get(lid).copied()?;
                let is_cable = matches!(topology.peer(far, port), Peer::Switch { .. });
                is_cable.then_some((lid, (far.index(), port)))
            });
            self.places = nexts.collect();
        }
        self.waits.clear();
    }

    /// Hosts send to each other, and what is under way goes on, by the tables of this moment. `hosts`: their LIDs, and their switches.
    fn go_on(&mut self, topology: &Topology, routes: &Routes, hosts: &[(usize, SwitchIx)]) {
        let next = |switch: SwitchIx, lid: usize| {
            let port = routes.lft(switch).get(lid).copied()?;
            let is_cable = matches!(topology.peer(switch, port), Peer::Switch { .. });
            is_cable.then_some((switch.index(), port))
        };
        let switches: Vec<SwitchIx> = topology.switch_ixs().collect();
        let mut open: Vec<(usize, Cable)> = self.places.iter().copied().collect();
        for (lid, _) in hosts {
            let first = hosts.iter().filter_map(|(_, at)| next(*at, *lid));
            open.extend(first.map(|cable| (*lid, cable)));
        }
        let mut seen = BTreeSet::new();
        while let Some((lid, cable)) = open.pop() {
            if !seen.insert((lid, cable)) {
                continue;
            }
            self.places.insert((lid, cable));
            let Peer::Switch { switch: far, .. } = topology.peer(switches[cable.0], cable.1) else {
                continue;
            };
            if let Some(beyond) = next(far, lid) {
                self.waits.entry(cable).or_default().insert(beyond);
                open.push((lid, beyond));
            }
        }
    }

    fn has_loop(&self) -> bool {
        let mut left = self.waits.clone();
        loop {
            let before = left.len();
            let waiting: BTreeSet<Cable> = left.keys().copied().collect();
            left.retain(|_, nexts| nexts.iter().any(|next| waiting.contains(next)));
            if left.len() == before {
                return before > 0;
            }
        }
    }
}

/// Two hosts have changed places: by the old entries the packets of each pass the switch where it is now.
#[test]
fn packets_to_where_a_host_was_count() {
    let (mut at_once, mut staged) = (0, 0);
    for seed in 0..300 {
        let topology = random_graph(seed, false).build();
        let after = up_down(&topology, 0);
        let new = rows(&topology, &after);
        let hosts = hosts(&topology);
        if hosts.is_empty() {
            continue;
        }
        let mut random = Rng::new(seed);
        let count = u64::try_from(hosts.len()).unwrap();
        let mut one = || hosts[usize::try_from(random.below(count)).unwrap()].0;
        let (one, other) = (one(), one());
        let mut old = new.clone();
        old.iter_mut().for_each(|row| row.swap(one, other));
        let held: Vec<Option<Vec<u8>>> = old.iter().cloned().map(Some).collect();
        let moved = Moved::default();
        let change = change((&topology, &after), &held, &moved);
        let stages = stages_of(&change);
        at_once += usize::from(stages.len() == 1);
        staged += usize::from(stages.len() > 1);
        let tables = [old.as_slice(), new.as_slice()];
        let has_loop = go_through(&topology, tables, &stages, Packets::default(), seed);
        assert!(!has_loop, "seed {seed}, {one} and {other}");
    }
    assert!(at_once > 20 && staged > 20, "{at_once} {staged}");
}

/// Some hosts are pulled out, so nobody sends at its switch any more and its LID is nobody's; what it has sent, and what others have sent to
/// it, is under way while the routes change.
#[test]
fn packets_from_where_a_host_was_count() {
    let (mut changed, mut forgotten) = (0, 0);
    let graphs = (0..200).map(|seed| random_graph(seed, false).build());
    let rings = (0..200).map(|seed| ring(4 + seed / 40));
    for (seed, before) in (0..).zip(graphs.chain(rings)) {
        let (topology, moved) = without_some_hosts(&before, &mut Rng::new(seed));
        let after = up_down(&topology, 1 + usize::try_from(seed).unwrap() % 7);
        let tables = [rows(&before, &up_down(&before, 0)), rows(&topology, &after)];
        let held: Vec<Option<Vec<u8>>> = tables[0].iter().cloned().map(Some).collect();
        let has_loop = |moved: &Moved| {
            let change = change((&topology, &after), &held, moved);
            let stages = stages_of(&change);
            let mut packets = Packets::default();
            let routes = files::route(&before, &tables[0], &GivenSl2Vl::default()).unwrap();
            packets.go_on(&before, &routes, &hosts(&before));
            let tables = [tables[0].as_slice(), &tables[1]];
            go_through(&topology, tables, &stages, packets, seed)
        };
        assert!(!has_loop(&moved), "seed {seed}");
        changed += usize::from(tables[0] != tables[1]);
        forgotten += usize::from(has_loop(&Moved::default()));
    }
    assert!(changed > 200 && forgotten > 0, "{changed} {forgotten}");
}

/// At switches of a ring: 1 leads on, 2 back, 3 to the host.
fn tree(switches: &[(u32, &[u8])]) -> MulticastRoute {
    let ports =
        |(switch, ports): &(u32, &[u8])| (SwitchIx(*switch), ports.iter().copied().collect());
    MulticastRoute {
        sl: Sl::default(),
        switches: switches.iter().map(ports).collect(),
    }
}

#[test]
fn packets_of_an_old_tree_that_a_new_one_leads_on_count() {
    let topology = ring(4);
    let routes = up_down(&topology, 0);
    let moved = Moved::default();
    let rows = vec![None; topology.switches.len()];
    // Nobody turns at switch 2 but packets of a group whose member goes from switch 1 to switch 3.
    let old = tree(&[(1, &[1, 3]), (2, &[2, 3])]);
    let new = tree(&[(2, &[1, 3]), (3, &[2, 3])]);
    let groups = [
        tree(&[(2, &[1, 3]), (3, &[1, 2]), (0, &[1, 2]), (1, &[2, 3])]),
        tree(&[(0, &[1, 3]), (1, &[1, 2]), (2, &[2, 3])]),
        old.clone(),
        new.clone(),
    ];
    let changed = [ChangedTree {
        old: old.clone(),
        new: new.switches,
    }];
    assert!(changed[0].is_mixed());
    assert_eq!(changed[0].passes(&topology), 2);
    let change = Change {
        groups: &groups,
        ..change((&topology, &routes), &rows, &moved)
    };
    assert_eq!(change.safety(None), Safety::AtOnce, "each tree by itself");
    assert!(change.may_grow(None, &[]) && !change.may_grow(None, &changed));
    let fewer = Change {
        groups: &groups[1..],
        ..change
    };
    assert!(fewer.may_grow(None, &changed));
    let grown = ChangedTree {
        old,
        new: tree(&[(0, &[1, 3]), (1, &[1, 2, 3]), (2, &[2, 3])]).switches,
    };
    assert!(!grown.is_mixed(), "all of the old one stays");
}

#[test]
fn a_packet_passes_the_longest_way_of_a_tree() {
    let topology = ring(8);
    let passes = |route: MulticastRoute| {
        let new = Vec::new();
        ChangedTree { old: route, new }.passes(&topology)
    };
    let line = tree(&[(2, &[1, 3]), (3, &[1, 2]), (4, &[1, 2]), (5, &[2, 3])]);
    assert_eq!(passes(line), 4);
    let two = tree(&[
        (0, &[1, 3]),
        (1, &[2, 3]),
        (3, &[1]),
        (4, &[1, 2]),
        (5, &[2]),
    ]);
    assert_eq!(passes(two), 3, "the longer of two parts");
    let all: Vec<(u32, &[u8])> = (0..8).map(|at| (at, [1, 2].as_slice())).collect();
    assert_eq!(passes(tree(&all)), 8, "no tree");
}

/// What is left, and where the others were.
fn without_some_hosts(before: &Topology, random: &mut Rng) -> (Topology, Moved) {
    let (mut topology, mut moved) = (before.clone(), Moved::default());
    let ends = before.end_port_ixs().zip(before.end_ports.iter());
    let hosts = ends.filter_map(|(ix, end)| Some((ix, end.lid.get(), end.attached?)));
    let hosts = hosts.filter(|(_, _, (_, port))| *port != 0);
    for (ix, lid, (switch, port)) in hosts.filter(|_| random.below(2) == 0) {
        topology.switches[switch.index()].ports[usize::from(port)].peer = Peer::Nothing;
        topology.end_ports[ix.index()].attached = None;
        moved.ports.entry(switch).or_default().push(port);
        moved.lids.insert(lid, switch);
    }
    (topology, moved)
}

/// From these tables to those routes, without groups and changes of SL2VL.
fn change<'a>(
    (topology, routes): (&'a Topology, &'a Routes),
    old: &'a [Option<Vec<u8>>],
    moved: &'a Moved,
) -> Change<'a> {
    let judge = Judge {
        topology,
        routes,
        sls: SLS,
        hosts: Hosts::default(),
    };
    Change {
        judge,
        old,
        old_sl2vl: None,
        groups: &[],
        moved,
    }
}

/// In which order LIDs change.
fn stages_of(change: &Change<'_>) -> Vec<Stage> {
    match change.safety(None) {
        Safety::AtOnce => vec![Stage {
            lids: change.lids(),
            leads_nowhere: false,
            passes: 0,
        }],
        Safety::InStages(stages) => stages.stages,
        Safety::Unproved => panic!("at the worst all lead nowhere"),
    }
}

/// Some moments of each stage, by old and new tables. Whether packets, those that are under way already among them, could wait for each other for ever.
fn go_through(
    topology: &Topology,
    [old, new]: [&[Vec<u8>]; 2],
    stages: &[Stage],
    mut packets: Packets,
    seed: u64,
) -> bool {
    let (hosts, mut now) = (hosts(topology), old.to_vec());
    for stage in stages {
        let (goal, chance) = goal_of(stage, &now, [old, new]);
        for moment in 0..=8 {
            let chance: Vec<u64> = chance.iter().map(|all| all * moment / 8).collect();
            // The same draws at each moment: who has its new entry keeps it.
            let mut draws = Rng::new(seed);
            let tables = [now.as_slice(), &goal];
            let is_ordered = !stage.leads_nowhere;
            let routes = mixed(topology, tables, &chance, is_ordered, &mut draws);
            packets.go_on(topology, &routes, &hosts);
            if packets.has_loop() {
                return true;
            }
        }
        now = goal;
        if stage.passes > 0 {
            let routes = files::route(topology, &now, &GivenSl2Vl::default()).unwrap();
            packets.pass(topology, &routes, stage.passes);
        }
    }
    false
}

/// LIDs of hosts, and the switches behind which they are.
fn hosts(topology: &Topology) -> Vec<(usize, SwitchIx)> {
    let ends = topology.end_port_ixs().map(|end| topology.end_port(end));
    let hosts = ends.filter_map(|end| {
        let (switch, port) = end.attached?;
        (port != 0).then_some((usize::from(end.lid.get()), switch))
    });
    hosts.collect()
}

/// The tables when a stage is held, and the LIDs that it changes, with the chance of an entry at its end.
fn goal_of(
    stage: &Stage,
    now: &[Vec<u8>],
    [old, new]: [&[Vec<u8>]; 2],
) -> (Vec<Vec<u8>>, Vec<u64>) {
    let (mut goal, mut chance) = (now.to_vec(), vec![0; new[0].len()]);
    for lid in stage.lids.iter().map(|lid| usize::from(*lid)) {
        chance[lid] = 256;
        for (switch, goal) in goal.iter_mut().enumerate() {
            goal[lid] = match stage.leads_nowhere {
                true if old[switch][lid] != new[switch][lid] => NO_PATH,
                true => old[switch][lid],
                false => new[switch][lid],
            };
        }
    }
    (goal, chance)
}
