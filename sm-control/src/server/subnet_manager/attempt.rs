//! What a sweep may write, decided when it has found the subnet.
//!
//! ```text
//!  found ──┬─ another SM is the master ────────> nothing is written, and this one stands by
//!          ├─ as the last sweep left it ───────> nothing is written
//!          └─ planned ──> guid2lid, MASTER ────> written, in the order that what is held asks for
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use sa_sm::model::Subnet;
use sa_sm::plan::Plan;
use sa_sm::sm_info::SmState;
use sa_sm::writing::{Transition, Wanted};
use sm_plan::Planning;
use tracing::info;

use super::SweepError;
use super::identity::Identity;
use super::lids;
use super::maintenance::Guard;
use super::standby::Standby;

/// The plan of one sweep, and why there is none.
pub(super) struct Attempt<'a> {
    pub(super) planning: Planning<'a>,
    pub(super) identity: Arc<Identity>,
    pub(super) guid2lid: Option<PathBuf>,
    /// Other SMs do not count.
    pub(super) ignores_others: bool,
    /// Where nothing is new there need be no plan.
    pub(super) may_skip: bool,
    pub(super) is_skipped: bool,
    /// The master to stand by for.
    pub(super) yields: Option<Standby>,
    /// What may be written.
    pub(super) guard: Guard,
    /// Why this may not.
    pub(super) not_admitted: Option<SweepError>,
}

impl Plan for Attempt<'_> {
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>> {
        let standby = Standby::before(&self.identity.now().info, found);
        self.yields = standby.filter(|_| !self.ignores_others);
        // No plan: so nothing is written, whatever was found.
        if self.yields.is_some() {
            return None;
        }
        self.is_skipped = self.may_skip && found.is_as_left();
        if self.is_skipped {
            return None;
        }
        let wanted = self.planning.wanted(found)?;
        self.not_admitted = self.guard.admits(found, &self.planning).err();
        if self.not_admitted.is_some() {
            return None;
        }
        // Before the first Set: a process that is killed in the middle must give the same LIDs when it begins again.
        if let Some(path) = &self.guid2lid {
            lids::write(path, self.planning.planner().remembered());
        }
        // Not before there is a plan: a master that cannot manage would keep others from it.
        if self.identity.becomes(SmState::Master) != SmState::Master {
            info!("Entering MASTER state");
        }
        Some(wanted)
    }

    fn transition(&mut self, held: &Subnet) -> Transition {
        self.planning.transition(held)
    }
}
