//! Standing by: another Subnet Manager is the master, and this one looks whether it still is.
//!
//! ```text
//!  finding ──> another SM is the master ──> nothing is written; Get(SMInfo) of it every sminfo_polling_timeout
//!     ^                                             │
//!     └── more than polling_retry_number in a row were not answered, or by one that is no master any more
//! ```
//!
//! Between two polls nothing is sent. The loader comes back when the next one is due ([`SweepError::again_in`]), and obeys orders
//! meanwhile; one of them does not hurry a poll.
//!
//! | what | then |
//! |---|---|
//! | the master answers | it is waited for |
//! | an answer stays out, or the route to it has changed | counted, and found anew by a sweep that writes nothing when there are too many |
//! | it answers that it is the master no more | the same |
//! | this SM's own port fails | counted too: it cannot know |
//!
//! Missing: handover. This SM does not ask a master of lower priority to hand over, and a master stays one until it ends.

use std::time::{Duration, Instant};

use sa_fabric::options::ManagerOptions;
use sa_sm::executor::{Device, Outcome, Request};
use sa_sm::keys::Keys;
use sa_sm::model::{Route, Subnet};
use sa_sm::sm_info::{self, SmInfo, SmState};
use sa_wire::Guid;
use sa_wire::smp::attribute;
use tracing::info;

use super::Manager;
use super::error::{SweepError, sm};

/// The SM that is polled.
#[derive(Debug)]
pub(super) struct Standby {
    /// GUID of its port.
    pub(super) guid: Option<Guid>,
    route: Route,
    /// Polls in a row without a good answer.
    failed: u32,
    next: Instant,
}

impl Standby {
    /// Before whom this SM has to stand by in the subnet that was found; none where it may manage it.
    pub(super) fn before(own: &SmInfo, found: &Subnet) -> Option<Self> {
        let others = found.managers().map(|(at, info)| (at, *info));
        // Only one that can be asked again is worth waiting for: it was asked by that route a moment ago.
        let (at, info) = sm_info::stands_before(own, others)?;
        Some(Self {
            guid: info.guid,
            route: found.route(at)?.clone(),
            failed: 0,
            next: Instant::now(),
        })
    }

    /// How long until it is to be asked.
    pub(super) fn due_in(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// What it is asked.
    pub(super) fn question(&self, keys: &Keys) -> Request {
        let mut keys = keys.candidates(self.guid, None, &keys.common());
        let other_keys = keys.split_off(keys.len().min(1));
        Request {
            device: Device(0),
            route: self.route.clone(),
            set: None,
            attribute: attribute::SM_INFO,
            modifier: 0,
            m_key: keys.first().copied().unwrap_or(0),
            other_keys,
            takes_long: false,
        }
    }

    /// Takes what came of a poll. False: it is gone, or no master any more.
    /// `asked` is when it began: a poll that waits long for an answer does not put the next one off.
    pub(super) fn polled(
        &mut self,
        outcome: &Outcome,
        asked: Instant,
        own: &SmInfo,
        options: &ManagerOptions,
    ) -> bool {
        let told = match outcome {
            Outcome::Answered(data) => SmInfo::parse(data),
            Outcome::Refused(_) | Outcome::Mute => None,
        };
        // A refusal is as bad as silence: a node whose SM has ended may answer so.
        self.failed = match told {
            Some(told) if sm_info::is_alive(own, &told) => 0,
            _ => self.failed.saturating_add(1),
        };
        let mastership = &options.mastership;
        // 0 would be without a pause.
        let pause = u64::from(mastership.polling_timeout.max(1));
        self.next = asked + Duration::from_millis(pause);
        self.failed <= mastership.polling_retries
    }
}

impl Manager {
    /// Another SM manages the subnet, or does so too.
    pub(super) fn yields(&mut self, standby: Standby) -> SweepError {
        let guid = standby.guid;
        if self.identity.now().info.state == SmState::Master {
            return SweepError::TwoMasters { guid };
        }
        // Others that look for a master must see at once that this is none.
        let again_in = standby.due_in();
        self.identity.becomes(SmState::Standby);
        info!("Entering STANDBY state: {} comes first", sm(&guid));
        (self.standby, self.has_stood_by, self.planner) = (Some(standby), true, None);
        SweepError::Standby { guid, again_in }
    }

    /// Polls the master, where this SM stands by for one and it is time. Errors: it goes on standing by.
    pub(super) fn stand_by(&mut self, options: &ManagerOptions) -> Result<(), SweepError> {
        let Some(mut standby) = self.standby.take() else {
            return Ok(());
        };
        let mut goes_on = true;
        if standby.due_in().is_zero() {
            let asked = Instant::now();
            let keys = self.key_ring.follow(self.directory.as_deref(), options);
            let outcome = self.poll(standby.question(&keys), options);
            let own = self.identity.now().info;
            goes_on = match &outcome {
                Ok(outcome) => standby.polled(outcome, asked, &own, options),
                // The port is attached again at the next look, by which this SM knows no more of the master.
                Err(_) => standby.polled(&Outcome::Mute, asked, &own, options),
            };
        }
        if !goes_on {
            self.identity.becomes(SmState::Discovering);
            info!(
                "Entering DISCOVERING state: {} is the master no more",
                sm(&standby.guid)
            );
            return Ok(());
        }
        let (guid, again_in) = (standby.guid, standby.due_in());
        self.standby = Some(standby);
        Err(SweepError::Standby { guid, again_in })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sm(state: SmState) -> SmInfo {
        SmInfo {
            guid: Guid::new(5).ok(),
            sm_key: 1,
            act_count: 0,
            priority: 1,
            state,
        }
    }

    #[test]
    fn a_master_is_gone_after_more_polls_than_are_tried_again() {
        let mut standby = Standby {
            guid: None,
            route: Route::default(),
            failed: 0,
            next: Instant::now(),
        };
        let mut options = ManagerOptions::default();
        (
            options.mastership.polling_retries,
            options.mastership.polling_timeout,
        ) = (2, 60_000);
        let own = sm(SmState::Standby);
        let master = Outcome::Answered(sm(SmState::Master).data());
        // Two failures are not too many, and an answer between begins the count anew.
        for outcome in [
            Outcome::Mute,
            Outcome::Mute,
            master,
            Outcome::Mute,
            Outcome::Mute,
        ] {
            assert!(
                standby.polled(&outcome, Instant::now(), &own, &options),
                "{outcome:?}"
            );
        }
        assert!(standby.due_in() > Duration::from_secs(50));
        // One that stands by too, and is no greater, is nobody to wait for.
        let idle = Outcome::Answered(sm(SmState::Standby).data());
        assert!(!standby.polled(&idle, Instant::now(), &own, &options));
    }
}
