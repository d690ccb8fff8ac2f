//! The thread that looks how things stand beside an OpenSM, and does what follows from it.
//!
//! Each turn is one look, one judgement and the orders of that: what is seen is gathered into a
//! [`Seen`], [`Mastership`] says what is to be done, and it is done here, before the next look. In
//! between the thread sleeps until OpenSM's library says something or the next look is due.
//!
//! ```text
//!  10 ms: connected? LIDs (sysfs), ping answered?, published generation, gate, doubts, workers alive, file
//!           └────────────────────────── Seen ──> Mastership::judge ──> Orders ──> gate, library, loader
//! ```
//!
//! It decides nothing: [`Mastership`] is a function of what was seen, which tests call with looks
//! that no machine has had.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use sa_port::umad::PortLids;
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::request;
use sa_wire::sa::AttributeId;
use split_protocol::{BEAT_LAPSE, Frame, Reads};
use tracing::{debug, info};

use super::gate::Gate;
use super::heartbeat::Heartbeat;
use super::its_port::ItsPort;
use super::link::{Answer, Heard, Link};
use super::mastership::{Mastership, Order, Seen};
use super::{Change, Shared, subscription};
use crate::server::agreement::Doubts;

/// How often the mastership is looked at. With the ping it bounds how long two SMs' answers can
/// differ before this one falls silent.
const LOOK: Duration = Duration::from_millis(10);

/// How often OpenSM is asked whether it is the master, by a Get(ClassPortInfo), which a standby
/// does not answer.
const PING: Duration = Duration::from_millis(500);

/// The same until it was answered once.
const FIRST_PING: Duration = Duration::from_millis(50);

/// A ping that got no reply in so long gets none.
const PING_PATIENCE: Duration = Duration::from_secs(2);

/// What the thread shares with the rest of the daemon. All of it is made before the thread.
pub(super) struct Around {
    pub(super) link: Arc<Link>,
    pub(super) gate: Arc<Gate>,
    pub(super) shared: Arc<Shared>,
    /// Where the thread that loads hears of changes.
    pub(super) changes: Sender<Change>,
    pub(super) doubts: Arc<Doubts>,
}

/// The thread `sa-beside`: what it has of the daemon, and what it remembers from look to look.
pub(super) struct Watch {
    /// To OpenSM's library.
    link: Arc<Link>,
    /// What the judgement opens and shuts.
    gate: Arc<Gate>,
    /// What others read of it.
    shared: Arc<Shared>,
    changes: Sender<Change>,
    doubts: Arc<Doubts>,
    /// What the library says unasked; the thread sleeps on it.
    heard: Receiver<Heard>,
    /// Where OpenSM is, and by which LIDs.
    port: ItsPort,
    /// Who judges.
    mastership: Mastership,
    /// Who says that the workers live.
    heartbeat: Heartbeat,
    /// A ping that is under way: its number, and where its answer comes.
    ping: Option<(u64, Receiver<Answer>)>,
    /// When the last ping was sent.
    asked: Duration,
    /// When one was answered last.
    answered: Option<Duration>,
    /// The session whose OpenSM has answered, and has our subscriptions; 0 for none. Subscriptions
    /// end with the OpenSM that granted them.
    answering: u64,
}

impl Watch {
    /// `device`: of OpenSM's port, as configured. `grace`: how long to go on without OpenSM.
    pub(super) fn new(
        around: Around,
        heard: Receiver<Heard>,
        device: Option<String>,
        grace: Duration,
    ) -> Self {
        let Around {
            link,
            gate,
            shared,
            changes,
            doubts,
        } = around;
        Self {
            link,
            gate,
            shared,
            changes,
            doubts,
            heard,
            port: ItsPort::new(device),
            mastership: Mastership::new(grace),
            heartbeat: Heartbeat::default(),
            ping: None,
            asked: Duration::ZERO,
            answered: None,
            answering: 0,
        }
    }

    /// Looks, judges and acts until the daemon ends.
    pub(super) fn run(mut self) {
        while !self.shared.stop.load(Ordering::SeqCst) {
            let now = self.gate.now();
            let seen = self.look(now);
            for order in self.mastership.judge(&seen, now) {
                self.carry_out(order, now);
            }
            self.let_go(&seen);
            // Told at every look, also where nothing changed: the loader reads it before it begins
            // to read.
            let generation = self.mastership.generation();
            self.shared.generation.store(generation, Ordering::SeqCst);
            let is_master = self.mastership.is_master();
            self.shared.is_master.store(is_master, Ordering::SeqCst);
            self.hear();
        }
    }

    /// Everything that a judgement needs, seen once. The port's LIDs are two files of sysfs.
    ///
    /// Whatever fails to be read counts as not there, which shuts the gate.
    fn look(&mut self, now: Duration) -> Seen {
        // Once for the whole look: it may connect or go at any moment.
        let opensm = self.link.connected();
        let umad = opensm.as_ref().map(|opensm| opensm.umad);
        let lids = self.port.lids(umad, now);
        let PortLids { own, sm } = lids.unwrap_or_default();
        let (lid, sm_lid) = (Lid::raw(own), Lid::raw(sm));
        self.shared.lid.store(lid, Ordering::SeqCst);
        self.shared.sm_lid.store(sm_lid, Ordering::SeqCst);
        if let Some(opensm) = &opensm
            && self.ping(lid, opensm.session, now)
            && self.answering != opensm.session
        {
            self.subscribe(lid);
            // The first of all is no return.
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
        // Last, so that the beat says what this look has seen.
        let is_alive = self.heartbeat.beat(ours, opensm.as_ref(), now);
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

    /// Asks what only a master answers, and notes when it did. One ping at a time. True when one
    /// was answered since the last look.
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
        // A second ping would not be answered sooner, and the first one's answer would be lost.
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

    /// Asks for Reports of the traps that a reading of the fabric would show. Again for each OpenSM
    /// that is connected: subscriptions are in its memory.
    fn subscribe(&self, lid: u16) {
        // Replies go nowhere; a subscription that is not granted is made up for by polling.
        let (to, _) = bounded(subscription::TRAPS.len());
        for trap in subscription::TRAPS {
            self.link.ask(&subscription::subscribe(lid, trap), &to);
        }
        debug!("subscribed to OpenSM's reports of changes");
    }

    /// Waits for OpenSM's library to say something, at most until the next look. Takes all that
    /// waits at once: a sweep of OpenSM's says the same a hundred times.
    fn hear(&self) {
        let mut next = self.heard.recv_timeout(LOOK).ok();
        while let Some(heard) = next {
            match heard {
                // To judge at once: the methods may be another's by now.
                Heard::Reads => return,
                // A hint and no proof: OpenSM also writes what was there before.
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

    /// Tells the loader; never waits for it.
    fn say(&self, change: Change) {
        // When so many wait, everything will be read again anyway.
        let _ = self.changes.try_send(change);
    }

    /// Drops what was lent where it is not used any more, so that the kernel can give the methods
    /// to somebody else.
    fn let_go(&self, seen: &Seen) {
        let reads = seen.opensm.as_ref().map(|opensm| opensm.reads);
        // Refused means that the kernel still counts an agent of this file.
        let is_lent = matches!(reads, Some(Reads::Lent | Reads::Refused(_)));
        if seen.has_file && !is_lent && !self.gate.is_open() && !self.gate.is_held() {
            self.link.forget_lent();
        }
    }

    /// Does what was judged. None of it waits.
    fn carry_out(&mut self, order: Order, now: Duration) {
        match order {
            Order::Open => {
                // The lease before the gate: an open gate without a lease would answer nobody, a
                // lease from before might be over.
                self.heartbeat.begin(now);
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
            // Forgotten first: what is taken back must not be served from here any more.
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
                let generation = self.mastership.generation();
                self.shared.generation.store(generation, Ordering::SeqCst);
                // Another SM may have written meanwhile, or this daemon has not heard all.
                self.link.doubt(reason);
                self.say(Change::Invalid(reason));
            }
        }
    }
}
