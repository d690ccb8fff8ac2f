//! Plans of made fabrics: each switch and each cable in one place, parts of large ones small enough.

use std::collections::BTreeSet;
use std::fs;

use routing::Torus;
use sa_compiler::pipeline::{self, Inputs};
use sa_compiler::state::FabricState;
use sa_fabric::generate::{FatTreeSpec, TorusSpec, fat_tree, plan as torus_plan};

use super::*;

fn routed(inputs: &Inputs) -> FabricState {
    pipeline::route(pipeline::read(inputs).unwrap()).unwrap()
}

fn torus(radix: [u8; 3], failed: &[&str]) -> FabricState {
    let directory = tempfile::tempdir().unwrap();
    let made = torus_plan(&TorusSpec::new(radix, 1)).unwrap();
    let [net, conf] = ["net", "torus-2QoS.conf"].map(|name| directory.path().join(name));
    fs::write(&net, made.net()).unwrap();
    fs::write(&conf, made.torus_conf()).unwrap();
    routed(&Inputs {
        fabric: net,
        torus_conf: Some(conf),
        allow_lost_pairs: true,
        failed: failed.iter().map(|part| (*part).to_owned()).collect(),
        ..Inputs::default()
    })
}

fn tree(radix: u8) -> FabricState {
    let directory = tempfile::tempdir().unwrap();
    let net = directory.path().join("net");
    let wiring = fat_tree(&FatTreeSpec::new(3, radix)).unwrap();
    fs::write(&net, wiring.net()).unwrap();
    let inputs = Inputs {
        fabric: net,
        ..Inputs::default()
    };
    routed(&inputs)
}

/// All of its parts, which must hold each switch once and each cable at most once.
fn plans(topology: &Topology, torus: Option<&Torus>) -> Vec<Plan> {
    let parts = parts(topology, torus);
    let plans: Vec<_> = parts
        .iter()
        .map(|part| part.plan(topology, torus))
        .collect();
    let mut seen = BTreeSet::new();
    let (mut drawn, mut leaving) = (0, 0);
    for plan in &plans {
        assert!(plan.switches.len() <= MOST);
        for (switch, spot) in &plan.switches {
            assert!(seen.insert(*switch), "twice: {switch:?}");
            let Point { x, y } = spot.at;
            assert!((0..plan.width).contains(&x) && (0..plan.height).contains(&y));
        }
        let places: BTreeSet<_> = plan
            .switches
            .iter()
            .map(|(_, it)| (it.at.x, it.at.y))
            .collect();
        assert_eq!(places.len(), plan.switches.len(), "two stand in one place");
        drawn += plan
            .lines
            .iter()
            .map(|line| line.cables.len())
            .sum::<usize>();
        leaving += plan.leaving;
    }
    assert_eq!(seen.len(), topology.switches.len());
    let ends: usize = topology
        .switch_ixs()
        .map(|ix| topology.cables(ix).count())
        .sum();
    // Each cable has two ends: in one plan, or leaving two.
    assert_eq!(2 * drawn + leaving, ends);
    plans
}

#[test]
fn small_fabrics_are_one_part() {
    let state = torus([4, 4, 3], &[]);
    let whole = plans(&state.topology, state.routes.torus());
    assert_eq!((whole.len(), whole[0].lines.len()), (1, 144));
    assert_eq!(whole[0].leaving, 0);
    let state = tree(8);
    let whole = plans(&state.topology, None);
    assert_eq!((whole.len(), whole[0].frames.len()), (1, 8));
}

#[test]
fn what_a_torus_lacks_is_a_line_without_cables_or_an_empty_place() {
    let state = torus([4, 4, 3], &["S1_1_1", "S0_0_0:1"]);
    let [plan] = &plans(&state.topology, state.routes.torus())[..] else {
        panic!("several parts");
    };
    assert_eq!(plan.empty.len(), 1);
    let missing = plan.lines.iter().filter(|line| line.cables.is_empty());
    assert_eq!(missing.count(), 1);
    // Those of the switch that is not there are not drawn.
    assert_eq!(plan.lines.len(), 144 - 6);
}

#[test]
fn large_fabrics_fall_into_planes_or_groups() {
    let state = torus([11, 10, 10], &[]);
    let names: Vec<_> = parts(&state.topology, state.routes.torus())
        .into_iter()
        .map(|part| (part.name, part.switches.len()))
        .collect();
    assert_eq!(names[3], ("z=3".to_owned(), 110));
    assert_eq!(plans(&state.topology, state.routes.torus()).len(), 10);
    let state = torus([40, 30, 1], &[]);
    let names: Vec<_> = parts(&state.topology, state.routes.torus())
        .into_iter()
        .map(|part| (part.name, part.switches.len()))
        .collect();
    assert_eq!(
        names,
        [("y=0-24".to_owned(), 1000), ("y=25-29".to_owned(), 200)]
    );
    plans(&state.topology, state.routes.torus());
    let state = tree(30);
    assert_eq!(state.topology.switches.len(), 1125);
    // Thirty pods, and the tops.
    assert_eq!(plans(&state.topology, None).len(), 31);
}
