//! An SM that is killed at any point of a first sweep or of one after a change, and one that begins anew with the LIDs that
//! the first one had written down: devices end up line by line as if nobody had been killed, and no Set of the second one
//! is needless.

use fabric_simulator::{Simulator, Timing};
use sa_fabric::{Fabric, PortRef};
use sa_sm::lids::Remembered;
use sa_sm::sweep::Swept;
use sa_wire::NodeType;
use sm_plan::Planner;

use crate::cut_short::begin;
use crate::sweeps::{Case, cases, fabric, planned};
use sm_recordings::{read, subnet};

/// Points of a sweep, spread at random; the same each time.
fn points(count: usize, below: u64) -> impl Iterator<Item = u64> {
    let mut random = 0x5eed_u64;
    let next = move || {
        // SplitMix64.
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ (mixed >> 31))
    };
    std::iter::from_fn(next)
        .map(move |it| it % below)
        .take(count)
}

/// A case, and what happens to it.
struct Trial {
    case: Case,
    fabric: Fabric,
    sm: PortRef,
    folder: tempfile::TempDir,
}

/// A process and its devices.
struct Run {
    simulator: Simulator,
    planner: Planner,
    swept: Swept,
}

impl Trial {
    fn of(name: &str) -> Self {
        let case = cases().into_iter().find(|case| case.name == name);
        let (fabric, sm) = fabric(name, &subnet(&read(name, "state-0-up.txt")));
        Self {
            case: case.unwrap(),
            fabric,
            sm,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn planner(&self, remembered: Remembered) -> Planner {
        self.case.planner_with(self.folder.path(), remembered)
    }

    /// A first process, devices at power-on.
    fn at_power_on(&self) -> Run {
        Run {
            simulator: Simulator::new(&self.fabric, Timing::NONE),
            planner: self.planner(Remembered::default()),
            swept: Swept::default(),
        }
    }

    /// The subnet is up, and then a cable is pulled: between two switches where there is one.
    fn with_a_cable_pulled(&self) -> Run {
        let mut run = self.at_power_on();
        self.finish(&mut run);
        let nodes = &self.fabric;
        let cables = nodes.cabled().filter(|(at, _)| at.node != self.sm.node);
        let pulled = cables.max_by_key(|(at, far)| {
            let is_switch = |at: &PortRef| nodes.node(at.node).kind == NodeType::Switch;
            (is_switch(at) && is_switch(far), *at)
        });
        let (at, _) = pulled.unwrap();
        run.simulator.unplug(at);
        run
    }

    /// A whole sweep. Returns how many SMPs it sends.
    fn finish(&self, run: &mut Run) -> u64 {
        let before = core::mem::take(&mut run.swept);
        let (swept, counts, plan) = planned(&mut run.simulator, self.sm, before, &mut run.planner);
        assert_eq!(plan.not_held(&swept.subnet), [], "{}", self.case.name);
        run.swept = swept;
        counts.sent
    }

    /// The process is killed after so many SMPs, and a new one has its LIDs: as they were when all was found, which is
    /// when they are written down.
    fn killed(&self, run: &mut Run, after: u64) {
        let before = core::mem::take(&mut run.swept);
        let Run {
            simulator, planner, ..
        } = run;
        assert!(begin(simulator, self.sm, planner, before, after));
        run.planner = self.planner(planner.remembered().clone());
    }

    /// As many times as asked for, at random points.
    fn try_points(&self, count: usize, start: impl Fn() -> Run) {
        let name = self.case.name;
        let mut undisturbed = start();
        let sent = self.finish(&mut undisturbed);
        let whole = undisturbed.simulator.held();
        for after in points(count, sent) {
            let mut run = start();
            self.killed(&mut run, after);
            let needless = run.simulator.needless_sets();
            self.finish(&mut run);
            let needless = run.simulator.needless_sets() - needless;
            assert_eq!(needless, 0, "{name}: killed after {after}");
            let held = run.simulator.held();
            assert_eq!(held.len(), whole.len(), "{name}: killed after {after}");
            for (held, whole) in held.iter().zip(&whole) {
                assert_eq!(held, whole, "{name}: killed after {after}");
            }
        }
    }
}

#[test]
fn a_process_that_is_killed_in_a_first_sweep_leaves_nothing_behind() {
    for (name, count) in [
        ("g03-ftree", 100),
        ("g08-ftree-qos", 100),
        ("g09-partitions", 100),
        ("g12-router-esp0-lmc1", 100),
        ("g07-torus444-2qos", 8),
    ] {
        let trial = Trial::of(name);
        trial.try_points(count, || trial.at_power_on());
    }
}

#[test]
fn a_process_that_is_killed_in_a_sweep_after_a_change_leaves_nothing_behind() {
    for (name, count) in [
        ("g03-ftree", 100),
        ("g08-ftree-qos", 100),
        ("g09-partitions", 100),
        ("g07-torus444-2qos", 4),
    ] {
        let trial = Trial::of(name);
        trial.try_points(count, || trial.with_a_cable_pulled());
    }
}
