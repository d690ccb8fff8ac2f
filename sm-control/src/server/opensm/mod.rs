//! Reading beside an OpenSM that keeps the fabric: it leaves the SA's read methods to this daemon,
//! and answers what it alone knows.
//!
//! OpenSM runs with a preload library (`sm-control/split`); what is said between the two is in
//! `split-protocol`.

mod ask;
mod gate;
mod its_port;
mod leased;
mod link;
mod pulse;
mod standing;
mod subscription;

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use sa_fastpath::stats::WorkerStats;
use sa_wire::mad::method;
use sa_wire::sa::AttributeId;
use sa_wire::umad::Slot;
use split_protocol::{BEAT_LAPSE, Frame, Reads};
use tracing::{debug, error, info};

use self::standing::{Order, Seen, Standing};
use super::ServerError;
use super::vigil::Doubts;
use crate::config::{Config, OpenSmSection, PortSection};
use sa_wire::request;

pub(super) use self::ask::SocketAsk;
pub(super) use self::gate::Gate;
use self::its_port::ItsPort;
pub(super) use self::leased::Leased;
use self::link::Heard;
pub(super) use self::link::{Answer, Link};
use self::pulse::{Pulse, Workers};

/// How often the standing is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How often OpenSM is asked whether it is the master.
const PING: Duration = Duration::from_millis(500);

/// The same until it was answered once.
const FIRST_PING: Duration = Duration::from_millis(50);

/// A ping that got no reply in so long gets none.
const PING_PATIENCE: Duration = Duration::from_secs(2);

/// Why the sources are to be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing that was published counts any more.
    Invalid(&'static str),
    /// OpenSM reports a trap.
    Trap(u16),
    /// OpenSM has written to switches or ports.
    Programmed,
    /// Another OpenSM has taken over on this port, and has done its first sweep.
    Returned,
    /// The SM answers otherwise than what is in service.
    Differs,
    /// The SM answers as what was refused for its answers.
    Agrees,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(reason) => f.write_str(reason),
            Self::Trap(number) => write!(f, "OpenSM reports trap {number}"),
            Self::Programmed => f.write_str("OpenSM has programmed the fabric"),
            Self::Returned => f.write_str("OpenSM was started again"),
            Self::Differs => f.write_str("the SM answers otherwise than the snapshot in service"),
            Self::Agrees => f.write_str("the SM answers as the sources say"),
        }
    }
}

/// What the server has of it.
pub(super) struct Beside {
    pub(super) link: Arc<Link>,
    pub(super) changes: Receiver<Change>,
    /// What comes out there.
    pub(super) teller: Sender<Change>,
    gate: Arc<Gate>,
    device: Option<String>,
    doubts: Arc<Doubts>,
    shared: Arc<Shared>,
    watch: Thread,
    connection: Thread,
}

/// One that has not been waited for.
type Thread = Mutex<Option<JoinHandle<()>>>;

/// What the thread that judges and the one that compiles tell each other.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Of the fabric as the present master knows it.
    generation: AtomicU64,
    /// One more than the generation of what was published last; 0: nothing yet.
    published: AtomicU64,
    is_master: AtomicBool,
    /// The OpenSM that is connected has answered as a master does.
    answers: AtomicBool,
    /// Of OpenSM's port; 0: not known.
    lid: AtomicU16,
    /// Of its SM; 0: not known.
    sm_lid: AtomicU16,
    /// Those who answer behind the gate.
    workers: Workers,
}

impl Shared {
    /// The master is on another port.
    fn is_elsewhere(&self) -> bool {
        let sm_lid = self.sm_lid.load(Ordering::SeqCst);
        sm_lid != 0 && sm_lid != self.lid.load(Ordering::SeqCst)
    }
}

/// Starts connecting, where the configuration names an OpenSM. Errors: [`ServerError::Os`].
pub(super) fn start(config: &Config, doubts: &Arc<Doubts>) -> Result<Option<Beside>, ServerError> {
    let Some(section) = &config.opensm else {
        return Ok(None);
    };
    let devices = config.ports.iter().filter_map(|port| match port {
        PortSection::Umad { device, .. } => device.clone(),
        _ => None,
    });
    Beside::start(section, devices.into_iter().next(), doubts).map(Some)
}

impl Beside {
    fn start(
        section: &OpenSmSection,
        device: Option<String>,
        doubts: &Arc<Doubts>,
    ) -> Result<Self, ServerError> {
        let (link, heard) = Link::new(&section.socket);
        let (link, gate) = (Arc::new(link), Arc::new(Gate::shut()));
        let shared = Arc::new(Shared::default());
        let (sender, changes) = bounded(64);
        let watch = Watch {
            link: Arc::clone(&link),
            gate: Arc::clone(&gate),
            shared: Arc::clone(&shared),
            port: ItsPort::new(device.clone()),
            changes: sender.clone(),
            doubts: Arc::clone(doubts),
            heard,
            standing: Standing::new(section.grace()),
            pulse: Pulse::default(),
            ping: None,
            asked: Duration::ZERO,
            answered: None,
            answering: 0,
        };
        let running = Arc::clone(&link);
        Ok(Self {
            connection: Mutex::new(Some(spawn("sa-opensm", move || running.run())?)),
            watch: Mutex::new(Some(spawn("sa-beside", move || watch.run())?)),
            link,
            gate,
            device,
            doubts: Arc::clone(doubts),
            changes,
            teller: sender,
            shared,
        })
    }

    /// The gate of a port that OpenSM shares: the umad port of its device.
    pub(super) fn gate_of(&self, section: &PortSection) -> Option<Arc<Gate>> {
        let is_its = match section {
            PortSection::Umad { device, .. } => *device == self.device,
            _ => false,
        };
        is_its.then(|| Arc::clone(&self.gate))
    }

    /// Who lends that port its methods; it is told whose worker answers there.
    pub(super) fn lender_of(
        &self,
        section: &PortSection,
        worker: &Arc<WorkerStats>,
    ) -> Option<Arc<Link>> {
        self.gate_of(section)?;
        self.shared.workers.add(Arc::clone(worker));
        Some(Arc::clone(&self.link))
    }

    /// Reads the fabric from OpenSM.
    pub(super) fn ask(&self) -> SocketAsk {
        let (link, shared) = (Arc::clone(&self.link), Arc::clone(&self.shared));
        SocketAsk::new(link, shared, self.device.clone())
    }

    /// What operators see of it, by name.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let opensm = self.link.connected().map_or_else(
            || "away".to_owned(),
            |opensm| format!("process {} on umad{}", opensm.pid, opensm.umad),
        );
        vec![("opensm", opensm), ("standing", self.describe().to_owned())]
    }

    /// True when requests come here.
    pub(super) fn is_serving(&self) -> bool {
        self.gate.is_open()
    }

    /// True when there is a master to ask: OpenSM on this port answers as one, or another port's
    /// does.
    pub(super) fn can_ask(&self) -> bool {
        let is_here = self.is_master() && self.shared.answers.load(Ordering::SeqCst);
        is_here || self.shared.is_elsewhere()
    }

    /// True when OpenSM on this port is the master, as far as can be known.
    pub(super) fn is_master(&self) -> bool {
        self.shared.is_master.load(Ordering::SeqCst)
    }

    /// To be told to [`Self::published`] when what is read from now on is in service.
    pub(super) fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::SeqCst)
    }

    /// What was read while this was the generation is in service.
    pub(super) fn published(&self, generation: u64) {
        self.shared
            .published
            .store(generation + 1, Ordering::SeqCst);
    }

    /// In words, for people.
    fn describe(&self) -> &'static str {
        match (self.is_master(), self.gate.is_open()) {
            (true, true) => "answering beside the master",
            (true, false) if self.doubts.is_in_doubt() => {
                "OpenSM is the master, and answers otherwise than the snapshot"
            }
            (true, false) => "OpenSM is the master; the fabric is being read",
            (false, _) => "passive: OpenSM here is not the master, or away",
        }
    }

    /// From now on the gate stays shut.
    pub(super) fn withdraw(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        end(&self.watch);
        self.gate.set(false);
    }

    /// Once no port has the methods any more. OpenSM takes them back.
    pub(super) fn hang_up(&self) {
        self.link.stop();
        end(&self.connection);
    }
}

fn end(thread: &Thread) {
    let thread = thread.lock().unwrap_or_else(PoisonError::into_inner).take();
    if thread.is_some_and(|thread| thread.join().is_err()) {
        error!("a thread beside OpenSM ended by a panic");
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, ServerError> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(run);
    thread.map_err(|source| ServerError::Os {
        what: "start the threads beside OpenSM",
        source,
    })
}

/// The thread that looks how things stand.
struct Watch {
    link: Arc<Link>,
    gate: Arc<Gate>,
    shared: Arc<Shared>,
    port: ItsPort,
    changes: Sender<Change>,
    doubts: Arc<Doubts>,
    heard: Receiver<Heard>,
    standing: Standing,
    pulse: Pulse,
    /// Under way.
    ping: Option<(u64, Receiver<Answer>)>,
    asked: Duration,
    answered: Option<Duration>,
    /// The session whose OpenSM has answered, and has our subscriptions.
    answering: u64,
}

impl Watch {
    fn run(mut self) {
        while !self.shared.stop.load(Ordering::SeqCst) {
            let now = self.gate.now();
            let seen = self.look(now);
            for order in self.standing.judge(&seen, now) {
                self.carry_out(order, now);
            }
            self.let_go(&seen);
            let generation = self.standing.generation();
            self.shared.generation.store(generation, Ordering::SeqCst);
            let is_master = self.standing.is_master();
            self.shared.is_master.store(is_master, Ordering::SeqCst);
            self.hear();
        }
    }

    fn look(&mut self, now: Duration) -> Seen {
        let opensm = self.link.connected();
        let umad = opensm.as_ref().map(|opensm| opensm.umad);
        let lids = self.port.lids(umad, now);
        let (lid, sm_lid) = lids.unwrap_or_default();
        self.shared.lid.store(lid, Ordering::SeqCst);
        self.shared.sm_lid.store(sm_lid, Ordering::SeqCst);
        if let Some(opensm) = &opensm
            && self.ping(lid, opensm.session, now)
            && self.answering != opensm.session
        {
            self.subscribe(lid);
            if self.answering != 0 {
                self.say(Change::Returned);
            }
            self.answering = opensm.session;
        }
        let answers = opensm
            .as_ref()
            .is_some_and(|it| it.session == self.answering);
        self.shared.answers.store(answers, Ordering::SeqCst);
        let ours = (&*self.link, &*self.gate, &self.shared.workers);
        let is_alive = self.pulse.beat(ours, opensm.as_ref(), now);
        Seen {
            opensm,
            lids,
            answered: self.answered,
            published: self.shared.published.load(Ordering::SeqCst).checked_sub(1),
            is_open: self.gate.is_open(),
            is_held: self.gate.is_held(),
            is_in_doubt: self.doubts.is_in_doubt(),
            is_alive,
            has_file: self.link.has_lent(),
        }
    }

    /// Asks what only a master answers, and notes when it did. True when it just did.
    fn ping(&mut self, lid: u16, session: u64, now: Duration) -> bool {
        let (pause, patience) = if self.answering == session {
            (PING, PING_PATIENCE)
        } else {
            // One that is no master yet says nothing at all.
            (FIRST_PING, FIRST_PING)
        };
        let outcome = self.ping.as_ref().map(|(_, answer)| answer.try_recv());
        let is_answered = matches!(outcome, Some(Ok(_)));
        if is_answered {
            self.answered = Some(now);
        }
        let is_waiting = matches!(outcome, Some(Err(TryRecvError::Empty)));
        if is_waiting && now < self.asked + patience {
            return false;
        }
        if let Some((number, _)) = self.ping.take() {
            self.link.forget(number);
        }
        if now >= self.asked + pause {
            let attribute = AttributeId::CLASS_PORT_INFO;
            let request = request::request(lid, method::GET, attribute, 0, &[]);
            let (to, answer) = bounded(1);
            self.asked = now;
            let number = self.link.ask(&request, &to);
            self.ping = number.map(|number| (number, answer));
        }
        is_answered
    }

    fn subscribe(&self, lid: u16) {
        // Replies go nowhere; a subscription that is not granted is made up for by polling.
        let (to, _) = bounded(subscription::TRAPS.len());
        for trap in subscription::TRAPS {
            self.link.ask(&subscription::subscribe(lid, trap), &to);
        }
        debug!("subscribed to OpenSM's reports of changes");
    }

    /// Waits for OpenSM's library to say something, at most until the next look.
    fn hear(&self) {
        let mut next = self.heard.recv_timeout(LOOK).ok();
        while let Some(heard) = next {
            match heard {
                Heard::Reads => return,
                Heard::Programmed => {
                    self.doubts.nudge();
                    self.say(Change::Programmed);
                }
                Heard::Report(report) => {
                    let (trap, response) = subscription::receive(&report);
                    self.link.tell(&Frame::Tell(response));
                    if let Some(trap) = trap {
                        self.say(Change::Trap(trap));
                    }
                }
            }
            next = self.heard.try_recv().ok();
        }
    }

    fn say(&self, change: Change) {
        // When so many wait, everything will be read again anyway.
        let _ = self.changes.try_send(change);
    }

    /// Drops what was lent where it is not used any more.
    fn let_go(&self, seen: &Seen) {
        let reads = seen.opensm.as_ref().map(|opensm| opensm.reads);
        let is_lent = matches!(reads, Some(Reads::Lent | Reads::Refused(_)));
        if seen.has_file && !is_lent && !self.gate.is_open() && !self.gate.is_held() {
            self.link.forget_lent();
        }
    }

    fn carry_out(&mut self, order: Order, now: Duration) {
        match order {
            Order::Open => {
                self.pulse.begin(now);
                self.gate.holds_until(now + BEAT_LAPSE);
                self.gate.set(true);
                info!("the read methods are ours: answering in OpenSM's place");
            }
            Order::Shut(reason) => {
                self.gate.set(false);
                info!(reason, "the read methods go back to OpenSM");
            }
            Order::Lend => drop(self.link.tell(&Frame::Lend)),
            Order::HandOn => self.link.hand_on(),
            Order::TakeBack => {
                self.link.forget_lent();
                self.link.tell(&Frame::TakeBack);
            }
            Order::Invalidate(reason) => {
                info!(
                    reason,
                    "the fabric is read again before anything is answered"
                );
                // Before the change is told, so that who reads because of it counts.
                let generation = self.standing.generation();
                self.shared.generation.store(generation, Ordering::SeqCst);
                self.say(Change::Invalid(reason));
            }
        }
    }
}

/// What OpenSM alone knows, or is the one to keep: what clients have set.
pub(super) fn belongs_to_opensm(request: &Slot) -> bool {
    use sa_wire::path_record::{PathCompMask, PathRecord};
    use sa_wire::sa::SaMad;
    use zerocopy::FromBytes;
    let mad = SaMad::from_bytes(&request.mad);
    match mad.attribute_id() {
        AttributeId::MC_MEMBER_RECORD
        | AttributeId::SERVICE_RECORD
        | AttributeId::INFORM_INFO_RECORD
        | AttributeId::GUID_INFO_RECORD
        | AttributeId::SM_INFO_RECORD => true,
        AttributeId::PATH_RECORD => {
            let mask = PathCompMask(mad.sa.component_mask.get());
            let record = PathRecord::ref_from_prefix(&mad.data);
            let is_group = record.is_ok_and(|(record, _)| record.dgid().is_multicast());
            mask.has(PathCompMask::DGID) && is_group
        }
        _ => false,
    }
}
