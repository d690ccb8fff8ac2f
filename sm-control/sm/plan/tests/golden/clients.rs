//! Which ports are asked to register again.

use std::collections::BTreeSet;
use std::sync::Arc;

use fabric_simulator::{Simulator, Timing};
use sa_compiler::pipeline::Stamp;
use sa_fabric::PortRef;
use sa_sm::model::{Block, Finding, Place, Subnet};
use sa_sm::sweep::Swept;
use sa_sm::writing::Wanted;
use sa_wire::Guid;
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;
use sm_plan::Planner;

use crate::sweeps::{Case, cases, fabric, sweep};
use sm_recordings::{read, subnet};

/// Hosts that can be asked; others cannot.
const ABLE: [u64; 3] = [0x10_0001, 0x10_0101, 0x10_0321];

fn case() -> Case {
    cases()
        .into_iter()
        .find(|case| case.name == "g03-ftree")
        .unwrap()
}

/// The subnet of the recording, with hosts that can be asked.
fn found() -> Subnet {
    let mut subnet = subnet(&read("g03-ftree", "state-0-up.txt"));
    for at in able(&subnet) {
        let info = subnet.port_mut(at).unwrap().info.as_mut().unwrap();
        let mask = info.capability_mask.get() | PortInfoRecord::CLIENT_REREGISTRATION;
        info.capability_mask = mask.into();
    }
    let ends: Vec<PortRef> = subnet.end_ports().map(|(at, _)| at).collect();
    for at in ends {
        hold(&mut subnet, at, Some(&[0xff, 0xff]));
    }
    subnet
}

fn able(subnet: &Subnet) -> Vec<PortRef> {
    let is_able = |guid: Option<Guid>| guid.is_some_and(|guid| ABLE.contains(&guid.get()));
    let ends = subnet.end_ports();
    ends.filter(|(_, port)| is_able(port.guid))
        .map(|(at, _)| at)
        .collect()
}

/// A port holds these P_Keys; none: it has not told.
fn hold(subnet: &mut Subnet, at: PortRef, keys: Option<&[u8]>) {
    let block = Block {
        attribute: attribute::PKEY_TABLE,
        end_port: at.port,
        modifier: 0,
    };
    let tables = &mut subnet.node_mut(at.node).unwrap().tables;
    tables.forget(block, &[0; 64]);
    if let Some(keys) = keys {
        let mut data = [0; 64];
        data[..keys.len()].copy_from_slice(keys);
        tables.set(block, data);
    }
}

/// Port GUIDs that a plan asks.
fn asked(planner: &mut Planner, found: &Subnet) -> BTreeSet<u64> {
    let plan = planner.plan(found, None, Stamp::default()).unwrap();
    let ports = plan.wanted.ports.iter();
    let asked = ports.filter(|(_, info)| info.subnet_timeout >> 7 == 1);
    asked
        .map(|(at, _)| found.port(*at).unwrap().guid.unwrap().get())
        .collect()
}

#[test]
fn who_registers_again() {
    let folder = tempfile::tempdir().unwrap();
    let (all, nobody) = (BTreeSet::from(ABLE), BTreeSet::new());
    let one = BTreeSet::from([ABLE[1]]);
    let mut planner = case().planner(folder.path());
    let subnet = found();
    assert_eq!(asked(&mut planner, &subnet), all, "a first sweep");
    assert_eq!(asked(&mut planner, &subnet), all, "which came to nothing");
    planner.swept(&subnet);
    assert_eq!(asked(&mut planner, &subnet), nobody);

    // It did not answer.
    let at = able(&subnet)[1];
    let mut after = subnet.clone();
    let place = Place {
        route: subnet.route(at).cloned().unwrap(),
        node: Some(subnet.node(at.node).unwrap().guid()),
        port: Some(at.port),
    };
    after.note(Finding::Mute {
        place,
        attribute: attribute::PORT_INFO,
        modifier: 1,
    });
    planner.swept(&after);
    assert_eq!(asked(&mut planner, &subnet), one);
    planner.swept(&subnet);

    // Another SM has been there.
    let mut before = subnet.clone();
    before.port_mut(at).unwrap().info.as_mut().unwrap().sm_lid = 7.into();
    assert_eq!(asked(&mut planner, &before), one);

    // It was away.
    let mut without = Subnet::default();
    for node in subnet
        .nodes()
        .iter()
        .filter(|node| node.guid() != subnet.node(at.node).unwrap().guid())
    {
        without.add(node.clone());
    }
    planner.swept(&without);
    assert_eq!(asked(&mut planner, &subnet), one);

    // What they had set was kept; and an operator who wants none of it.
    let mut restored = case().planner(folder.path()).with_restored_clients(true);
    assert_eq!(asked(&mut restored, &subnet), nobody);
    assert_eq!(asked(&mut restored, &before), one);
    // All that they had set at that other SM came along; with a third SM they had set more.
    let heir = |lid| {
        let from = Some(sa_wire::Lid::new(lid).unwrap());
        case().planner(folder.path()).with_inherited_clients(from)
    };
    assert_eq!(asked(&mut heir(7), &before), nobody);
    assert_eq!(asked(&mut heir(8), &before), one);
    // In a partition that this SM's port is not in, or in nobody knows which: its groups were hidden.
    for keys in [Some(&[0x7f, 0xff, 0x80, 0x09][..]), None] {
        let mut hidden = before.clone();
        hold(&mut hidden, at, keys);
        assert_eq!(asked(&mut heir(7), &hidden), one);
    }
    let manager = sa_fabric::options::ManagerOptions {
        no_clients_rereg: true,
        ..Default::default()
    };
    let inputs = sa_compiler::pipeline::Inputs::default();
    let mut planner = case().planner(folder.path()).with_inputs(inputs, manager);
    assert_eq!(asked(&mut planner, &subnet), nobody);
}

/// The order is no field that a device keeps: it is sent whenever it is wanted, and leaves nothing to be written.
#[test]
fn an_order_to_register_again_is_one_set_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let opensm = subnet(&read("g03-ftree", "state-0-up.txt"));
    let (fabric, sm) = fabric("g03-ftree", &opensm);
    let mut simulator = Simulator::new(&fabric, Timing::NONE);
    let mut planner = case().planner(folder.path());
    let mut swept = Swept::default();
    for sets in [None, Some(1), Some(1), Some(0)] {
        let (after, counts) = sweep(&mut simulator, sm, swept, |found| {
            let plan = planner.plan(found, None, Stamp::default()).unwrap();
            let mut wanted = Wanted::clone(&plan.wanted);
            let info = wanted.ports.get_mut(&found.sm().unwrap()).unwrap();
            info.subnet_timeout |= if sets == Some(1) { 0x80 } else { 0 };
            Some(Arc::new(wanted))
        });
        assert!(
            sets.is_none_or(|sets| counts.sets == sets),
            "{sets:?} {counts:?}"
        );
        swept = after;
    }
}
