//! dfsssp-nue on random fabrics with random damage: every wired pair has its path, hosts close no cycle, VLs are
//! those there are; after a failure what is left stays, after the repair all is as it was.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::build::FabricBuilder;
use common::generate::{TorusSpec, random_graph, random_torus};
use common::trees::{cut, fat_tree, wide_graph};
use routing::engine::dfsssp_nue::route;
use routing::engine::{Before, minhop};
use routing::proof::{CreditLoop, Hosts, Judge, Loops, PathSls, reachability};
use routing::reference::walk;
use routing::{NO_PATH, Peer, Qos, Routes, SwitchIx, Topology};
use sa_rig::rng::Rng;
use sa_wire::{Guid, Lid, Sl};

/// Codes of VLs in operation: 1, 2, 4, 8, 15.
const CODES: [u8; 5] = [1, 2, 3, 4, 5];

/// What SL2VL tables are looked up with where the engine gives every SL itself.
fn hint() -> Sl {
    Sl::new(0).unwrap()
}

fn loops(topology: &Topology, routes: &Routes) -> Loops {
    let judge = Judge {
        topology,
        routes,
        sls: PathSls::Engine,
        hosts: Hosts::default(),
    };
    judge.loops(&judge.everybody(), |_| ())
}

/// Of packets that hosts send or get, those from and to switches among them.
fn loop_with_hosts(topology: &Topology, routes: &Routes) -> Option<CreditLoop> {
    let judge = Judge {
        topology,
        routes,
        sls: PathSls::Engine,
        hosts: Hosts::default(),
    };
    judge.loop_with_hosts(&judge.everybody(), |_| ())
}

/// The SL of each pair of LIDs that has one, by GUIDs of the ports and number of the LID of the destination.
fn sls(topology: &Topology, routes: &Routes) -> BTreeMap<(Guid, Guid, u16), Sl> {
    let mut all = BTreeMap::new();
    for from in &topology.end_ports {
        for to in &topology.end_ports {
            for (nth, lid) in (0..).zip(to.lids()) {
                if let Some(sl) = routes.path_sl(hint(), from.lid, lid) {
                    all.insert((from.guid, to.guid, nth), sl);
                }
            }
        }
    }
    all
}

/// Everything that holds for any tables of the engine.
fn check(name: &str, topology: &Topology, routes: &Routes, vls: u8) {
    let wanted = reachability(topology, &minhop::route(topology), 1);
    let found = reachability(topology, routes, 1);
    assert_eq!(
        (found.pairs, found.lost),
        (wanted.pairs, wanted.lost),
        "{name}"
    );
    let found = loop_with_hosts(topology, routes);
    let words = found.map(|found| found.in_words(topology, routes));
    assert_eq!(words, None, "{name}");
    for (pair, sl) in sls(topology, routes) {
        assert!(sl.get() < vls, "{name}: {pair:?} has {sl:?} of {vls}");
    }
}

/// A dragonfly: groups of switches that are all joined, every two groups by one cable.
pub(crate) fn dragonfly(groups: u64, switches: u64, hosts: u8) -> FabricBuilder {
    let mut fabric = FabricBuilder::default();
    let guid = |group: u64, nth: u64| 1 + group * switches + nth;
    let mut ports = BTreeMap::new();
    let mut port = |guid: u64| {
        let next = ports.entry(guid).or_insert(hosts);
        *next += 1;
        *next
    };
    for (group, nth) in (0..groups).flat_map(|group| (0..switches).map(move |nth| (group, nth))) {
        let switch = guid(group, nth);
        fabric.switch(switch, 60, &format!("S{group}_{nth}"));
        for host in 1..=hosts {
            let own = 0x10_0000 + switch * 0x100 + u64::from(host);
            fabric.host(own, 1, own, "host");
            fabric.cable((own, 1), (switch, host));
        }
        for other in 0..nth {
            let near = port(switch);
            let far = port(guid(group, other));
            fabric.cable((switch, near), (guid(group, other), far));
        }
    }
    for (one, other) in (0..groups).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let (near, far) = (guid(one, other % switches), guid(other, one % switches));
        let cable = ((near, port(near)), (far, port(far)));
        fabric.cable(cable.0, cable.1);
    }
    fabric
}

/// A fabric of any kind, some of it missing.
pub(crate) fn any(seed: u64) -> (&'static str, FabricBuilder) {
    let mut random = Rng::new(seed);
    let (name, mut fabric) = match seed % 6 {
        0 => ("torus", random_torus(random.number(), 60).fabric()),
        1 => ("graph", random_graph(random.number(), false)),
        2 => ("wide graph", wide_graph(random.number())),
        3 => ("fat tree", fat_tree(4, random.below(2), Some(seed))),
        4 => {
            let groups = 2 + random.below(6_u64);
            ("dragonfly", dragonfly(groups, 1 + random.below(4_u64), 2))
        }
        _ => {
            let radix = [3 + random.within(0, 9), 1, 1];
            ("ring", TorusSpec::new(radix).fabric())
        }
    };
    fabric.op_vls = CODES[random.below(CODES.len())];
    cut(&mut fabric, random.below(4), &mut random);
    (name, fabric)
}

fn vls(fabric: &FabricBuilder) -> u8 {
    [1, 2, 4, 8, 15][usize::from(fabric.op_vls) - 1]
}

#[test]
fn any_fabric_is_routed_whole_and_without_a_cycle() {
    for seed in 0..600 {
        let (name, fabric) = any(seed);
        let topology = fabric.build();
        let routes = route(&topology, Qos::On, None);
        check(&format!("{name} {seed}"), &topology, &routes, vls(&fabric));
    }
}

/// SLs are not looked at then, so there is one VL for all.
#[test]
fn without_qos_one_vl_does() {
    for seed in 0..60 {
        let (name, fabric) = any(seed);
        let topology = fabric.build();
        let routes = route(&topology, Qos::Off, None);
        check(&format!("{name} {seed}"), &topology, &routes, 1);
    }
}

fn ports_of(topology: &Topology, routes: &Routes) -> BTreeMap<(Guid, u16), u8> {
    let mut all = BTreeMap::new();
    for switch in topology.switch_ixs() {
        for (lid, port) in (0..).zip(routes.lft(switch)) {
            if *port != NO_PATH {
                all.insert((topology.switch(switch).guid, lid), *port);
            }
        }
    }
    all
}

/// The ports by which a packet leaves each switch on its way.
fn way(topology: &Topology, routes: &Routes, from: usize, lid: Lid) -> Option<Vec<(Guid, u8)>> {
    let source = topology.end_port_ixs().nth(from).unwrap();
    let walked = walk(topology, routes, Qos::Off, source, lid).ok()?;
    let hops = walked.hops.iter();
    Some(
        hops.map(|hop| (topology.switch(hop.switch).guid, hop.output))
            .collect(),
    )
}

/// The same fabric with its LIDs, less some cables between switches.
fn without(whole: &FabricBuilder, topology: &Topology, cables: usize, seed: u64) -> Topology {
    let mut random = Rng::new(seed);
    let mut fabric = whole.clone();
    let ends = topology.end_ports.iter();
    fabric.lids = ends.map(|end| (end.guid.get(), end.lid.get())).collect();
    let is_switch = |guid: &u64| whole.nodes[guid].is_switch;
    let cabled = whole.cables.iter();
    let between = cabled.filter(|((one, _), (other, _))| is_switch(one) && is_switch(other));
    let mut between: Vec<_> = between.map(|(end, _)| *end).collect();
    random.shuffle(&mut between);
    between
        .into_iter()
        .take(cables)
        .for_each(|end| fabric.uncable(end));
    fabric.build()
}

/// Two fabrics and their routes, one after the other.
struct Change<'a> {
    was: (&'a Topology, &'a Routes),
    is: (&'a Topology, &'a Routes),
}

impl Change<'_> {
    /// Whether each port of a way still has a cable. End ports and switches are the same.
    fn is_whole(&self, way: &[(Guid, u8)]) -> bool {
        way.iter().all(|(guid, port)| {
            let mut switches = self.is.0.switch_ixs();
            let switch = switches
                .find(|ix| self.is.0.switch(*ix).guid == *guid)
                .unwrap();
            *port == 0 || self.is.0.peer(switch, *port) != Peer::Nothing
        })
    }

    /// Ways that are whole stay, and the SLs of pairs of switches between which all are.
    fn assert_kept(&self) {
        let switch = |ix: usize| self.was.0.end_ports[ix].attached.map(|(switch, _)| switch);
        let (mut broken, mut sls) = (BTreeSet::new(), Vec::new());
        for (from, to) in
            ends(self.was.0).flat_map(|from| ends(self.was.0).map(move |to| (from, to)))
        {
            for lid in self.was.0.end_ports[to].lids() {
                let Some(old) = way(self.was.0, self.was.1, from, lid) else {
                    continue;
                };
                if self.is_whole(&old) {
                    assert_eq!(Some(old), way(self.is.0, self.is.1, from, lid));
                    sls.push((from, to, lid));
                } else {
                    broken.insert((switch(from), switch(to)));
                }
            }
        }
        for (from, to, lid) in sls {
            let slid = self.was.0.end_ports[from].lid;
            let sl = |routes: &Routes| routes.path_sl(hint(), slid, lid);
            let is_meant = !broken.contains(&(switch(from), switch(to)));
            // What only switches send each other may be on a VL that does not admit it.
            let is_of_hosts = [from, to]
                .iter()
                .any(|end| self.was.0.end_ports[*end].port_number != 0);
            if is_meant && is_of_hosts {
                assert_eq!(sl(self.was.1), sl(self.is.1));
            }
        }
    }
}

fn ends(topology: &Topology) -> std::ops::Range<usize> {
    0..topology.end_ports.len()
}

fn is_anew(routes: &Routes) -> bool {
    routes
        .warnings()
        .iter()
        .any(|it| it.code() == "routed-anew")
}

#[test]
fn a_failure_moves_what_it_hit_and_its_repair_brings_all_back() {
    let (mut kept, mut anew) = (0, 0);
    for seed in 0..150 {
        let (name, fabric) = any(seed);
        let name = format!("{name} {seed}");
        let topology = fabric.build();
        let whole = route(&topology, Qos::On, None);
        let damaged = without(&fabric, &topology, 1, seed);
        let before = Before {
            topology: &topology,
            routes: &whole,
        };
        let routes = route(&damaged, Qos::On, Some(before));
        check(&name, &damaged, &routes, vls(&fabric));
        if is_anew(&routes) {
            anew += 1;
        } else {
            kept += 1;
            let (was, is) = ((&topology, &whole), (&damaged, &routes));
            Change { was, is }.assert_kept();
        }
        let before = Before {
            topology: &damaged,
            routes: &routes,
        };
        let repaired = route(&topology, Qos::On, Some(before));
        assert!(
            ports_of(&topology, &whole) == ports_of(&topology, &repaired),
            "{name}: ports"
        );
        assert!(
            sls(&topology, &whole) == sls(&topology, &repaired),
            "{name}: SLs"
        );
    }
    println!("{kept} kept, {anew} routed anew");
    assert!(kept > 4 * anew, "{kept} {anew}");
}

#[test]
fn failures_and_repairs_one_after_the_other() {
    for seed in 1000..1080 {
        let (name, fabric) = any(seed);
        let first = fabric.build();
        let whole = route(&first, Qos::On, None);
        let mut random = Rng::new(seed);
        let (mut topology, mut routes) = (first.clone(), whole.clone());
        for step in 0..4 {
            let next = without(&fabric, &first, random.below(5), random.number());
            let before = Before {
                topology: &topology,
                routes: &routes,
            };
            let after = route(&next, Qos::On, Some(before));
            check(
                &format!("{name} {seed} {step}"),
                &next,
                &after,
                vls(&fabric),
            );
            (topology, routes) = (next, after);
        }
        let before = Before {
            topology: &topology,
            routes: &routes,
        };
        let repaired = route(&first, Qos::On, Some(before));
        assert!(
            ports_of(&first, &whole) == ports_of(&first, &repaired),
            "{name} {seed}: ports"
        );
        assert!(
            sls(&first, &whole) == sls(&first, &repaired),
            "{name} {seed}: SLs"
        );
    }
}

/// A ring of five by hand: two hops at most, so every switch is passed by one pair each way round. Five turns one
/// way would be a circle, so one pair each way has VL 1 and the others VL 0.
#[test]
fn a_ring_of_five_needs_a_second_vl_for_two_pairs() {
    let spec = TorusSpec {
        op_vls: 2,
        ..TorusSpec::new([5, 1, 1])
    };
    let topology = spec.topology();
    let routes = route(&topology, Qos::On, None);
    let hosts: Vec<_> = topology
        .end_ports
        .iter()
        .filter(|end| end.port_number != 0)
        .collect();
    let mut counts = [0; 2];
    for (from, to) in hosts
        .iter()
        .flat_map(|from| hosts.iter().map(move |to| (from, to)))
    {
        let sl = routes.path_sl(hint(), from.lid, to.lid).unwrap();
        counts[usize::from(sl.get())] += 1;
    }
    assert_eq!(counts, [23, 2]);
    assert_eq!(loops(&topology, &routes), Loops::default());
}

/// With one VL there is no other way than around: the longest one has four hops.
#[test]
fn a_ring_on_one_vl_leaves_out_a_turn() {
    let spec = TorusSpec {
        op_vls: 1,
        ..TorusSpec::new([5, 1, 1])
    };
    let topology = spec.topology();
    let routes = route(&topology, Qos::On, None);
    check("ring", &topology, &routes, 1);
    assert_eq!(loops(&topology, &routes), Loops::default());
    let lids = topology.end_ports.iter().map(|end| end.lid);
    let hops = (0..topology.end_ports.len()).flat_map(|from| {
        let lids: Vec<Lid> = lids.clone().collect();
        let ways = lids
            .into_iter()
            .filter_map(|lid| way(&topology, &routes, from, lid))
            .collect::<Vec<_>>();
        ways.into_iter().map(|way| way.len())
    });
    // The last hop leads to the host.
    assert!(hops.max().unwrap() <= 5);
}

/// Packets between hosts by channel between switches: switch and port.
fn paths_by_cable(topology: &Topology, routes: &Routes) -> BTreeMap<(Guid, u8), usize> {
    let mut paths = BTreeMap::new();
    let hosts = |ix: &usize| topology.end_ports[*ix].port_number != 0;
    for from in (0..topology.end_ports.len()).filter(hosts) {
        for to in (0..topology.end_ports.len()).filter(hosts) {
            let mut way = way(topology, routes, from, topology.end_ports[to].lid).unwrap();
            way.pop();
            way.into_iter()
                .for_each(|at| *paths.entry(at).or_default() += 1);
        }
    }
    paths
}

/// On a whole fat tree all cables of a level can carry the same, and do.
#[test]
fn a_fat_tree_is_balanced() {
    let topology = fat_tree(4, 0, Some(3)).build();
    let routes = route(&topology, Qos::On, None);
    let paths = paths_by_cable(&topology, &routes);
    // 16 hosts: 2 leave a leaf by 2 cables to 14 others; 12 of these lie in other pods.
    let counts: BTreeSet<_> = paths.values().copied().collect();
    assert_eq!(counts, [12, 14].into(), "{paths:?}");
    assert_eq!(loop_with_hosts(&topology, &routes), None);
}

/// Two LIDs of a port take different cables wherever there are two.
#[test]
fn lids_of_a_port_take_different_cables() {
    let topology = fat_tree(4, 1, None).build();
    let routes = route(&topology, Qos::On, None);
    for from in 0..topology.end_ports.len() {
        for to in &topology.end_ports {
            let ways: Vec<_> = to
                .lids()
                .map(|lid| way(&topology, &routes, from, lid).unwrap())
                .collect();
            // Over one leaf there is but one way.
            if ways.len() == 2 && ways[0].len() > 2 && topology.end_ports[from].port_number != 0 {
                assert_ne!(ways[0][0], ways[1][0], "{ways:?}");
            }
        }
    }
}

#[test]
fn equal_fabrics_have_equal_tables() {
    for seed in 0..40 {
        let topology = any(seed).1.build();
        let [one, other] = [(); 2].map(|()| route(&topology, Qos::On, None));
        for switch in topology.switch_ixs() {
            assert_eq!(one.lft(switch), other.lft(switch));
        }
        assert!(sls(&topology, &one) == sls(&topology, &other), "{seed}");
    }
}

/// A cable that was not there is a reason to route anew, so that it is used.
#[test]
fn a_fabric_that_grows_is_routed_anew() {
    let fabric = fat_tree(4, 0, None);
    let topology = fabric.build();
    let damaged = without(&fabric, &topology, 1, 5);
    let small = route(&damaged, Qos::On, None);
    let before = Before {
        topology: &damaged,
        routes: &small,
    };
    let grown = route(&topology, Qos::On, Some(before));
    let codes: Vec<_> = grown.warnings().iter().map(|it| it.code()).collect();
    assert_eq!(codes, ["routed-anew"]);
    assert_eq!(
        ports_of(&topology, &grown),
        ports_of(&topology, &route(&topology, Qos::On, None))
    );
}

#[test]
fn an_empty_fabric_and_a_single_switch_are_no_trouble() {
    assert_eq!(
        loops(
            &Topology::default(),
            &route(&Topology::default(), Qos::On, None)
        ),
        Loops::default()
    );
    let mut fabric = FabricBuilder {
        op_vls: 4,
        ..Default::default()
    };
    fabric.switch(1, 4, "alone");
    let topology = fabric.build();
    let routes = route(&topology, Qos::On, None);
    assert_eq!(routes.lft(SwitchIx(0))[1], 0);
    check("one switch", &topology, &routes, 8);
}
