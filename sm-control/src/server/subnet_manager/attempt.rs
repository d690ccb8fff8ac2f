//! What a sweep may write, decided when it has found the subnet.
//!
//! ```text
//!  found ──┬─ another SM comes first ──────────> nothing is written, and this one stands by or hands over
//!          ├─ the own port has no link ────────> nothing is written, and it waits for one
//!          ├─ one has handed over meanwhile ──> nothing is written before its SA was read (`inherited`)
//!          ├─ as the last sweep left it ───────> nothing is written
//!          └─ planned ──> guid2lid, MASTER ────> written, in the order that what is held asks for
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use sa_sm::mastership::{Action, Senders};
use sa_sm::model::{PortState, Subnet};
use sa_sm::plan::Plan;
use sa_sm::writing::{Transition, Wanted};
use sa_wire::Guid;
use sm_plan::{Forwarded, Planning};

use super::SweepError;
use super::identity::Identity;
use super::keys::{self, KeyRing};
use super::lids;
use super::maintenance::Guard;
use super::others::Others;

/// The plan of one sweep, and why there is none.
pub(super) struct Attempt<'a> {
    pub(super) planning: Planning<'a>,
    pub(super) identity: Arc<Identity>,
    /// `[state]`.
    pub(super) directory: Option<PathBuf>,
    pub(super) key_ring: &'a mut KeyRing,
    /// Other SMs do not count.
    pub(super) ignores_others: bool,
    /// Where nothing is new there need be no plan.
    pub(super) may_skip: bool,
    pub(super) is_skipped: bool,
    /// There is nobody to manage.
    pub(super) is_cut: bool,
    /// One that did not take the subnet over.
    pub(super) unfit: Option<Option<Guid>>,
    /// The other SMs that were found, and what is to be done because of them.
    pub(super) others: Others,
    pub(super) action: Action,
    /// One has handed over to this SM while it looked a moment ago.
    pub(super) is_handed_over: bool,
    /// The place of one that has handed over while this SM looked who is there: first its SA is to
    /// be read.
    pub(super) predecessor: Option<usize>,
    /// Whom multicast tables led to before anything was written, where that is asked for.
    pub(super) forwarded: Option<Forwarded>,
    /// What may be written.
    pub(super) guard: Guard,
    /// Why this may not.
    pub(super) not_admitted: Option<SweepError>,
}

impl Plan for Attempt<'_> {
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>> {
        self.is_cut = is_cut(found);
        self.others = Others::of(found, self.ignores_others);
        if let Some(guid) = self.unfit {
            self.others.is_unfit(guid);
        }
        let senders = Senders::of(found);
        self.action = self.identity.found(senders, self.is_cut, &mut self.others);
        // No plan: so nothing is written, whatever was found.
        if self.action != Action::Manage || self.is_cut {
            return None;
        }
        self.predecessor = self
            .identity
            .late_predecessor(&self.others, self.is_handed_over);
        if self.predecessor.is_some() {
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
        let keeps_keys = self.key_ring.before_sets(self.directory.as_deref(), found);
        self.not_admitted = self.guard.admits_keys(keeps_keys).err();
        if self.not_admitted.is_some() {
            return None;
        }
        // Before the first Set: a process that is killed in the middle must give the same LIDs when it begins again.
        if let Some(directory) = &self.directory {
            let remembered = self.planning.planner().remembered();
            lids::write(&directory.join(lids::FILE), remembered);
        }
        // Not before there is a plan: a master that cannot manage would keep others from it.
        self.identity.manages();
        if keeps_keys {
            let mut wanted = (*wanted).clone();
            keys::keep_keys(&mut wanted, found);
            return Some(Arc::new(wanted));
        }
        Some(wanted)
    }

    fn transition(&mut self, held: &Subnet) -> Transition {
        if let Some(forwarded) = &mut self.forwarded {
            *forwarded = sm_plan::forwarded(held);
        }
        self.planning.transition(held)
    }
}

/// The own port is down, so nobody else can be seen.
fn is_cut(found: &Subnet) -> bool {
    let own = found.sm().and_then(|at| found.port(at));
    own.and_then(|port| port.state()) == Some(PortState::Down)
}
