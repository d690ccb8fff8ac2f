//! A Subnet Manager over simulated devices, where SMPs reach devices and answers reach the manager in any order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fabric_simulator::{Simulator, Timing};
use sa_compiler::pipeline::{Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::options::ManagerOptions;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::discovery::Options;
use sa_sm::executor::Limits;
use sa_sm::lids::Remembered;
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Subnet};
use sa_sm::plan::Plan;
use sa_sm::sweep::{Sweep, Swept};
use sa_sm::writing::{Drained, Transition, Wanted};
use sa_wire::mad::method;
use sa_wire::smp::{Smp, attribute};
use sa_wire::{Lid, NodeType, Sl};
use sm_plan::{PlanFinding, Planner, Planning, Waited};
use zerocopy::FromBytes;

use crate::credit::{Moment, Waits, has_loop};
use crate::walker::{Harm, Lost, Walk, Walker, judge, lost};

/// A subnet with its manager.
pub(crate) struct Rig {
    pub(crate) fabric: Fabric,
    pub(crate) simulator: Simulator,
    planner: Option<Planner>,
    sm: PortRef,
    swept: Swept,
    before: Option<FabricState>,
    now: Duration,
    random: u64,
    /// Data passes.
    is_up: bool,
    /// What answered before another manager came.
    earlier: Option<FabricState>,
    /// Of so many Sets of forwarding tables one is lost; never with 0.
    pub(crate) lost: u64,
}

/// A sweep that is over.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) harm: Harm,
    /// Sets of forwarding tables that devices took.
    pub(crate) blocks: usize,
    /// Blocks that differed from what was held.
    pub(crate) differing: usize,
    /// LIDs changed in so many stages, if not at once.
    pub(crate) stages: usize,
    /// What had no path meanwhile.
    pub(crate) drained: Option<Drained>,
    /// Who had no path to what, as it is told.
    pub(crate) waited: Vec<Waited>,
    /// The same as it was seen.
    pub(crate) lost: Lost,
    /// What the plan says that it could not prove.
    pub(crate) findings: Vec<PlanFinding>,
}

impl Rig {
    pub(crate) fn new(fabric: Fabric, inputs: Inputs, seed: u64) -> Self {
        let hosts = (0..).map(NodeIx).zip(fabric.nodes());
        let node = hosts
            .into_iter()
            .find(|(_, it)| it.kind == NodeType::Ca)
            .unwrap()
            .0;
        let planner = Planner::new(inputs, ManagerOptions::default(), Remembered::default());
        let simulator = Simulator::new(&fabric, Timing::NONE);
        let mut rig = Self {
            fabric,
            simulator,
            planner: Some(planner),
            sm: PortRef { node, port: 1 },
            swept: Swept::default(),
            before: None,
            now: Duration::ZERO,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            is_up: false,
            earlier: None,
            lost: 0,
        };
        rig.sweep();
        rig
    }

    /// Other files or another engine from the next sweep on.
    pub(crate) fn set_inputs(&mut self, inputs: Inputs) {
        let planner = self.planner.take().unwrap();
        self.planner = Some(planner.with_inputs(inputs, ManagerOptions::default()));
    }

    /// Another manager, which knows nothing of the subnet and of what the one before did.
    pub(crate) fn take_over(&mut self, inputs: Inputs) {
        let planner = Planner::new(inputs, ManagerOptions::default(), Remembered::default());
        self.planner = Some(planner);
        self.swept = Swept::default();
        self.earlier = self.before.take();
    }

    /// The switch before the manager.
    pub(crate) fn switch_of_sm(&self) -> NodeIx {
        self.simulator.peer(self.sm).unwrap().node
    }

    /// A number below `end`.
    fn random(&mut self, end: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random % u64::try_from(end).unwrap()).unwrap()
    }

    /// A plan that is written by the test itself, each block as it comes.
    pub(crate) fn sweep_in_any_order(&mut self) -> Harm {
        let mut planner = self.planner.take().unwrap();
        let (before, swept) = (self.before.take(), core::mem::take(&mut self.swept));
        let mut made = None;
        let plan = |found: &Subnet| {
            let plan = planner.plan(found, before.as_ref(), Stamp::default());
            made = Some(Arc::clone(
                &plan.unwrap_or_else(|error| panic!("{error}")).wanted,
            ));
            None
        };
        let mut sweep = Sweep::new(Options::default(), Limits::default(), 1, swept, plan);
        while let Some(bytes) = sweep.send(self.now) {
            self.simulator.post(self.sm, 0xffff, &bytes, self.now);
            while let Some((.., answer)) = self.simulator.next(self.now) {
                sweep.received(&answer, self.now);
            }
        }
        let subnet = sweep.finish().subnet;
        let mut blocks = differing(&subnet, &made.unwrap());
        let mut moments = vec![self.walk()];
        while !blocks.is_empty() {
            let (node, block, data) = blocks.swap_remove(self.random(blocks.len()));
            let route = subnet.route(PortRef { node, port: 0 }).unwrap();
            let request = Smp::directed(method::SET, block.attribute, 1, route.ports());
            let mut request = request.unwrap();
            request.header.attribute_modifier = block.modifier.into();
            request.data = data;
            self.simulator
                .post(self.sm, 0xffff, &zerocopy::transmute!(request), self.now);
            moments.push(self.walk());
        }
        judge(&moments, &BTreeSet::new())
    }

    fn walk(&self) -> Walk {
        Walker::new(&self.fabric, &self.simulator).walk(&self.simulator)
    }

    /// Sets after which credit loops are looked for: of a large fabric only some, as each takes long.
    fn may_deadlock(&self, smp: &Smp, blocks: usize) -> bool {
        let is_large = self.fabric.nodes().len() > 60;
        match smp.header.attribute_id.get() {
            attribute::LINEAR_TABLE => !is_large || blocks.is_multiple_of(9),
            // Links come up by it.
            attribute::SL_TO_VL | attribute::PORT_INFO => !is_large,
            _ => false,
        }
    }

    /// A whole sweep, with a walk before the first Set and after each Set of a device that can change one.
    pub(crate) fn sweep(&mut self) -> Changed {
        let mut planner = self.planner.take().unwrap();
        let (before, swept) = (self.before.take(), core::mem::take(&mut self.swept));
        let planning = Planning::new(&mut planner, before.as_ref(), Stamp::default());
        let mut plan = Counting {
            planning,
            wanted: None,
            differing: 0,
        };
        let mut sweep = Sweep::by(Options::default(), Limits::default(), 1, swept, &mut plan);
        let (mut requests, mut answers): (Vec<[u8; 256]>, Vec<[u8; 256]>) = Default::default();
        let (mut moments, mut blocks): (Vec<Walk>, _) = (Vec::new(), 0);
        let (mut last, mut loops, mut times) = (None, 0, Vec::new());
        let earlier = self.earlier.take();
        let (mut waits, mut looked) = (Waits::new(), self.now);
        let sl_of = |slid: Lid, dlid: Lid| {
            let before = before
                .as_ref()
                .or(earlier.as_ref())
                .and_then(|it| it.routes.path_sl(Sl::default(), slid, dlid));
            before.unwrap_or_default()
        };
        loop {
            while let Some(bytes) = sweep.send(self.now) {
                requests.push(bytes);
            }
            let open = requests.len() + answers.len();
            if open == 0 {
                if sweep.is_over() {
                    break;
                }
                self.now = self.now.max(sweep.wakes_at().unwrap());
                sweep.wake(self.now);
                continue;
            }
            let chosen = self.random(open);
            if chosen >= requests.len() {
                sweep.received(&answers.swap_remove(chosen - requests.len()), self.now);
                continue;
            }
            let request = requests.swap_remove(chosen);
            let smp = Smp::read_from_bytes(&request[..]).unwrap();
            let is_set = smp.header.method == method::SET;
            let is_block = is_set && smp.header.attribute_id.get() == attribute::LINEAR_TABLE;
            if is_block && self.lost > 0 && self.random(usize::try_from(self.lost).unwrap()) == 0 {
                continue;
            }
            if is_set && moments.is_empty() {
                moments.push(self.walk());
                times.push(self.now);
            }
            self.simulator.post(self.sm, 0xffff, &request, self.now);
            while let Some((.., answer)) = self.simulator.next(self.now) {
                answers.push(answer);
            }
            if is_set && is_of_ways(&smp) {
                blocks += usize::from(is_block);
                moments.push(self.walk());
                times.push(self.now);
            }
            if is_set && self.is_up && self.may_deadlock(&smp, blocks) {
                let walker = Walker::new(&self.fabric, &self.simulator);
                let now = Moment::new(&walker, &self.simulator);
                let was = last.as_ref().unwrap_or(&now);
                // Packets do not live for longer in one of these switches, and none is asked to be gone sooner.
                if self.now.saturating_sub(looked) >= LIFE {
                    waits.clear();
                }
                looked = self.now;
                let moments = [was, &now];
                loops += usize::from(has_loop(
                    &walker,
                    &self.simulator,
                    moments,
                    &sl_of,
                    &mut waits,
                ));
                last = Some(now);
            }
        }
        let drained = sweep.progress().drained;
        self.swept = sweep.finish();
        let count = plan.differing;
        let planned = plan.planning.into_planned().unwrap();
        let mut planned = planned.unwrap_or_else(|error| panic!("{error}"));
        planned.changed(drained);
        let dark = lids_that_lead_nowhere(&planned.transition);
        let waited = planned.waited(&self.swept.drained);
        self.is_up = true;
        self.before = Some(planned.compiled.parts);
        self.planner = Some(planner);
        Changed {
            harm: Harm {
                loops,
                ..judge(&moments, &dark)
            },
            blocks,
            differing: count,
            stages: planned.transition.stages.len(),
            drained,
            waited,
            lost: lost(&moments, &times, &dark),
            findings: planned.findings,
        }
    }
}

/// A plan, and how many blocks it changes.
struct Counting<'a> {
    planning: Planning<'a>,
    wanted: Option<Arc<Wanted>>,
    differing: usize,
}

impl Plan for Counting<'_> {
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>> {
        self.wanted = self.planning.wanted(found);
        self.wanted.clone()
    }

    fn transition(&mut self, held: &Subnet) -> Transition {
        self.differing = differing(held, self.wanted.as_ref().unwrap()).len();
        self.planning.transition(held)
    }
}

fn lids_that_lead_nowhere(transition: &Transition) -> BTreeSet<usize> {
    let dark = transition.stages.iter().filter(|it| it.leads_nowhere);
    let blocks = dark.flat_map(|stage| &stage.lids);
    let lids = blocks.flat_map(|(block, lids)| {
        let first = usize::try_from(*block).unwrap() * 64;
        (0..64)
            .filter(move |place| lids >> place & 1 == 1)
            .map(move |place| first + place)
    });
    lids.collect()
}

/// How long a packet may be in one switch, by the LifeTimeValue that the manager writes without an option: 4.096 µs times 2^18.
pub(crate) const LIFE: Duration = Duration::from_nanos(4096 << 18);

/// Blocks of forwarding tables that are wanted otherwise than they are held.
fn differing(found: &Subnet, wanted: &Wanted) -> Vec<(NodeIx, Block, Data)> {
    let nodes = wanted.tables.iter();
    let blocks = nodes.flat_map(|(node, blocks)| {
        let tables = &found.node(*node).unwrap().tables;
        let blocks = blocks.iter().filter(move |(block, data)| {
            block.attribute == attribute::LINEAR_TABLE && tables.get(**block) != Some(*data)
        });
        blocks.map(|(block, data)| (*node, *block, *data))
    });
    blocks.collect()
}

/// Sets that may change where packets go.
fn is_of_ways(smp: &Smp) -> bool {
    let ways = [
        attribute::LINEAR_TABLE,
        attribute::SWITCH_INFO,
        attribute::PORT_INFO,
    ];
    ways.contains(&smp.header.attribute_id.get())
}
