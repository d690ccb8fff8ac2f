//! A switch that refuses a block: it is named, answers go without it, its links stay down, and once it takes the block
//! all is as if it had never refused.

use fabric_simulator::{Effect, Rule, Simulator, Timing};
use routing::SwitchIx;
use sa_compiler::pipeline::{Compiled, Stamp};
use sa_compiler::state::FabricState;
use sa_sm::model::{Block, PortState, Subnet};
use sa_sm::sweep::Swept;
use sa_sm::wanted::linear;
use sa_wire::Guid;
use sa_wire::mad::{Status, method};
use sa_wire::smp::attribute;
use sm_plan::Unheld;

use crate::sweeps::{Case, cases, fabric, planned, sweep};
use crate::tables::held;
use sm_recordings::{read, subnet};

/// The next Set of this attribute that this node gets.
fn refusing(node: Guid, attribute: u16) -> Rule {
    Rule {
        node: Some(node),
        method: Some(method::SET),
        attribute: Some(attribute),
        count: 1,
        ..Rule::always(Effect::Status(Status::INVALID_FIELD))
    }
}

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).unwrap()
}

fn switches(subnet: &Subnet) -> Vec<Guid> {
    let switches = subnet.nodes().iter().filter(|node| node.is_switch());
    switches.map(sa_sm::model::Node::guid).collect()
}

fn table_of(parts: &FabricState, switch: Guid) -> &[u8] {
    let mut all = parts.topology.switch_ixs();
    let at: SwitchIx = all
        .find(|ix| parts.topology.switch(*ix).guid == switch)
        .unwrap();
    parts.routes.lft(at)
}

/// Ports of a switch, port 0 aside, whose links carry packets.
fn links_up(subnet: &Subnet, switch: Guid) -> usize {
    let node = subnet.node(subnet.by_guid(switch).unwrap()).unwrap();
    let ports = node.ports().filter(|(port, _)| *port != 0);
    ports
        .filter(|(_, port)| port.state() >= Some(PortState::Armed))
        .count()
}

/// The tables of the others are those of the plan; of this one nothing is left.
fn goes_without(held: &Compiled, plan: &Compiled, all: &[Guid], without: Guid) {
    for switch in all {
        let table = table_of(&held.parts, *switch);
        match *switch == without {
            true => assert!(table.iter().all(|port| *port == linear::NO_PATH)),
            false => assert_eq!(table, table_of(&plan.parts, *switch), "{switch}"),
        }
    }
}

#[test]
fn a_refused_forwarding_table_is_named_and_answered_without_until_it_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let case = case("g03-ftree");
    let opensm = subnet(&read(case.name, "state-0-up.txt"));
    let (fabric, sm) = fabric(case.name, &opensm);
    let all = switches(&opensm);
    assert_eq!(all.len(), 6);
    for switch in &all {
        let mut simulator = Simulator::new(&fabric, Timing::NONE);
        simulator.add_rule(refusing(*switch, attribute::LINEAR_TABLE));
        let mut planner = case.planner(folder.path());
        let (swept, _, plan) = planned(&mut simulator, sm, Swept::default(), &mut planner);
        let block = Block {
            attribute: attribute::LINEAR_TABLE,
            end_port: 0,
            modifier: 0,
        };
        let named = [Unheld {
            node: *switch,
            block,
        }];
        assert_eq!(plan.not_held(&swept.subnet), named);
        let answers = plan.held(&swept.subnet, None, Stamp::default()).unwrap();
        answers.publishable().unwrap();
        goes_without(&answers, &plan.compiled, &all, *switch);
        let (told, _) = sweep(&mut simulator, sm, Swept::default(), |_| None);
        assert_eq!(links_up(&told.subnet, *switch), 0, "{switch}");

        // The same value is in vain as long as nothing changes.
        let (swept, counts, plan) = planned(&mut simulator, sm, swept, &mut planner);
        assert_eq!(counts.sets, 0, "{switch}");
        assert_eq!(plan.not_held(&swept.subnet), named);

        // An SM that begins anew tries it again, and now it is taken.
        let (swept, _, plan) = planned(&mut simulator, sm, Swept::default(), &mut planner);
        assert_eq!(plan.not_held(&swept.subnet), []);
        let mut undisturbed = Simulator::new(&fabric, Timing::NONE);
        let mut planner = case.planner(folder.path());
        let (whole, ..) = planned(&mut undisturbed, sm, Swept::default(), &mut planner);
        assert_eq!(held(&swept.subnet), held(&whole.subnet), "{switch}");
        let told = |simulator: &mut Simulator| {
            let (told, _) = sweep(simulator, sm, Swept::default(), |_| None);
            links_up(&told.subnet, *switch)
        };
        let links = told(&mut undisturbed);
        assert!(links > 0, "{switch}");
        assert_eq!(told(&mut simulator), links, "{switch}");
    }
}

#[test]
fn a_refused_sl2vl_table_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["g07-torus444-2qos", "g08-ftree-qos"] {
        let case = case(name);
        let opensm = subnet(&read(name, "state-0-up.txt"));
        let (fabric, sm) = fabric(name, &opensm);
        let switch = *switches(&opensm).last().unwrap();
        let mut simulator = Simulator::new(&fabric, Timing::NONE);
        simulator.add_rule(refusing(switch, attribute::SL_TO_VL));
        let mut planner = case.planner(folder.path());
        let (swept, _, plan) = planned(&mut simulator, sm, Swept::default(), &mut planner);
        let [unheld] = plan.not_held(&swept.subnet)[..] else {
            panic!("{name}: {:?}", plan.not_held(&swept.subnet));
        };
        assert_eq!(
            (unheld.node, unheld.block.attribute),
            (switch, attribute::SL_TO_VL)
        );
        let (told, _) = sweep(&mut simulator, sm, Swept::default(), |_| None);
        assert_eq!(links_up(&told.subnet, switch), 0, "{name}");
        let (swept, _, plan) = planned(&mut simulator, sm, Swept::default(), &mut planner);
        assert_eq!(plan.not_held(&swept.subnet), [], "{name}");
    }
}
