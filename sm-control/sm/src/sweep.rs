//! One sweep: find all, let somebody say what the subnet should hold, read what is not known of that, write what differs.
//!
//! ```text
//!  Sweep::new ─> finding ──(nothing open)──> Plan::wanted ─┬─ Some ─> reading ─> Plan::transition ─> writing ─> done
//!                                                        └─ None: nothing is written ─────────────────────> done
//! ```
//!
//! The plan is the caller's ([`Plan`]), so that LIDs, routes and options are none of this room's business; without one the
//! subnet stays as it is, links that are down included. What nodes
//! told or acknowledged in the sweep before is taken over, and not read again; of a node that may have forgotten
//! it (all of its links are in Init) nothing is.

use std::sync::Arc;
use std::time::Duration;

use sa_fabric::NodeIx;

use crate::discovery::{self, Discovery, Question, device};
use crate::executor::{Counts, Executor, Limits, Outcome};
use crate::model::Subnet;
use crate::plan::{ByFunction, NoPlan, Plan};
use crate::reading::{self, Asked, Reading};
use crate::writing::{Drained, Memory, Set, Wanted, Writing};

/// What one sweep leaves to the next.
#[derive(Debug, Default)]
pub struct Swept {
    /// The subnet, with the tables that each node acknowledged.
    pub subnet: Subnet,
    /// Sets that are in vain.
    pub memory: Memory,
}

/// How far a sweep is, for a person who watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// False while nodes are being found, and what they hold is read.
    pub is_writing: bool,
    /// Nodes found so far.
    pub nodes: usize,
    /// Requests without an outcome.
    pub open: usize,
    /// How many may be on the wire at once now.
    pub window: u32,
    /// What was sent and received.
    pub counts: Counts,
    /// Sets that were refused or not answered.
    pub failed: u64,
    /// What was without a path for the sake of changed routes, so far; none where nothing was.
    pub drained: Option<Drained>,
}

/// A sweep under way. `P` makes what is wanted out of what was found, once.
#[derive(Debug)]
pub struct Sweep<P> {
    executor: Executor<Step>,
    phase: Phase,
    plan: Option<P>,
    before: Swept,
    /// Something was answered since it was last looked for what comes next.
    has_news: bool,
}

#[derive(Debug)]
enum Step {
    Find(Question),
    Read(Asked),
    Write(Set),
}

#[derive(Debug)]
enum Phase {
    Finding(Discovery),
    Reading(Box<(Reading, Subnet, Arc<Wanted>)>),
    Writing(Box<(Writing, Subnet)>),
    /// There is no plan.
    Refused(Box<Subnet>),
}

impl Sweep<NoPlan> {
    /// Writes what `wanted` has into a subnet that was found before: nothing is looked for, and no link comes up.
    /// For tables that change without the subnet.
    pub fn of_tables(limits: Limits, transaction: u32, before: Swept, wanted: Arc<Wanted>) -> Self {
        // Nothing is read first: what is not known is written.
        let Swept { subnet, memory } = before;
        let writing = Writing::without_links(&subnet, wanted, memory);
        Self {
            executor: Executor::new(limits, transaction),
            phase: Phase::Writing(Box::new((writing, subnet))),
            plan: None,
            before: Swept::default(),
            has_news: false,
        }
    }
}

impl<F: FnOnce(&Subnet) -> Option<Arc<Wanted>>> Sweep<ByFunction<F>> {
    /// [`Self::by`] a function that says what is wanted; routes change all at once then.
    pub fn new(
        options: discovery::Options,
        limits: Limits,
        transaction: u32,
        before: Swept,
        plan: F,
    ) -> Self {
        let plan = ByFunction::new(plan);
        Self::by(options, limits, transaction, before, plan)
    }
}

impl<P: Plan> Sweep<P> {
    /// Begins. `before` is what the sweep before left, or [`Swept::default`].
    pub fn by(
        options: discovery::Options,
        limits: Limits,
        transaction: u32,
        before: Swept,
        plan: P,
    ) -> Self {
        Self {
            executor: Executor::new(limits, transaction),
            phase: Phase::Finding(Discovery::new(options)),
            plan: Some(plan),
            before,
            has_news: false,
        }
    }

    /// The next SMP to send now. `None`: answers or time have to come first, or it is over.
    pub fn send(&mut self, now: Duration) -> Option<[u8; 256]> {
        self.has_news = false;
        loop {
            while self.executor.has_room() && self.ask(now) {}
            let smp = self.executor.send(now);
            if smp.is_some() || !self.executor.is_idle() || !self.go_on() {
                return smp;
            }
        }
    }

    /// What was received.
    pub fn received(&mut self, bytes: &[u8; 256], now: Duration) {
        if let Some((step, outcome)) = self.executor.received(bytes, now) {
            self.answered(step, outcome);
        }
    }

    /// Gives up what has waited long enough; to be called when [`Self::wakes_at`] is reached.
    pub fn wake(&mut self, now: Duration) {
        while let Some((step, outcome)) = self.executor.expired(now) {
            self.answered(step, outcome);
        }
    }

    /// When [`Self::wake`] and then [`Self::send`] have something to do without an answer.
    pub fn wakes_at(&self) -> Option<Duration> {
        let writing = match &self.phase {
            Phase::Writing(writing) => writing.0.wakes_at(),
            Phase::Finding(_) | Phase::Reading(_) | Phase::Refused(_) => None,
        };
        // The earlier of the two.
        self.executor.wakes_at().into_iter().chain(writing).min()
    }

    /// True when [`Self::send`] has nothing any more, and never will. Not right after the last answer: it may be what the
    /// next stage waits for.
    pub fn is_over(&self) -> bool {
        let is_idle = self.executor.is_idle() && self.waiting() == 0;
        let is_last = matches!(self.phase, Phase::Writing(_) | Phase::Refused(_));
        is_last && is_idle && !self.has_news
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            is_writing: !matches!(self.phase, Phase::Finding(_) | Phase::Reading(_)),
            nodes: self.subnet().nodes().len(),
            open: self.executor.open() + self.waiting(),
            window: self.executor.window(),
            counts: self.executor.counts(),
            failed: match &self.phase {
                Phase::Writing(writing) => writing.0.failed(),
                Phase::Finding(_) | Phase::Reading(_) | Phase::Refused(_) => 0,
            },
            drained: match &self.phase {
                Phase::Writing(writing) => writing.0.drained(),
                Phase::Finding(_) | Phase::Reading(_) | Phase::Refused(_) => None,
            },
        }
    }

    /// What is known of the subnet now.
    pub fn subnet(&self) -> &Subnet {
        match &self.phase {
            Phase::Finding(discovery) => discovery.subnet(),
            Phase::Reading(reading) => &reading.1,
            Phase::Writing(writing) => &writing.1,
            Phase::Refused(subnet) => subnet,
        }
    }

    /// What the next sweep needs.
    pub fn finish(self) -> Swept {
        match self.phase {
            Phase::Finding(discovery) => Swept {
                subnet: discovery.into_subnet(),
                memory: self.before.memory,
            },
            Phase::Reading(reading) => Swept {
                subnet: reading.1,
                memory: self.before.memory,
            },
            Phase::Writing(writing) => Swept {
                subnet: writing.1,
                memory: writing.0.into_memory(),
            },
            Phase::Refused(subnet) => Swept {
                subnet: *subnet,
                memory: self.before.memory,
            },
        }
    }

    /// What the next sweep needs, where this one is given up: what is known of the subnet as far as it is whole.
    /// What Sets without an outcome were to write is not known.
    pub fn abandon(mut self) -> Swept {
        if let Phase::Writing(writing) = &mut self.phase {
            for step in self.executor.in_doubt() {
                if let Step::Write(set) = step {
                    Writing::given_up(set, &mut writing.1);
                }
            }
        }
        match self.phase {
            Phase::Finding(_) => self.before,
            Phase::Reading(_) | Phase::Writing(_) | Phase::Refused(_) => self.finish(),
        }
    }

    /// Gives the executor one request more, if there is one now. Not all there are: as requests they take several
    /// times the memory.
    fn ask(&mut self, now: Duration) -> bool {
        let next = match &mut self.phase {
            Phase::Finding(discovery) => discovery
                .next_question()
                .map(|(request, question)| (request, Step::Find(question))),
            Phase::Reading(reading) => {
                let (reading, subnet, _) = &mut **reading;
                let next = reading.next_question(subnet);
                next.map(|(request, asked)| (request, Step::Read(asked)))
            }
            Phase::Writing(writing) => {
                let (writing, subnet) = &mut **writing;
                let is_slow = |node: NodeIx| self.executor.is_slow(device(node));
                let next = writing.next_set(subnet, now, is_slow);
                next.map(|(request, set)| (request, Step::Write(set)))
            }
            Phase::Refused(_) => None,
        };
        next.map(|(request, step)| self.executor.ask(request, step))
            .is_some()
    }

    /// What the executor was not given yet.
    fn waiting(&self) -> usize {
        match &self.phase {
            Phase::Finding(discovery) => discovery.waiting(),
            Phase::Reading(reading) => reading.0.waiting(),
            Phase::Writing(writing) => writing.0.waiting(),
            Phase::Refused(_) => 0,
        }
    }

    /// From one phase to the next, when nothing of it is open. False in the last one.
    fn go_on(&mut self) -> bool {
        let phase = core::mem::replace(&mut self.phase, Phase::Refused(Box::default()));
        let is_last = matches!(phase, Phase::Writing(_) | Phase::Refused(_));
        self.phase = match phase {
            Phase::Finding(discovery) => self.read(discovery.into_subnet()),
            Phase::Reading(reading) => self.write(*reading),
            last => last,
        };
        !is_last
    }

    /// From finding to reading, or to the end where there is no plan. The plan is made once: a second one would be made of
    /// a subnet that is half written.
    fn read(&mut self, mut subnet: Subnet) -> Phase {
        take_over(&mut subnet, core::mem::take(&mut self.before.subnet));
        let wanted = self.plan.as_mut().and_then(|plan| plan.wanted(&subnet));
        let Some(wanted) = wanted else {
            return Phase::Refused(Box::new(subnet));
        };
        let reading = Reading::new(&mut subnet, &wanted, &self.before.memory);
        Phase::Reading(Box::new((reading, subnet, wanted)))
    }

    /// From reading to writing. From here on the model has what each node holds, as far as it tells.
    fn write(&mut self, (reading, mut subnet, wanted): (Reading, Subnet, Arc<Wanted>)) -> Phase {
        reading.finish(&mut subnet);
        let memory = core::mem::take(&mut self.before.memory);
        let transition = self.plan.take().map(|mut plan| plan.transition(&subnet));
        let writing = Writing::new(&subnet, wanted, transition.unwrap_or_default(), memory);
        Phase::Writing(Box::new((writing, subnet)))
    }

    fn answered(&mut self, step: Step, outcome: Outcome) {
        self.has_news = true;
        match (&mut self.phase, step) {
            (Phase::Finding(discovery), Step::Find(question)) => {
                discovery.answered(question, outcome)
            }
            (Phase::Reading(reading), Step::Read(asked)) => {
                let (reading, subnet, _) = &mut **reading;
                let is_slow = self.executor.is_slow(device(asked.node()));
                reading.answered(&asked, outcome, is_slow, subnet);
            }
            (Phase::Writing(writing), Step::Write(set)) => {
                let (writing, subnet) = &mut **writing;
                writing.answered(&set, outcome, subnet);
            }
            // One phase begins when nothing of the other is open.
            (_, Step::Find(_) | Step::Read(_) | Step::Write(_)) => {}
        }
    }
}

/// Tables that were told or acknowledged before and were not read now. They are moved: those of a large subnet take
/// hundreds of megabytes. Of nodes that are gone nothing is kept; when they are back they are read.
fn take_over(subnet: &mut Subnet, before: Subnet) {
    // A node that may have forgotten gets its tables again, whatever else is as it was.
    let keeps = !subnet.nodes().iter().any(reading::may_have_forgotten);
    subnet.set_as_left(keeps && subnet.is_like(&before));
    for old in before.into_nodes() {
        let node = subnet
            .by_guid(old.guid())
            .and_then(|at| subnet.node_mut(at));
        if let Some(node) = node.filter(|node| !reading::may_have_forgotten(node)) {
            node.tables.go_on_from(old.tables);
        }
    }
}
