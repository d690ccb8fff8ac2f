//! A Subnet Manager that goes from sweep to sweep as the daemon does, over simulated devices.
//!
//! ```text
//!  sweep: find ─> another SM comes first? ─> as it was left? ─> plan ─> write ─> groups follow ─> what answers
//! ```
//!
//! The sweep, the planner and what they leave are the daemon's; its port, files of state, log and counters are not here.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use sa_compiler::pipeline::{Compiled, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::options::ManagerOptions;
use sa_sm::discovery::Options;
use sa_sm::executor::Limits;
use sa_sm::lids::Remembered;
use sa_sm::mastership::{self, Action, Event, Other};
use sa_sm::model::Subnet;
use sa_sm::plan::Plan;
use sa_sm::sm_info::{SmInfo, SmState};
use sa_sm::sweep::{Sweep, Swept};
use sa_sm::writing::{Transition, Wanted};
use sa_wire::Guid;
use sm_plan::{
    AliasTables, Memberships, Multicast, PlanError, PlanFinding, Planned, Planner, Unheld,
};

use crate::walker::Promise;
use crate::wire::{Amidst, Wire};

pub(crate) struct Manager {
    planner: Option<Planner>,
    swept: Swept,
    /// What answers.
    pub(crate) in_force: Option<Compiled>,
    /// What plans go on from, where it is another one.
    goes_on_from: Option<FabricState>,
    pub(crate) members: Arc<Memberships>,
    pub(crate) aliases: Arc<AliasTables>,
    /// What it says of trees that are not proved.
    pub(crate) open_groups: Option<String>,
    own: SmInfo,
    is_quiet: bool,
    transaction: u32,
}

/// What a sweep came to.
#[derive(Debug)]
pub(crate) enum Came {
    /// What answers is new.
    Published {
        /// Blocks that are not held as planned.
        not_held: usize,
        promise: Promise,
    },
    /// It was found as it was left.
    Same,
    /// There is no plan, for this reason, and nothing was written.
    Refused(String),
    /// Another SM comes first, and nothing was written.
    Yielded,
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Published { not_held, promise } = self else {
            return write!(f, "{self:?}");
        };
        write!(f, "published, {not_held} blocks not held")?;
        if promise.is_unproved {
            write!(f, ", not proved")?;
        }
        for stage in &promise.stages {
            let lids: u32 = stage.lids.values().map(|bits| bits.count_ones()).sum();
            let to = if stage.leads_nowhere {
                "nowhere"
            } else {
                "new"
            };
            write!(f, ", {lids} LIDs {to}, then {:?}", stage.rest)?;
        }
        Ok(())
    }
}

/// A sweep that is over.
#[derive(Debug)]
pub(crate) struct Over {
    pub(crate) came: Came,
    pub(crate) sets: u64,
}

impl Manager {
    pub(crate) fn new(inputs: Inputs, own: SmInfo) -> Self {
        Self {
            planner: Some(Planner::new(
                inputs,
                ManagerOptions::default(),
                Remembered::default(),
            )),
            swept: Swept::default(),
            in_force: None,
            goes_on_from: None,
            members: Arc::default(),
            aliases: Arc::default(),
            open_groups: None,
            own,
            is_quiet: false,
            transaction: 1,
        }
    }

    /// A sweep with the inputs of now. `may_skip`: no file is other than at the last one, and nobody has ordered it.
    pub(crate) fn sweep(
        &mut self,
        wire: &mut Wire,
        inputs: &Inputs,
        may_skip: bool,
        amidst: Amidst<'_>,
    ) -> Over {
        let planner = self.planner.take().unwrap();
        let planner = planner.with_inputs(inputs.clone(), ManagerOptions::default());
        let planner = planner.with_groups(Some(Arc::clone(&self.members)));
        let mut planner = planner.with_aliases(Some(Arc::clone(&self.aliases)));
        if !may_skip {
            self.swept.memory.try_again();
        }
        let may_skip = core::mem::take(&mut self.is_quiet) && may_skip;
        let answering = self.in_force.as_ref().map(|compiled| &compiled.parts);
        let mut plan = Judged {
            planner: &mut planner,
            before: self.goes_on_from.as_ref().or(answering),
            own: self.own,
            may_skip,
            yields: false,
            is_skipped: false,
            planned: None,
            promise: Rc::default(),
        };
        let promise = Rc::clone(&plan.promise);
        let swept = core::mem::take(&mut self.swept);
        let limits = Limits::default();
        let mut sweep = Sweep::by(
            Options::default(),
            limits,
            self.transaction,
            swept,
            &mut plan,
        );
        wire.drive(&mut sweep, &|| promise.borrow().clone(), amidst);
        let counts = sweep.progress().counts;
        self.swept = sweep.finish();
        let Judged {
            yields,
            is_skipped,
            planned,
            ..
        } = plan;
        if matches!(planned, Some(Ok(_))) {
            planner.swept(&self.swept.subnet);
        }
        self.planner = Some(planner);
        self.passed(counts.sent);
        let mut over = Over {
            came: if yields { Came::Yielded } else { Came::Same },
            sets: counts.sets,
        };
        self.is_quiet = is_skipped;
        match planned {
            None => {}
            Some(Err(error)) => over.came = Came::Refused(error.to_string()),
            Some(Ok(planned)) => self.publish(wire, planned, &mut over),
        }
        over
    }

    /// As the last sweep left it.
    pub(crate) const fn subnet(&self) -> &Subnet {
        &self.swept.subnet
    }

    /// The last sweep has found this host, and answers know it.
    pub(crate) fn has(&self, host: Guid) -> bool {
        let compiled = self.in_force.as_ref();
        compiled.is_some_and(|it| it.snapshot.port_by_guid(host.get()).is_some())
    }

    /// From a sweep that has written to what answers.
    fn publish(&mut self, wire: &mut Wire, planned: Planned, over: &mut Over) {
        self.own.state = SmState::Master;
        let promise = promise_of(&planned);
        wire.rest(planned.trees_rest());
        over.sets += self.write_groups(wire, &planned.compiled, &promise);
        let missing = planned.not_held(&self.swept.subnet);
        let not_held = missing.len();
        self.is_quiet = over.sets == 0 && not_held == 0 && !self.swept.memory.has_refused();
        match self.answering(planned, &missing) {
            Ok(mut compiled) => {
                self.goes_on_from = compiled.goes_on_from.take().map(|planned| *planned);
                self.in_force = Some(compiled);
                over.came = Came::Published { not_held, promise };
            }
            Err(error) => over.came = Came::Refused(error.to_string()),
        }
    }

    fn answering(&self, planned: Planned, missing: &[Unheld]) -> Result<Compiled, PlanError> {
        planned.answering(missing, &self.swept.subnet, self.before(), Stamp::default())
    }

    /// What plans go on from.
    fn before(&self) -> Option<&FabricState> {
        let answering = self.in_force.as_ref().map(|compiled| &compiled.parts);
        self.goes_on_from.as_ref().or(answering)
    }

    /// Members of groups have changed since the last sweep. The number of Sets.
    pub(crate) fn follow_groups(&mut self, wire: &mut Wire) -> u64 {
        self.is_quiet = false;
        let Some(compiled) = self.in_force.take() else {
            return 0;
        };
        let sets = self.write_groups(wire, &compiled, &Promise::default());
        self.in_force = Some(compiled);
        sets
    }

    /// Both rounds.
    fn write_groups(&mut self, wire: &mut Wire, compiled: &Compiled, promise: &Promise) -> u64 {
        let parts = &compiled.parts;
        let wanted = Multicast::new(&self.swept.subnet, parts, &self.members);
        self.open_groups = wanted.finding().map(|finding| finding.to_string());
        let promise = &Promise {
            is_unproved: promise.is_unproved || self.open_groups.is_some(),
            ..promise.clone()
        };
        let mut sets = 0;
        if wanted.is_losing() {
            let rest = wanted.rest(&self.swept.subnet, parts);
            let first = Wanted {
                tables: wanted.first(&self.swept.subnet),
                leaves_multicast: true,
                ..Wanted::default()
            };
            sets += self.write(wire, first, promise);
            wire.rest(rest);
        }
        let mut last = wanted.last(&self.swept.subnet, parts);
        let (tables, _) = sm_plan::alias_tables(&self.swept.subnet, &self.aliases);
        last.tables.extend(tables);
        sets + self.write(wire, last, promise)
    }

    /// Until it is published the SA tells the SLs of before, of which `promise` of its sweep speaks.
    pub(crate) fn write(&mut self, wire: &mut Wire, wanted: Wanted, promise: &Promise) -> u64 {
        let before = core::mem::take(&mut self.swept);
        let limits = Limits::default();
        let mut sweep = Sweep::of_tables(limits, self.transaction, before, Arc::new(wanted));
        wire.drive(&mut sweep, &|| promise.clone(), &mut |_, _| false);
        let counts = sweep.progress().counts;
        self.passed(counts.sent);
        self.swept = sweep.finish();
        counts.sets
    }

    fn passed(&mut self, sent: u64) {
        let sent = u32::try_from(sent).unwrap();
        self.transaction = self.transaction.wrapping_add(sent);
    }
}

/// The plan of one sweep, if there is to be one.
struct Judged<'a> {
    planner: &'a mut Planner,
    before: Option<&'a FabricState>,
    own: SmInfo,
    may_skip: bool,
    yields: bool,
    is_skipped: bool,
    planned: Option<Result<Planned, PlanError>>,
    promise: Rc<RefCell<Promise>>,
}

impl Plan for Judged<'_> {
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>> {
        let others = found.managers().map(|(_, info)| Other {
            info: *info,
            can_manage: true,
        });
        let others: Vec<Other> = others.collect();
        let (_, action) = mastership::step(&self.own, Event::Found(&others));
        self.yields = action != Action::Manage;
        self.is_skipped = !self.yields && self.may_skip && found.is_as_left();
        if self.yields || self.is_skipped {
            return None;
        }
        let made = self.planner.plan(found, self.before, Stamp::default());
        let wanted = made.as_ref().ok().map(|plan| Arc::clone(&plan.wanted));
        self.planned = Some(made);
        wanted
    }

    fn transition(&mut self, held: &Subnet) -> Transition {
        let Some(Ok(planned)) = &mut self.planned else {
            return Transition::default();
        };
        let transition = planned.change_from(held, self.before);
        *self.promise.borrow_mut() = promise_of(planned);
        transition
    }
}

fn promise_of(planned: &Planned) -> Promise {
    let is_unproved = |finding: &PlanFinding| {
        matches!(
            finding,
            PlanFinding::NotProvedTogether { .. }
                | PlanFinding::OldSls
                | PlanFinding::GroupsNotProved { .. }
        )
    };
    Promise {
        stages: planned.transition.stages.clone(),
        is_unproved: planned.findings.iter().any(is_unproved),
    }
}
