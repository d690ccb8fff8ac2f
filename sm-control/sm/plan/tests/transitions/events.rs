//! What happens to a subnet, and that nobody's packets suffer more than they must.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fabric_simulator::{Effect, Rule};
use routing::EngineKind;
use sa_compiler::pipeline::Inputs;
use sa_fabric::formats::net;
use sa_fabric::generate::{TorusSpec, named, plan};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;

use sm_plan::PlanFinding;

use crate::drive::{Changed, LIFE, Rig};
use crate::walker::Harm;

/// A fabric, and inputs of its engine.
pub(crate) fn torus(size: [u8; 3], folder: &Path) -> (Fabric, Inputs) {
    let plan = plan(&TorusSpec::new(size, 1)).unwrap();
    let conf = folder.join(format!("torus-{size:?}.conf"));
    fs::write(&conf, plan.torus_conf()).unwrap();
    let inputs = Inputs {
        engine: Some(EngineKind::Torus2Qos),
        torus_conf: Some(conf),
        qos: Some(true),
        ..Inputs::default()
    };
    (net::parse(plan.net().as_bytes()).unwrap(), inputs)
}

pub(crate) fn shape(word: &str, engine: EngineKind) -> (Fabric, Inputs) {
    let text = named(word).unwrap().unwrap().net();
    let inputs = Inputs {
        engine: Some(engine),
        ..Inputs::default()
    };
    (net::parse(text.as_bytes()).unwrap(), inputs)
}

fn fabrics(folder: &Path) -> Vec<(&'static str, Fabric, Inputs)> {
    let all = [
        ("torus 4x4x4", torus([4, 4, 4], folder)),
        ("torus 5x5 updn", {
            let (fabric, _) = torus([5, 5, 1], folder);
            let inputs = Inputs {
                engine: Some(EngineKind::UpDown),
                ..Inputs::default()
            };
            (fabric, inputs)
        }),
        ("fat tree", shape("fat-tree:4", EngineKind::FatTree)),
        ("random", shape("random:20x4x2", EngineKind::UpDown)),
    ];
    all.into_iter()
        .map(|(name, (fabric, inputs))| (name, fabric, inputs))
        .collect()
}

/// Cables between switches, each once.
fn cables(fabric: &Fabric) -> Vec<(PortRef, PortRef)> {
    let is_switch = |at: PortRef| fabric.node(at.node).kind == NodeType::Switch;
    fabric
        .cabled()
        .filter(|(one, far)| is_switch(*one) && is_switch(*far) && one < far)
        .collect()
}

fn check(name: &str, what: &str, changed: &Changed) {
    println!("{name}, {what}: {changed:?}");
    let mut harm = changed.harm;
    // Of what was lost before nothing more is lost.
    assert!(
        harm.drained == 0 || changed.drained.is_some(),
        "{name}, {what}"
    );
    harm.drained = 0;
    let is_proved = |finding: &PlanFinding| matches!(finding, PlanFinding::Drained { .. });
    if !changed.findings.iter().all(is_proved) {
        // It says itself that it could not prove that there are none.
        harm.loops = 0;
    }
    assert_eq!(harm, Harm::default(), "{name}, {what}");
}

/// Blocks as one sweep made them and as another one did, where each switch takes its own at any time.
#[test]
fn in_any_order_there_are_circles() {
    let folder = tempfile::tempdir().unwrap();
    let mut circles = 0;
    for (_, fabric, inputs) in fabrics(folder.path()) {
        let all = cables(&fabric);
        let mut rig = Rig::new(fabric.clone(), inputs, 9);
        rig.simulator.unplug(all[all.len() / 2].0);
        circles += rig.sweep_in_any_order().circles;
    }
    assert!(circles > 0, "the walker sees them");
}

#[test]
fn a_cable_fails_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for (name, fabric, inputs) in fabrics(folder.path()) {
        for (seed, lost) in [(1, 0), (2, 5), (3, 3)] {
            let all = cables(&fabric);
            let cable = all[all.len() * usize::try_from(seed).unwrap() / 4];
            let mut rig = Rig::new(fabric.clone(), inputs.clone(), seed);
            rig.lost = lost;
            rig.simulator.unplug(cable.0);
            let down = rig.sweep();
            check(name, "a cable fails", &down);
            assert!(
                down.differing > 0 && down.blocks >= down.differing,
                "{name}"
            );
            rig.simulator.plug(cable.0, cable.1);
            check(name, "it comes back", &rig.sweep());
        }
    }
}

#[test]
fn a_switch_fails_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for (name, fabric, inputs) in fabrics(folder.path()) {
        for (seed, lost) in [(4, 0), (5, 4)] {
            let mut rig = Rig::new(fabric.clone(), inputs.clone(), seed);
            let sm = rig.switch_of_sm();
            let switches = (0..).map(NodeIx).zip(fabric.nodes());
            let switches = switches.filter(|(at, node)| node.kind == NodeType::Switch && *at != sm);
            let all: Vec<NodeIx> = switches.map(|(at, _)| at).collect();
            let dead = all[all.len() * usize::try_from(seed).unwrap() / 7];
            let cables: Vec<_> = fabric
                .cabled()
                .filter(|(one, _)| one.node == dead)
                .collect();
            rig.lost = lost;
            cables
                .iter()
                .for_each(|(one, _)| rig.simulator.unplug(*one));
            check(name, "a switch fails", &rig.sweep());
            cables
                .iter()
                .for_each(|(one, far)| rig.simulator.plug(*one, *far));
            rig.simulator.reboot(dead);
            check(name, "it comes back", &rig.sweep());
        }
    }
}

/// Who is mute keeps its old entries, so new ways of others over it may lead back to them.
#[test]
fn a_switch_fails_while_another_one_is_mute() {
    let (fabric, inputs) = shape("fat-tree:6", EngineKind::FatTree);
    for seed in 1..9 {
        let mut rig = Rig::new(fabric.clone(), inputs.clone(), seed);
        let sm = rig.switch_of_sm();
        let switches = (0..).map(NodeIx).zip(fabric.nodes());
        let switches = switches.filter(|(at, node)| node.kind == NodeType::Switch && *at != sm);
        let all: Vec<NodeIx> = switches.map(|(at, _)| at).collect();
        let nth = |it: usize| all[it * usize::try_from(seed).unwrap() % all.len()];
        let (mute, dead) = (nth(3), nth(5));
        rig.simulator.add_rule(Rule {
            node: Some(fabric.node(mute).guid),
            ..Rule::always(Effect::Lost)
        });
        let cables = fabric.cabled().filter(|(one, _)| one.node == dead);
        cables.for_each(|(one, _)| rig.simulator.unplug(one));
        for _ in 0..2 {
            let changed = rig.sweep();
            assert_eq!(changed.harm.circles, 0, "{seed}: {changed:?}");
        }
    }
}

#[test]
fn another_engine_makes_the_routes() {
    let folder = tempfile::tempdir().unwrap();
    let mut stages = 0;
    for seed in [6, 7] {
        let (fabric, by_torus) = torus([4, 4, 1], folder.path());
        let by = |engine| Inputs {
            engine: Some(engine),
            qos: Some(true),
            ..Inputs::default()
        };
        let mut rig = Rig::new(fabric, by(EngineKind::UpDown), seed);
        rig.lost = (seed - 6) * 4;
        for (what, inputs) in [
            ("dfsssp-nue", by(EngineKind::DfssspNue)),
            ("torus-2qos", by_torus),
            ("updn", by(EngineKind::UpDown)),
        ] {
            rig.set_inputs(inputs);
            let changed = rig.sweep();
            check("torus 4x4", what, &changed);
            stages += changed.stages;
        }
    }
    assert!(stages > 1, "some change could deadlock at once");
}

/// Rings on one VL, up and down from one switch and then from another one.
fn rings() -> Vec<(usize, Fabric)> {
    let ring = |count: usize| {
        let of = |it: usize| {
            let next = (it + 1) % count;
            let last = (it + count - 1) % count;
            format!(
                "switchguid=0x{:x}\nSwitch 4 \"S{it}\"\n[1] \"S{next}\"[2]\n[2] \"S{last}\"[1]\n[3] \"H{it}\"[1]\n\n\
                 caguid=0x{:x}\nHca 1 \"H{it}\"\n[1] \"S{it}\"[3]\n\n",
                0x200 + it,
                0x100 + it
            )
        };
        net::parse((0..count).map(of).collect::<String>().as_bytes()).unwrap()
    };
    [4, 5, 6, 7].map(|count| (count, ring(count))).into()
}

fn up_down(folder: &Path, root: usize) -> Inputs {
    let file = folder.join(format!("root-{root}"));
    fs::write(&file, format!("0x{:x}\n", 0x200 + root)).unwrap();
    Inputs {
        engine: Some(EngineKind::UpDown),
        root_guids: Some(file),
        ..Inputs::default()
    }
}

#[test]
fn where_no_order_does_some_lids_wait_until_packets_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut waited = 0;
    for (count, fabric) in rings() {
        for root in 1..count {
            let seed = u64::try_from(count * 10 + root).unwrap();
            let mut rig = Rig::new(fabric.clone(), up_down(folder.path(), 0), seed);
            rig.set_inputs(up_down(folder.path(), root));
            let changed = rig.sweep();
            check("ring", &format!("{count} switches, root {root}"), &changed);
            let not_proved = |it: &PlanFinding| !matches!(it, PlanFinding::Drained { .. });
            assert!(!changed.findings.iter().any(not_proved));
            let Some(drained) = changed.drained else {
                continue;
            };
            waited += 1;
            assert!(drained.is_over && drained.took >= LIFE, "{drained:?}");
            // Longer than the longest way allows for is of no use.
            assert!(drained.took <= LIFE * 2 * u32::try_from(count).unwrap());
            let says = changed.findings.iter().any(|it| match it {
                PlanFinding::Drained { pairs, .. } => *pairs > 0 && *pairs <= drained.lids * count,
                _ => false,
            });
            assert!(says, "{:?}", changed.findings);
            is_told_as_seen(&changed);
            assert!(rig.sweep().findings.is_empty(), "over with its sweep");
        }
    }
    assert!(waited > 0, "some have no order");
}

/// A switch that was off comes back while routes change: its links come up beside old entries of its neighbours.
#[test]
fn a_switch_that_comes_back_while_routes_change_closes_no_loop() {
    let folder = tempfile::tempdir().unwrap();
    let mut staged = 0;
    for (count, fabric) in rings() {
        for root in 1..count {
            for rebooted in 0..count {
                let seed = u64::try_from(count * 100 + root * 10 + rebooted).unwrap();
                let mut rig = Rig::new(fabric.clone(), up_down(folder.path(), 0), seed);
                let name = format!("S{rebooted}");
                let mut nodes = (0..).map(NodeIx).zip(fabric.nodes());
                let switch = nodes.find(|(_, node)| node.name() == name).unwrap().0;
                if switch == rig.switch_of_sm() {
                    continue;
                }
                rig.simulator.reboot(switch);
                rig.set_inputs(up_down(folder.path(), root));
                let changed = rig.sweep();
                check(
                    "ring",
                    &format!("{count} switches, root {root}, {name}"),
                    &changed,
                );
                staged += usize::from(changed.stages > 0);
            }
        }
    }
    assert!(staged > 20, "{staged}");
}

/// Each pair that was seen without a path is told of, and no other one.
fn is_told_as_seen(changed: &Changed) {
    let told = changed.waited.iter().flat_map(|it| {
        assert!(it.is_over && it.hosts == it.from.len(), "{it}");
        let lid = usize::from(it.lid);
        it.from
            .iter()
            .map(move |switch| ((switch.clone(), lid), it.took))
    });
    let told: BTreeMap<_, _> = told.collect();
    let seen = changed.lost.iter();
    let seen = seen.map(|((switch, lid), least)| ((format!("S{switch}"), *lid), *least));
    let seen: BTreeMap<_, _> = seen.collect();
    assert!(told.keys().eq(seen.keys()), "told {told:?}, seen {seen:?}");
    for (pair, least) in seen {
        assert!(told[&pair] >= least && told[&pair] >= LIFE, "{pair:?}");
    }
}

#[test]
fn a_drain_that_a_switch_does_not_take_opens_no_new_path() {
    let folder = tempfile::tempdir().unwrap();
    let mut cut = 0;
    for seed in 0..40 {
        let (count, fabric) = rings().swap_remove(2);
        let mut rig = Rig::new(fabric, up_down(folder.path(), 0), seed);
        rig.set_inputs(up_down(folder.path(), count / 2));
        rig.lost = 2;
        let changed = rig.sweep();
        let is_cut = changed.drained.is_some_and(|it| !it.is_over);
        cut += usize::from(is_cut);
        // Holes are what it costs; nothing circles and nothing locks.
        assert_eq!(
            (changed.harm.circles, changed.harm.loops),
            (0, 0),
            "{changed:?}"
        );
        rig.lost = 0;
        for _ in 0..2 {
            rig.sweep();
        }
        let last = rig.sweep();
        assert_eq!((last.differing, last.findings), (0, Vec::new()), "{seed}");
    }
    println!("{cut} were cut short");
}

/// Another manager that knows nothing: what switches hold is read, and then judged.
#[test]
fn a_take_over_changes_routes_with_proof() {
    let folder = tempfile::tempdir().unwrap();
    let mut stages = 0;
    for (count, fabric) in rings() {
        for root in 1..count {
            let mut rig = Rig::new(fabric.clone(), up_down(folder.path(), 0), 3);
            rig.take_over(up_down(folder.path(), root));
            let changed = rig.sweep();
            check("ring", "another manager", &changed);
            let not_proved = |it: &PlanFinding| matches!(it, PlanFinding::NotProvedTogether { .. });
            assert!(!changed.findings.iter().any(not_proved));
            stages += changed.stages;
        }
    }
    assert!(stages > 1, "some change could deadlock at once");
}

#[test]
fn a_sweep_ends_where_no_switch_takes_its_table() {
    let folder = tempfile::tempdir().unwrap();
    for (name, fabric, inputs) in fabrics(folder.path()) {
        let mut rig = Rig::new(fabric.clone(), inputs, 8);
        let all = cables(&fabric);
        let cable = all[all.len() / 2];
        rig.simulator.unplug(cable.0);
        // Every one.
        rig.lost = 1;
        let in_vain = rig.sweep();
        check(name, "nothing is taken", &in_vain);
        assert_eq!(in_vain.blocks, 0, "{name}");
        rig.lost = 0;
        // Nobody knows what is held now, so nothing is said of what packets meet.
        let later = rig.sweep();
        assert!(later.blocks >= in_vain.differing, "{name}");
    }
}
