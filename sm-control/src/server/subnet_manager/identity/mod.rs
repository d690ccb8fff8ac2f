//! What this Subnet Manager is to others.
//!
//! One value, of the thread that sweeps and of the one that answers others: neither waits for the
//! other for longer than a copy takes, so a command is followed while a sweep goes on.
//!
//! | of SMInfo | from |
//! |---|---|
//! | GUID | the answer of the own node to the first SMP of a sweep; before it there is none |
//! | SM_Key, priority | options, which are read anew at each sweep |
//! | ActCount | SMPs that went out, answers to others not among them |
//! | SMState | [`mastership::step`], by what a sweep finds, what a poll says, and what others command |
//!
//! M_Key and its protection are those of the options too: the SM gives its own port what it gives
//! all others.
//!
//! ```text
//!  the responder: command ──┬─ followed ──> the state is another at once ──> the loader is called, and acts by it
//!                           └─ refused ───> status 0x1c; a stranger's is told
//!  the loader: found, polled, silent ──> the state, and what to do
//! ```

mod commands;
mod noted;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use sa_fabric::options::ManagerOptions;
use sa_sm::mastership::{self, Action, Event, Senders};
use sa_sm::model::Route;
use sa_sm::sm_info::{Own, SmInfo, SmState};
use sa_wire::Guid;
use sa_wire::smp::Smp;
use tracing::info;

pub(super) use self::noted::Noted;
use super::handover::Leaving;
use super::others::Others;
use crate::server::succession::Succession;

/// SMInfo of this SM, and what decides who sees its key and whose commands count.
#[derive(Debug)]
pub(in crate::server) struct Identity {
    inner: Mutex<Inner>,
    /// ActCount.
    sent: AtomicU32,
    /// The loader is to act by a state that is new; in the channel for as long as it waits, and in
    /// the flag until it acts.
    call: (Sender<()>, Receiver<()>),
    is_called: AtomicBool,
    /// Clients get no answer: another SM has the subnet.
    muted: Arc<AtomicBool>,
    /// What clients have set, while another SM is to go on with it.
    pub(super) succession: Arc<Succession>,
    /// The end of this SM.
    pub(super) leaving: Leaving,
}

#[derive(Debug)]
struct Inner {
    own: Own,
    /// Who is where, as of the last sweep.
    senders: Arc<Senders>,
    /// Has handed over, and may still be a master in what was found before.
    has_yielded: Option<Guid>,
    /// Has done so while this SM looked who is there.
    has_yielded_late: Option<Guid>,
    /// A HANDOVER that came before anybody was known: who says so, and the request with the LID
    /// from which it came.
    unjudged: Option<(SmInfo, u16, Smp)>,
    /// Requests with the M_Key from senders that were not known yet, with the LIDs from which they
    /// came.
    unplaced: VecDeque<(u16, Smp)>,
    /// Those who have shown the M_Key.
    proven: Vec<Guid>,
    /// What was refused to strangers, in words, and when that was last.
    refused: VecDeque<(String, Instant)>,
    /// What the last sweep makes of this SM, once it has a plan.
    decided: Option<SmState>,
    /// Who may take over when this one ends, the greatest first.
    heirs: Vec<Heir>,
}

/// An SM that may take over.
#[derive(Debug, Clone)]
pub(super) struct Heir {
    /// Of its port.
    pub(super) guid: Option<Guid>,
    /// The way there.
    pub(super) route: Route,
}

/// From the answer of an SM that is no master any more to its HANDOVER, which it sends right after.
const HANDOVER_COMES: Duration = Duration::from_millis(100);

impl Identity {
    /// Discovering, with nothing known yet. `muted` is set while another SM has the subnet.
    pub(super) fn new(muted: Arc<AtomicBool>, succession: Arc<Succession>) -> Self {
        let info = SmInfo {
            guid: None,
            sm_key: 0,
            act_count: 0,
            priority: 0,
            state: SmState::Discovering,
        };
        let own = Own {
            info,
            m_key: 0,
            protection: 0,
        };
        Self {
            inner: Mutex::new(Inner {
                own,
                senders: Arc::default(),
                has_yielded: None,
                has_yielded_late: None,
                unjudged: None,
                unplaced: VecDeque::new(),
                proven: Vec::new(),
                refused: VecDeque::new(),
                decided: None,
                heirs: Vec::new(),
            }),
            sent: AtomicU32::new(0),
            call: bounded(1),
            is_called: AtomicBool::new(false),
            muted,
            succession,
            leaving: Leaving::default(),
        }
    }

    /// The daemon ends: sweeps end, and another SM is told to take over, if there is one. Waits for
    /// that, at most `most`.
    pub(in crate::server) fn leave(&self, most: Duration) {
        self.leaving.begin(most);
    }

    /// What is told now.
    pub(super) fn now(&self) -> Own {
        let mut own = self.inner().own;
        // Relaxed: a number for people.
        own.info.act_count = self.sent.load(Ordering::Relaxed);
        own
    }

    /// What it is now.
    pub(super) fn state(&self) -> SmState {
        self.inner().own.info.state
    }

    /// Keys and priority of now. True where the priority is another than before.
    pub(super) fn follow(&self, sm_key: u64, options: &ManagerOptions) -> bool {
        let own = &mut self.inner().own;
        let before = core::mem::replace(&mut own.info.priority, options.mastership.priority);
        own.info.sm_key = sm_key;
        own.m_key = options.m_key;
        own.protection = options.m_key_protection_level;
        before != own.info.priority
    }

    /// Where it is said that the state is another.
    pub(in crate::server) fn calls(&self) -> Receiver<()> {
        self.call.1.clone()
    }

    /// True where the loader is called and has not acted yet.
    pub(super) fn is_called(&self) -> bool {
        self.is_called.load(Ordering::SeqCst)
    }

    /// The loader acts. True where it was called.
    pub(super) fn heed(&self) -> bool {
        self.is_called.swap(false, Ordering::SeqCst)
    }

    fn call(&self) {
        self.is_called.store(true, Ordering::SeqCst);
        // Full: the loader has not looked yet.
        let _ = self.call.0.try_send(());
    }

    /// Something has happened that the loader has seen to. Gives what to do.
    pub(super) fn step(&self, event: Event<'_>) -> Action {
        let inner = &mut *self.inner();
        self.take(inner, event)
    }

    /// It does nothing until it is told to stand by (`sm_inactive`).
    pub(super) fn rests(&self) {
        self.enter(&mut self.inner(), SmState::NotActive);
    }

    /// It was to be another's subnet, and nobody has taken it: it is the master's still, unless
    /// somebody has commanded something else.
    pub(super) fn stays(&self) {
        let inner = &mut *self.inner();
        let is_waiting = matches!(inner.own.info.state, SmState::Standby | SmState::NotActive);
        if is_waiting && !self.is_called() {
            self.enter(inner, SmState::Master);
            // What is in service is as it was.
            self.muted.store(false, Ordering::SeqCst);
            self.succession.thaw();
        }
    }

    /// The own port has no link: what is in service is of a subnet that is out of reach, and
    /// another may be the master of what a link leads to next.
    pub(super) fn cut_off(&self) {
        self.manages();
        self.muted.store(true, Ordering::SeqCst);
    }

    /// This SM is about to tell another to take over: clients change nothing any more, and are
    /// answered until [`Self::is_read`].
    pub(super) fn bequeaths(&self) {
        self.succession.freeze();
    }

    /// The heir has read what clients have set, or does not: nobody is answered any more, unless
    /// this SM is the master again.
    pub(super) fn is_read(&self) {
        let inner = self.inner();
        if matches!(inner.own.info.state, SmState::Standby | SmState::NotActive) {
            self.muted.store(true, Ordering::SeqCst);
        }
    }

    /// Who has handed over while this SM was still looking who is there: its place. Told once.
    /// Where one stands by and nobody is the master it may be about to do so, and is waited for,
    /// but where one `has_come` already.
    pub(super) fn late_predecessor(&self, others: &Others, has_come: bool) -> Option<usize> {
        let begun = Instant::now();
        let own = self.now().info;
        let is_looking = own.state == SmState::Discovering && !has_come;
        let may_come = is_looking && others.has_lesser_standby(&own);
        loop {
            if let Some(guid) = self.inner().has_yielded_late.take() {
                return others.place(guid);
            }
            if !may_come || begun.elapsed() >= HANDOVER_COMES || self.leaving.is_begun() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Who has handed over to this SM, before the next sweep.
    pub(super) fn predecessor(&self) -> Option<Guid> {
        self.inner().has_yielded
    }

    /// The snapshot in service is of the subnet that this SM manages.
    pub(super) fn serves(&self) {
        let inner = self.inner();
        let has_subnet = matches!(inner.own.info.state, SmState::Master | SmState::Discovering);
        self.muted.store(!has_subnet, Ordering::SeqCst);
        if has_subnet {
            self.succession.thaw();
        }
    }

    /// A sweep has found these SMs there. Gives what to do; the place of an action is one of
    /// `others`.
    pub(super) fn found(&self, senders: Senders, is_cut: bool, others: &mut Others) -> Action {
        let inner = &mut *self.inner();
        inner.senders = Arc::new(senders);
        inner.judge_late();
        for (lid, request) in core::mem::take(&mut inner.unplaced) {
            inner.note_proof(lid, &request);
        }
        // Only of those that are still there.
        inner.proven.retain(|guid| others.has(*guid));
        let needs_key = inner.own.m_key != 0;
        others.judge(inner.has_yielded.take(), |guid| {
            !needs_key || inner.proven.contains(&guid)
        });
        inner.heirs = others.heirs(&inner.own.info);
        let event = match is_cut {
            true => Event::Cut,
            false => Event::Found(others.infos()),
        };
        let (state, action) = mastership::step(&inner.own.info, event);
        // A master that cannot manage would keep others from it.
        match action {
            Action::Manage => inner.decided = Some(state),
            _ => self.enter(inner, state),
        }
        action
    }

    /// There is a plan, or nothing to plan for: what was decided holds.
    pub(super) fn manages(&self) {
        let inner = &mut *self.inner();
        if let Some(state) = inner.decided.take() {
            self.enter(inner, state);
        }
    }

    /// Who may take over, the greatest first.
    pub(super) fn heirs(&self) -> Vec<Heir> {
        self.inner().heirs.clone()
    }

    fn take(&self, inner: &mut Inner, event: Event<'_>) -> Action {
        let (state, action) = mastership::step(&inner.own.info, event);
        self.enter(inner, state);
        action
    }

    fn enter(&self, inner: &mut Inner, state: SmState) {
        let before = core::mem::replace(&mut inner.own.info.state, state);
        let hands_over = before == SmState::Master && self.succession.is_frozen();
        if matches!(state, SmState::Standby | SmState::NotActive) && !hands_over {
            // At once: whoever asks here would get what is not the master's word.
            self.muted.store(true, Ordering::SeqCst);
        }
        if before != state {
            info!("Entering {} state", word(state));
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Each value is written in one go, so what a thread that panicked has left is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As OpenSM's log has it.
const fn word(state: SmState) -> &'static str {
    match state {
        SmState::NotActive => "NOT-ACTIVE",
        SmState::Discovering => "DISCOVERING",
        SmState::Standby => "STANDBY",
        SmState::Master => "MASTER",
    }
}
