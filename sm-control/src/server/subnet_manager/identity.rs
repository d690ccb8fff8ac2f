//! What this Subnet Manager is to others.
//!
//! One value, of the thread that sweeps and of the one that answers others: neither waits for the other for longer than a copy takes, so a
//! command is followed while a sweep goes on.
//!
//! | of SMInfo | from |
//! |---|---|
//! | GUID | the answer of the own node to the first SMP of a sweep; before it there is none |
//! | SM_Key, priority | options, which are read anew at each sweep |
//! | ActCount | SMPs that went out, answers to others not among them |
//! | SMState | [`mastership::step`], by what a sweep finds, what a poll says, and what others command |
//!
//! M_Key and its protection are those of the options too: the SM gives its own port what it gives all others.
//!
//! ```text
//!  the responder: command ──┬─ followed ──> the state is another at once ──> the loader is called, and acts by it
//!                           └─ refused ───> status 0x1c; a stranger's is told
//!  the loader: found, polled, silent ──> the state, and what to do
//! ```

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use sa_fabric::options::ManagerOptions;
use sa_port::PortError;
use sa_sm::mastership::{self, Action, Command, Event, Senders, Verdict, command, senders};
use sa_sm::model::Route;
use sa_sm::sm_info::{Own, SmInfo, SmState};
use sa_wire::Guid;
use sa_wire::mad::method;
use sa_wire::smp::{Smp, attribute};
use sm_port::{Hidden, Packet, SmpPort};
use tracing::{info, warn};
use zerocopy::FromBytes;

use super::error::sm;
use super::handover::Leaving;
use super::others::Others;

/// SMInfo of this SM, and what decides who sees its key and whose commands count.
#[derive(Debug)]
pub(in crate::server) struct Identity {
    inner: Mutex<Inner>,
    /// ActCount.
    sent: AtomicU32,
    /// The loader is to act by a state that is new; in the channel for as long as it waits, and in the flag until it acts.
    call: (Sender<()>, Receiver<()>),
    is_called: AtomicBool,
    /// Clients get no answer: another SM has the subnet.
    muted: Arc<AtomicBool>,
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
    /// A HANDOVER that came before anybody was known: who says so, and the request with the LID from which it came.
    unjudged: Option<(SmInfo, u16, Smp)>,
    /// Requests with the M_Key from senders that were not known yet, with the LIDs from which they came.
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

/// How long a stranger's command stands as a finding.
const REMEMBERED: Duration = Duration::from_secs(600);

/// How often strangers' commands are a reason to look at the subnet.
const LOOKS: Duration = Duration::from_secs(10);

/// Requests of unknown senders, and words about strangers, that are kept. Each SM of the subnet asks again and again.
const MOST_KEPT: usize = 8;

impl Identity {
    /// Discovering, with nothing known yet. `muted` is set while another SM has the subnet.
    pub(super) fn new(muted: Arc<AtomicBool>) -> Self {
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
            leaving: Leaving::default(),
        }
    }

    /// The daemon ends: sweeps end, and another SM is told to take over, if there is one. Waits for that, at most `most`.
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

    /// It was to be another's subnet, and nobody has taken it: it is the master's still, unless somebody has commanded something else.
    pub(super) fn stays(&self) {
        let inner = &mut *self.inner();
        let is_waiting = matches!(inner.own.info.state, SmState::Standby | SmState::NotActive);
        if is_waiting && !self.is_called() {
            self.enter(inner, SmState::Master);
            // What is in service is as it was.
            self.muted.store(false, Ordering::SeqCst);
        }
    }

    /// The snapshot in service is of the subnet that this SM manages.
    pub(super) fn serves(&self) {
        let inner = self.inner();
        let has_subnet = matches!(inner.own.info.state, SmState::Master | SmState::Discovering);
        self.muted.store(!has_subnet, Ordering::SeqCst);
    }

    /// A sweep has found these SMs there. Gives what to do; the place of an action is one of `others`.
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

    /// There is a plan.
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

    /// An SMP from an SM: what it proves is noted.
    pub(super) fn hears(&self, lid: u16, request: &Smp) {
        let inner = &mut *self.inner();
        let is_about_us = request.header.attribute_id.get() == attribute::SM_INFO;
        if inner.own.m_key != 0 && is_about_us && inner.own.has_key(request) {
            inner.note_proof(lid, request);
        }
    }

    /// A command. Gives what this SM is afterwards; none where it is refused.
    pub(super) fn command(&self, lid: u16, request: &Smp) -> Option<SmInfo> {
        let sender = SmInfo::parse(&request.data)?;
        let modifier = request.header.attribute_modifier.get();
        let inner = &mut *self.inner();
        let from = inner.senders.of_request(lid, request);
        match command::judge(&inner.own.info, modifier, &sender, from) {
            Verdict::Follow(command) => {
                info!("{command} from {}", sm(&sender.guid));
                if command == Command::HandOver {
                    inner.has_yielded = sender.guid;
                }
                if self.take(inner, Event::Commanded(command)) == Action::Discover {
                    self.call();
                }
            }
            Verdict::Later(_) => inner.unjudged = Some((sender, lid, *request)),
            Verdict::Refuse(why) => {
                // It may be an SM that is new here.
                if why.is_suspicious() && inner.refuse(modifier, &sender) {
                    self.call();
                }
                return None;
            }
        }
        Some(inner.own.info)
    }

    /// Findings: commands that came from where no SM is, in the last ten minutes.
    pub(super) fn refused(&self) -> Vec<String> {
        let refused = &mut self.inner().refused;
        refused.retain(|(_, last)| last.elapsed() < REMEMBERED);
        refused.iter().map(|(words, _)| words.clone()).collect()
    }

    fn take(&self, inner: &mut Inner, event: Event<'_>) -> Action {
        let (state, action) = mastership::step(&inner.own.info, event);
        self.enter(inner, state);
        action
    }

    fn enter(&self, inner: &mut Inner, state: SmState) {
        let before = core::mem::replace(&mut inner.own.info.state, state);
        if matches!(state, SmState::Standby | SmState::NotActive) {
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

    /// Notes the GUID of the port by which this SM sends: its own node's answer to the first question says it.
    fn learn(&self, smp: &[u8; 256]) {
        let Ok(answer) = Smp::read_from_bytes(smp) else {
            return;
        };
        // No hop: nobody else answers to that.
        let is_own = answer.is_directed()
            && answer.path() == Some(&[])
            && answer.header.method == method::GET_RESP
            && answer.header.attribute_id.get() == attribute::NODE_INFO
            && answer.status().0 == 0;
        let guid = answer.data.get(PORT_GUID..).and_then(<[u8]>::first_chunk);
        if let (true, Some(bytes)) = (is_own, guid) {
            self.inner().own.info.guid = Guid::new(u64::from_be_bytes(*bytes)).ok();
        }
    }
}

impl Inner {
    /// A HANDOVER that came before anybody was known counts if its sender was found where it came from.
    fn judge_late(&mut self) {
        let Some((sender, lid, request)) = self.unjudged.take() else {
            return;
        };
        let from = self.senders.of_request(lid, &request);
        let modifier = request.header.attribute_modifier.get();
        match command::judge(&self.own.info, modifier, &sender, from) {
            Verdict::Follow(command) => {
                info!("{command} from {}", sm(&sender.guid));
                self.has_yielded = sender.guid;
            }
            Verdict::Later(_) | Verdict::Refuse(_) => {
                self.refuse(modifier, &sender);
            }
        }
    }

    /// A request with the M_Key.
    fn note_proof(&mut self, lid: u16, request: &Smp) {
        match self.senders.of_request(lid, request) {
            senders::Sender::Known(guid) if !self.proven.contains(&guid) => self.proven.push(guid),
            senders::Sender::Known(_) => {}
            senders::Sender::Unknown => {
                self.unplaced.push_back((lid, *request));
                if self.unplaced.len() > MOST_KEPT {
                    self.unplaced.pop_front();
                }
            }
        }
    }

    /// Told once, as long as it is remembered. True where it is time to look at the subnet: whoever floods this SM with commands does not
    /// keep it looking.
    fn refuse(&mut self, modifier: u32, sender: &SmInfo) -> bool {
        let what =
            Command::of(modifier).map_or_else(|| "a command".to_owned(), |it| it.to_string());
        let words = format!(
            "{what} was refused: who sent it says that it is {}, and no SM of that GUID and sm_key was found where it came from; \
             look for a host that sends SMPs",
            sm(&sender.guid)
        );
        let last = self.refused.iter().map(|(_, last)| *last).max();
        let is_time = last.is_none_or(|last| last.elapsed() >= LOOKS);
        let now = Instant::now();
        if let Some(known) = self.refused.iter_mut().find(|(known, _)| *known == words) {
            known.1 = now;
            return is_time;
        }
        warn!("{words}");
        self.refused.push_back((words, now));
        if self.refused.len() > MOST_KEPT {
            self.refused.pop_front();
        }
        is_time
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

/// A port whose SMPs are counted, and by which the SM learns who it is.
pub(super) struct Noted<'a> {
    pub(super) port: &'a mut dyn SmpPort,
    pub(super) identity: &'a Identity,
}

impl SmpPort for Noted<'_> {
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError> {
        let is_sent = self.port.send(packet)?;
        // Relaxed: as where it is read.
        // Without room nothing went out.
        self.identity
            .sent
            .fetch_add(u32::from(is_sent), Ordering::Relaxed);
        Ok(is_sent)
    }

    fn receive(&mut self) -> Result<Option<Packet>, PortError> {
        let packet = self.port.receive()?;
        if let Some(Packet { smp, .. }) = &packet {
            self.identity.learn(smp);
        }
        Ok(packet)
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.port.wait(timeout)
    }

    fn hidden(&self) -> Hidden {
        self.port.hidden()
    }
}

/// Of PortGUID in NodeInfo. Units: bytes.
const PORT_GUID: usize = 20;

#[cfg(test)]
mod tests {
    use sa_sm::model::Subnet;
    use sa_wire::smp::MGMT_CLASS_LID;

    use super::*;

    fn told(path: &[u8], attribute: u16) -> [u8; 256] {
        let mut answer = Smp::directed(method::GET_RESP, attribute, 1, path).unwrap();
        answer.header.status = Smp::RETURNING.into();
        answer.data[PORT_GUID..PORT_GUID + 8].copy_from_slice(&0x10_0001_u64.to_be_bytes());
        zerocopy::transmute!(answer)
    }

    fn identity() -> Identity {
        Identity::new(Arc::default())
    }

    #[test]
    fn the_guid_is_that_of_the_own_node_s_port() {
        let identity = identity();
        for other in [
            told(&[1], attribute::NODE_INFO),
            told(&[], attribute::PORT_INFO),
        ] {
            identity.learn(&other);
            assert_eq!(identity.now().info.guid, None);
        }
        identity.learn(&told(&[], attribute::NODE_INFO));
        assert_eq!(identity.now().info.guid, Guid::new(0x10_0001).ok());
    }

    #[test]
    fn options_that_are_read_anew_count_at_once() {
        let identity = identity();
        let mut options = ManagerOptions::default();
        (options.mastership.priority, options.m_key) = (9, 3);
        assert!(identity.follow(5, &options));
        assert!(!identity.follow(5, &options), "the same");
        let own = identity.now();
        assert_eq!((own.info.sm_key, own.info.priority, own.m_key), (5, 9, 3));
    }

    /// HANDOVER of a master that nobody has found.
    fn command(sm_key: u64, guid: u64) -> Smp {
        let sender = SmInfo {
            guid: Guid::new(guid).ok(),
            sm_key,
            act_count: 0,
            priority: 15,
            state: SmState::Master,
        };
        let mut smp = Smp::directed(method::SET, attribute::SM_INFO, 1, &[]).unwrap();
        smp.header.mgmt_class = MGMT_CLASS_LID;
        smp.header.attribute_modifier = 1.into();
        smp.data = sender.data();
        smp
    }

    /// Alone in the subnet: it is the master once it has a plan, and not before.
    fn alone(identity: &Identity) {
        let mut nobody = Others::of(&Subnet::default(), false);
        let action = identity.found(Senders::default(), false, &mut nobody);
        assert_eq!(
            (action, identity.state()),
            (Action::Manage, SmState::Discovering)
        );
        identity.manages();
        assert_eq!(identity.state(), SmState::Master);
    }

    #[test]
    fn a_handover_of_nobody_changes_nothing_and_is_told() {
        let identity = identity();
        identity.follow(1, &ManagerOptions::default());
        assert!(
            identity.command(9, &command(1, 7)).is_some(),
            "it may be found yet"
        );
        assert_eq!(identity.state(), SmState::Discovering);
        alone(&identity);
        assert_eq!(identity.refused().len(), 1);
        // By now everybody is known.
        assert_eq!(identity.command(9, &command(1, 8)), None);
        assert_eq!(identity.command(9, &command(2, 8)), None);
        assert!(!identity.is_called(), "it was looked for a moment ago");
        for guid in 1..50 {
            assert_eq!(identity.command(9, &command(1, guid)), None);
        }
        assert_eq!(identity.refused().len(), MOST_KEPT);
    }

    #[test]
    fn clients_get_no_answer_while_another_has_the_subnet() {
        let muted = Arc::new(AtomicBool::new(false));
        let identity = Identity::new(Arc::clone(&muted));
        alone(&identity);
        identity.serves();
        assert!(!muted.load(Ordering::SeqCst));
        identity.step(Event::TakenOver);
        assert!(muted.load(Ordering::SeqCst));
        identity.serves();
        assert!(muted.load(Ordering::SeqCst), "it stands by");
        identity.step(Event::Silent);
        assert!(muted.load(Ordering::SeqCst), "what is in service is old");
        identity.serves();
        assert!(!muted.load(Ordering::SeqCst));
    }
}
