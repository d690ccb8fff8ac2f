//! Requests out, answers in.
//!
//! ```text
//!  ask ──> lane of its device ──┬─ answered lately ──> ready, in turn ──> window in all ──> send
//!              ^                └─ did not answer ──> slow, in turn ────> slow places ────> send
//!              └────────── no answer in time: again, before what waits ─────────┘
//!  received ──> same transaction, attribute and modifier ──> outcome
//! ```
//!
//! Two windows bound what is under way: one in all and one for each device. Both grow by one when as many answers as
//! they are wide have come, and halve when answers stay out. The one in all halves only when several devices stop answering
//! at once: that is congestion, while one mute device says nothing of the others. A device that leaves a request
//! unanswered goes to the slow lane, where it has one request under way, in places of its own: it delays nobody
//! else. The first answer brings it back. When all tries of a request are over and the device answered nothing meanwhile,
//! all that waits for it is given up with it, so a mute device costs one series of time-outs, whatever was asked.
//!
//! A request may have several M_Keys: a wrong one is answered by silence, as if the device were gone. Its tries go through
//! them in turn, so that a device with another key costs a time-out for each wrong one and no series of its own. Each key has its transaction id.
//!
//! Who asks may say beforehand that a device is expected to be silent ([`Executor::expect_silence`]): one that was mute in the last sweep is asked
//! once, and not four times. Its first answer makes it a device like others, with all tries.
//!
//! An answer must have the transaction id, attribute and modifier of a request that is under way; anything else is counted
//! and dropped. Answers with status "busy" are none: the request is asked again when its time is over.
//!
//! Not here: SMPs by LID (all go by directed route), and which Set must wait for which (that is the caller's, who asks
//! when it may).

mod lane;
mod request;
mod window;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use sa_wire::mad::Status;
use sa_wire::smp::Smp;
use zerocopy::FromBytes;

use self::lane::Lane;
use self::request::Pending;
use self::window::Window;

pub use self::request::{Counts, Device, Ended, Limits, MOST_OTHER_KEYS, Outcome, Request};

/// Requests under way. `T` comes back with the outcome.
///
/// No clock and no port of its own: `now` is counted from any beginning that stays the same, and must not go back.
#[derive(Debug)]
pub struct Executor<T> {
    /// As they were given; windows move below them.
    limits: Limits,
    /// Of each device that was ever asked.
    lanes: HashMap<Device, Lane<T>>,
    /// Devices with something to send, that answer.
    ready: VecDeque<Device>,
    /// The same of those that left a request unanswered.
    slow: VecDeque<Device>,
    /// By transaction id.
    flying: HashMap<u32, Flying<T>>,
    /// Of all that is in `flying`, the next first: when, the number of the SMP, its first transaction id.
    deadlines: BTreeSet<(Duration, u64, u32)>,
    /// SMPs that are no requests of ours: they go before everything.
    urgent: VecDeque<[u8; 256]>,
    /// Outcomes of time-outs that nobody has taken yet.
    ended: VecDeque<Ended<T>>,
    /// Of all devices that answer.
    window: Window,
    /// Whether many stop at once.
    congestion: Congestion,
    /// Under way within `window`.
    in_window: u32,
    /// Under way within the slow places.
    in_slow: u32,
    /// The last one that was given out.
    transaction: u32,
    /// Requests in lanes.
    waiting: usize,
    counts: Counts,
}

/// A request on the wire.
#[derive(Debug)]
struct Flying<T> {
    /// What goes back into its lane, or out with its outcome.
    pending: Pending<T>,
    /// When its answer counts as lost.
    deadline: Duration,
    /// Of the SMP, so that equal deadlines have an order.
    number: u64,
    /// Which window it takes a place of; it may have changed lanes since.
    in_slow: bool,
}

/// Devices that stopped answering within one time-out.
///
/// One mute device says nothing of the others; many at once do.
#[derive(Debug, Default)]
struct Congestion {
    /// When the first of them stopped.
    since: Duration,
    /// So many since.
    devices: u32,
}

impl<T> Executor<T> {
    /// Nothing under way. Transaction ids count up from `transaction`; one that another run did not use keeps answers to
    /// that one from being taken for answers to this.
    pub fn new(limits: Limits, transaction: u32) -> Self {
        Self {
            window: Window::new(limits.window / 8, limits.window),
            limits,
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            slow: VecDeque::new(),
            flying: HashMap::new(),
            deadlines: BTreeSet::new(),
            urgent: VecDeque::new(),
            ended: VecDeque::new(),
            congestion: Congestion::default(),
            in_window: 0,
            in_slow: 0,
            transaction,
            waiting: 0,
            counts: Counts::default(),
        }
    }

    /// This is to be asked, when there is room.
    ///
    /// Cheap: nothing is sent here, and nothing is refused for want of room.
    pub fn ask(&mut self, request: Request, token: T) {
        let device = request.device;
        let first = self.transaction.wrapping_add(1);
        // One for each key.
        self.transaction = self.transaction.wrapping_add(request.keys());
        let pending = Pending {
            request,
            token,
            transaction: first,
            tries: 0,
            answers_before: 0,
        };
        self.waiting += 1;
        let new = || Lane::new(&self.limits);
        self.lanes.entry(device).or_insert_with(new).add(pending);
        self.queue(device);
    }

    /// This is to be sent before everything else and needs no answer: an answer of ours to somebody.
    pub fn post(&mut self, smp: [u8; 256]) {
        self.urgent.push_back(smp);
    }

    /// The next SMP to send now. `None`: the window is full, or nothing waits.
    ///
    /// To be called until it gives none: each call gives one SMP, urgent ones first.
    pub fn send(&mut self, now: Duration) -> Option<[u8; 256]> {
        if let Some(smp) = self.urgent.pop_front() {
            return Some(smp);
        }
        if self.in_window < self.window.size()
            && let Some(device) = self.next_of(false)
        {
            return self.start(device, now);
        }
        if self.in_slow < self.limits.slow.max(1) {
            let device = self.next_of(true)?;
            return self.start(device, now);
        }
        None
    }

    /// What was received. Gives the request that it answers, if any.
    ///
    /// A late answer counts where the request is under way again: all tries of one key have one transaction id.
    pub fn received(&mut self, bytes: &[u8; 256], now: Duration) -> Option<Ended<T>> {
        let Some((transaction, number, status, data)) = self.matched(bytes) else {
            self.counts.unasked += 1;
            return None;
        };
        if status.get() & Status::BUSY.get() != 0 {
            return None;
        }
        let flying = self.land(transaction)?;
        let device = flying.pending.request.device;
        if let Some(lane) = self.lanes.get_mut(&device) {
            lane.answered();
        }
        self.window.grow();
        self.counts.answered += 1;
        self.queue(device);
        let outcome = match status {
            Status::OK => Outcome::Answered(data),
            _ => Outcome::Refused(status),
        };
        self.counts.refused += u64::from(status != Status::OK);
        self.congestion.forget_before(now, self.limits.timeout);
        Some(Ended {
            m_key: flying.pending.request.key(number),
            token: flying.pending.token,
            outcome,
        })
    }

    /// The next request that is given up by now, as [`Outcome::Mute`].
    ///
    /// To be called until it gives none, like [`Self::send`].
    pub fn expired(&mut self, now: Duration) -> Option<Ended<T>> {
        while let Some((deadline, _, transaction)) = self.deadlines.first().copied() {
            if deadline > now {
                break;
            }
            match self.land(transaction) {
                Some(flying) => self.time_out(flying, now),
                None => {
                    self.deadlines.pop_first();
                }
            }
        }
        let ended = self.ended.pop_front();
        self.counts.mute += u64::from(ended.is_some());
        ended
    }

    /// When [`Self::expired`] and [`Self::send`] have something to do without an answer. `None` when nothing is under way.
    pub fn wakes_at(&self) -> Option<Duration> {
        self.deadlines.first().map(|(deadline, ..)| *deadline)
    }

    /// Requests that went out and have no outcome, in no order: whether they were done is not known. Those that never went
    /// out are not among them.
    pub fn in_doubt(&self) -> impl Iterator<Item = &T> {
        let flying = self.flying.values().map(|it| &it.pending);
        let again = self.lanes.values().flat_map(Lane::tried);
        let open = flying.chain(again).map(|pending| &pending.token);
        open.chain(self.ended.iter().map(|ended| &ended.token))
    }

    /// True where more devices could be sent something: with as many as the window is wide, none has to take two
    /// requests at a time while others take none.
    pub fn has_room(&self) -> bool {
        self.ready.len() < self.window.size() as usize
    }

    /// True when nothing waits and nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.open() == 0 && self.urgent.is_empty()
    }

    /// Requests that have no outcome yet.
    pub fn open(&self) -> usize {
        self.waiting + self.flying.len() + self.ended.len()
    }

    /// True where the device left its last request unanswered.
    pub fn is_slow(&self, device: Device) -> bool {
        self.lanes.get(&device).is_some_and(|lane| lane.is_slow)
    }

    /// A device is expected to leave requests unanswered: each is tried once, until one is answered.
    pub fn expect_silence(&mut self, device: Device) {
        // Also before anything was asked of it: the first time-out is to be the last.
        let new = || Lane::new(&self.limits);
        self.lanes.entry(device).or_insert_with(new).is_doubtful = true;
    }

    /// How many requests may be under way now, in all.
    pub const fn window(&self) -> u32 {
        self.window.size()
    }

    /// The last transaction id that was given out: who goes on behind it takes no answer to this for one to that.
    pub const fn transaction(&self) -> u32 {
        self.transaction
    }

    /// What was sent and received so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Puts a device in the queue that it belongs to, if it may send.
    fn queue(&mut self, device: Device) {
        let Some(lane) = self.lanes.get_mut(&device) else {
            return;
        };
        if lane.is_queued || !lane.may_send() {
            return;
        }
        lane.is_queued = true;
        match lane.is_slow {
            true => self.slow.push_back(device),
            false => self.ready.push_back(device),
        }
    }

    /// The next device whose turn it is, out of one of the queues. Devices that changed sides since they were put
    /// there go to where they belong.
    ///
    /// Fair: a device goes to the end of its queue after each request.
    fn next_of(&mut self, slow: bool) -> Option<Device> {
        loop {
            let queue = if slow {
                &mut self.slow
            } else {
                &mut self.ready
            };
            let device = queue.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&device) else {
                continue;
            };
            lane.is_queued = false;
            if lane.is_slow == slow && lane.may_send() {
                return Some(device);
            }
            self.queue(device);
        }
    }

    /// Sends the next request of a device.
    ///
    /// Its deadline begins here, not when it was asked for: waiting for room is no silence.
    fn start(&mut self, device: Device, now: Duration) -> Option<[u8; 256]> {
        let lane = self.lanes.get_mut(&device)?;
        let mut pending = lane.take()?;
        if pending.tries == 0 {
            pending.answers_before = lane.answers;
            self.counts.sets += u64::from(pending.request.set.is_some());
        }
        lane.flying += 1;
        let in_slow = lane.is_slow;
        let places = if in_slow {
            &mut self.in_slow
        } else {
            &mut self.in_window
        };
        *places += 1;
        self.waiting -= 1;
        self.counts.sent += 1;
        self.counts.repeated += u64::from(pending.tries > 0);
        pending.tries += 1;
        let (smp, transaction) = (pending.smp(), pending.transaction);
        let timeout = match pending.request.takes_long {
            true => self.limits.long_timeout.max(self.limits.timeout),
            false => self.limits.timeout,
        };
        let deadline = now + timeout;
        // Of equals the one that was sent first.
        let number = self.counts.sent;
        self.deadlines.insert((deadline, number, transaction));
        let flying = Flying {
            pending,
            deadline,
            number,
            in_slow,
        };
        self.flying.insert(transaction, flying);
        self.queue(device);
        Some(smp)
    }

    /// Of an answer to something that is under way: its first transaction id, the number of the key, status and data.
    ///
    /// Cost: at most four look-ups, one for each key that the request may have gone with.
    fn matched(&self, bytes: &[u8; 256]) -> Option<(u32, u32, Status, [u8; 64])> {
        let smp = Smp::read_from_bytes(bytes).ok()?;
        let [.., a, b, c, d] = smp.header.transaction_id.get().to_be_bytes();
        let transaction = u32::from_be_bytes([a, b, c, d]);
        let most = u32::try_from(MOST_OTHER_KEYS).unwrap_or(0);
        (0..=most).find_map(|number| {
            let first = transaction.wrapping_sub(number);
            let pending = &self.flying.get(&first)?.pending;
            let fits = number < pending.request.keys() && pending.is_answered_by(&smp);
            fits.then(|| (first, number, smp.status(), smp.data))
        })
    }

    /// It is not under way any more.
    fn land(&mut self, transaction: u32) -> Option<Flying<T>> {
        let flying = self.flying.remove(&transaction)?;
        let places = if flying.in_slow {
            &mut self.in_slow
        } else {
            &mut self.in_window
        };
        *places = places.saturating_sub(1);
        if let Some(lane) = self.lanes.get_mut(&flying.pending.request.device) {
            lane.flying = lane.flying.saturating_sub(1);
        }
        self.deadlines
            .remove(&(flying.deadline, flying.number, transaction));
        Some(flying)
    }

    /// No answer in time: again, or given up, and then all that waits for a device that says nothing.
    ///
    /// A device that has answered something else meanwhile lost this one SMP; one that has not is gone.
    fn time_out(&mut self, flying: Flying<T>, now: Duration) {
        let pending = flying.pending;
        let device = pending.request.device;
        let Some(lane) = self.lanes.get_mut(&device) else {
            return;
        };
        if lane.timed_out()
            && self
                .congestion
                .note(now, self.limits.timeout, self.window.size())
        {
            self.window.halve();
        }
        let most = match lane.is_doubtful {
            // One for each key that it may want.
            true => pending.request.keys(),
            false => pending.most_tries(&self.limits),
        };
        if pending.tries < most {
            lane.again(pending);
            self.waiting += 1;
        } else {
            let is_mute = lane.answers == pending.answers_before;
            self.ended.push_back(pending.mute());
            for other in is_mute.then(|| lane.give_up()).into_iter().flatten() {
                self.waiting -= 1;
                self.ended.push_back(other.mute());
            }
        }
        self.queue(device);
    }
}

impl Congestion {
    /// One more device stopped answering. True when so many of a window did within a time-out that it is not theirs alone;
    /// then the count starts anew.
    fn note(&mut self, now: Duration, timeout: Duration, window: u32) -> bool {
        self.forget_before(now, timeout);
        if self.devices == 0 {
            self.since = now;
        }
        self.devices += 1;
        let is_much = self.devices > (window / 8).max(1);
        if is_much {
            self.devices = 0;
        }
        is_much
    }

    /// What is older than a time-out was another event.
    fn forget_before(&mut self, now: Duration, timeout: Duration) {
        if now.saturating_sub(self.since) > timeout {
            self.devices = 0;
        }
    }
}
