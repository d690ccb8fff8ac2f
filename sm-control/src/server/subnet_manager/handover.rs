//! Handing the subnet over to another Subnet Manager.
//!
//! ```text
//!  a sweep finds a greater one ──> Set(SMInfo) HANDOVER ──┬─ taken ────> this one stands by, and polls it
//!                                                        └─ not taken ─> this one stays the master, and manages
//!
//!  the daemon ends ──> HANDOVER to the greatest that stands by ──┬─ taken ────> ends
//!                                                               └─ not ──────> to the next one, then ends
//! ```
//!
//! A sweep hands over between finding and writing, so that nothing is written by two. At the end
//! the thread that answers others hands over, because the one that sweeps may be busy: sweeps are
//! stopped first, and this SM is not active from the moment on at which it tells another: a standby
//! of higher priority would be handed the subnet back. Where nobody takes it this SM is the master
//! until it is gone.
//!
//! From the moment before it is told until the heir has read it, what clients have set is final
//! (`server/succession.rs`): who would change it gets no answer, asks again, and is the heir's
//! client by then. Reads go on. An heir that reads nothing is waited for half a second.
//!
//! One that was told and did not take it is told again, ever later: it may not have found this SM
//! yet, as when two subnets were joined a moment ago. From the second time on it is a finding.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use sa_fabric::options::ManagerOptions;
use sa_port::PortError;
use sa_sm::executor::{Device, Limits, Outcome, Request};
use sa_sm::mastership::{Command, Event};
use sa_sm::model::Route;
use sa_sm::sm_info::{Own, SmState};
use sa_wire::Guid;
use sa_wire::smp::attribute;
use sm_port::{Answers, SmpPort, ask, serve};
use tracing::{info, warn};

use super::Manager;
use super::error::{SweepError, sm};
use super::identity::{Heir, Identity};
use super::others::Others;
use super::standby::Standby;
use crate::server::succession::LAST_ANSWER;

/// An SM that was told to take over and did not.
#[derive(Debug)]
pub(super) struct Unfit {
    pub(super) guid: Option<Guid>,
    since: Instant,
    /// How long it is not told again.
    rests: Duration,
}

/// After the first time. Whoever refuses a stranger looks for it at once, which takes as long as
/// finding a subnet.
const FIRST_REST: Duration = Duration::from_millis(500);
/// The rest doubles up to this.
const LONGEST_REST: Duration = Duration::from_secs(60);

impl Unfit {
    /// It has not taken the subnet over now; `before`: who did not, last.
    fn once_more(guid: Option<Guid>, before: Option<&Self>) -> Self {
        let same = before.filter(|before| before.guid == guid);
        let rests = same.map_or(FIRST_REST, |it| (it.rests * 2).min(LONGEST_REST));
        Self {
            guid,
            since: Instant::now(),
            rests,
        }
    }

    /// True while it is not told.
    pub(super) fn stands(&self) -> bool {
        !self.again_in().is_zero()
    }

    /// How long until it is told again.
    pub(super) fn again_in(&self) -> Duration {
        self.rests.saturating_sub(self.since.elapsed())
    }

    /// For people; none where it may be that it had only not looked yet.
    pub(super) fn words(&self) -> Option<String> {
        let told = || {
            format!(
                "{} is of higher priority and does not take the subnet over; this SM stays the master. Look at that SM's log",
                sm(&self.guid)
            )
        };
        (self.rests > FIRST_REST).then(told)
    }
}

/// HANDOVER, as this SM. `m_keys`: to be tried, at least one.
fn request(own: &Own, route: Route, mut m_keys: Vec<u64>) -> Request {
    let other_keys = m_keys.split_off(m_keys.len().min(1));
    Request {
        device: Device(0),
        route,
        set: Some(own.info.data()),
        attribute: attribute::SM_INFO,
        modifier: Command::HandOver as u32,
        m_key: m_keys.first().copied().unwrap_or(own.m_key),
        other_keys,
        takes_long: false,
    }
}

impl Manager {
    /// Hands the subnet over to the one at that place. Gives why this SM does not go on.
    pub(super) fn hand_over(
        &mut self,
        place: usize,
        others: &Others,
        options: &ManagerOptions,
    ) -> SweepError {
        let Some((info, route, port)) = others.get(place) else {
            return SweepError::NotTaken;
        };
        let keys = self.keys(options);
        let keys = keys.candidates(info.guid, None, &keys.common());
        let question = request(&self.identity.now(), route.clone(), keys);
        self.identity.bequeaths();
        // Before it is told: it looks at once what this one is, and must find no second master.
        self.identity.step(Event::TakenOver);
        match self.ask(question, options) {
            Ok(Outcome::Answered(_)) => {
                info!("handed over to {}", sm(&info.guid));
                self.wait_for_heir();
                self.unfit = None;
                let other = (info, route, port);
                self.yields(Standby::before(other, SmState::Standby, options))
            }
            Ok(Outcome::Refused(_) | Outcome::Mute) => {
                let unfit = Unfit::once_more(info.guid, self.unfit.as_ref());
                match unfit.words() {
                    Some(words) => warn!("{words}"),
                    None => info!("{} has not taken over yet", sm(&unfit.guid)),
                }
                self.unfit = Some(unfit);
                self.identity.stays();
                SweepError::NotTaken
            }
            Err(error) => {
                self.identity.stays();
                error
            }
        }
    }
}

impl Manager {
    /// Until the heir has read what clients have set, or does not. The loader has nothing else to
    /// do for this SM meanwhile.
    fn wait_for_heir(&self) {
        let (succession, since) = (&self.identity.succession, Instant::now());
        while !succession.is_over(since) && !self.identity.leaving.is_begun() {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(LAST_ANSWER);
        self.identity.is_read();
    }
}

/// The end of this SM, as far as the others are concerned.
#[derive(Debug)]
pub(super) struct Leaving {
    is_begun: AtomicBool,
    /// SMPs of a sweep may be on the wire.
    is_sweeping: AtomicBool,
    left: (Sender<()>, Receiver<()>),
}

impl Default for Leaving {
    fn default() -> Self {
        Self {
            is_begun: AtomicBool::new(false),
            is_sweeping: AtomicBool::new(false),
            left: bounded(1),
        }
    }
}

impl Leaving {
    /// Sweeps end, and nothing begins any more.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.is_begun
    }

    /// A sweep is on the wire, or is not any more.
    pub(super) fn sweeps(&self, is_sweeping: bool) {
        self.is_sweeping.store(is_sweeping, Ordering::SeqCst);
    }

    /// True from the beginning of the end on.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun.load(Ordering::SeqCst)
    }

    /// Begins it, and waits until somebody has taken over or nobody can, at most `most`.
    pub(super) fn begin(&self, most: Duration) {
        self.is_begun.store(true, Ordering::SeqCst);
        // Time over: whoever stands by finds it out by itself.
        let _ = self.left.1.recv_timeout(most);
    }
}

/// Hands over at the end, over the port of whoever answers others, who are answered meanwhile.
/// Errors: the port is of no use any more.
pub(super) fn leave(
    port: &mut dyn SmpPort,
    identity: &Identity,
    answer: &mut Answers<'_>,
) -> Result<(), PortError> {
    let leaving = &identity.leaving;
    let begun = Instant::now();
    // What is on the wire now must not meet the next master's.
    let is_still =
        || !leaving.is_sweeping.load(Ordering::SeqCst) || begun.elapsed() >= LONGEST_SWEEP_END;
    serve(port, &is_still, answer)?;
    let own = identity.now();
    let heirs = identity.heirs();
    if own.info.state == SmState::Master && !heirs.is_empty() {
        identity.bequeaths();
        // Before anybody is told: a standby of lower priority would hand the subnet back to a master that it still sees.
        identity.step(Event::Left);
        let mut taken = None;
        for heir in heirs.iter().take(MOST_TRIED) {
            if is_taken(port, &own, heir, answer)? {
                taken = Some(heir);
                break;
            }
        }
        match taken {
            Some(heir) => {
                info!("handed over to {}", sm(&heir.guid));
                let (succession, since) = (&identity.succession, Instant::now());
                serve(port, &|| succession.is_over(since), answer)?;
                let read = Instant::now();
                serve(port, &|| read.elapsed() >= LAST_ANSWER, answer)?;
                identity.is_read();
            }
            // Clients are answered until the end.
            None => identity.stays(),
        }
    }
    // Nobody waits any more.
    let _ = leaving.left.0.try_send(());
    Ok(())
}

fn is_taken(
    port: &mut dyn SmpPort,
    own: &Own,
    heir: &Heir,
    answer: &mut Answers<'_>,
) -> Result<bool, PortError> {
    let limits = Limits {
        timeout: WAITS,
        retries: RETRIES,
        ..Limits::default()
    };
    // The key that a master has given all ports.
    let question = request(own, heir.route.clone(), vec![own.m_key]);
    // Another agent, or client, than that of sweeps: transactions are its own.
    let outcome = ask(
        port,
        question,
        limits,
        std::process::id() << 12,
        &|| false,
        answer,
    )?;
    Ok(matches!(outcome, Some(Outcome::Answered(_))))
}

/// The last SMPs of a sweep are answered within this, or they are lost.
const LONGEST_SWEEP_END: Duration = Duration::from_millis(150);
/// For an answer to HANDOVER.
const WAITS: Duration = Duration::from_millis(40);
/// A busy host answers late, and without an heir the subnet has no master until one is missed.
const RETRIES: u32 = 4;
/// Of those that stand by: the end of a daemon must not take long.
const MOST_TRIED: usize = 2;
