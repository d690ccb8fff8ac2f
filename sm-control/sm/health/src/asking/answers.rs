//! What comes back, and what a visit makes of it.
//!
//! ```text
//!  answer ──┬─ to nobody's question ──> nothing
//!           ├─ a status ──────────────> refused: what the device has not it is not asked for again for an hour
//!           └─ told ──┬─ there is more to ask ──> the next question of the visit
//!                     └─ that was all ──────────> a reading, and the device is free
//!  time over, or undeliverable ──────────> the visit is over, and the device has told nothing
//! ```
//!
//! Nobody is asked twice in a visit: a request that is lost is made up for by the next round, as counters do not run away.

use std::time::Duration;

use sa_wire::class_port_info::ClassPortInfo;
use sa_wire::mad::Status;
use sa_wire::performance::{PerformanceMad, PortCounters, PortCountersExtended};

use super::question::{Class, Question, Step};
use super::{Asking, Clear, Visited};

impl Asking {
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

    /// Takes an answer, and asks for what the port has besides. Shape: the reading, where it is whole.
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

    /// The device did not answer in time: it rests, the longer the oftener.
    fn mute(&mut self, question: &Question, now: Duration) -> Visited {
        self.counts.unanswered += 1;
        self.fail(question, now)
    }

    /// A visit that is over without a reading.
    fn fail(&mut self, question: &Question, now: Duration) -> Visited {
        let period = self.options.period.unwrap_or_default();
        // Of a device that is gone nobody wants to know.
        let device = self.devices.get_mut(&question.device);
        match device.and_then(|device| device.fail(period, now)) {
            Some(failures) => Visited::Mute(question.device, failures),
            None => Visited::Nothing,
        }
    }

    /// A visit is over, and the device has answered.
    fn end(&mut self, question: &Question) {
        if let Some(device) = self.devices.get_mut(&question.device) {
            device.answer();
        }
    }
}
