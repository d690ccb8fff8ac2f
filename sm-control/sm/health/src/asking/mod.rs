//! Which port is asked when.
//!
//! ```text
//!  order: port 1 of each device, then port 2 of each, ..        a round is one period
//!     │ when its time has come, its device is free and does not rest
//!     v
//!  a visit: (ClassPortInfo, once an hour) ─> PortCounters ─> PortCountersExtended ─> a reading
//!                                                 └── no answer within 1 s, or refused: the visit is over
//! ```
//!
//! | bound | by |
//! |---|---|
//! | requests a second | the time of the next one |
//! | at a device | one under way |
//! | under way in all | [`MOST_OPEN`] visits |
//! | what a mute device costs | three visits without an answer let it rest for a period, then two, up to 16 |
//! | memory | an entry a port |
//!
//! A visit that failed is made again in the next round. Who asks for more than the rate allows gets longer rounds. Ports of a device are
//! far apart in the order, so that it is free again when the next one comes: all first ports, then all second ones. A sweep that finds
//! another subnet changes the order, and the round goes on from the same part of it.
//!
//! What is read of an answer is bounded whatever it says: it has one size, and no number in it is followed. An answer counts when it
//! comes from the LID that was asked, with the transaction and the attribute that were asked, about the port that was asked; all
//! else is dropped without a word, as anybody can send it.

mod answers;
mod device;
mod question;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sa_wire::Guid;

use self::device::Device;
use self::question::Question;
use crate::counters::Reading;
use crate::seen::Seen;

/// How ports are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Each port is read once in this time; none: no port is asked.
    pub period: Option<Duration>,
    /// Requests a second at most.
    pub per_second: u32,
    /// Whether counters are written.
    pub clear: Clear,
}

/// When counters of a port are cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clear {
    /// Never: other tools read them too.
    #[default]
    Never,
    /// Those of errors that are at their largest value, and would count no more.
    Full,
}

/// A request, to queue pair 1 of a LID.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Where to.
    pub lid: u16,
    /// Its transaction: 32 bits.
    pub transaction: u32,
    /// What is sent.
    pub mad: [u8; 256],
}

/// What came of requests, since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// That were sent.
    pub requests: u64,
    /// With an answer that is one.
    pub answered: u64,
    /// Without any in time.
    pub unanswered: u64,
    /// Answered with a status.
    pub refused: u64,
    /// Sets that cleared counters.
    pub cleared: u64,
}

/// What a visit has come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Visited {
    /// Nothing yet, or nothing that anybody waited for.
    Nothing,
    /// What the port has counted.
    Read(Guid, u8, Reading),
    /// The device has told nothing several times in a row; so many.
    Mute(Guid, u32),
}

/// The state of all asking.
#[derive(Debug)]
pub(crate) struct Asking {
    options: Options,
    /// Device, port, where it is asked.
    order: Vec<(Guid, u8, u16)>,
    /// The next one in that order.
    next: usize,
    /// When it is to be asked.
    next_at: Duration,
    /// The rate allows no request before.
    request_at: Duration,
    /// What they can tell, and which of them rest.
    devices: BTreeMap<Guid, Device>,
    /// Without an answer yet, by transaction.
    open: BTreeMap<u32, Question>,
    /// The next questions of visits under way.
    ready: VecDeque<Question>,
    /// Of the last request.
    transaction: u32,
    /// For operators.
    counts: Asked,
}

impl Asking {
    /// Nothing to ask yet. `transaction`: where to count from, so that answers to an earlier process are none.
    pub(crate) fn new(options: Options, transaction: u32) -> Self {
        Self {
            options,
            order: Vec::new(),
            next: 0,
            next_at: Duration::ZERO,
            request_at: Duration::ZERO,
            devices: BTreeMap::new(),
            open: BTreeMap::new(),
            ready: VecDeque::new(),
            transaction,
            counts: Asked::default(),
        }
    }

    /// Asks those from now on. What is known of devices that stay is kept.
    pub(crate) fn follow(&mut self, seen: &Seen, now: Duration) {
        let mut order = Vec::new();
        let devices = seen.devices.iter().enumerate();
        for (place, device) in devices {
            let ports = device.ports.iter().enumerate();
            order.extend(
                ports.map(|(nth, port)| (nth, place, (device.guid, port.number, port.lid))),
            );
        }
        // Two ports of one device far apart, so that it is free again.
        order.sort_unstable_by_key(|(nth, place, _)| (*nth, *place));
        self.order = order.into_iter().map(|(_, _, port)| port).collect();
        // On from the same part of the round: a subnet that changes all the time must not have ports that are never reached.
        self.next = self.next.checked_rem(self.order.len()).unwrap_or_default();
        self.next_at = self.next_at.max(now);
        let before = core::mem::take(&mut self.devices);
        self.devices = seen
            .devices
            .iter()
            .map(|device| device.guid)
            .map(|guid| (guid, before.get(&guid).copied().unwrap_or_default()))
            .collect();
    }

    /// Requests and answers since the start.
    pub(crate) const fn counts(&self) -> Asked {
        self.counts
    }

    /// Ports that are asked in a round.
    pub(crate) fn ports(&self) -> usize {
        self.order.len()
    }

    /// The next request, if it is time for one.
    pub(crate) fn send(&mut self, now: Duration) -> Option<Ask> {
        if now < self.request_at {
            return None;
        }
        // Visits under way first: a device is busy until its own is over.
        let question = self.ready.pop_front().or_else(|| self.visit(now))?;
        // An answer to an earlier one finds nobody.
        self.transaction = self.transaction.wrapping_add(1);
        self.counts.requests += 1;
        self.request_at = now + Duration::from_secs(1) / self.options.per_second.max(1);
        let deadline = now + ANSWER_WITHIN;
        let question = Question {
            deadline,
            ..question
        };
        self.open.insert(self.transaction, question);
        Some(Ask {
            lid: question.lid,
            transaction: self.transaction,
            mad: zerocopy::transmute!(question.mad(self.transaction)),
        })
    }

    /// The first question of the next visit.
    fn visit(&mut self, now: Duration) -> Option<Question> {
        let pace = self.pace()?;
        // At most a round: none may be free.
        for _ in 0..self.order.len() {
            if now < self.next_at || self.open.len() >= MOST_OPEN {
                return None;
            }
            let (guid, port, lid) = *self.order.get(self.next)?;
            self.next = (self.next + 1).checked_rem(self.order.len())?;
            // What was missed is not made up for: that would be more than was asked for later on.
            self.next_at = (self.next_at + pace).max(now);
            // A port without a LID cannot be asked yet.
            if lid == 0 {
                continue;
            }
            let device = self.devices.entry(guid).or_default();
            let Some(step) = device.visit(now) else {
                continue;
            };
            return Some(Question {
                device: guid,
                port,
                lid,
                step,
                reading: Reading::default(),
                deadline: now,
            });
        }
        None
    }

    /// Between two visits. `None` where there are none.
    fn pace(&self) -> Option<Duration> {
        let ports = u32::try_from(self.order.len())
            .ok()
            .filter(|ports| *ports > 0);
        Some(self.options.period? / ports?)
    }

    /// When there is something to do without an answer.
    pub(crate) fn wakes_at(&self) -> Option<Duration> {
        let expires = self.open.values().map(|question| question.deadline).min();
        let ready = (!self.ready.is_empty()).then_some(self.request_at);
        let is_free = self.open.len() < MOST_OPEN;
        let visit = self
            .pace()
            .filter(|_| is_free)
            .map(|_| self.next_at.max(self.request_at));
        [expires, ready, visit].into_iter().flatten().min()
    }
}

/// For a switch whose processor is busy with SMPs.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Visits under way.
const MOST_OPEN: usize = 64;
