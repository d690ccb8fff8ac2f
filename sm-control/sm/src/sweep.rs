//! One sweep: find all, let somebody say what the subnet should hold, write what differs.
//!
//! ```text
//!  Sweep::new ─> finding ──(nothing open)──> plan(&Subnet) ─┬─ Some(Wanted) ─> writing ──(nothing open)──> done
//!                                                         └─ None: nothing is written ────────────────> done
//! ```
//!
//! The plan is the caller's function, so that LIDs, routes and options are none of this room's business; without one the
//! subnet stays as it is, links that are down included. What switches
//! acknowledged in the sweep before is taken over, as nobody reads forwarding tables back; of a switch that has forgotten
//! it (all of its links are in Init) nothing is.

use std::sync::Arc;
use std::time::Duration;

use sa_fabric::NodeIx;

use crate::discovery::{self, Discovery, Question, device};
use crate::executor::{Counts, Executor, Limits, Outcome};
use crate::model::{Node, PortState, Subnet};
use crate::writing::{Memory, Set, Wanted, Writing};

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
    /// False while nodes are being found.
    pub is_writing: bool,
    /// Nodes found so far.
    pub nodes: usize,
    /// Requests without an outcome.
    pub open: usize,
    /// How many may be on the wire at once now.
    pub window: u32,
    /// What was sent and received.
    pub counts: Counts,
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
    Write(Set),
}

#[derive(Debug)]
enum Phase {
    Finding(Discovery),
    Writing(Box<(Writing, Subnet)>),
    /// There is no plan.
    Refused(Box<Subnet>),
}

impl<P: FnOnce(&Subnet) -> Option<Arc<Wanted>>> Sweep<P> {
    /// Begins. `before` is what the sweep before left, or [`Swept::default`].
    pub fn new(
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
            while self.executor.has_room() && self.ask() {}
            let smp = self.executor.send(now);
            if smp.is_some() || self.plan.is_none() || !self.executor.is_idle() {
                return smp;
            }
            self.write();
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
        self.executor.wakes_at()
    }

    /// True when [`Self::send`] has nothing any more, and never will. Not right after the last answer: it may be what the
    /// next stage waits for.
    pub fn is_over(&self) -> bool {
        let is_idle = self.executor.is_idle() && self.waiting() == 0;
        self.plan.is_none() && is_idle && !self.has_news
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            is_writing: self.plan.is_none(),
            nodes: self.subnet().nodes().len(),
            open: self.executor.open() + self.waiting(),
            window: self.executor.window(),
            counts: self.executor.counts(),
        }
    }

    /// What is known of the subnet now.
    pub fn subnet(&self) -> &Subnet {
        match &self.phase {
            Phase::Finding(discovery) => discovery.subnet(),
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
    pub fn abandon(self) -> Swept {
        match self.phase {
            Phase::Finding(_) => self.before,
            Phase::Writing(_) | Phase::Refused(_) => self.finish(),
        }
    }

    /// Gives the executor one request more, if there is one now. Not all there are: as requests they take several
    /// times the memory.
    fn ask(&mut self) -> bool {
        let next = match &mut self.phase {
            Phase::Finding(discovery) => discovery
                .next_question()
                .map(|(request, question)| (request, Step::Find(question))),
            Phase::Writing(writing) => {
                let (writing, subnet) = &mut **writing;
                let is_slow = |node: NodeIx| self.executor.is_slow(device(node));
                let next = writing.next_set(subnet, is_slow);
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
            Phase::Writing(writing) => writing.0.waiting(),
            Phase::Refused(_) => 0,
        }
    }

    /// From finding to writing.
    fn write(&mut self) {
        let Phase::Finding(discovery) = &mut self.phase else {
            return;
        };
        let found = core::mem::replace(discovery, Discovery::new(discovery::Options::default()));
        let mut subnet = found.into_subnet();
        take_over(&mut subnet, &self.before.subnet);
        let Some(wanted) = self.plan.take().and_then(|plan| plan(&subnet)) else {
            self.phase = Phase::Refused(Box::new(subnet));
            return;
        };
        let memory = core::mem::take(&mut self.before.memory);
        let writing = Writing::new(&subnet, &wanted, memory);
        self.phase = Phase::Writing(Box::new((writing, subnet)));
    }

    fn answered(&mut self, step: Step, outcome: Outcome) {
        self.has_news = true;
        match (&mut self.phase, step) {
            (Phase::Finding(discovery), Step::Find(question)) => {
                discovery.answered(question, outcome)
            }
            (Phase::Writing(writing), Step::Write(set)) => {
                let (writing, subnet) = &mut **writing;
                writing.answered(&set, outcome, subnet);
            }
            // One phase begins when nothing of the other is open.
            (Phase::Finding(_), Step::Write(_))
            | (Phase::Writing(_), Step::Find(_))
            | (Phase::Refused(_), _) => {}
        }
    }
}

/// Tables that were acknowledged before and were not read now.
fn take_over(subnet: &mut Subnet, before: &Subnet) {
    for old in before.nodes() {
        let node = subnet
            .by_guid(old.guid())
            .and_then(|at| subnet.node_mut(at));
        let Some(node) = node.filter(|node| !has_forgotten(node)) else {
            continue;
        };
        for (block, data) in old.tables.blocks() {
            if node.tables.get(*block).is_none() {
                node.tables.set(*block, *data);
            }
        }
    }
}

/// Switched off and on: no port of it has got further than Init. Port 0 has no link and is always Active.
fn has_forgotten(node: &Node) -> bool {
    let links = node.ports().filter(|(number, _)| *number != 0);
    let states = links.filter_map(|(_, port)| port.state());
    states.max().is_none_or(|state| state <= PortState::Init)
}
