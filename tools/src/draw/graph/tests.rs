//! Whole pictures: what is in a scene, and that documents are well formed.

use std::fs;

use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_fabric::generate::{
    DragonflySpec, FatTreeSpec, RandomSpec, Wiring, dragonfly, fat_tree, random,
};

use super::scene::Scene;
use super::{measured, svg, words};
use crate::draw::trace::Trace;
use sa_layout::graph::Detail;

fn compile(wiring: &Wiring, failed: &[&str]) -> Compiled {
    let directory = tempfile::tempdir().unwrap();
    let net = directory.path().join("net");
    fs::write(&net, wiring.net()).unwrap();
    let inputs = Inputs {
        fabric: net,
        allow_lost_pairs: true,
        failed: failed.iter().map(|part| (*part).to_owned()).collect(),
        ..Inputs::default()
    };
    pipeline::compile(&inputs, Stamp::default()).unwrap()
}

fn tree(radix: u8) -> Wiring {
    fat_tree(&FatTreeSpec::new(3, radix)).unwrap()
}

fn with_path(compiled: &Compiled, whole: &Compiled, from: &str, to: &str) -> Scene {
    let mut scene = Scene::of(&compiled.parts.topology, &whole.parts.topology);
    let find = |name| compiled.parts.subnet.find(name).unwrap();
    let trace = Trace::of(compiled, find(from), find(to)).unwrap();
    scene.add_paths(vec![trace]);
    scene
}

#[test]
fn a_path_goes_up_and_down() {
    let whole = compile(&tree(4), &[]);
    let scene = with_path(&whole, &whole, "H0_0_0", "H3_1_1");
    let hops = &scene.paths[0].hops;
    let levels: Vec<_> = hops.iter().map(|hop| scene.signs[hop.to].level).collect();
    assert_eq!(levels, [1, 2, 1, 0]);
    assert_eq!(scene.signs[hops[0].from].name, "L0_0");
    assert_eq!(scene.signs[hops[3].to].name, "L3_1");
    assert!(svg::render(&scene).contains("SL 0 VL 0</text>"));
}

#[test]
fn what_failed_is_in_the_picture_and_counted() {
    let whole = compile(&tree(4), &[]);
    let damaged = compile(&tree(4), &["T0_1", "M2_0:1"]);
    let scene = Scene::of(&damaged.parts.topology, &whole.parts.topology);
    assert_eq!(scene.lost_switches, ["T0_1"]);
    assert_eq!(scene.lost_cables.len(), 1, "{:?}", scene.lost_cables);
    let title = words::title(&scene);
    assert!(
        title.starts_with("19 of 20 switches on 3 levels in 4 groups"),
        "{title}"
    );
    assert!(
        title.ends_with("27 of 32 cables between switches"),
        "{title}"
    );
    let picture = svg::render(&scene);
    assert_eq!(picture.matches(", not there</title>").count(), 1);
    assert!(words::text(&scene).contains("Not there, or cut off: T0_1."));
}

/// Of all paths between hosts of different leaves, half go up from each side of every cable as many
/// as come down.
#[test]
fn load_counts_every_hop_of_every_pair_of_hosts() {
    let whole = compile(&tree(4), &[]);
    let counts = measured(&whole.parts);
    let topology = &whole.parts.topology;
    let cables = topology
        .switch_ixs()
        .flat_map(|ix| topology.cables(ix).map(move |(port, ..)| (ix, port)));
    let hops: u32 = cables
        .map(|(ix, port)| counts.leaving(ix, port).iter().sum::<u32>())
        .sum();
    // 16 hosts: 2 others of the same pod at another leaf with 2 hops, 12 of other pods with 4.
    assert_eq!(hops, 16 * (2 * 2 + 12 * 4));
}

#[test]
fn large_fabrics_are_blocks_or_a_matrix() {
    let detail = |wiring: &Wiring| {
        let compiled = parts(wiring);
        Scene::of(&compiled, &compiled)
    };
    let blocks = detail(&tree(30));
    assert_eq!(blocks.detail, Detail::Blocks);
    // A box for the leaves and one for the middle switches of each pod, and for each group of tops.
    assert_eq!(blocks.signs.len(), 30 + 30 + 15);
    let cables: usize = blocks.bundles.values().map(|bundle| bundle.cables).sum();
    assert_eq!(cables, 2 * 30 * 15 * 15);
    let groups = detail(
        &dragonfly(&DragonflySpec {
            switches: 16,
            spines: None,
            hosts: 1,
            global: 5,
            groups: None,
        })
        .unwrap(),
    );
    assert_eq!((groups.detail, groups.signs.len()), (Detail::Matrix, 81));
    let random = detail(
        &random(&RandomSpec {
            switches: 300,
            degree: 6,
            hosts: 1,
            seed: 1,
        })
        .unwrap(),
    );
    assert_eq!(random.detail, Detail::Matrix);
    for scene in [&blocks, &groups, &random] {
        let picture = svg::render(scene);
        assert!(picture.len() < 150_000, "{}", picture.len());
        crate::draw::torus::well_formed(&picture);
        assert_eq!(picture, svg::render(scene));
    }
}

/// Without routes, which take longer.
fn parts(wiring: &Wiring) -> routing::Topology {
    let directory = tempfile::tempdir().unwrap();
    let net = directory.path().join("net");
    fs::write(&net, wiring.net()).unwrap();
    let inputs = Inputs {
        fabric: net,
        ..Inputs::default()
    };
    let sources = pipeline::read(&inputs).unwrap();
    sources.subnet.topology(&sources.options)
}
