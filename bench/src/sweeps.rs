//! A Subnet Manager over simulated devices, sweep after sweep, and what each took.
//!
//! ```text
//!  Manager::sweep:  find ─> plan ─> write ──┬─ all is held ──> the plan answers
//!                                            └─ some is not ──> what answers is compiled from what is held
//! ```
//!
//! The very planner and sweep of the daemon; only time is simulated, that of the devices and the
//! cables between them. So what it would take on hardware and what it costs this processor are two
//! figures, and neither waits for the other. One thread does it all.
//!
//! It looks after itself: [`Took::not_held`] and [`Took::links_down`] say whether the subnet is as
//! planned.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fabric_simulator::Simulator;
use sa_compiler::pipeline::{Compiled, Inputs, Stamp};
use sa_fabric::PortRef;
use sa_fabric::options::ManagerOptions;
use sa_sm::discovery::{Options, Scope, Told};
use sa_sm::executor::{Counts, Limits};
use sa_sm::model::{Node, Port, PortState, Subnet};
use sa_sm::plan::Plan;
use sa_sm::sweep::{Sweep, Swept};
use sa_sm::writing::{Transition, Wanted};
use sa_wire::Guid;
use sa_wire::mad::method;
use sa_wire::notice::{Notice, trap};
use sa_wire::smp::{PERMISSIVE_LID, Smp};
use sm_plan::{PlanError, Planned, Planner, Planning};
use thiserror::Error;
use zerocopy::FromBytes;

use crate::clock::process_cpu_time;

/// A Subnet Manager and its fabric.
#[derive(Debug)]
pub struct Manager {
    /// The devices, to pull cables or add rules between two sweeps.
    ///
    /// Fields go from sweep to sweep as they do in the daemon.
    pub simulator: Simulator,
    planner: Planner,
    /// The port that it sends by.
    sm: PortRef,
    /// Simulated time, which goes on from sweep to sweep.
    now: Duration,
    /// What sweeps know of the subnet, and remember of refusals.
    swept: Swept,
    /// What answers now: later plans go on from it.
    in_force: Option<Compiled>,
}

/// Why there was no sweep.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepFailure {
    /// What was found cannot be planned, and nothing was written.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The sweep ended before it had found the subnet.
    #[error("nothing was planned")]
    Unplanned,
}

/// What a sweep took, and what it left.
#[derive(Debug)]
pub struct Took {
    /// SMPs.
    pub counts: Counts,
    /// On hardware, by the simulated time of nodes and cables, without the plan.
    pub simulated: Duration,
    /// Of the Subnet Manager without its plan, by the clock on the wall of this one thread.
    pub core: Duration,
    /// Of the plan (LIDs, routes, proof, snapshot, tables), by the clock on the wall.
    pub plan: Duration,
    /// The same as CPU time of all threads.
    pub plan_cpu: Duration,
    /// Blocks of forwarding and SL2VL tables that a switch did not acknowledge as planned.
    pub not_held: usize,
    /// Ports with a cable that are not Active.
    pub links_down: usize,
    /// What a person should know, in words.
    pub findings: Vec<String>,
}

impl Manager {
    /// Nothing is asked before the first [`Self::sweep`]. `sm`: a port of a CA of the simulated
    /// fabric.
    pub fn new(simulator: Simulator, planner: Planner, sm: PortRef) -> Self {
        Self {
            simulator,
            planner,
            sm,
            now: Duration::ZERO,
            swept: Swept::default(),
            in_force: None,
        }
    }

    /// What answers: of the last sweep, and none before the first.
    pub const fn in_force(&self) -> Option<&Compiled> {
        self.in_force.as_ref()
    }

    /// From the next sweep on by other inputs: a new policy, other options. What is remembered of
    /// LIDs and P_Keys stays.
    #[must_use]
    pub fn with_inputs(self, inputs: Inputs) -> Self {
        Self {
            planner: self.planner.with_inputs(inputs, ManagerOptions::default()),
            ..self
        }
    }

    /// As a new process that has the LIDs of this one: what devices hold has to be read.
    pub fn restart(&mut self) {
        // LIDs stay with the planner, as they do in a file between two processes.
        self.swept = Swept::default();
        self.in_force = None;
    }

    /// A whole sweep. Errors: there is no plan; what answers stays.
    pub fn sweep(&mut self) -> Result<Took, SweepFailure> {
        self.sweep_of(&Scope::Whole)
    }

    /// A sweep after these switches have sent trap 128: of a cable that fails both ends do. What it
    /// reads is what the daemon reads; a switch that is not known yet sends from a LID that nobody
    /// has, and all are asked. Errors: as of [`Self::sweep`].
    // A trap names its switch by LID, as that is all a notice has.
    pub fn told(&mut self, switches: &[Guid]) -> Result<Took, SweepFailure> {
        let mut told = Told::default();
        for switch in switches {
            let subnet = &self.swept.subnet;
            let node = subnet.by_guid(*switch).and_then(|at| subnet.node(at));
            let info = node.and_then(|node| node.port(0)?.info);
            let mut data = [0; 64];
            // Generic, of a switch's kind; number and LID at their places of a notice.
            data[0] = 0x81;
            data[4..6].copy_from_slice(&trap::LINK_STATE.to_be_bytes());
            let lid = info.map_or(0, |info| info.base_lid.get());
            data[10..12].copy_from_slice(&lid.to_be_bytes());
            told.hear(&Notice::of_smp(&data));
        }
        self.sweep_of(&Scope::Told(told))
    }

    /// Errors: as of [`Self::sweep`].
    fn sweep_of(&mut self, scope: &Scope) -> Result<Took, SweepFailure> {
        let before = self.in_force.as_ref().map(|compiled| &compiled.parts);
        let mut timed = Timed {
            planning: Planning::new(&mut self.planner, before, Stamp::default()),
            plan: Duration::ZERO,
            plan_cpu: Duration::ZERO,
        };
        // Taken: the sweep owns it while it runs, and gives it back when it ends.
        let swept = core::mem::take(&mut self.swept);
        let sweep = Sweep::going_on(
            Options::default(),
            Limits::default(),
            1,
            (swept, scope),
            &mut timed,
        );
        let begun = self.now;
        let (swept, counts, core) = drive(&mut self.simulator, self.sm, &mut self.now, sweep);
        self.swept = swept;
        let Timed {
            planning,
            plan,
            plan_cpu,
        } = timed;
        let planned = planning.into_planned().ok_or(SweepFailure::Unplanned)??;
        let took = Took {
            counts,
            simulated: self.now - begun,
            // The plan runs inside of the sweep, so its time is taken off.
            core: core.saturating_sub(plan),
            plan,
            plan_cpu,
            not_held: planned.not_held(&self.swept.subnet).len(),
            links_down: links_down(&self.swept.subnet),
            findings: findings(&self.swept.subnet, &planned),
        };
        // As the daemon does: what answers is what devices hold, not what was meant.
        let in_force = match took.not_held {
            0 => planned.compiled,
            _ => planned.held(&self.swept.subnet, before, Stamp::default())?,
        };
        self.in_force = Some(in_force);
        Ok(took)
    }

    /// Data of an attribute, asked along a directed route from the Subnet Manager's port: what the
    /// device holds, whatever anybody believes. `None`: no answer, or one with an error status.
    pub fn get(&mut self, path: &[u8], attribute: u16, modifier: u32) -> Option<[u8; 64]> {
        let mut smp = Smp::directed(method::GET, attribute, 0, path)?;
        smp.header.attribute_modifier = modifier.into();
        let bytes = zerocopy::transmute!(smp);
        self.simulator
            .post(self.sm, PERMISSIVE_LID, &bytes, self.now);
        // Time goes forward to the answer and no further.
        self.now = self.simulator.next_at()?.max(self.now);
        let (.., answer) = self.simulator.next(self.now)?;
        let answer = Smp::read_from_bytes(&answer).ok()?;
        (answer.status().get() == 0).then_some(answer.data)
    }
}

/// A plan, and what it took.
///
/// Between sweep and planner, so that what the plan takes can be told from what the sweep takes.
struct Timed<'a> {
    planning: Planning<'a>,
    plan: Duration,
    plan_cpu: Duration,
}

impl<'a> Timed<'a> {
    fn time<T>(&mut self, work: impl FnOnce(&mut Planning<'a>) -> T) -> T {
        let (begun, cpu) = (Instant::now(), process_cpu_time());
        let made = work(&mut self.planning);
        self.plan += begun.elapsed();
        self.plan_cpu += process_cpu_time() - cpu;
        made
    }
}

impl Plan for Timed<'_> {
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>> {
        self.time(|planning| planning.wanted(found))
    }

    fn transition(&mut self, held: &Subnet) -> Transition {
        self.time(|planning| planning.transition(held))
    }
}

fn links_down(subnet: &Subnet) -> usize {
    // Without a far end there is nothing that could come up.
    let is_down = |port: &&Port| port.peer.is_some() && port.state() != Some(PortState::Active);
    let nodes = subnet.nodes().iter();
    let down = |node: &Node| node.ports().map(|(_, port)| port).filter(is_down).count();
    nodes.map(down).sum()
}

fn findings(subnet: &Subnet, planned: &Planned) -> Vec<String> {
    let found = subnet.findings().map(ToString::to_string);
    let plan = planned.findings.iter().map(ToString::to_string);
    found.chain(plan).collect()
}

/// Until nothing is open. Returns what the core took, its plan included.
fn drive<P: Plan>(
    simulator: &mut Simulator,
    sm: PortRef,
    now: &mut Duration,
    mut sweep: Sweep<P>,
) -> (Swept, Counts, Duration) {
    let mut core = Duration::ZERO;
    let (mut out, mut back) = (Vec::new(), Vec::new());
    loop {
        // The core's time is from here to where the simulator's turn begins.
        let begun = Instant::now();
        for bytes in back.drain(..) {
            sweep.received(&bytes, *now);
        }
        sweep.wake(*now);
        out.extend(core::iter::from_fn(|| sweep.send(*now)));
        core += begun.elapsed();
        // Before what is sent: a sweep that is over has nothing to say any more.
        if sweep.is_over() {
            break;
        }
        for bytes in out.drain(..) {
            simulator.post(sm, PERMISSIVE_LID, &bytes, *now);
        }
        // The next thing that happens, there or here; nothing at all leaves the time as it is.
        let wakes = [simulator.next_at(), sweep.wakes_at()];
        *now = wakes
            .into_iter()
            .flatten()
            .min()
            .map_or(*now, |at| at.max(*now));
        back.extend(core::iter::from_fn(|| simulator.next(*now)).map(|(.., bytes)| bytes));
    }
    let counts = sweep.progress().counts;
    // `finish` is work of the Subnet Manager too.
    let begun = Instant::now();
    let swept = sweep.finish();
    (swept, counts, core + begun.elapsed())
}
