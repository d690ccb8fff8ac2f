//! A whole sweep: what is wanted is there at the end, in an order that harms nobody, and once only.

use std::sync::Arc;
use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator};
use sa_fabric::PortRef;
use sa_sm::discovery::{Options, Scope};
use sa_sm::executor::{Counts, Limits};
use sa_sm::model::{Finding, PortState, Subnet};
use sa_sm::sweep::{Sweep, Swept};
use sa_sm::writing::Wanted;
use sa_wire::mad::{Status, method};
use sa_wire::smp::{Smp, attribute};
use sa_wire::{Guid, NodeType};
use zerocopy::FromBytes;

use crate::golden::{self, CASES};
use crate::plan::plan;
use crate::rig;

/// A sweep that is over.
pub(crate) struct Ended {
    pub(crate) swept: Swept,
    pub(crate) counts: Counts,
    /// Requests and answers as they passed the SM's port.
    pub(crate) wire: Vec<Smp>,
    /// When the last link that came up did.
    pub(crate) last_active: Duration,
    pub(crate) took: Duration,
}

pub(crate) fn sweep(simulator: &mut Simulator, sm: PortRef, before: Swept) -> Ended {
    sweep_with(simulator, sm, before, plan)
}

pub(crate) fn sweep_with(
    simulator: &mut Simulator,
    sm: PortRef,
    before: Swept,
    plan: impl FnOnce(&Subnet) -> Option<Arc<Wanted>>,
) -> Ended {
    sweep_again(
        simulator,
        (sm, Duration::ZERO),
        (before, &Scope::Whole),
        plan,
    )
}

/// A sweep of that scope, from that time on.
pub(crate) fn sweep_again(
    simulator: &mut Simulator,
    from: (PortRef, Duration),
    before: (Swept, &Scope),
    plan: impl FnOnce(&Subnet) -> Option<Arc<Wanted>>,
) -> Ended {
    sweep_as(simulator, from, Options::default(), before, plan)
}

pub(crate) fn sweep_as(
    simulator: &mut Simulator,
    (sm, begun): (PortRef, Duration),
    options: Options,
    before: (Swept, &Scope),
    plan: impl FnOnce(&Subnet) -> Option<Arc<Wanted>>,
) -> Ended {
    let mut sweep = Sweep::again(options, Limits::default(), 7, before, plan);
    let (mut wire, mut now, mut last_active) = (Vec::new(), begun, Duration::ZERO);
    loop {
        while let Some(bytes) = sweep.send(now) {
            wire.push(Smp::read_from_bytes(&bytes[..]).unwrap());
            simulator.post(sm, 0xffff, &bytes, now);
        }
        assert!(wire.len() < 1_000_000, "it does not end");
        if sweep.is_over() {
            break;
        }
        let wakes = [simulator.next_at(), sweep.wakes_at()];
        now = now.max(wakes.into_iter().flatten().min().unwrap());
        if let Some((_, _, bytes)) = simulator.next(now) {
            let smp = Smp::read_from_bytes(&bytes[..]).unwrap();
            if is_state(&smp, 4) && smp.status() == Status::OK {
                last_active = now;
            }
            wire.push(smp);
            sweep.received(&bytes, now);
        } else {
            sweep.wake(now);
        }
    }
    Ended {
        counts: sweep.progress().counts,
        swept: sweep.finish(),
        wire,
        last_active,
        took: now,
    }
}

/// PortInfo of an external port in this state. Port 0 is Active always.
fn is_state(smp: &Smp, state: u8) -> bool {
    smp.header.attribute_id.get() == attribute::PORT_INFO
        && smp.header.attribute_modifier.get() & 0xff != 0
        && smp.data[32] & 0xf == state
}

fn g03(rules: &[Rule]) -> (Simulator, PortRef) {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    for rule in rules {
        simulator.add_rule(*rule);
    }
    (simulator, sm)
}

pub(crate) fn sets(effect: Effect) -> Rule {
    Rule {
        method: Some(method::SET),
        ..Rule::always(effect)
    }
}

/// Ports with a cable, by their state.
fn ports_in(subnet: &Subnet, state: PortState) -> usize {
    let ports = subnet.nodes().iter().flat_map(|node| node.ports());
    ports
        .filter(|(_, port)| port.peer.is_some() && port.state() == Some(state))
        .count()
}

/// What devices hold, read back by somebody who knows nothing.
fn read_back(simulator: &mut Simulator, sm: PortRef) -> Subnet {
    rig::discover_over(simulator, sm, Limits::default()).subnet
}

/// Every block of a switch's table, by directed routes.
pub(crate) fn holds(simulator: &mut Simulator, sm: PortRef, subnet: &Subnet) {
    for (node, tables) in plan(subnet).unwrap().tables.clone() {
        let route = subnet.route(PortRef { node, port: 0 }).unwrap();
        for (block, wanted) in tables {
            let mut smp = Smp::directed(method::GET, block.attribute, 99, route.ports()).unwrap();
            smp.header.attribute_modifier = block.modifier.into();
            simulator.post(sm, 0xffff, &zerocopy::transmute!(smp), Duration::ZERO);
            let (.., bytes) = simulator.next(Duration::MAX).unwrap();
            let answer = Smp::read_from_bytes(&bytes[..]).unwrap();
            assert_eq!(answer.data, wanted, "{block:?}");
        }
    }
}

#[test]
fn a_sweep_leaves_what_was_wanted_and_a_second_one_sends_no_set() {
    for case in CASES {
        let (fabric, sm) = golden::fabric(case);
        let mut simulator = Simulator::new(&fabric, rig::TIMING);
        let first = sweep(&mut simulator, sm, Swept::default());
        assert_eq!(first.swept.subnet.findings().next(), None, "{case}");
        let cabled = fabric.cabled().count();
        assert_eq!(
            ports_in(&first.swept.subnet, PortState::Active),
            cabled,
            "{case}"
        );
        let told = read_back(&mut simulator, sm);
        assert_eq!(ports_in(&told, PortState::Active), cabled, "{case}");
        for (at, wanted) in plan(&told).unwrap().ports.clone() {
            let info = told.port(at).unwrap().info.unwrap();
            assert_eq!(info, wanted, "{case} {at:?}");
        }
        holds(&mut simulator, sm, &told);
        let second = sweep(&mut simulator, sm, first.swept);
        println!(
            "{case}: {} Sets, then {}; {} SMPs",
            first.counts.sets, second.counts.sets, first.counts.sent
        );
        assert!(first.counts.sets > 0);
        assert_eq!(second.swept.subnet.findings().next(), None, "{case}");
        assert_eq!(
            second.swept.subnet.nodes().len(),
            fabric.nodes().len(),
            "{case}"
        );
        let sets = second
            .wire
            .iter()
            .filter(|smp| smp.header.method == method::SET);
        assert_eq!(sets.collect::<Vec<_>>(), Vec::<&Smp>::new(), "{case}");
    }
}

#[test]
fn no_link_is_armed_before_every_table_is_acknowledged() {
    for case in CASES {
        let (fabric, sm) = golden::fabric(case);
        let mut simulator = Simulator::new(&fabric, rig::TIMING);
        let wire = sweep(&mut simulator, sm, Swept::default()).wire;
        let armed = wire
            .iter()
            .position(|smp| smp.header.method == method::SET && is_state(smp, 3));
        let is_before = |smp: &Smp| {
            let id = smp.header.attribute_id.get();
            let is_table = id == attribute::LINEAR_TABLE || id == attribute::SWITCH_INFO;
            is_table || id == attribute::PORT_INFO && smp.data[32] & 0xf == 0
        };
        let last = wire.iter().rposition(is_before);
        assert!(last.unwrap() < armed.unwrap(), "{case}");
    }
}

#[test]
fn of_each_link_both_ends_are_armed_before_one_is_active() {
    let (mut simulator, sm) = g03(&[]);
    let ended = sweep(&mut simulator, sm, Swept::default());
    // The devices refuse Active next to Init, and no Set was refused.
    assert_eq!(ended.counts.refused, 0);
    let sent = |state| {
        let is_sent = |smp: &&Smp| smp.header.method == method::SET && is_state(smp, state);
        ended.wire.iter().filter(is_sent).count()
    };
    assert_eq!((sent(3), sent(4)), (40, 40));
}

#[test]
fn any_one_set_may_be_lost() {
    let (mut simulator, sm) = g03(&[]);
    let plain = sweep(&mut simulator, sm, Swept::default());
    let facts = rig::facts(&plain.swept.subnet);
    for skip in 0..plain.counts.sets {
        let (mut simulator, sm) = g03(&[Rule {
            skip,
            count: 1,
            ..sets(Effect::Lost)
        }]);
        let ended = sweep(&mut simulator, sm, Swept::default());
        assert_eq!(rig::facts(&ended.swept.subnet), facts, "Set {skip}");
        assert_eq!(ended.swept.subnet.findings().next(), None, "Set {skip}");
        assert_eq!(ended.counts.sets, plain.counts.sets, "Set {skip}");
    }
}

#[test]
fn any_one_set_may_be_answered_and_the_answer_lost() {
    // Late beyond all tries: done, and the tries after it are done again.
    let (mut simulator, sm) = g03(&[]);
    let plain = sweep(&mut simulator, sm, Swept::default());
    let facts = rig::facts(&plain.swept.subnet);
    for skip in 0..plain.counts.sets {
        let (mut simulator, sm) = g03(&[Rule {
            skip,
            count: 1,
            ..sets(Effect::Late(Duration::from_secs(5)))
        }]);
        let ended = sweep(&mut simulator, sm, Swept::default());
        let told = read_back(&mut simulator, sm);
        assert_eq!(ports_in(&told, PortState::Active), 40, "Set {skip}");
        // A second Armed or Active is refused by a port that is so already.
        let second = sweep(&mut simulator, sm, ended.swept);
        assert_eq!(second.counts.sets, 0, "Set {skip}");
        assert_eq!(rig::facts(&second.swept.subnet).len(), facts.len());
    }
}

#[test]
fn a_refused_set_is_a_finding_and_not_sent_again() {
    let (mut simulator, sm) = g03(&[]);
    let plain = sweep(&mut simulator, sm, Swept::default());
    for skip in 0..plain.counts.sets {
        let (mut simulator, sm) = g03(&[Rule {
            skip,
            count: 1,
            ..sets(Effect::Status(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED))
        }]);
        let first = sweep(&mut simulator, sm, Swept::default());
        assert_eq!(first.swept.subnet.findings().count(), 1, "Set {skip}");
        let refused = first
            .wire
            .iter()
            .find(|smp| smp.status() != Status::OK)
            .unwrap();
        let is_link =
            refused.header.attribute_id.get() == attribute::PORT_INFO && refused.data[32] & 0xf > 1;
        let second = sweep(&mut simulator, sm, first.swept);
        // The states of a link are tried again, and what a state of it kept from coming up.
        let most = if is_link { 3 } else { 1 };
        assert!(
            second.counts.sets <= most,
            "Set {skip}: {}",
            second.counts.sets
        );
    }
}

#[test]
fn a_switch_that_refuses_its_table_is_left_out_for_good() {
    let spine = Guid::new(0x200000).unwrap();
    let (mut simulator, sm) = g03(&[Rule {
        node: Some(spine),
        attribute: Some(attribute::LINEAR_TABLE),
        ..sets(Effect::Status(Status::INVALID_FIELD))
    }]);
    let first = sweep(&mut simulator, sm, Swept::default());
    let findings: Vec<_> = first.swept.subnet.findings().collect();
    assert!(
        matches!(findings[..], [Finding::Refused { .. }]),
        "{findings:?}"
    );
    // Four links of the spine, two ends each.
    assert_eq!(ports_in(&first.swept.subnet, PortState::Active), 40 - 8);
    assert_eq!(ports_in(&first.swept.subnet, PortState::Init), 8);
    let second = sweep(&mut simulator, sm, first.swept);
    assert_eq!(second.counts.sets, 0);
    assert_eq!(ports_in(&second.swept.subnet, PortState::Active), 40 - 8);
}

#[test]
fn a_switch_that_stops_answering_sets_keeps_its_links_down_and_no_others() {
    let (mut simulator, sm) = g03(&[]);
    let plain = sweep(&mut simulator, sm, Swept::default());
    let (mut simulator, sm) = g03(&[Rule {
        node: Guid::new(0x200000).ok(),
        ..sets(Effect::Lost)
    }]);
    let ended = sweep(&mut simulator, sm, Swept::default());
    assert_eq!(ports_in(&ended.swept.subnet, PortState::Active), 40 - 8);
    // Others wait until it is known that it does not answer: one time-out, not four.
    let most = plain.last_active + Limits::default().timeout * 11 / 10;
    assert!(ended.last_active < most, "{:?}", ended.last_active);
    let mute = ended
        .swept
        .subnet
        .findings()
        .filter(|it| matches!(it, Finding::Mute { .. }));
    assert!(mute.count() >= 1);
}

#[test]
fn a_switch_that_was_off_gets_its_tables_again() {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    let first = sweep(&mut simulator, sm, Swept::default());
    let spine = fabric
        .nodes()
        .iter()
        .position(|node| node.kind == NodeType::Switch)
        .unwrap();
    simulator.reboot(sa_fabric::NodeIx::nth(spine));
    let second = sweep(&mut simulator, sm, first.swept);
    assert_eq!(second.swept.subnet.findings().next(), None);
    let told = read_back(&mut simulator, sm);
    assert_eq!(ports_in(&told, PortState::Active), 40);
    holds(&mut simulator, sm, &told);
    let third = sweep(&mut simulator, sm, second.swept);
    assert_eq!(third.counts.sets, 0);
    assert_eq!(third.swept.subnet.nodes().len(), fabric.nodes().len());
}
