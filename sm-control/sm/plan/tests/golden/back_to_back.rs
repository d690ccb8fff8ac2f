//! Two hosts and one cable: every engine takes them, and the cable may move into a switch and back.

use std::fs;
use std::time::Duration;

use fabric_simulator::{Simulator, Timing};
use routing::EngineKind;
use sa_compiler::pipeline::{Inputs, PipelineError, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::formats::net;
use sa_fabric::options::ManagerOptions;
use sa_fabric::{NodeIx, PortRef};
use sa_sm::discovery::{Options, Scope, Told};
use sa_sm::executor::Limits;
use sa_sm::lids::Remembered;
use sa_sm::model::{PortState, Subnet};
use sa_sm::sweep::{Sweep, Swept};
use sa_wire::Lid;
use sm_plan::{PlanError, Planned, Planner};

/// The switch is not cabled at first.
const NET: &str = "switchguid=0x200000\nSwitch 4 \"S0\"\n\n\
                   caguid=0x100000\nHca 1 \"H1\"\n[1] \"H2\"[1]\n\n\
                   caguid=0x100010\nHca 1 \"H2\"\n[1] \"H1\"[1]\n";

const TORUS: &str = "torus 2 2 2\nxp_link 0x200000 0x200001\nyp_link 0x200000 0x200002\nzp_link 0x200000 0x200004\n";

struct Bed {
    simulator: Simulator,
    planner: Planner,
    swept: Swept,
    /// Of the next sweep.
    scope: Scope,
    /// What was planned last.
    parts: Option<FabricState>,
    _folder: tempfile::TempDir,
}

impl Bed {
    /// `engine`: none, and nobody names one.
    fn new(engine: Option<EngineKind>, is_torus: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let torus = folder.path().join("torus-2QoS.conf");
        fs::write(&torus, TORUS).unwrap();
        let inputs = Inputs {
            engine,
            qos: Some(true),
            torus_conf: is_torus.then_some(torus),
            ..Inputs::default()
        };
        let fabric = net::parse(NET.as_bytes()).unwrap();
        Self {
            simulator: Simulator::new(&fabric, Timing::NONE),
            planner: Planner::new(inputs, ManagerOptions::default(), Remembered::default()),
            swept: Swept::default(),
            scope: Scope::Whole,
            parts: None,
            _folder: folder,
        }
    }

    /// The SM runs on H1. Gives the plan, and how many Sets followed.
    fn sweep(&mut self) -> (Result<Planned, PlanError>, u64) {
        let mut planned = None;
        let (planner, before) = (&mut self.planner, self.parts.as_ref());
        let swept = core::mem::take(&mut self.swept);
        let plan = |found: &Subnet| {
            let plan = planner.plan(found, before, Stamp::default());
            let wanted = plan.as_ref().ok().map(|plan| plan.wanted.clone());
            planned = Some(plan);
            wanted
        };
        let (options, limits) = (Options::default(), Limits::default());
        let mut sweep = Sweep::again(options, limits, 1, (swept, &self.scope), plan);
        loop {
            while let Some(bytes) = sweep.send(Duration::ZERO) {
                self.simulator.post(H1, 0xffff, &bytes, Duration::ZERO);
            }
            match self.simulator.next(Duration::ZERO) {
                Some((_, _, bytes)) => sweep.received(&bytes, Duration::ZERO),
                None => break,
            }
        }
        assert!(sweep.is_over());
        let sets = sweep.progress().counts.sets;
        self.swept = sweep.finish();
        (planned.unwrap(), sets)
    }

    /// Comes up, with a path each way of so many switches.
    fn comes_up(&mut self, switches: u8) -> u64 {
        let (plan, sets) = self.sweep();
        let plan = plan.unwrap();
        assert_eq!(plan.not_held(&self.swept.subnet), []);
        for at in [H1, H2] {
            let told = self.simulator.port_info(at).unwrap();
            let state = told.speed_supported_and_state & 0xf;
            assert_eq!(state, PortState::Active as u8);
            assert_eq!(told.sm_lid.get(), plan.sm_lid.get());
        }
        let reached = &plan.compiled.proof.reachability;
        assert_eq!(reached.lost, 0);
        let snapshot = &plan.compiled.snapshot;
        let lids = [H1, H2].map(|at| *self.simulator.lids(at).unwrap().start());
        let [one, other] = lids.map(|lid| snapshot.port_by_lid(lid).unwrap());
        let there = snapshot.path(one, other, lids[1]).unwrap();
        let back = snapshot.path(other, one, lids[0]).unwrap();
        assert_eq!((there.hops, back.hops), (switches, switches));
        assert!(snapshot.path(one, one, lids[0]).is_some());
        self.parts = Some(plan.compiled.parts);
        sets
    }

    fn plug_into_switch(&mut self) {
        self.simulator.unplug(H1);
        self.simulator.plug(H1, S0);
        self.simulator.plug(H2, PortRef { port: 2, ..S0 });
    }
}

#[test]
fn every_engine_takes_them() {
    let engines = EngineKind::ALL.into_iter().map(Some);
    // Tables of switches are not what a sweep is given.
    let engines = engines.filter(|kind| *kind != Some(EngineKind::Files));
    for engine in engines.chain([None]) {
        let is_torus = matches!(
            engine,
            Some(EngineKind::Torus2Qos | EngineKind::TorusProved)
        );
        let mut bed = Bed::new(engine, is_torus);
        bed.comes_up(0);
        assert_eq!(bed.comes_up(0), 0, "{engine:?}: nothing is written twice");
    }
}

#[test]
fn a_cable_moves_into_a_switch_and_back_and_lids_stay() {
    let mut bed = Bed::new(None, false);
    bed.comes_up(0);
    let lids = |bed: &Bed| [H1, H2].map(|at| bed.simulator.lids(at));
    let first = lids(&bed);
    bed.plug_into_switch();
    bed.comes_up(1);
    bed.simulator.unplug(H1);
    bed.simulator.unplug(H2);
    bed.simulator.plug(H1, H2);
    bed.comes_up(0);
    assert_eq!(lids(&bed), first);
}

/// Between two light sweeps, so the SM's port is seen neither without a link nor at the switch again.
#[test]
fn a_cable_that_is_back_before_anybody_looks_is_not_taken_for_the_switch() {
    let mut bed = Bed::new(None, false);
    bed.plug_into_switch();
    bed.comes_up(1);
    bed.simulator.unplug(H1);
    bed.simulator.unplug(H2);
    bed.simulator.plug(H1, H2);
    bed.scope = Scope::Light(Told::default());
    bed.comes_up(0);
}

/// Routes of no switch are nothing that could stand in for those of an engine that refuses.
#[test]
fn an_engine_that_refuses_the_switch_that_comes_writes_nothing() {
    let mut bed = Bed::new(Some(EngineKind::Torus2Qos), true);
    bed.comes_up(0);
    bed.plug_into_switch();
    let (plan, sets) = bed.sweep();
    let is_refused = matches!(plan, Err(PlanError::Compile(PipelineError::Refused(_))));
    assert!(is_refused && sets == 0, "{plan:?}");
    bed.simulator.unplug(H1);
    bed.simulator.unplug(H2);
    bed.simulator.plug(H1, H2);
    bed.comes_up(0);
}

/// The plan is that of one port; that nothing of it is published is the daemon's part.
#[test]
fn a_port_without_a_far_end_is_planned_alone() {
    let mut bed = Bed::new(None, false);
    bed.simulator.unplug(H1);
    let plan = bed.sweep().0.unwrap();
    assert_eq!(plan.sm_lid, Lid::new(1).unwrap());
    assert_eq!(plan.compiled.proof.reachability.pairs, 0);
    bed.simulator.plug(H1, H2);
    bed.comes_up(0);
}

const S0: PortRef = PortRef {
    node: NodeIx(0),
    port: 1,
};
const H1: PortRef = PortRef {
    node: NodeIx(1),
    port: 1,
};
const H2: PortRef = PortRef {
    node: NodeIx(2),
    port: 1,
};
