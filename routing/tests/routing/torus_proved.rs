//! The engine torus-proved: whatever it routes is proved by the check, which knows nothing of it.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use common::generate::{TorusSpec, random_torus};
use proptest::prelude::*;
use routing::engine::{torus, torus_proved};
use routing::proof::{DependencyGraph, PathSls, reachability};
use routing::{Qos, Routes, Topology};
use sa_rig::rng::Rng;
use sa_wire::Sl;

/// What the independent check says about a routed torus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Verdict {
    /// Unicast closes no cycle.
    is_acyclic: bool,
    /// Nor does it with a group of everybody on SL 0 and one on SL 8.
    is_acyclic_with_multicast: bool,
    lost: u64,
}

const GOOD: Verdict = Verdict {
    is_acyclic: true,
    is_acyclic_with_multicast: true,
    lost: 0,
};

fn judge(topology: &Topology, routes: &Routes) -> Verdict {
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, PathSls::Engine);
    let is_acyclic = graph.shortest_loop().is_none();
    graph.add_multicast(topology, &routes.worst_groups(topology));
    Verdict {
        is_acyclic,
        is_acyclic_with_multicast: graph.shortest_loop().is_none(),
        lost: reachability(topology, routes, 0).lost,
    }
}

/// A torus that lacks some switches, seeded at a switch whose neighbours are all there. None when
/// there is no such place.
fn lacking(radix: [u8; 3], missing: &[[u8; 3]]) -> Option<TorusSpec> {
    let places = TorusSpec::new(radix).places();
    let is_near = |origin: [u8; 3], at: [u8; 3]| {
        let apart = |axis: usize| {
            let direct = origin[axis].abs_diff(at[axis]);
            direct.min(radix[axis] - direct)
        };
        (0..3).map(apart).sum::<u8>() <= 1
    };
    let mut origins = places.into_iter();
    let origin = origins.find(|origin| missing.iter().all(|at| !is_near(*origin, *at)))?;
    Some(TorusSpec {
        origin,
        missing_switches: missing.to_vec(),
        ..TorusSpec::new(radix)
    })
}

/// SLs of the healthy torus between the switches that are left.
fn assert_same_sls(spec: &TorusSpec, topology: &Topology, routes: &Routes) {
    let torus = routes.torus().unwrap();
    for from in topology.switch_ixs() {
        for to in topology.switch_ixs() {
            let (Some(a), Some(b)) = (torus.coordinate(from), torus.coordinate(to)) else {
                continue;
            };
            let expected = (0..3).fold(0, |sl, axis| {
                let direct = a.0[axis].abs_diff(b.0[axis]);
                sl | u8::from(direct > spec.radix[axis] - direct) << axis
            });
            let lid = |ix| topology.end_port(topology.switch(ix).port0).lid;
            let sl = routes.path_sl(Sl::default(), lid(from), lid(to));
            assert_eq!(sl.unwrap().get(), expected);
        }
    }
}

/// How many pairs of failed switches are routed completely and without any cycle, of how many;
/// `each` takes every n-th pair.
fn accepted_doubles(radix: [u8; 3], each: usize) -> (usize, usize) {
    let places = TorusSpec::new(radix).places();
    let pairs = (0..places.len()).flat_map(|a| (a + 1..places.len()).map(move |b| (a, b)));
    let (mut accepted, mut tried) = (0, 0);
    for (a, b) in pairs.skip(each / 2).step_by(each) {
        let spec = lacking(radix, &[places[a], places[b]]).unwrap();
        let topology = spec.topology();
        let routes = torus_proved::route(&topology, &spec.config(), Qos::On).unwrap();
        assert_eq!(routes.torus().unwrap().switches().len(), places.len() - 2);
        assert_same_sls(&spec, &topology, &routes);
        tried += 1;
        accepted += usize::from(judge(&topology, &routes) == GOOD);
    }
    (accepted, tried)
}

/// The shares of `docs/routing/torus-proved.md`: every one of them.
#[test]
fn double_failures_in_flat_tori_are_routed() {
    assert_eq!(accepted_doubles([6, 6, 1], 1), (630, 630));
    assert_eq!(accepted_doubles([1, 6, 6], 1), (630, 630));
    assert_eq!(accepted_doubles([5, 5, 1], 1), (300, 300));
}

#[test]
fn double_failures_in_cubes_are_routed() {
    assert_eq!(accepted_doubles([4, 4, 4], 10), (202, 202));
    assert_eq!(accepted_doubles([5, 5, 5], 129), (60, 60));
}

/// All of them: minutes.
#[test]
#[ignore = "takes minutes; the figures are in docs/routing/torus-proved.md"]
fn all_double_failures_in_cubes_are_routed() {
    assert_eq!(accepted_doubles([4, 4, 4], 1), (2016, 2016));
    assert_eq!(accepted_doubles([5, 5, 5], 1), (7750, 7750));
}

/// Where torus-2QoS closes a cycle with multicast after one switch failure, this does not, and
/// where it does not, this is the same.
#[test]
fn one_failed_switch_leaves_no_cycle_with_multicast() {
    for radix in [[6, 5, 1], [5, 8, 1], [5, 5, 5], [3, 3, 8]] {
        let mut flawed = 0;
        let places = TorusSpec::new(radix).places();
        for at in places.iter().step_by(if places.len() > 60 { 3 } else { 1 }) {
            let spec = lacking(radix, &[*at]).unwrap();
            let topology = spec.topology();
            let config = spec.config();
            let usual = torus::route(&topology, &config, Qos::On).unwrap();
            let proved = torus_proved::route(&topology, &config, Qos::On).unwrap();
            assert_eq!(judge(&topology, &proved), GOOD, "{radix:?} without {at:?}");
            if judge(&topology, &usual) == GOOD {
                assert_same_tables(&topology, &usual, &proved);
            } else {
                flawed += 1;
            }
        }
        assert!(flawed > 0, "{radix:?}: the flaw of the original is gone");
    }
}

/// A dead switch of the only seed is damage too: what is left of the seed is enough.
#[test]
fn a_seed_may_lack_a_switch() {
    for radix in [
        [6, 5, 1],
        [5, 5, 5],
        [4, 4, 4],
        [3, 4, 5],
        [1, 7, 5],
        [3, 3, 3],
    ] {
        let mut seeds = 0;
        for at in TorusSpec::new(radix).places() {
            let spec = TorusSpec {
                missing_switches: vec![at],
                ..TorusSpec::new(radix)
            };
            let topology = spec.topology();
            let routes = torus_proved::route(&topology, &spec.config(), Qos::On);
            let routes = routes.unwrap_or_else(|refusal| panic!("{radix:?} {at:?}: {refusal}"));
            assert_same_sls(&spec, &topology, &routes);
            assert_eq!(judge(&topology, &routes), GOOD, "{radix:?} without {at:?}");
            let warnings = routes.warnings().iter();
            seeds += warnings
                .filter(|warning| warning.code() == "partial-seed")
                .count();
        }
        assert!(seeds >= 3, "{radix:?}");
    }
}

/// A wrong GUID in the seed is no failure: the switch that is there is not put elsewhere.
#[test]
fn a_wrong_seed_is_refused() {
    let spec = TorusSpec::new([5, 5, 1]);
    let text = spec.config_text().replace("0x200000", "0x2fffff");
    let config = routing::TorusConfig::parse(&text).unwrap();
    let refusal = torus_proved::route(&spec.topology(), &config, Qos::On).unwrap_err();
    assert_eq!(refusal.reasons.len(), 1);
    assert_eq!(refusal.reasons[0].code(), "no-usable-seed");
}

fn assert_same_tables(topology: &Topology, usual: &Routes, proved: &Routes) {
    for ix in topology.switch_ixs() {
        assert_eq!(usual.lft(ix), proved.lft(ix));
    }
    let (a, b) = (usual.worst_groups(topology), proved.worst_groups(topology));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(a.switches, b.switches);
    }
}

/// Damage of any kind, up to a third of the switches and many cables.
fn ruin(seed: u64) -> TorusSpec {
    let mut random = Rng::new(seed);
    let mut spec = random_torus(random.number(), 100);
    let places = spec.places();
    let any = |random: &mut Rng| places[random.below(places.len())];
    let most = places.len() as u64 / 3 + 1;
    for _ in 0..random.below(most) {
        let at = any(&mut random);
        if at != spec.origin && !spec.missing_switches.contains(&at) {
            spec.missing_switches.push(at);
        }
    }
    for _ in 0..random.below(most) {
        let axis: usize = random.below(3);
        spec.missing_cables.push((any(&mut random), axis, None));
    }
    spec
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_routed_is_proved(seed: u64) {
        let spec = ruin(seed);
        let topology = spec.topology();
        let Ok(routes) = torus_proved::route(&topology, &spec.config(), Qos::On) else {
            return Ok(());
        };
        assert_same_sls(&spec, &topology, &routes);
        let verdict = judge(&topology, &routes);
        prop_assert!(verdict.is_acyclic && verdict.is_acyclic_with_multicast);
        let is_told = |code| routes.warnings().iter().any(|warning| warning.code() == code);
        let is_lost = verdict.lost > 0;
        prop_assert_eq!(is_lost, is_told("pairs-lost") || is_told("switch-outside"));
        if let Ok(usual) = torus::route(&topology, &spec.config(), Qos::On)
            && judge(&topology, &usual) == GOOD
        {
            assert_same_tables(&topology, &usual, &routes);
        }
    }

    #[test]
    fn a_second_run_gives_the_same(seed: u64) {
        let spec = ruin(seed);
        let topology = spec.topology();
        let route = || torus_proved::route(&topology, &spec.config(), Qos::On);
        if let (Ok(one), Ok(other)) = (route(), route()) {
            assert_same_tables(&topology, &one, &other);
        }
    }
}
