//! Devices that lose, refuse, do not answer or are slow, and cables and GUIDs that are wrong.

use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::discovery::Question;
use sa_sm::executor::Limits;
use sa_sm::model::Finding;
use sa_wire::mad::Status;
use sa_wire::smp::attribute;

use crate::golden;
use crate::rig::{self, Found};

fn under(rule: Rule) -> Found {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    simulator.add_rule(rule);
    rig::discover_over(&mut simulator, sm, Limits::default())
}

/// Of g03, without anything that goes wrong.
fn undisturbed() -> Found {
    let (fabric, sm) = golden::fabric("g03-ftree");
    rig::discover(&fabric, sm)
}

fn nth(effect: Effect, skip: u64) -> Rule {
    Rule {
        skip,
        count: 1,
        ..Rule::always(effect)
    }
}

#[test]
fn any_one_smp_may_be_lost() {
    let plain = undisturbed();
    let facts = rig::facts(&plain.subnet);
    for skip in 0..plain.counts.sent {
        let found = under(nth(Effect::Lost, skip));
        assert_eq!(rig::facts(&found.subnet), facts, "SMP {skip}");
        assert_eq!(found.subnet.findings().next(), None, "SMP {skip}");
        assert_eq!(found.counts.repeated, 1, "SMP {skip}");
        assert!(
            found.took < plain.took + Duration::from_millis(202),
            "SMP {skip}: {:?}",
            found.took
        );
    }
}

#[test]
fn any_one_answer_may_be_later_than_its_time() {
    let plain = undisturbed();
    let facts = rig::facts(&plain.subnet);
    for skip in 0..plain.counts.sent {
        let found = under(nth(Effect::Late(Duration::from_millis(250)), skip));
        assert_eq!(rig::facts(&found.subnet), facts, "SMP {skip}");
        assert_eq!(found.subnet.findings().next(), None, "SMP {skip}");
        // The first answer comes while the second try is under way; what comes after that answers nothing.
        assert_eq!(found.counts.repeated, 1, "SMP {skip}");
        assert!(found.counts.unasked <= 1, "SMP {skip}");
    }
}

#[test]
fn a_refusal_is_one_finding_and_stops_nobody_else() {
    let plain = undisturbed();
    let status = Status::INVALID_FIELD;
    for skip in 0..plain.counts.sent {
        let found = under(nth(Effect::Status(status), skip));
        let findings: Vec<_> = found.subnet.findings().collect();
        let [Finding::Refused { status: told, .. }] = findings[..] else {
            panic!("SMP {skip}: {findings:?}");
        };
        assert_eq!(*told, status.get());
        assert_eq!(
            found.counts.repeated, 0,
            "SMP {skip}: no refusal is asked again"
        );
        // Where a link is not told of at one end, it is asked for from the other one.
        assert!(found.counts.sent <= plain.counts.sent + 16, "SMP {skip}");
    }
}

#[test]
fn a_mute_switch_delays_nobody_else() {
    let plain = undisturbed();
    let (fabric, _) = golden::fabric("g03-ftree");
    let spine = named(&fabric, "SP0");
    let found = under(Rule {
        node: Some(fabric.node(spine).guid),
        ..Rule::always(Effect::Lost)
    });
    // All 12 hosts, 4 leaves and the other spine.
    assert_eq!(found.subnet.nodes().len(), 17);
    let mute = found
        .subnet
        .findings()
        .filter(|it| matches!(it, Finding::Mute { .. }));
    assert_eq!(mute.count(), 4, "one for each link that leads to it");
    let others = found
        .ended
        .iter()
        .filter(|(question, _)| !is_given_up(&found, question));
    let last = others.map(|(_, at)| *at).max().unwrap();
    assert!(
        last <= plain.took * 11 / 10,
        "{last:?}, without it {:?}",
        plain.took
    );
    assert!(found.took < Duration::from_millis(810), "{:?}", found.took);
}

/// A question about what is behind a port that leads nowhere.
fn is_given_up(found: &Found, question: &Question) -> bool {
    matches!(question, Question::Node { from: Some(from), .. } if found.subnet.peer(*from).is_none())
}

#[test]
fn a_slow_switch_delays_nobody_else() {
    let plain = undisturbed();
    let (fabric, _) = golden::fabric("g03-ftree");
    let spine = fabric.node(named(&fabric, "SP0")).guid;
    let found = under(Rule {
        node: Some(spine),
        ..Rule::always(Effect::Late(Duration::from_millis(100)))
    });
    assert_eq!(rig::facts(&found.subnet), rig::facts(&plain.subnet));
    let own = found.subnet.by_guid(spine).unwrap();
    let is_of_spine = |question: &Question| match question {
        Question::Node { from, route } => {
            let far = from.and_then(|from| found.subnet.peer(from));
            far.is_none_or(|far| far.node == own) || route.ports().is_empty()
        }
        Question::Switch { node } => *node == own,
        Question::Description { at }
        | Question::Port { at, .. }
        | Question::Manager { at }
        | Question::Key { at, .. }
        | Question::Keys { at, .. } => at.node == own,
    };
    let others = found
        .ended
        .iter()
        .filter(|(question, _)| !is_of_spine(question));
    let last = others.map(|(_, at)| *at).max().unwrap();
    assert!(
        last <= plain.took * 11 / 10,
        "{last:?}, without it {:?}",
        plain.took
    );
    assert!(
        found.took > Duration::from_millis(300),
        "it was slow: {:?}",
        found.took
    );
}

#[test]
fn a_refused_port_0_leaves_the_other_ports() {
    let found = under(Rule {
        attribute: Some(attribute::PORT_INFO),
        modifier: Some(0),
        ..Rule::always(Effect::Status(Status::INVALID_FIELD))
    });
    assert_eq!(found.subnet.nodes().len(), 18);
    assert_eq!(found.subnet.findings().count(), 6, "each switch once");
}

/// g03 where the last host answers with the GUID of another node.
fn with_the_guid_of(name: &str) -> (Fabric, PortRef, sa_wire::Guid) {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let guid = fabric.node(named(&fabric, name)).guid;
    let mut nodes = fabric.nodes().to_vec();
    nodes[named(&fabric, "H3_2").get()].guid = guid;
    (Fabric::from_raw(nodes, None, fabric.source()), sm, guid)
}

#[test]
fn two_nodes_with_one_guid_are_named_with_both_places() {
    // Another host, the host of the SM, a switch.
    for (name, nodes) in [("H1_0", 17), ("H0_0", 17), ("L1", 17)] {
        let (fabric, sm, expected) = with_the_guid_of(name);
        let found = rig::discover(&fabric, sm);
        assert_eq!(found.subnet.nodes().len(), nodes, "{name}");
        let findings: Vec<_> = found.subnet.findings().collect();
        let [
            Finding::DuplicateGuid {
                guid,
                kept,
                left_out,
            },
        ] = findings[..]
        else {
            panic!("{name}: {findings:?}");
        };
        assert_eq!(
            (*guid, kept.node, left_out.node),
            (expected, Some(expected), Some(expected))
        );
        assert_ne!(kept.route, left_out.route);
        assert!(kept.route.ports().len() <= left_out.route.ports().len());
        assert_eq!(found.counts.repeated, 0);
    }
}

#[test]
fn a_cable_from_a_switch_to_itself_is_named_with_both_ends() {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    let leaf = fabric.port(sm).peer.unwrap();
    let [one, other] = [11, 12].map(|port| PortRef { port, ..leaf });
    simulator.plug(one, other);
    let found = rig::discover_over(&mut simulator, sm, Limits::default());
    assert_eq!(found.subnet.nodes().len(), 18);
    let findings: Vec<_> = found.subnet.findings().collect();
    let [Finding::CableLoop { one, other }] = findings[..] else {
        panic!("{findings:?}");
    };
    assert_eq!((one.port, other.port), (Some(11), Some(12)));
    assert_eq!(found.counts.repeated, 0);
}

fn named(fabric: &Fabric, name: &str) -> NodeIx {
    let mut nodes = fabric.nodes().iter();
    NodeIx::nth(
        nodes
            .position(|node| node.name().starts_with(name))
            .unwrap(),
    )
}
