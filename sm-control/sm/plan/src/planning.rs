//! A planner as a sweep asks it.
//!
//! ```text
//!  sweep: found ──wanted──> Planner::plan ──> kept here ──> what is wanted
//!         held ──transition──> the same plan says how its routes may come in
//!         over ──> into_planned: snapshot, findings, or why there is none
//! ```
//!
//! A sweep asks by a trait and does not know planners; whoever runs the sweep wants the plan afterwards. This stands between both.

use std::sync::Arc;

use sa_compiler::pipeline::Stamp;
use sa_compiler::state::FabricState;
use sa_sm::model::Subnet;
use sa_sm::plan::Plan;
use sa_sm::writing::{Transition, Wanted};

use crate::{PlanError, Planned, Planner};

/// The plan of one sweep, to be lent to it and looked at afterwards.
#[derive(Debug)]
pub struct Planning<'a> {
    /// Remembers LIDs and P_Key indices over sweeps.
    planner: &'a mut Planner,
    /// In service.
    before: Option<&'a FabricState>,
    /// Of the snapshot.
    stamp: Stamp,
    /// None until the sweep has found the subnet.
    planned: Option<Result<Planned, PlanError>>,
}

impl<'a> Planning<'a> {
    /// `before` and `stamp` as [`Planner::plan`] takes them.
    pub const fn new(
        planner: &'a mut Planner,
        before: Option<&'a FabricState>,
        stamp: Stamp,
    ) -> Self {
        Self {
            planner,
            before,
            stamp,
            planned: None,
        }
    }

    /// What remembers.
    pub const fn planner(&self) -> &Planner {
        self.planner
    }

    /// What was planned so far; none where nobody asked, and where there is no plan.
    pub fn planned(&self) -> Option<&Planned> {
        self.planned.as_ref()?.as_ref().ok()
    }

    /// What is in service, as it was given.
    pub const fn before(&self) -> Option<&FabricState> {
        self.before
    }

    /// What was planned; none where nobody asked.
    pub fn into_planned(self) -> Option<Result<Planned, PlanError>> {
        self.planned
    }
}

impl Plan for Planning<'_> {
    /// Plans. None: that failed, which [`Planning::into_planned`] tells.
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>> {
        // The plan stays here, as the sweep takes only what it writes.
        let planned = self.planner.plan(found, self.before, self.stamp);
        let wanted = planned.as_ref().ok().map(|plan| Arc::clone(&plan.wanted));
        self.planned = Some(planned);
        wanted
    }

    /// In which order routes may change, of what the switches hold by now.
    fn transition(&mut self, held: &Subnet) -> Transition {
        // Nothing planned, nothing written: the order of nothing does not matter.
        match &mut self.planned {
            Some(Ok(planned)) => planned.change_from(held, self.before),
            _ => Transition::default(),
        }
    }
}
