//! A Subnet Manager that begins anew over devices that hold something: what is there is read, not written.

use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator};
use sa_fabric::PortRef;
use sa_sm::discovery::Options;
use sa_sm::executor::Limits;
use sa_sm::model::{Finding, Subnet};
use sa_sm::sweep::{Sweep, Swept};
use sa_wire::mad::{Status, method};
use sa_wire::smp::{Smp, attribute};
use sa_wire::{Guid, NodeType};
use zerocopy::FromBytes;

use crate::golden::{self, CASES};
use crate::plan::plan;
use crate::rig;
use crate::sweep::{holds, sets, sweep};

fn up(case: &str) -> (Simulator, PortRef, Swept) {
    let (fabric, sm) = golden::fabric(case);
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    let first = sweep(&mut simulator, sm, Swept::default());
    assert_eq!(simulator.needless_sets(), 0, "{case}");
    (simulator, sm, first.swept)
}

fn gets_of_tables(wire: &[Smp]) -> usize {
    let tables = [
        attribute::LINEAR_TABLE,
        attribute::MULTICAST_TABLE,
        attribute::SL_TO_VL,
        attribute::VL_ARBITRATION,
    ];
    let is_get = |smp: &&Smp| smp.header.method == method::GET;
    let gets = wire.iter().filter(is_get);
    gets.filter(|smp| tables.contains(&smp.header.attribute_id.get()))
        .count()
}

/// One SMP to port 0 of a switch, and its answer.
pub(crate) fn ask(
    simulator: &mut Simulator,
    sm: PortRef,
    subnet: &Subnet,
    switch: Guid,
    smp: Smp,
) -> Smp {
    let node = subnet.by_guid(switch).unwrap();
    let route = subnet.route(PortRef { node, port: 0 }).unwrap();
    let attribute = smp.header.attribute_id.get();
    let mut asked = Smp::directed(smp.header.method, attribute, 99, route.ports()).unwrap();
    asked.header.attribute_modifier = smp.header.attribute_modifier;
    asked.data = smp.data;
    simulator.post(sm, 0xffff, &zerocopy::transmute!(asked), Duration::ZERO);
    let (.., bytes) = simulator.next(Duration::MAX).unwrap();
    Smp::read_from_bytes(&bytes[..]).unwrap()
}

fn multicast(method: u8, modifier: u32, data: [u8; 64]) -> Smp {
    let mut smp = Smp::directed(method, attribute::MULTICAST_TABLE, 0, &[]).unwrap();
    smp.header.attribute_modifier = modifier.into();
    smp.data = data;
    smp
}

pub(crate) fn a_switch(subnet: &Subnet) -> Guid {
    let switch = subnet.nodes().iter().find(|node| node.is_switch());
    switch.unwrap().guid()
}

#[test]
fn of_a_fabric_fresh_from_power_on_no_table_is_read() {
    for case in CASES {
        let (fabric, sm) = golden::fabric(case);
        let mut simulator = Simulator::new(&fabric, rig::TIMING);
        let first = sweep(&mut simulator, sm, Swept::default());
        assert_eq!(gets_of_tables(&first.wire), 0, "{case}");
        // The tables that are known now are not read by the next sweep either.
        let second = sweep(&mut simulator, sm, first.swept);
        assert_eq!(gets_of_tables(&second.wire), 0, "{case}");
    }
}

#[test]
fn a_new_process_writes_nothing() {
    for case in CASES {
        let (mut simulator, sm, _) = up(case);
        let restarted = sweep(&mut simulator, sm, Swept::default());
        assert_eq!(restarted.counts.sets, 0, "{case}");
        assert!(gets_of_tables(&restarted.wire) > 0, "{case}");
        let next = sweep(&mut simulator, sm, restarted.swept);
        assert_eq!(gets_of_tables(&next.wire), 0, "{case}");
    }
}

#[test]
fn multicast_entries_of_an_earlier_sm_are_cleared() {
    let (mut simulator, sm, first) = up("g01-star");
    let switch = a_switch(&first.subnet);
    // Of two blocks of MLIDs one above the other, and of the last group of ports.
    let stale = [0, 1, 2 << 28];
    for modifier in stale {
        let set = multicast(method::SET, modifier, [7; 64]);
        let answer = ask(&mut simulator, sm, &first.subnet, switch, set);
        assert_eq!(answer.status(), Status::OK);
    }
    // Somebody who knows the tables to be empty does not look.
    let same = sweep(&mut simulator, sm, first);
    assert_eq!(same.counts.sets, 0);
    let restarted = sweep(&mut simulator, sm, Swept::default());
    assert_eq!(restarted.counts.sets, 3);
    for modifier in stale {
        let get = multicast(method::GET, modifier, [0; 64]);
        let answer = ask(&mut simulator, sm, &restarted.swept.subnet, switch, get);
        assert_eq!(answer.data, [0; 64], "{modifier:#x}");
    }
    let next = sweep(&mut simulator, sm, restarted.swept);
    assert_eq!((next.counts.sets, gets_of_tables(&next.wire)), (0, 0));
}

/// Tables are filled from below: a new master reads what is used, and one block more.
#[test]
fn multicast_tables_are_read_to_the_first_block_that_nobody_uses() {
    let (mut simulator, sm, first) = up("g03-ftree");
    let blocks = |wire: &[Smp]| {
        let header = wire.iter().map(|smp| &smp.header);
        let gets = header.filter(|it| {
            it.method == method::GET && it.attribute_id.get() == attribute::MULTICAST_TABLE
        });
        let mut numbers: Vec<u32> = gets.map(|it| it.attribute_modifier.get() & 0x1ff).collect();
        numbers.sort_unstable();
        numbers
    };
    let switches = first.subnet.nodes().iter().filter(|node| node.is_switch());
    let of_one: usize = switches
        .map(|node| usize::from(node.port_count() / 16) + 1)
        .sum();
    let restarted = sweep(&mut simulator, sm, Swept::default());
    assert_eq!(blocks(&restarted.wire), vec![0; of_one]);
    // One switch has entries of two blocks more: the same is read of all.
    let switch = a_switch(&first.subnet);
    for modifier in [0, 1] {
        let set = multicast(method::SET, modifier, [7; 64]);
        ask(&mut simulator, sm, &first.subnet, switch, set);
    }
    let restarted = sweep(&mut simulator, sm, Swept::default());
    let expected = (0..3).flat_map(|number| vec![number; of_one]);
    assert_eq!(blocks(&restarted.wire), expected.collect::<Vec<u32>>());
    let next = sweep(&mut simulator, sm, restarted.swept);
    assert_eq!(blocks(&next.wire), []);
}

#[test]
fn a_table_whose_acknowledgements_were_lost_is_read_by_the_next_sweep() {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    simulator.add_rule(Rule {
        attribute: Some(attribute::LINEAR_TABLE),
        count: 4,
        node: Guid::new(0x200000).ok(),
        ..sets(Effect::Late(Duration::from_secs(60)))
    });
    let first = sweep(&mut simulator, sm, Swept::default());
    let mute = first.swept.subnet.findings();
    assert!(
        mute.into_iter()
            .any(|it| matches!(it, Finding::Mute { .. }))
    );
    let needless = simulator.needless_sets();
    let second = sweep(&mut simulator, sm, first.swept);
    // Its links stayed down, so its multicast table is not taken on trust either: one block, as nobody uses any.
    assert_eq!(gets_of_tables(&second.wire), 1 + 1);
    assert_eq!(simulator.needless_sets(), needless);
    assert_eq!(second.swept.subnet.findings().next(), None);
    let told = second.swept.subnet;
    holds(&mut simulator, sm, &told);
}

#[test]
fn what_cannot_be_read_is_written_and_a_mute_switch_is_not_waited_for() {
    let switch = Guid::new(0x200000).ok();
    let gets = |effect| Rule {
        node: switch,
        method: Some(method::GET),
        attribute: Some(attribute::LINEAR_TABLE),
        ..Rule::always(effect)
    };
    let (mut simulator, sm, _) = up("g03-ftree");
    simulator.add_rule(gets(Effect::Status(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED)));
    let refused = sweep(&mut simulator, sm, Swept::default());
    assert_eq!(refused.counts.sets, 1);
    let next = sweep(&mut simulator, sm, refused.swept);
    assert_eq!((next.counts.sets, gets_of_tables(&next.wire)), (0, 0));

    let (mut simulator, sm, _) = up("g03-ftree");
    for attribute in [attribute::LINEAR_TABLE, attribute::MULTICAST_TABLE] {
        simulator.add_rule(Rule {
            attribute: Some(attribute),
            node: switch,
            ..Rule::always(Effect::Lost)
        });
    }
    let mute = sweep(&mut simulator, sm, Swept::default());
    // One request is asked four times over; what waits for it is given up with it.
    let most = Limits::default().timeout * 9;
    assert!(mute.took < most, "{:?}", mute.took);
    let others: Vec<_> = mute.swept.subnet.findings().collect();
    let is_of_it =
        |finding: &&Finding| matches!(finding, Finding::Mute { place, .. } if place.node == switch);
    assert!(others.iter().all(is_of_it), "{others:?}");
}

#[test]
fn what_was_under_way_when_a_sweep_was_given_up_is_read_again() {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    let mut given_up = Sweep::new(
        Options::default(),
        Limits::default(),
        7,
        Swept::default(),
        plan,
    );
    // Up to the first Sets of tables: they are done, and nobody takes their answers.
    let (mut now, mut tables) = (Duration::ZERO, 0);
    while tables == 0 {
        while let Some(bytes) = given_up.send(now) {
            let smp = Smp::read_from_bytes(&bytes[..]).unwrap();
            let is_table = smp.header.attribute_id.get() == attribute::LINEAR_TABLE;
            tables += usize::from(is_table);
            simulator.post(sm, 0xffff, &bytes, now);
        }
        now = simulator.next_at().unwrap();
        let (.., bytes) = simulator.next(now).unwrap();
        if tables == 0 {
            given_up.received(&bytes, now);
        }
    }
    while simulator.next(Duration::MAX).is_some() {}
    let left = given_up.abandon();
    let switches = left.subnet.nodes().iter();
    let switches = switches.filter(|node| node.kind() == NodeType::Switch);
    let known = switches.flat_map(|node| node.tables.blocks());
    assert!(
        known
            .into_iter()
            .all(|(block, _)| block.attribute != attribute::LINEAR_TABLE)
    );
    sweep(&mut simulator, sm, left);
    assert_eq!(simulator.needless_sets(), 0);
}
