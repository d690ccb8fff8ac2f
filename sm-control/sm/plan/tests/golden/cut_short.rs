//! An SM that ends in the middle of its first sweep, or after it, and one that begins anew with the LIDs that the first one
//! gave: devices end up with what one sweep makes of them.

use std::sync::Arc;
use std::time::Duration;

use fabric_simulator::{Simulator, Timing};
use sa_compiler::pipeline::Stamp;
use sa_fabric::PortRef;
use sa_sm::discovery::Options;
use sa_sm::executor::Limits;
use sa_sm::sweep::{Sweep, Swept};
use sm_plan::Planner;

use crate::sweeps::{cases, compare_ports, fabric, planned, sweep};
use crate::tables::held;
use sm_recordings::{read, subnet};

/// The first `posted` SMPs of a sweep. False where it has fewer.
pub(crate) fn begin(
    simulator: &mut Simulator,
    sm: PortRef,
    planner: &mut Planner,
    before: Swept,
    posted: u64,
) -> bool {
    let mut sweep = Sweep::new(Options::default(), Limits::default(), 1, before, |found| {
        let plan = planner.plan(found, None, Stamp::default()).unwrap();
        Some(Arc::clone(&plan.wanted))
    });
    let mut left = posted;
    loop {
        while let Some(bytes) = sweep.send(Duration::ZERO) {
            if left == 0 {
                // Answers on the way reach nobody.
                while simulator.next(Duration::ZERO).is_some() {}
                return true;
            }
            left -= 1;
            simulator.post(sm, 0xffff, &bytes, Duration::ZERO);
        }
        match simulator.next(Duration::ZERO) {
            Some((_, _, bytes)) => sweep.received(&bytes, Duration::ZERO),
            None => return false,
        }
    }
}

fn same_tables(one: &Swept, other: &Swept, context: &str) {
    let (one, other) = (held(&one.subnet), held(&other.subnet));
    assert_eq!(one.len(), other.len(), "{context}");
    for (key, table) in &one {
        assert_eq!(Some(table), other.get(key), "{context} {key:?}");
    }
}

#[test]
fn wherever_a_sweep_is_cut_short_the_next_makes_of_it_what_one_does() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["g03-ftree", "g12-router-esp0-lmc1"] {
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        let opensm = subnet(&read(name, "state-0-up.txt"));
        let (fabric, sm) = fabric(name, &opensm);
        let mut undisturbed = Simulator::new(&fabric, Timing::NONE);
        let mut planner = case.planner(folder.path());
        let (whole, once, _) = planned(&mut undisturbed, sm, Swept::default(), &mut planner);
        let (told, _) = sweep(&mut undisturbed, sm, Swept::default(), |_| None);
        let mut cuts = 0;
        // A prime, so that cuts fall on all kinds of SMPs.
        for posted in (1..once.sent).step_by(13) {
            let mut simulator = Simulator::new(&fabric, Timing::NONE);
            let mut planner = case.planner(folder.path());
            assert!(begin(
                &mut simulator,
                sm,
                &mut planner,
                Swept::default(),
                posted
            ));
            // LIDs are kept before any is written.
            let mut planner = case.planner_with(folder.path(), planner.remembered().clone());
            let needless = simulator.needless_sets();
            let (swept, counts, plan) = planned(&mut simulator, sm, Swept::default(), &mut planner);
            assert_eq!(plan.not_held(&swept.subnet), [], "{name} {posted}");
            assert!(counts.sets <= once.sets, "{name} {posted}: {}", counts.sets);
            assert_eq!(simulator.needless_sets(), needless, "{name} {posted}");
            same_tables(&swept, &whole, &format!("{name} {posted}"));
            let (after, _) = sweep(&mut simulator, sm, Swept::default(), |_| None);
            compare_ports(name, &after.subnet, &told.subnet);
            let (_, again, _) = planned(&mut simulator, sm, swept, &mut planner);
            assert_eq!(again.sets, 0, "{name} {posted}");
            cuts += 1;
        }
        assert!(cuts > 10, "{name}: {} SMPs", once.sent);
    }
}

#[test]
fn a_restart_keeps_lids_and_tables_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Sweeps here ask without an M_Key.
    for case in cases().into_iter().filter(|case| case.m_key == 0) {
        let name = case.name;
        let opensm = subnet(&read(name, "state-0-up.txt"));
        let (fabric, sm) = fabric(name, &opensm);
        let mut simulator = Simulator::new(&fabric, Timing::NONE);
        let mut planner = case.planner(folder.path());
        let (before, first, _) = planned(&mut simulator, sm, Swept::default(), &mut planner);
        let (told_before, _) = sweep(&mut simulator, sm, Swept::default(), |_| None);
        let mut again = case.planner_with(folder.path(), planner.remembered().clone());
        let (after, counts, _) = planned(&mut simulator, sm, Swept::default(), &mut again);
        println!("{name}: {} SMPs, then {}", first.sent, counts.sent);
        assert_eq!(counts.sets, 0, "{name}");
        same_tables(&after, &before, name);
        let (told, _) = sweep(&mut simulator, sm, Swept::default(), |_| None);
        compare_ports(name, &told.subnet, &told_before.subnet);
        // What was read is not read again.
        let found = told.subnet.nodes().len();
        let (_, third, _) = planned(&mut simulator, sm, after, &mut again);
        assert_eq!(third.sets, 0, "{name}");
        assert!(third.sent < counts.sent, "{name}: {found} nodes");
    }
}
