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
//! A visit that failed is made again in the next round. Who asks for more than the rate allows gets longer rounds.

mod question;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sa_wire::Guid;
use sa_wire::class_port_info::ClassPortInfo;
use sa_wire::mad::Status;
use sa_wire::performance::{PerformanceMad, PortCounters, PortCountersExtended};

use self::question::{Class, Question, Step};
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
    next: usize,
    next_at: Duration,
    /// The rate allows no request before.
    request_at: Duration,
    devices: BTreeMap<Guid, Device>,
    open: BTreeMap<u32, Question>,
    /// The next questions of visits under way.
    ready: VecDeque<Question>,
    transaction: u32,
    counts: Asked,
}

#[derive(Debug, Clone, Copy, Default)]
struct Device {
    class: Option<Class>,
    is_busy: bool,
    /// Visits in a row without an answer.
    failures: u32,
    rests_until: Duration,
}

impl Asking {
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

    pub(crate) const fn counts(&self) -> Asked {
        self.counts
    }

    pub(crate) fn ports(&self) -> usize {
        self.order.len()
    }

    /// The next request, if it is time for one.
    pub(crate) fn send(&mut self, now: Duration) -> Option<Ask> {
        if now < self.request_at {
            return None;
        }
        let question = self.ready.pop_front().or_else(|| self.visit(now))?;
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
            let device = self.devices.entry(guid).or_default();
            // A port without a LID cannot be asked yet.
            if lid == 0 || device.is_busy || now < device.rests_until {
                continue;
            }
            device.is_busy = true;
            let is_known = device
                .class
                .is_some_and(|class| now < class.asked_at + CLASS_HOLDS);
            let step = match is_known {
                true => Class::first_step(device.class),
                false => Step::Class,
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

    /// Takes what came from a LID.
    pub(crate) fn received(&mut self, lid: u16, bytes: &[u8], now: Duration) -> Visited {
        let Some(answer) = PerformanceMad::answer(bytes) else {
            return Visited::Nothing;
        };
        let [_, _, _, _, low @ ..] = answer.mad.transaction_id.get().to_be_bytes();
        let transaction = u32::from_be_bytes(low);
        // Nobody but who was asked, about what it was asked.
        let is_it =
            |it: &Question| it.lid == lid && it.attribute() == answer.mad.attribute_id.get();
        if !self.open.get(&transaction).is_some_and(is_it) {
            return Visited::Nothing;
        }
        let Some(question) = self.open.remove(&transaction) else {
            return Visited::Nothing;
        };
        match answer.mad.status() {
            Status::OK => self.answered(question, answer, now),
            _ => self.refused(&question, now),
        }
    }

    /// The transport could not deliver it.
    pub(crate) fn failed(&mut self, transaction: u32, now: Duration) -> Visited {
        match self.open.remove(&transaction) {
            Some(question) => self.mute(&question, now),
            None => Visited::Nothing,
        }
    }

    /// Gives up one request whose time is over. `None` where there is none.
    pub(crate) fn expired(&mut self, now: Duration) -> Option<Visited> {
        let mut open = self.open.iter();
        let (transaction, _) = open.find(|(_, question)| question.deadline <= now)?;
        let transaction = *transaction;
        Some(self.failed(transaction, now))
    }

    fn answered(&mut self, question: Question, answer: &PerformanceMad, now: Duration) -> Visited {
        self.counts.answered += 1;
        let device = self.devices.entry(question.device).or_default();
        let mut question = question;
        let next = match question.step {
            Step::Class => {
                device.class = answer
                    .attribute()
                    .map(|told: ClassPortInfo| Class::of(&told, now));
                Some(Class::first_step(device.class))
            }
            Step::Counters => {
                let has_wait = device.class.is_some_and(|class| class.has_wait);
                let Some(told) = question.own::<PortCounters>(answer) else {
                    return self.refused(&question, now);
                };
                question.reading.narrow(&told, has_wait);
                let goes_on = device.class.is_some_and(|class| class.has_extended);
                goes_on.then_some(Step::Extended)
            }
            Step::Extended => {
                let has_errors = device.class.is_some_and(|class| class.has_extended_errors);
                let Some(told) = question.own::<PortCountersExtended>(answer) else {
                    return self.refused(&question, now);
                };
                question.reading.extended(&told, has_errors);
                None
            }
            Step::Clear { .. } => {
                self.counts.cleared += 1;
                self.end(&question);
                return Visited::Nothing;
            }
        };
        match next {
            Some(step) => {
                self.ready.push_back(Question { step, ..question });
                Visited::Nothing
            }
            None => self.read(&question),
        }
    }

    /// A visit has told all that it was to tell.
    fn read(&mut self, question: &Question) -> Visited {
        let (errors, wait) = question.reading.to_clear();
        match self.options.clear {
            Clear::Full if (errors, wait) != (0, 0) => {
                let step = Step::Clear { errors, wait };
                self.ready.push_back(Question { step, ..*question });
            }
            Clear::Full | Clear::Never => self.end(question),
        }
        Visited::Read(question.device, question.port, question.reading)
    }

    /// The device has answered, if with a status or with nonsense. What it does not have it is not asked for again until it is
    /// asked anew what it has.
    fn refused(&mut self, question: &Question, now: Duration) -> Visited {
        self.counts.refused += 1;
        let device = self.devices.entry(question.device).or_default();
        let class = device.class.get_or_insert_default();
        match question.step {
            // Every device has PortCounters.
            Step::Class => {
                class.asked_at = now;
                let step = Class::first_step(device.class);
                self.ready.push_back(Question { step, ..*question });
                Visited::Nothing
            }
            Step::Extended => {
                (class.has_extended, class.has_extended_errors) = (false, false);
                self.end(question);
                Visited::Nothing
            }
            Step::Counters => self.fail(question, now),
            Step::Clear { .. } => {
                self.end(question);
                Visited::Nothing
            }
        }
    }

    fn mute(&mut self, question: &Question, now: Duration) -> Visited {
        self.counts.unanswered += 1;
        self.fail(question, now)
    }

    /// A visit that is over without a reading.
    fn fail(&mut self, question: &Question, now: Duration) -> Visited {
        let period = self.options.period.unwrap_or_default();
        let Some(device) = self.devices.get_mut(&question.device) else {
            return Visited::Nothing;
        };
        device.is_busy = false;
        device.failures = device.failures.saturating_add(1);
        let Some(over) = device.failures.checked_sub(PATIENCE) else {
            return Visited::Nothing;
        };
        device.rests_until = now + period * (1 << over.min(LONGEST_REST));
        // Its firmware may be another one by now.
        device.class = None;
        Visited::Mute(question.device, device.failures)
    }

    /// A visit is over, and the device has answered.
    fn end(&mut self, question: &Question) {
        if let Some(device) = self.devices.get_mut(&question.device) {
            device.is_busy = false;
            device.failures = 0;
            device.rests_until = Duration::ZERO;
        }
    }
}

/// For a switch whose processor is busy with SMPs.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Visits under way.
const MOST_OPEN: usize = 64;
/// Visits in a row before a device rests.
const PATIENCE: u32 = 3;
/// As a power of two of periods.
const LONGEST_REST: u32 = 4;
/// How long it counts what a device says that it has.
const CLASS_HOLDS: Duration = Duration::from_secs(3600);
