//! The tables of torus-proved are those that were recorded when each way to each destination was
//! laid one by one, from every source, in one sorted graph: a slow way, but plain.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::time::Instant;

use common::generate::{TorusSpec, random_torus};
use routing::engine::torus_proved;
use routing::proof::{DependencyGraph, PathSls};
use routing::{Qos, Routes, Topology};
use sa_rig::rng::Rng;
use xxhash_rust::xxh3::Xxh3;

/// Digest of all tables, of the multicast tree, and of what the operator is told.
fn digest(specs: impl IntoIterator<Item = TorusSpec>) -> u64 {
    let mut hash = Xxh3::new();
    for spec in specs {
        let topology = spec.topology();
        match torus_proved::route(&topology, &spec.config(), Qos::On) {
            Ok(routes) => add(&mut hash, &topology, &routes),
            Err(refusal) => hash.update(refusal.reasons[0].code().as_bytes()),
        }
    }
    hash.digest()
}

fn add(hash: &mut Xxh3, topology: &Topology, routes: &Routes) {
    for ix in topology.switch_ixs() {
        hash.update(routes.lft(ix));
    }
    for group in routes.worst_groups(topology) {
        hash.update(&[group.sl.get()]);
        for (switch, ports) in &group.switches {
            hash.update(&u64::try_from(switch.index()).unwrap().to_le_bytes());
            hash.update(&ports.iter().collect::<Vec<_>>());
        }
    }
    for warning in routes.warnings() {
        hash.update(warning.code().as_bytes());
    }
}

/// Compares families of tori with their digests: name, digest, tori.
fn assert_recorded<const N: usize>(families: [(&str, u64, Vec<TorusSpec>); N]) {
    let expected = families
        .each_ref()
        .map(|(name, digest, _)| (*name, *digest));
    let found = families.map(|(name, _, specs)| (name, digest(specs)));
    assert_eq!(found.map(hex), expected.map(hex));
}

fn hex((name, digest): (&str, u64)) -> String {
    format!("{name}: {digest:#018x}")
}

/// A torus without some random switches and cables, the seed apart.
fn damaged(radix: [u8; 3], switches: usize, cables: usize, seed: u64) -> TorusSpec {
    let mut spec = TorusSpec::new(radix);
    let mut random = Rng::new(seed);
    let places = spec.places();
    let mut any = || places[random.below(places.len())];
    while spec.missing_switches.len() < switches {
        let at = any();
        if at.iter().filter(|position| **position != 0).count() > 1 && !spec.is_missing(at) {
            spec.missing_switches.push(at);
        }
    }
    for number in 0..cables {
        let at = any();
        spec.missing_cables.push((at, number % 3, None));
    }
    spec
}

/// Without these switches.
fn without(radix: [u8; 3], missing: &[[u8; 3]]) -> TorusSpec {
    TorusSpec {
        missing_switches: missing.to_vec(),
        ..TorusSpec::new(radix)
    }
}

fn many(count: u64, spec: impl Fn(u64) -> TorusSpec) -> Vec<TorusSpec> {
    (0..count).map(spec).collect()
}

#[test]
fn one_dead_switch() {
    let flat = many(12, |seed| damaged([6, 5, 1], 1, 0, seed));
    let cubes = many(8, |seed| damaged([5, 5, 5], 1, 0, seed));
    let odd = many(6, |seed| damaged([3, 3, 8], 1, 0, seed));
    assert_recorded([
        ("6x5", 0x7a64_7fac_7c62_d0b8, flat),
        ("5x5x5", 0x72ad_fd08_6782_1684, cubes),
        ("3x3x8", 0x84f7_6d3c_6035_bb20, odd),
    ]);
}

#[test]
fn two_dead_switches() {
    let flat = many(30, |seed| damaged([6, 6, 1], 2, 0, seed));
    let upright = many(30, |seed| damaged([1, 6, 6], 2, 0, seed));
    let cubes = many(12, |seed| damaged([5, 6, 4], 2, 0, seed));
    let large = many(3, |seed| damaged([8, 8, 8], 2, 0, seed));
    assert_recorded([
        ("6x6", 0xe302_7b60_2a60_3156, flat),
        ("1x6x6", 0x2fdd_3aa5_f3e4_f227, upright),
        ("5x6x4", 0x5f80_1661_0e2a_405a, cubes),
        ("8x8x8", 0x5106_f875_c58a_2066, large),
    ]);
}

#[test]
fn three_dead_switches() {
    let flat = many(20, |seed| damaged([7, 6, 1], 3, 0, seed));
    let cubes = many(12, |seed| damaged([5, 5, 5], 3, 0, seed));
    assert_recorded([
        ("7x6", 0xaf1d_2f29_31d4_871a, flat),
        ("5x5x5", 0x8762_1c90_97f7_f104, cubes),
    ]);
}

#[test]
fn dead_cables() {
    let few = many(12, |seed| damaged([5, 5, 5], 0, 2, seed));
    let several = many(8, |seed| damaged([6, 5, 4], 0, 9, seed));
    let both = many(8, |seed| damaged([5, 5, 5], 2, 5, seed));
    assert_recorded([
        ("two", 0x2963_18bd_2802_9bf0, few),
        ("nine", 0x843d_aab0_979e_3a78, several),
        ("with dead switches", 0x8021_743e_92b5_a4b0, both),
    ]);
}

/// Along each axis: side by side, apart, and three.
#[test]
fn gaps_in_the_same_ring() {
    let mut specs = Vec::new();
    for axis in 0..3 {
        for positions in [&[2, 3][..], &[2, 5], &[1, 3, 5], &[2, 3, 4]] {
            let missing: Vec<_> = positions
                .iter()
                .map(|position| {
                    let mut at = [3; 3];
                    at[axis] = *position;
                    at
                })
                .collect();
            specs.push(without([6, 6, 6], &missing));
        }
    }
    assert_recorded([("all", 0x53b1_36b3_5b30_95e3, specs)]);
}

#[test]
fn meshes() {
    let open = |mesh, radix, seed, switches, cables| TorusSpec {
        mesh,
        ..damaged(radix, switches, cables, seed)
    };
    let flat = many(12, |seed| open([true; 3], [6, 6, 1], seed, 2, 0));
    let cubes = many(8, |seed| open([true; 3], [4, 5, 5], seed, 2, 2));
    let mixed = many(8, |seed| open([false, true, false], [5, 4, 5], seed, 2, 1));
    assert_recorded([
        ("flat", 0x0c94_7191_02f2_0e6d, flat),
        ("cubes", 0x8ac6_67b4_9e6f_12a5, cubes),
        ("open along y", 0x4c5a_2c84_ccaa_63b4, mixed),
    ]);
}

/// A tenth of the switches and a twentieth of the cables; here pairs are lost.
#[test]
fn heavy_damage() {
    let specs = many(4, |seed| damaged([6, 6, 6], 22, 32, seed));
    assert_recorded([("all", 0x66e7_d8f1_0d43_3562, specs)]);
}

/// Any shape, parallel cables, few VLs, and up to a third of the switches gone.
#[test]
fn anything() {
    let specs = many(200, |seed| {
        let mut random = Rng::new(seed);
        let mut spec = random_torus(random.number(), 100);
        let places = spec.places();
        let most = places.len() as u64 / 3 + 1;
        for _ in 0..random.below(most) {
            let at = places[random.below(places.len())];
            if at != spec.origin && !spec.is_missing(at) {
                spec.missing_switches.push(at);
            }
        }
        spec
    });
    assert_recorded([("all", 0x3c8d_0a3c_56e4_469b, specs)]);
}

/// Two dead switches and two hosts a switch, at the sizes in `RADIX`: for measuring. The check has
/// its say here, too.
#[test]
#[ignore = "for measuring: prints seconds and digests"]
fn large_tori() {
    let sizes = std::env::var("RADIX").unwrap_or_else(|_| "8 16 24".to_owned());
    for radix in sizes.split(' ').map(|size| size.parse().unwrap()) {
        for seed in 0..3 {
            let spec = TorusSpec {
                hosts: 2,
                ..damaged([radix; 3], 2, 0, seed)
            };
            let topology = spec.topology();
            let start = Instant::now();
            let routes = torus_proved::route(&topology, &spec.config(), Qos::On).unwrap();
            let routed = start.elapsed().as_secs_f64();
            let start = Instant::now();
            let mut graph = DependencyGraph::new(&topology, &routes);
            graph.add_unicast(&topology, &routes, PathSls::Engine);
            graph.add_multicast(&topology, &routes.worst_groups(&topology));
            assert!(graph.shortest_loop().is_none());
            let proved = start.elapsed().as_secs_f64();
            let mut hash = Xxh3::new();
            add(&mut hash, &topology, &routes);
            println!(
                "{radix} without {:?}: routed in {routed:.3} s, proved in {proved:.3} s, {:016x}",
                spec.missing_switches,
                hash.digest()
            );
        }
    }
}
