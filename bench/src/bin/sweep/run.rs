//! A Subnet Manager over the simulator, sweep after sweep, and what each took.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fabric_simulator::Simulator;
use sa_bench::clock::process_cpu_time;
use sa_compiler::pipeline::Stamp;
use sa_compiler::state::FabricState;
use sa_fabric::PortRef;
use sa_sm::discovery::Options;
use sa_sm::executor::{Counts, Limits};
use sa_sm::model::{PortState, Subnet};
use sa_sm::sweep::{Sweep, Swept};
use sm_plan::{Planned, Planner};

use crate::Failure;

/// A Subnet Manager and its fabric.
pub(crate) struct Manager {
    pub(crate) simulator: Simulator,
    pub(crate) planner: Planner,
    /// The port that it sends by.
    sm: PortRef,
    /// Simulated time, which goes on from sweep to sweep.
    now: Duration,
    swept: Swept,
    /// What the last plan came from: later ones go on from it.
    before: Option<FabricState>,
}

/// What a sweep took.
pub(crate) struct Took {
    pub(crate) counts: Counts,
    /// On hardware, by the simulated time of nodes and cables, without the plan.
    pub(crate) simulated: Duration,
    /// Of the Subnet Manager without its plan, by the clock on the wall of this one thread.
    pub(crate) core: Duration,
    /// Of the plan: LIDs, routes, proof, snapshot, tables. Wall, and CPU of all threads.
    pub(crate) plan: Duration,
    pub(crate) plan_cpu: Duration,
}

impl Manager {
    pub(crate) fn new(simulator: Simulator, planner: Planner, sm: PortRef) -> Self {
        Self {
            simulator,
            planner,
            sm,
            now: Duration::ZERO,
            swept: Swept::default(),
            before: None,
        }
    }

    /// A whole sweep. Errors: there is no plan; the subnet does not hold it afterwards, or a link is not up.
    pub(crate) fn sweep(&mut self) -> Result<Took, Failure> {
        let (mut planned, mut plan, mut plan_cpu) = (None, Duration::ZERO, Duration::ZERO);
        let (planner, before) = (&mut self.planner, self.before.take());
        let make = |found: &Subnet| {
            let (begun, cpu) = (Instant::now(), process_cpu_time());
            let made = planner.plan(found, before.as_ref(), Stamp::default());
            let wanted = made.as_ref().ok().map(|plan| Arc::clone(&plan.wanted));
            planned = Some(made);
            (plan, plan_cpu) = (begun.elapsed(), process_cpu_time() - cpu);
            wanted
        };
        let swept = core::mem::take(&mut self.swept);
        let sweep = Sweep::new(Options::default(), Limits::default(), 1, swept, make);
        let begun = self.now;
        let (swept, counts, core) = drive(&mut self.simulator, self.sm, &mut self.now, sweep);
        let planned = planned.ok_or("nothing was planned")??;
        judge(&planned, &swept)?;
        (self.swept, self.before) = (swept, Some(planned.compiled.parts));
        Ok(Took {
            counts,
            simulated: self.now - begun,
            core: core.saturating_sub(plan),
            plan,
            plan_cpu,
        })
    }
}

/// Errors: a table or a link is not as planned.
fn judge(planned: &Planned, swept: &Swept) -> Result<(), Failure> {
    if let Some(first) = planned.not_held(&swept.subnet).first() {
        return Err(format!("not held: {first:?}").into());
    }
    let nodes = swept.subnet.nodes().iter();
    let mut ports =
        nodes.flat_map(|node| node.ports().map(move |(number, port)| (node, number, port)));
    let down =
        ports.find(|(_, _, port)| port.peer.is_some() && port.state() != Some(PortState::Active));
    match down {
        Some((node, number, _)) => Err(format!("{} port {number} is not up", node.guid()).into()),
        None => Ok(()),
    }
}

/// Until nothing is open. Returns what the core took, its plan included.
fn drive<P: FnOnce(&Subnet) -> Option<Arc<sa_sm::writing::Wanted>>>(
    simulator: &mut Simulator,
    sm: PortRef,
    now: &mut Duration,
    mut sweep: Sweep<P>,
) -> (Swept, Counts, Duration) {
    let mut core = Duration::ZERO;
    let (mut out, mut back) = (Vec::new(), Vec::new());
    loop {
        let begun = Instant::now();
        for bytes in back.drain(..) {
            sweep.received(&bytes, *now);
        }
        sweep.wake(*now);
        out.extend(core::iter::from_fn(|| sweep.send(*now)));
        core += begun.elapsed();
        if sweep.is_over() {
            break;
        }
        for bytes in out.drain(..) {
            simulator.post(sm, 0xffff, &bytes, *now);
        }
        let wakes = [simulator.next_at(), sweep.wakes_at()];
        *now = wakes
            .into_iter()
            .flatten()
            .min()
            .map_or(*now, |at| at.max(*now));
        back.extend(core::iter::from_fn(|| simulator.next(*now)).map(|(.., bytes)| bytes));
    }
    let counts = sweep.progress().counts;
    let begun = Instant::now();
    let swept = sweep.finish();
    (swept, counts, core + begun.elapsed())
}
