//! Groups for whose SL there is no tree: the plan is made all the same, and says so.

use std::fs;
use std::sync::Arc;

use fabric_simulator::{Simulator, Timing};
use routing::EngineKind;
use sa_compiler::pipeline::Inputs;
use sa_fabric::formats::net;
use sa_fabric::generate::named;
use sa_fabric::options::ManagerOptions;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::lids::Remembered;
use sa_sm::sweep::Swept;
use sa_wire::{Guid, Mlid, NodeType, SlVlMask};
use sm_plan::{Memberships, Multicast, PlanFinding, Planner};

use crate::sweeps::planned;

/// Ports of hosts, with their GUIDs.
fn hosts(fabric: &Fabric) -> Vec<(PortRef, Guid)> {
    let nodes = (0..).map(NodeIx).zip(fabric.nodes());
    let hosts = nodes.filter(|(_, node)| node.kind != NodeType::Switch);
    let ports = hosts.map(|(node, _)| PortRef { node, port: 1 });
    ports
        .map(|at| (at, fabric.port(at).guid.unwrap()))
        .collect()
}

/// What a first sweep finds on a dragonfly with two data VLs, with a group of everybody.
fn findings(engine: EngineKind, sl: u8) -> Vec<PlanFinding> {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("opensm.conf");
    fs::write(&conf, "qos TRUE\nmax_op_vls 2\n").unwrap();
    let text = named("dragonfly:2x2x2").unwrap().unwrap().net();
    let fabric = net::parse(text.as_bytes()).unwrap();
    let hosts = hosts(&fabric);
    let all: Arc<[Guid]> = hosts.iter().map(|(_, guid)| *guid).collect();
    let mlid = Mlid::new(0xc001).unwrap();
    let groups = Memberships::from([(mlid, (SlVlMask(1 << sl), all))]);
    let inputs = Inputs {
        engine: Some(engine),
        opensm_conf: Some(conf),
        ..Inputs::default()
    };
    let planner = Planner::new(inputs, ManagerOptions::default(), Remembered::default());
    let mut planner = planner.with_groups(Some(Arc::new(groups.clone())));
    let mut simulator = Simulator::new(&fabric, Timing::NONE);
    let (swept, _, plan) = planned(&mut simulator, hosts[0].0, Swept::default(), &mut planner);
    // Between two sweeps the same is said.
    let multicast = Multicast::new(&swept.subnet, &plan.compiled.parts, &groups);
    let of_groups = |finding: &PlanFinding| matches!(finding, PlanFinding::GroupsNotProved { .. });
    let found: Vec<_> = plan.findings.into_iter().filter(of_groups).collect();
    assert_eq!(multicast.finding(), found.first().cloned());
    found
}

#[test]
fn a_group_without_a_tree_is_told_with_its_loop() {
    let found = findings(EngineKind::DfssspNue, 0);
    let [PlanFinding::GroupsNotProved { mlid, circle }] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(mlid.get(), 0xc001);
    // Switches by name, each with its port and VL.
    assert!(circle.matches(" VL 0").count() > 1, "{circle}");
    let words = found[0].to_string();
    assert!(
        words.contains("0xc001") && words.contains(circle.as_str()),
        "{words}"
    );
    // What it says helps.
    assert_eq!(findings(EngineKind::DfssspNue, 1), []);
    assert_eq!(findings(EngineKind::UpDown, 0), []);
}
