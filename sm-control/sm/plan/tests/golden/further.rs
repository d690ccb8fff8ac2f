//! Recordings of more than one sweep, of devices that refuse, and where another engine routes on purpose.

use fabric_simulator::{Effect, Rule, Simulator, Timing};
use routing::EngineKind;
use sa_compiler::pipeline::{PipelineError, Stamp};
use sa_fabric::{Fabric, PortRef};
use sa_sm::sweep::Swept;
use sa_wire::mad::{Status, method};
use sa_wire::smp::attribute;
use sm_plan::{PlanError, PlanFinding};

use crate::sweeps::{Case, FIRST, cases, fabric, planned, sweep};
use sm_recordings::{read, subnet};

fn case(name: &'static str) -> Case {
    let like = match name {
        "g06-torus333-2qos" => name,
        _ => "g03-ftree",
    };
    let found = cases().into_iter().find(|case| case.name == like);
    Case {
        name,
        ..found.unwrap()
    }
}

/// A port by the name of its node.
fn port(fabric: &Fabric, name: &str, port: u8) -> PortRef {
    let mut nodes = (0..).map(sa_fabric::NodeIx).zip(fabric.nodes());
    let (node, _) = nodes.find(|(_, node)| node.name() == name).unwrap();
    PortRef { node, port }
}

#[test]
fn a_torus_that_loses_a_link_and_gets_it_back_is_as_after_opensm_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let case = case("g06-torus333-2qos");
    let (fabric, sm) = fabric(case.name, &subnet(&read(case.name, FIRST)));
    let mut simulator = Simulator::new(&fabric, Timing::NONE);
    let mut planner = case.planner(folder.path());
    let (swept, ..) = planned(&mut simulator, sm, Swept::default(), &mut planner);
    case.compare(&mut simulator, sm, &swept, FIRST);

    let end = port(&fabric, "S1_0_0", 1);
    let far = fabric.port(end).peer.unwrap();
    simulator.unplug(end);
    let (swept, down, _) = planned(&mut simulator, sm, swept, &mut planner);
    assert!(down.sets > 0);
    case.compare(&mut simulator, sm, &swept, "state-1-linkdown.txt");
    simulator.plug(end, far);
    let (swept, ..) = planned(&mut simulator, sm, swept, &mut planner);
    case.compare(&mut simulator, sm, &swept, "state-2-linkup.txt");
}

#[test]
fn a_torus_without_a_named_engine_is_routed_free_of_loops_and_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let case = Case {
        engine: None,
        ..case("g05-torus444-minhop")
    };
    let (fabric, sm) = fabric(case.name, &subnet(&read(case.name, FIRST)));
    let mut simulator = Simulator::new(&fabric, Timing::NONE);
    let mut planner = case.planner(folder.path());
    let (swept, _, plan) = planned(&mut simulator, sm, Swept::default(), &mut planner);
    let told = PlanFinding::OtherEngine {
        refused: EngineKind::MinHop,
        taken: EngineKind::DfssspNue,
    };
    assert!(plan.findings.contains(&told), "{:?}", plan.findings);
    plan.compiled.publishable().unwrap();
    assert_eq!(plan.compiled.parts.routes.engine(), EngineKind::DfssspNue);
    case.compare(&mut simulator, sm, &swept, FIRST);
    let (_, again, plan) = planned(&mut simulator, sm, swept, &mut planner);
    assert!(plan.findings.contains(&told));
    assert_eq!(again.sets, 0);
}

#[test]
fn a_named_engine_with_a_loop_refuses_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let case = case("g05-torus444-minhop");
    let (fabric, sm) = fabric(case.name, &subnet(&read(case.name, FIRST)));
    let mut simulator = Simulator::new(&fabric, Timing::NONE);
    let mut planner = case.planner(folder.path());
    let mut refused = None;
    let (_, counts) = sweep(&mut simulator, sm, Swept::default(), |found| {
        refused = planner.plan(found, None, Stamp::default()).err();
        None
    });
    let refused = refused.unwrap();
    let is_loop = matches!(
        refused,
        PlanError::Compile(PipelineError::CreditLoop { .. })
    );
    assert!(is_loop, "{refused}");
    assert_eq!(counts.sets, 0);
}

/// All but what is refused is as after OpenSM's sweep with that refusal, and all is when the device takes it, which is tried again.
#[test]
fn a_port_that_refuses_is_tried_again_until_it_takes_its_lid() {
    let folder = tempfile::tempdir().unwrap();
    let case = case("g18-stubborn-port");
    let up = "state-1-up.txt";
    let (fabric, sm) = fabric(case.name, &subnet(&read(case.name, up)));
    let stubborn = fabric.node(port(&fabric, "SP1", 0).node).guid;
    let mut simulator = Simulator::new(&fabric, Timing::NONE);
    let tries = 2;
    simulator.add_rule(Rule {
        node: Some(stubborn),
        method: Some(method::SET),
        attribute: Some(attribute::PORT_INFO),
        modifier: Some(0),
        count: tries,
        ..Rule::always(Effect::Status(Status::INVALID_FIELD))
    });
    let mut planner = case.planner(folder.path());
    let (mut swept, ..) = planned(&mut simulator, sm, Swept::default(), &mut planner);
    let mut sets = Vec::new();
    for _ in 0..5 {
        let (next, counts, _) = planned(&mut simulator, sm, swept, &mut planner);
        (swept, sets) = (next, [sets, vec![counts.sets]].concat());
    }
    // Refused at first and after one sweep of rest; taken after two more.
    assert_eq!(sets, [0, 1, 0, 0, 1]);
    case.compare(&mut simulator, sm, &swept, up);
}
