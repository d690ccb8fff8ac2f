//! Another Subnet Manager has the subnet, or is to have it: this one polls it.
//!
//! ```text
//!  finding ──> another is the master ──> nothing is written; Get(SMInfo) of it every sminfo_polling_timeout
//!     ^                                             │
//!     └── it is gone, or no master any more ────────┘
//! ```
//!
//! Between two polls nothing is sent. The loader comes back when the next one is due
//! ([`SweepError::again_in`]), at once when another SM commands something, and obeys orders
//! meanwhile.
//!
//! | what | then |
//! |---|---|
//! | the master answers | it is waited for |
//! | it answers, and is smaller than this one | it is waited for, and told by trap 144 to look who is the greater |
//! | it answers that it is the master no more | the subnet is found anew, by a sweep that writes nothing |
//! | an answer stays out | polls come quicker: `polling_retry_number` of them in one `sminfo_polling_timeout`, then it is gone |
//! | the port of the master says that no SM is on it | it is gone |
//! | this SM's own port fails | counted like an answer that stays out: it cannot know |
//!
//! So a master that dies is missed after two times `sminfo_polling_timeout` at the latest.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_fabric::options::{ManagerOptions, MastershipOptions};
use sa_sm::executor::{Device, Limits, Outcome, Request};
use sa_sm::keys::Keys;
use sa_sm::mastership::{Action, Event};
use sa_sm::model::{Route, attributes};
use sa_sm::sm_info::{SmInfo, SmState};
use sa_sm::trap;
use sa_wire::Guid;
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;
use tracing::{debug, info};

use super::Manager;
use super::error::{SweepError, sm};

/// The SM that is polled.
#[derive(Debug)]
pub(super) struct Standby {
    /// GUID of its port.
    pub(super) guid: Option<Guid>,
    route: Route,
    /// Number of its port; 0 of a switch.
    pub(super) port: u8,
    /// What this SM is while it polls: a standby, or a master that waits for another to hand over.
    pub(super) state: SmState,
    /// When the last question was asked to which it gave a good answer.
    pub(super) answered: Instant,
    /// Polls in a row without a good answer.
    failed: u32,
    next: Instant,
}

impl Standby {
    /// For an SM that was asked a moment ago.
    pub(super) fn before(
        (info, route, port): (&SmInfo, &Route, u8),
        state: SmState,
        options: &ManagerOptions,
    ) -> Self {
        Self {
            guid: info.guid,
            route: route.clone(),
            port,
            state,
            answered: Instant::now(),
            failed: 0,
            next: Instant::now() + interval(&options.mastership),
        }
    }

    /// The same, asked in so long at the latest.
    pub(super) fn not_later(mut self, again_in: Option<Duration>) -> Self {
        if let Some(again_in) = again_in {
            self.next = self.next.min(Instant::now() + again_in);
        }
        self
    }

    /// How long until it is to be asked.
    fn due_in(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// With one of the M_Keys that its port may have: the next poll tries another, so that none
    /// takes longer than one try.
    pub(super) fn question(&self, attribute: u16, modifier: u32, keys: &Keys) -> Request {
        let candidates = keys.candidates(self.guid, None, &keys.common());
        let turn = usize::try_from(self.failed).unwrap_or(0) % candidates.len().max(1);
        Request {
            device: Device(0),
            route: self.route.clone(),
            set: None,
            attribute,
            modifier,
            m_key: candidates.get(turn).copied().unwrap_or(0),
            other_keys: Vec::new(),
            takes_long: false,
        }
    }

    /// An answer to a poll that began at `asked`.
    fn heard(&mut self, asked: Instant, mastership: &MastershipOptions) {
        (self.failed, self.answered) = (0, asked);
        self.next = asked + interval(mastership);
    }

    /// None to a poll that began at `asked`: true where that is one too many.
    fn missed(&mut self, asked: Instant, mastership: &MastershipOptions) -> bool {
        self.failed = self.failed.saturating_add(1);
        // A poll that waits long for an answer does not put the next one off.
        self.next = asked + quick(mastership);
        self.failed > mastership.polling_retries
    }

    /// Why this SM does not go on.
    fn stays(&self) -> SweepError {
        let (guid, again_in) = (self.guid, self.due_in());
        match self.state {
            SmState::Master => SweepError::TwoMasters { guid, again_in },
            _ => SweepError::Standby { guid, again_in },
        }
    }
}

/// Between two polls. 0 would be without a pause.
pub(super) fn interval(mastership: &MastershipOptions) -> Duration {
    Duration::from_millis(u64::from(mastership.polling_timeout.max(1)))
}

/// Between two polls when one was not answered: all that follow fit into one interval.
fn quick(mastership: &MastershipOptions) -> Duration {
    interval(mastership) / mastership.polling_retries.saturating_add(1)
}

impl Manager {
    /// This SM does not manage the subnet: it polls who does, and will write nothing until then.
    pub(super) fn yields(&mut self, standby: Standby) -> SweepError {
        let stays = standby.stays();
        info!("{} comes first", sm(&standby.guid));
        (self.standby, self.has_stood_by, self.planner) = (Some(standby), true, None);
        // Whatever was taken over before: this is another's subnet.
        self.inheritance = self.inheritance.anew();
        // What devices hold by the time that this SM has them again is another's work.
        let swept = core::mem::take(&mut self.swept);
        if self.has_just_found() {
            self.swept = swept.told();
        }
        (self.found, self.is_quiet) = (None, false);
        stays
    }

    /// Polls the other SM, where there is one and it is time or `hurries`. Errors: it goes on
    /// waiting.
    pub(super) fn stand_by(
        &mut self,
        options: &ManagerOptions,
        hurries: bool,
    ) -> Result<(), SweepError> {
        let (state, is_called) = (self.identity.state(), self.identity.heed());
        self.forget_what_was_found();
        if state == SmState::NotActive {
            self.standby = None;
            return Err(SweepError::NotActive);
        }
        let Some(mut standby) = self.standby.take() else {
            return Ok(());
        };
        if standby.state != state || is_called {
            self.inheritance.left = Some(standby);
            return Ok(());
        }
        if (hurries || standby.due_in().is_zero()) && !self.look(&mut standby, options)? {
            info!("{} is not waited for any more", sm(&standby.guid));
            self.inheritance.left = Some(standby);
            return Ok(());
        }
        let stays = standby.stays();
        self.standby = Some(standby);
        Err(stays)
    }

    /// One poll. False: the subnet is to be found anew. Errors: the daemon ends.
    fn look(
        &mut self,
        standby: &mut Standby,
        options: &ManagerOptions,
    ) -> Result<bool, SweepError> {
        let asked = Instant::now();
        let keys = self.keys(options);
        let question = standby.question(attribute::SM_INFO, 0, &keys);
        let told = match self.poll(question, options) {
            // A refusal is as bad as silence: a node whose SM has ended may answer so.
            Ok(Outcome::Answered(data)) => SmInfo::parse(&data),
            Ok(Outcome::Refused(_) | Outcome::Mute) => None,
            // A command has come meanwhile.
            Err(SweepError::Stopped) if self.identity.is_called() => {
                self.identity.heed();
                return Ok(false);
            }
            Err(error @ SweepError::Stopped) => return Err(error),
            // The port is attached again at the next look, by which this SM knows no more of the master.
            Err(_) => None,
        };
        let action = match told {
            Some(told) => {
                standby.heard(asked, &options.mastership);
                self.identity.step(Event::Polled(&told))
            }
            None if standby.missed(asked, &options.mastership)
                || self.has_left(standby, options) =>
            {
                self.identity.step(Event::Silent)
            }
            None => Action::Nothing,
        };
        if action == Action::Remind {
            self.remind(options);
        }
        if let Some(told) = told.filter(|_| action != Action::Discover) {
            self.follows_clients((standby, &told), options);
        }
        Ok(action != Action::Discover)
    }

    /// M_Keys of ports, as they are known now.
    pub(super) fn keys(&mut self, options: &ManagerOptions) -> Arc<Keys> {
        self.key_ring.follow(self.directory.as_deref(), options)
    }

    /// The port of the master says that no SM is on it: the program has ended, and its host has
    /// not.
    fn has_left(&mut self, standby: &Standby, options: &ManagerOptions) -> bool {
        let port = u32::from(standby.port);
        let question = standby.question(attribute::PORT_INFO, port, &self.keys(options));
        match self.poll(question, options) {
            Ok(Outcome::Answered(data)) => {
                let info = attributes::port_info(&data);
                info.capability_mask.get() & PortInfoRecord::IS_SM == 0
            }
            _ => false,
        }
    }

    /// Tells the master that there is a greater SM than it is. Nobody answers: it is told again at
    /// the next poll.
    pub(super) fn remind(&mut self, options: &ManagerOptions) {
        // LIDs of now: the master may have changed them since this SM has found the subnet.
        let keys = self.keys(options);
        let own = self.identity.now().info.guid;
        let mut keys = keys.candidates(own, None, &keys.common());
        let other_keys = keys.split_off(keys.len().min(1));
        let question = Request {
            device: Device(0),
            route: Route::default(),
            set: None,
            attribute: attribute::PORT_INFO,
            modifier: 0,
            m_key: keys.first().copied().unwrap_or(0),
            other_keys,
            takes_long: false,
        };
        let Ok(Outcome::Answered(data)) = self.poll(question, options) else {
            return;
        };
        let info = attributes::port_info(&data);
        let (own, master) = (info.base_lid.get(), info.sm_lid.get());
        if own == 0 || master == 0 {
            return;
        }
        debug!(own, master, "the master is told of this SM's priority");
        self.tell(master, trap::priority_changed(own, self.transaction));
    }

    /// How a poll is sent: once, as the next one follows soon.
    pub(super) fn patience(limits: Limits, options: &ManagerOptions) -> Limits {
        Limits {
            timeout: limits.timeout.min(quick(&options.mastership)).max(SHORTEST),
            retries: 0,
            ..limits
        }
    }
}

/// A poll waits so long for an answer at least.
const SHORTEST: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn options(timeout: u32, retries: u32) -> ManagerOptions {
        let mut options = ManagerOptions::default();
        options.mastership.polling_timeout = timeout;
        options.mastership.polling_retries = retries;
        options
    }

    fn standby(options: &ManagerOptions) -> Standby {
        let info = SmInfo {
            guid: Guid::new(5).ok(),
            sm_key: 1,
            act_count: 0,
            priority: 1,
            state: SmState::Master,
        };
        Standby::before((&info, &Route::default(), 1), SmState::Standby, options)
    }

    /// All times are counted from the polls, none is waited for.
    #[test]
    fn a_master_is_gone_after_more_polls_than_are_tried_again() {
        for (timeout, retries) in [(10_000, 4), (1000, 3), (200, 2), (1000, 0)] {
            let options = options(timeout, retries);
            let mut standby = standby(&options);
            let interval = Duration::from_millis(u64::from(timeout));
            let begun = standby.next;
            let mut at = begun;
            while !standby.missed(at, &options.mastership) {
                assert!(standby.next > at);
                at = standby.next;
            }
            assert_eq!(standby.failed, retries + 1);
            assert!(at < begun + interval, "{timeout} {retries}");
        }
    }

    #[test]
    fn an_answer_between_begins_the_count_anew() {
        let options = options(60_000, 2);
        let mut standby = standby(&options);
        let now = Instant::now();
        for _ in 0..3 {
            assert!(!standby.missed(now, &options.mastership));
            assert!(!standby.missed(now, &options.mastership));
            assert!(standby.due_in() < Duration::from_secs(21));
            standby.heard(now, &options.mastership);
            assert!(standby.due_in() > Duration::from_secs(50));
        }
    }

    /// What a poll waits for an answer and what comes between two polls are less than three
    /// intervals together.
    #[test]
    fn a_poll_is_given_up_before_the_next_one() {
        let limits = Limits::default();
        for timeout in [100, 200, 1000, 10_000] {
            let options = options(timeout, 4);
            let patience = Manager::patience(limits, &options);
            assert_eq!(patience.retries, 0);
            assert!(patience.timeout <= quick(&options.mastership), "{timeout}");
        }
    }
}
