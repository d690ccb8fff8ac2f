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
//!
//! # What a sweep begins with
//!
//! | | the model of before | is it as it was left |
//! |---|---|---|
//! | [`Sweep::new`], [`Sweep::by`] | is laid beside the new one: tables are taken over, and mute nodes | both are compared, node by node |
//! | [`Sweep::going_on`] | is the new one, and what is read changes it | each answer is compared with what it replaces |
//! | [`Sweep::going_on`], where a device cannot be what it says | as with the first, after what was read so far | as with the first |
//!
//! # What a sweep leaves that is given up
//!
//! | while | the next one |
//! |---|---|
//! | all was found anew | begins with what was known before this one |
//! | something was read again | finds all anew: what is known is of two moments |
//! | tables were read, or written | goes on from what was told and acknowledged; blocks whose Set has no outcome are unknown |

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sa_fabric::NodeIx;

use crate::audit::{self, Round};
use crate::discovery::{self, Discovery, Question, Scope, device};
use crate::executor::{Counts, Ended, Executor, Limits};
use crate::model::{Node, Subnet};
use crate::plan::{ByFunction, NoPlan, Plan};
use crate::reading::{self, Asked, Reading};
use crate::writing::{Drained, DrainedLid, Memory, Set, Wanted, Writing};

/// What one sweep leaves to the next.
#[derive(Debug, Default)]
pub struct Swept {
    /// The subnet, with the tables that each node acknowledged.
    pub subnet: Subnet,
    /// Sets that are in vain.
    pub memory: Memory,
    /// What was read back, after [`Sweep::of_audit`].
    pub audited: Option<Round>,
    /// It was given up while it looked: what is known may be wrong, and the next sweep finds all anew.
    pub is_in_doubt: bool,
    /// LIDs that this sweep left without a path for a while, ascending.
    pub drained: Vec<DrainedLid>,
}

impl Swept {
    /// What was told, and of tables P_Keys alone: for a sweep that follows at once, of a subnet that has been another's.
    #[must_use]
    pub fn told(self) -> Self {
        let mut subnet = self.subnet;
        let nodes: Vec<NodeIx> = subnet.places().map(|(at, _)| at).collect();
        for at in nodes {
            if let Some(node) = subnet.node_mut(at) {
                node.tables.keep_keys();
            }
        }
        subnet.set_as_left(false);
        Self::of(subnet, Memory::default())
    }

    fn of(subnet: Subnet, memory: Memory) -> Self {
        Self {
            subnet,
            memory,
            ..Self::default()
        }
    }
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
    options: discovery::Options,
    before: Swept,
    /// Something was answered since it was last looked for what comes next.
    has_news: bool,
    /// It ends where writing would begin.
    is_dry: bool,
}

#[derive(Debug)]
enum Step {
    Find(Question),
    Read(Asked),
    Write(Set),
    Audit(audit::Asked),
}

#[derive(Debug)]
enum Phase {
    Finding(Box<Discovery>),
    Reading(Box<(Reading, Subnet, Arc<Wanted>)>),
    Writing(Box<(Writing, Subnet)>),
    /// There is no plan.
    Refused(Box<Subnet>),
    /// Nothing is looked for and nothing written.
    Auditing(Box<(Round, Subnet)>),
}

impl Sweep<NoPlan> {
    /// Writes what `wanted` has into a subnet that was found before: nothing is looked for, and no link comes up.
    /// For tables that change without the subnet.
    pub fn of_tables(limits: Limits, transaction: u32, before: Swept, wanted: Arc<Wanted>) -> Self {
        // Nothing is read first: what is not known is written.
        let Swept { subnet, memory, .. } = before;
        let writing = Writing::without_links(&subnet, wanted, memory);
        let mut executor = Executor::new(limits, transaction);
        // Tried all the same, once: the next sweep finds out whether they answer.
        for (node, _) in subnet.places().filter(|(_, node)| node.is_mute) {
            executor.expect_silence(device(node));
        }
        Self {
            executor,
            phase: Phase::Writing(Box::new((writing, subnet))),
            plan: None,
            options: discovery::Options::default(),
            before: Swept::default(),
            has_news: false,
            is_dry: false,
        }
    }
}

impl Sweep<NoPlan> {
    /// Reads back what a subnet that was found before was written. What came of it: [`Swept::audited`].
    pub fn of_audit(limits: Limits, transaction: u32, before: Swept, round: Round) -> Self {
        let Swept { subnet, memory, .. } = before;
        let before = Swept {
            memory,
            ..Swept::default()
        };
        Self {
            executor: Executor::new(limits, transaction),
            phase: Phase::Auditing(Box::new((round, subnet))),
            plan: None,
            options: discovery::Options::default(),
            before,
            has_news: false,
            is_dry: false,
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
        let scope = Scope::Whole;
        Self::again(options, limits, transaction, (before, &scope), plan)
    }

    /// [`Self::going_on`] with a function.
    pub fn again(
        options: discovery::Options,
        limits: Limits,
        transaction: u32,
        before: (Swept, &Scope),
        plan: F,
    ) -> Self {
        let plan = ByFunction::new(plan);
        Self::going_on(options, limits, transaction, before, plan)
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
        let scope = Scope::Whole;
        Self::going_on(options, limits, transaction, (before, &scope), plan)
    }

    /// Reads again what `scope` says of the subnet that the sweep before has left; all of it, where that is not known.
    pub fn going_on(
        options: discovery::Options,
        limits: Limits,
        transaction: u32,
        (mut before, scope): (Swept, &Scope),
        plan: P,
    ) -> Self {
        let discovery = match scope {
            _ if before.is_in_doubt => Discovery::new(options.clone()),
            Scope::Whole => Discovery::new(options.clone()),
            Scope::Anew => Discovery::anew(options.clone(), &before.subnet),
            // Moved: a copy of a large subnet takes as long as reading what has changed.
            Scope::Light(_) | Scope::Told(_) => {
                Discovery::going_on(options.clone(), core::mem::take(&mut before.subnet), scope)
            }
        };
        Self {
            executor: Executor::new(limits, transaction),
            phase: Phase::Finding(Box::new(discovery)),
            plan: Some(plan),
            options,
            before,
            has_news: false,
            is_dry: false,
        }
    }

    /// The same, but that nothing is written: what is wanted and not known is read, and then it is over.
    #[must_use]
    pub fn dry(self) -> Self {
        Self {
            is_dry: true,
            ..self
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
        if let Some(ended) = self.executor.received(bytes, now) {
            self.answered(ended);
        }
    }

    /// Gives up what has waited long enough; to be called when [`Self::wakes_at`] is reached.
    pub fn wake(&mut self, now: Duration) {
        while let Some(ended) = self.executor.expired(now) {
            self.answered(ended);
        }
    }

    /// When [`Self::wake`] and then [`Self::send`] have something to do without an answer.
    pub fn wakes_at(&self) -> Option<Duration> {
        let writing = match &self.phase {
            Phase::Writing(writing) => writing.0.wakes_at(),
            Phase::Finding(_) | Phase::Reading(_) | Phase::Refused(_) | Phase::Auditing(_) => None,
        };
        // The earlier of the two.
        self.executor.wakes_at().into_iter().chain(writing).min()
    }

    /// True when [`Self::send`] has nothing any more, and never will. Not right after the last answer: it may be what the
    /// next stage waits for.
    pub fn is_over(&self) -> bool {
        let is_idle = self.executor.is_idle() && self.waiting() == 0;
        is_last(&self.phase) && is_idle && !self.has_news
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
                Phase::Finding(_) | Phase::Reading(_) | Phase::Refused(_) | Phase::Auditing(_) => 0,
            },
            drained: match &self.phase {
                Phase::Writing(writing) => writing.0.drained(),
                Phase::Finding(_) | Phase::Reading(_) | Phase::Refused(_) | Phase::Auditing(_) => {
                    None
                }
            },
        }
    }

    /// The last transaction id that was given out.
    pub const fn transaction(&self) -> u32 {
        self.executor.transaction()
    }

    /// What is known of the subnet now.
    pub fn subnet(&self) -> &Subnet {
        match &self.phase {
            Phase::Finding(discovery) => discovery.subnet(),
            Phase::Reading(reading) => &reading.1,
            Phase::Writing(writing) => &writing.1,
            Phase::Refused(subnet) => subnet,
            Phase::Auditing(auditing) => &auditing.1,
        }
    }

    /// What the next sweep needs.
    pub fn finish(self) -> Swept {
        match self.phase {
            Phase::Finding(discovery) => Swept {
                subnet: discovery.into_subnet(),
                memory: self.before.memory,
                is_in_doubt: true,
                ..Swept::default()
            },
            Phase::Reading(reading) => Swept::of(reading.1, self.before.memory),
            Phase::Writing(writing) => Swept {
                drained: writing.0.drained_lids(),
                ..Swept::of(writing.1, writing.0.into_memory())
            },
            Phase::Refused(subnet) => Swept::of(*subnet, self.before.memory),
            Phase::Auditing(auditing) => Swept {
                audited: Some(auditing.0),
                ..Swept::of(auditing.1, self.before.memory)
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
            // What was known is half read again.
            Phase::Finding(discovery) if discovery.goes_on() => Swept {
                subnet: discovery.into_subnet(),
                memory: self.before.memory,
                is_in_doubt: true,
                ..Swept::default()
            },
            Phase::Finding(_) => self.before,
            Phase::Reading(_) | Phase::Writing(_) | Phase::Refused(_) | Phase::Auditing(_) => {
                self.finish()
            }
        }
    }

    /// Gives the executor one request more, if there is one now. Not all there are: as requests they take several
    /// times the memory.
    fn ask(&mut self, now: Duration) -> bool {
        let next = match &mut self.phase {
            Phase::Finding(discovery) => discovery.next_question().map(|(request, question)| {
                if discovery.is_doubtful(&question) {
                    self.executor.expect_silence(request.device);
                }
                (request, Step::Find(question))
            }),
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
            Phase::Auditing(auditing) => {
                let (round, subnet) = &mut **auditing;
                let next = round.next_question(subnet);
                next.map(|(request, asked)| (request, Step::Audit(asked)))
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
            Phase::Auditing(auditing) => auditing.0.waiting(),
            Phase::Refused(_) => 0,
        }
    }

    /// From one phase to the next, when nothing of it is open. False in the last one.
    fn go_on(&mut self) -> bool {
        let phase = core::mem::replace(&mut self.phase, Phase::Refused(Box::default()));
        let is_last = is_last(&phase);
        self.phase = match phase {
            Phase::Finding(discovery) => self.found(*discovery),
            Phase::Reading(mut reading) => {
                let (tables, subnet, wanted) = &mut *reading;
                match tables.goes_on(subnet, wanted) {
                    true => Phase::Reading(reading),
                    false => self.write(*reading),
                }
            }
            last => last,
        };
        !is_last
    }

    /// From what was looked at to reading, or to finding all anew.
    fn found(&mut self, mut discovery: Discovery) -> Phase {
        let (is_in_doubt, goes_on) = (discovery.is_in_doubt(), discovery.goes_on());
        let spared = discovery.spared();
        let mut subnet = discovery.into_subnet();
        if is_in_doubt {
            // Its tables are what nodes acknowledged, whatever else is wrong with it.
            self.before.subnet = subnet;
            return Phase::Finding(Box::new(Discovery::new(self.options.clone())));
        }
        if !goes_on {
            let before = core::mem::take(&mut self.before.subnet);
            take_over(&mut subnet, before, &spared);
        }
        self.read(subnet)
    }

    /// From finding to reading, or to the end where there is no plan. The plan is made once: a second one would be made of
    /// a subnet that is half written.
    fn read(&mut self, mut subnet: Subnet) -> Phase {
        let wanted = self.plan.as_mut().and_then(|plan| plan.wanted(&subnet));
        let Some(wanted) = wanted else {
            return Phase::Refused(Box::new(subnet));
        };
        subnet.planned();
        let reading = Reading::new(&mut subnet, &wanted, &self.before.memory);
        Phase::Reading(Box::new((reading, subnet, wanted)))
    }

    /// From reading to writing. From here on the model has what each node holds, as far as it tells.
    fn write(&mut self, (_, subnet, wanted): (Reading, Subnet, Arc<Wanted>)) -> Phase {
        let transition = self.plan.take().map(|mut plan| plan.transition(&subnet));
        if self.is_dry {
            return Phase::Refused(Box::new(subnet));
        }
        let memory = core::mem::take(&mut self.before.memory);
        let writing = Writing::new(&subnet, wanted, transition.unwrap_or_default(), memory);
        Phase::Writing(Box::new((writing, subnet)))
    }

    fn answered(&mut self, ended: Ended<Step>) {
        self.has_news = true;
        let Ended {
            token: step,
            outcome,
            m_key,
        } = ended;
        match (&mut self.phase, step) {
            (Phase::Finding(discovery), Step::Find(question)) => {
                discovery.answered(Ended {
                    token: question,
                    outcome,
                    m_key,
                });
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
            (Phase::Auditing(auditing), Step::Audit(asked)) => {
                let (round, subnet) = &mut **auditing;
                round.answered(asked, outcome, subnet);
            }
            // One phase begins when nothing of the other is open.
            (_, Step::Find(_) | Step::Read(_) | Step::Write(_) | Step::Audit(_)) => {}
        }
    }
}

/// No other phase follows.
const fn is_last(phase: &Phase) -> bool {
    matches!(
        phase,
        Phase::Writing(_) | Phase::Refused(_) | Phase::Auditing(_)
    )
}

/// What is known of nodes that are there and do not answer, all of it or in part.
fn recall(subnet: &mut Subnet, before: &Subnet) {
    let nodes: Vec<NodeIx> = subnet.places().map(|(at, _)| at).collect();
    for at in nodes {
        let is_silent = subnet.fill_in(at, before);
        if let Some(node) = subnet.node_mut(at) {
            node.is_mute |= is_silent && node.is_switch();
        }
    }
    subnet.recall(before);
}

/// Tables that were told or acknowledged before and were not read now. They are moved: those of a large subnet take
/// hundreds of megabytes. Of nodes that are gone nothing is kept; when they are back they are read. `spared`: nodes of which some P_Key
/// tables were not read.
fn take_over(subnet: &mut Subnet, before: Subnet, spared: &BTreeSet<NodeIx>) {
    recall(subnet, &before);
    // A node that may have forgotten gets its tables again, whatever else is as it was.
    let keeps = !subnet.nodes().iter().any(Node::may_have_forgotten);
    subnet.set_as_left(keeps && subnet.is_like(&before));
    for mut old in before.into_nodes() {
        let Some(at) = subnet.by_guid(old.guid()) else {
            continue;
        };
        let Some(node) = subnet.node_mut(at).filter(|it| !it.may_have_forgotten()) else {
            continue;
        };
        if reading::is_other_than(node, &old) {
            if !spared.contains(&at) {
                continue;
            }
            // Another port of it came or went.
            old.tables.keep_keys();
        }
        node.tables.go_on_from(old.tables);
    }
}
