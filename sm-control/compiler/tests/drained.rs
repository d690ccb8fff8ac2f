//! Routes that leave parts which are still there, by several engines.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::path::Path;

use routing::{EngineKind, Peer, SwitchIx};
use sa_compiler::drained::{Cost, Drained};
use sa_compiler::pipeline::{Compiled, Inputs, PipelineError, Stamp, compile};
use sa_compiler::state::FabricState;
use sa_fabric::generate::{TorusSpec, plan};

/// A torus of 4 x 4 x 4 with a host per switch, in files.
fn files(engine: EngineKind) -> (tempfile::TempDir, Inputs) {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(&TorusSpec::new([4, 4, 4], 1)).unwrap();
    let put = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    put("net", &plan.net());
    put("torus-2QoS.conf", &plan.torus_conf());
    let inputs = Inputs {
        fabric: Path::join(directory.path(), "net"),
        engine: Some(engine),
        ..Inputs::default()
    };
    (directory, inputs)
}

fn named(parts: &FabricState, name: &str) -> SwitchIx {
    let mut all = parts.topology.switch_ixs();
    all.find(|ix| parts.topology.switch(*ix).description == name)
        .unwrap()
}

/// Switches that the way between two of them passes, both included; none where it does not arrive.
fn way(parts: &FabricState, from: SwitchIx, to: SwitchIx) -> Option<BTreeSet<SwitchIx>> {
    let port0 = parts.topology.switch(to).port0;
    let (_, host) = parts.topology.hosts(to).next().unwrap_or((0, port0));
    let lid = parts.topology.end_port(host).lid;
    let mut at = from;
    let mut passed = BTreeSet::from([at]);
    while at != to {
        let Peer::Switch { switch, .. } = parts.topology.peer(at, parts.routes.output(at, lid)?)
        else {
            return None;
        };
        at = switch;
        assert!(passed.insert(at), "a circle");
    }
    Some(passed)
}

fn drained(inputs: &Inputs, drained: Drained) -> Result<Compiled, PipelineError> {
    let inputs = Inputs {
        drained,
        ..inputs.clone()
    };
    compile(&inputs, Stamp::default())
}

#[test]
fn nothing_passes_a_drained_switch_and_all_is_reached() {
    for engine in [EngineKind::DfssspNue, EngineKind::UpDown] {
        let (_directory, inputs) = files(engine);
        let whole = compile(&inputs, Stamp::default()).unwrap();
        let gone = named(&whole.parts, "S1_1_1");
        let guid = whole.parts.topology.switch(gone).guid;
        let drains = Drained {
            switches: BTreeSet::from([guid]),
            ..Drained::default()
        };
        // Its host has no other way: as source and as destination of 63 others.
        let cost = drains.cost(&whole.parts.topology);
        let expected = Cost {
            hosts: 1,
            pairs: 126,
        };
        assert_eq!(cost, expected);
        let after = drained(&inputs, drains).unwrap();
        // Going up or down alone, no way leads to a host below a switch that hung above: then it is not to be drained.
        if engine == EngineKind::UpDown && after.publishable().is_err() {
            let lost = after.publishable();
            assert!(matches!(lost, Err(PipelineError::LostPairs(126))));
            continue;
        }
        after.publishable().unwrap();
        let parts = &after.parts;
        for from in parts.topology.switch_ixs() {
            for to in parts.topology.switch_ixs() {
                let passed = way(parts, from, to).unwrap();
                let ends = [from, to].contains(&gone);
                assert_eq!(passed.contains(&gone), ends, "{engine}: {from:?} {to:?}");
            }
        }
    }
}

#[test]
fn what_nothing_else_carries_stays_on_what_is_drained() {
    let (_directory, inputs) = files(EngineKind::DfssspNue);
    let whole = compile(&inputs, Stamp::default()).unwrap();
    let guids: BTreeSet<_> = whole
        .parts
        .topology
        .switches
        .iter()
        .map(|it| it.guid)
        .collect();
    // All of them, and all cables of one besides.
    let one = named(&whole.parts, "S0_0_0");
    let facts = whole.parts.topology.switch(one);
    let ports = (1..=6).map(|port| (facts.guid, port)).collect();
    let all = Drained {
        switches: guids,
        ports,
        ..Drained::default()
    };
    let after = drained(&inputs, all).unwrap();
    after.publishable().unwrap();
    let all_ways = after.parts.topology.switch_ixs();
    for from in all_ways {
        assert!(way(&after.parts, from, one).is_some(), "{from:?}");
    }
}

#[test]
fn torus_2qos_leaves_a_cable_and_not_a_switch_with_a_host() {
    let (directory, inputs) = files(EngineKind::Torus2Qos);
    let inputs = Inputs {
        torus_conf: Some(directory.path().join("torus-2QoS.conf")),
        ..inputs
    };
    let whole = compile(&inputs, Stamp::default()).unwrap();
    let one = named(&whole.parts, "S1_1_1");
    let guid = whole.parts.topology.switch(one).guid;
    let (port, far, far_port) = whole.parts.topology.cables(one).next().unwrap();
    let cable = Drained {
        ports: BTreeSet::from([(guid, port)]),
        ..Drained::default()
    };
    assert_eq!(cable.cost(&whole.parts.topology), Cost::default());
    let after = drained(&inputs, cable).unwrap();
    after.publishable().unwrap();
    for (switch, port) in [(one, port), (far, far_port)] {
        let lft = after.parts.routes.lft(switch);
        assert!(!lft.contains(&port), "{switch:?} {port}");
        assert!(whole.parts.routes.lft(switch).contains(&port));
    }
    let switch = Drained {
        switches: BTreeSet::from([guid]),
        ..Drained::default()
    };
    // No coordinates lead to a switch with one cable.
    let lost = drained(&inputs, switch.clone()).unwrap().publishable();
    assert!(matches!(lost, Err(PipelineError::LostPairs(_))), "{lost:?}");

    // As if it had failed: that is what the engine knows how to route, and no SL changes for it.
    let severed = Drained {
        severed: switch.switches.clone(),
        ..switch
    };
    let after = drained(&inputs, severed).unwrap();
    after.publishable().unwrap();
    assert!(after.parts.routes.engine() == EngineKind::Torus2Qos);
    for from in after.parts.topology.switch_ixs().filter(|it| *it != one) {
        for to in after.parts.topology.switch_ixs() {
            let passed = way(&after.parts, from, to);
            let expected = to != one;
            assert_eq!(passed.is_some(), expected, "{from:?} {to:?}");
            assert!(passed.is_none_or(|passed| !passed.contains(&one)));
        }
    }
    same_sls(&whole, &after, one);
}

/// Requests between hosts of other switches get the SLs that they had.
fn same_sls(before: &Compiled, after: &Compiled, gone: SwitchIx) {
    let hosts = |compiled: &Compiled| -> Vec<_> {
        let topology = &compiled.parts.topology;
        let all = topology.switch_ixs().filter(|it| *it != gone);
        let ends = all.flat_map(|it| topology.hosts(it).map(|(_, end)| end).collect::<Vec<_>>());
        ends.map(|end| topology.end_port(end).lid).collect()
    };
    let (were, are) = (hosts(before), hosts(after));
    assert!(were == are && are.len() == 63);
    for from in &are {
        for to in are.iter().filter(|to| *to != from) {
            let sl = |it: &Compiled| sa_answer::whole::path_sl(&it.snapshot, *from, *to).unwrap();
            assert_eq!(sl(before), sl(after), "{from} {to}");
        }
    }
}
