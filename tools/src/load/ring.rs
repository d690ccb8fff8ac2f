//! Load through memory shared with the daemon of this node: millions of requests a second, so that
//! they go in batches, clocks are read once for each, and an answer that is right at first sight is
//! looked at no further.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sa_bench::live::LiveReport;
use sa_bench::pace::{CATCH_UP, Pace};
use sa_client::{Client, state};
use sa_wire::mad::method;
use sa_wire::sa::DATA_OFFSET;

use super::judge::Judge;
use super::pairs::Asked;
use super::{Load, Workload};
use crate::failure::{Failure, Outcome};
use crate::interrupt;

/// Units: bytes of a request, and of an answer that is right at first sight.
const SHORT: usize = 120;

/// Requests published at once.
const BATCH: usize = 64;

/// Looks at an empty ring before the core is given to others for a moment.
const SPINS: u32 = 4096;

/// A request, and what its answer must hold.
struct Question {
    mad: [u8; SHORT],
    lid: u16,
    right: Right,
}

/// What makes an answer right at first sight.
enum Right {
    /// This record.
    Record([u8; SHORT - DATA_OFFSET]),
    /// A record about these ends.
    Ends,
    /// Nothing: it must be something else.
    Never,
}

/// Sends the requests in turn for as long as the verb says, then waits for the answers still out.
/// Errors: the daemon goes.
pub(super) fn load(
    verb: &Load,
    client: &mut Client,
    asked: &[Asked],
    judge: &Judge<'_>,
) -> Outcome<LiveReport> {
    if u64::from(verb.window) > client.slots() {
        return Err(Failure::usage(format!(
            "--window {}: the ring has {} slots; set slots of the [[port]] in sapphired.toml",
            verb.window,
            client.slots()
        )));
    }
    let report = LiveReport::new().ok_or_else(|| Failure::failed("no memory for a histogram"))?;
    let start = Instant::now();
    let slots = usize::try_from(client.slots()).unwrap_or(0);
    let questions = asked.iter().enumerate();
    let mut load = RingLoad {
        questions: questions
            .map(|(nth, asked)| question(nth, asked, judge))
            .collect(),
        ends: ends(verb.workload),
        base: client.first_reply(),
        client,
        judge,
        pace: verb.pace(),
        duration: Duration::from_secs_f64(verb.seconds),
        timeout: verb.timeout(),
        start,
        sent: 0,
        received: 0,
        sent_at: vec![Duration::ZERO; slots],
        late: BTreeMap::new(),
        succeeded: 0,
        report,
    };
    load.start = Instant::now();
    load.run()
}

/// A request, and what its answer is to be, as far as a snapshot tells.
fn question(nth: usize, asked: &Asked, judge: &Judge<'_>) -> Question {
    let mut mad = [0; SHORT];
    mad.copy_from_slice(asked.slot.mad.get(..SHORT).unwrap_or(&[0; SHORT]));
    Question {
        mad,
        lid: asked.slot.header.lid.get(),
        right: match judge.record(nth) {
            Some(record) => Right::Record(record),
            None if judge.knows() => Right::Never,
            None => Right::Ends,
        },
    }
}

/// Where request and record name both ends.
const fn ends(workload: Workload) -> core::ops::Range<usize> {
    match workload {
        Workload::Gid => 64..96,
        Workload::Lid => 96..100,
    }
}

/// A run over a ring, and what it has come to so far.
struct RingLoad<'a> {
    client: &'a mut Client,
    /// Asked one after the other, and from the first again.
    questions: Vec<Question>,
    /// Where request and record name both ends. Units: bytes of a MAD.
    ends: core::ops::Range<usize>,
    judge: &'a Judge<'a>,
    pace: Pace,
    /// Nothing new is sent afterwards.
    duration: Duration,
    /// What has no answer for so long has none.
    timeout: Duration,
    start: Instant,
    /// Position of the first request.
    base: u64,
    sent: u64,
    received: u64,
    /// By slot, in a closed loop. Units: since the start.
    sent_at: Vec<Duration>,
    /// Requests whose answers come apart from their slots: number, and since when they count.
    late: BTreeMap<u64, Duration>,
    /// Answers with status 0.
    succeeded: u64,
    report: LiveReport,
}

impl RingLoad<'_> {
    /// Until all is answered, or late enough to be given up. Errors: the daemon is gone.
    fn run(mut self) -> Outcome<LiveReport> {
        let (mut empty, mut last, mut moved) = (0u32, Duration::ZERO, Duration::ZERO);
        loop {
            let now = self.start.elapsed();
            // Nobody waits for answers that may take as long as a timeout.
            if interrupt::came() {
                return Ok(self.cut_short(last, now));
            }
            let is_over = now >= self.duration;
            let sent = self.send(now);
            let taken = self.take() + self.take_late();
            if taken > 0 {
                last = self.start.elapsed();
            }
            let is_done = self.client.in_flight() == 0 && self.late.is_empty();
            if is_over && is_done && self.sent >= self.due(now) {
                break;
            }
            // Whoever sends answers one by one cannot make this longer than it was to be.
            if now > self.duration + CATCH_UP + self.timeout {
                break;
            }
            if sent > 0 || taken > 0 {
                (empty, moved) = (0, now);
                continue;
            }
            empty += 1;
            if empty < SPINS {
                core::hint::spin_loop();
                continue;
            }
            empty = 0;
            self.client
                .check()
                .map_err(|gone| Failure::unreachable(gone.to_string()))?;
            if !is_done && now > moved + self.timeout {
                break;
            }
            std::thread::yield_now();
        }
        Ok(self.finish(last))
    }

    /// What is out is neither answered nor lost. `last` as with [`Self::finish`].
    fn cut_short(mut self, last: Duration, now: Duration) -> LiveReport {
        self.report.under_way = self.client.in_flight() + self.late.len() as u64;
        if let Pace::Open { rate } = self.pace {
            let due = self.due(now);
            self.report
                .count_unsent(self.sent, due, rate, self.duration, now);
        }
        self.counted(last)
    }

    /// What is out still counts as lost, and as slow as the patience is long. `last`: when
    /// something came last.
    fn finish(mut self, last: Duration) -> LiveReport {
        let lost = self.client.in_flight() + self.late.len() as u64;
        for _ in 0..lost {
            self.report.latency.record(self.timeout);
        }
        if let Pace::Open { rate } = self.pace {
            let (due, end) = (self.due(self.duration), self.start.elapsed());
            self.report
                .count_unsent(self.sent, due, rate, self.duration, end);
        }
        self.report.timeouts += lost;
        self.counted(last)
    }

    /// The report, with what was counted beside it.
    fn counted(mut self, last: Duration) -> LiveReport {
        let report = &mut self.report;
        report.sent = self.sent;
        report.elapsed = last.max(Duration::from_nanos(1));
        if self.succeeded > 0 {
            *report.statuses.entry(0).or_default() += self.succeeded;
        }
        self.report
    }

    /// Requests that should have been sent by now.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of requests far below 2^53"
    )]
    fn due(&self, now: Duration) -> u64 {
        match self.pace {
            Pace::Closed { .. } if now >= self.duration => self.sent,
            Pace::Closed { window } => {
                let under_way = self.client.in_flight() + self.late.len() as u64;
                self.sent + (window as u64).saturating_sub(under_way)
            }
            Pace::Open { .. } if now > self.duration + CATCH_UP => self.sent,
            Pace::Open { rate } => (now.min(self.duration).as_secs_f64() * rate) as u64,
        }
    }

    /// When a request was due, or was sent where that is what counts.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times far below 2^53 ns"
    )]
    fn since(&self, number: u64) -> Duration {
        match self.pace {
            Pace::Closed { .. } => {
                let slot = usize::try_from(number % self.client.slots()).unwrap_or(0);
                self.sent_at.get(slot).copied().unwrap_or_default()
            }
            Pace::Open { rate } => Duration::from_nanos((number as f64 * (1e9 / rate)) as u64),
        }
    }

    /// Sends what is due, as far as slots are free. Gives how many.
    fn send(&mut self, now: Duration) -> usize {
        let due = self.due(now);
        let first = self.sent;
        while self.sent < due {
            let wanted = usize::try_from(due - self.sent).unwrap_or(BATCH).min(BATCH);
            let slots = self.client.claim(wanted);
            let count = slots.len();
            if count == 0 {
                break;
            }
            let all = self.questions.len() as u64;
            for (number, slot) in (self.sent..).zip(slots) {
                let nth = usize::try_from(number % all).unwrap_or(0);
                if let Some(question) = self.questions.get(nth) {
                    slot.put(question.lid, &question.mad);
                    sa_client::request::set_transaction(&mut slot.mad, number + 1);
                }
            }
            // All of a batch become visible at once, which is one store.
            self.client.publish(count);
            if matches!(self.pace, Pace::Closed { .. }) {
                let slots = self.client.slots();
                for number in self.sent..self.sent + count as u64 {
                    let slot = usize::try_from(number % slots).unwrap_or(0);
                    if let Some(place) = self.sent_at.get_mut(slot) {
                        *place = now;
                    }
                }
            }
            self.sent += count as u64;
        }
        if self.sent > first && matches!(self.pace, Pace::Open { .. }) {
            let behind = now.saturating_sub(self.since(first));
            self.report.latest = self.report.latest.max(Some(behind));
        }
        usize::try_from(self.sent - first).unwrap_or(usize::MAX)
    }

    /// Takes what has come back.
    fn take(&mut self) -> usize {
        let count = self.client.replies().len();
        if count == 0 {
            return 0;
        }
        let now = self.start.elapsed();
        for nth in 0..count {
            let number = self.received + nth as u64;
            let since = self.since(number);
            let Some(slot) = self.client.replies().get(nth) else {
                break;
            };
            match slot.state {
                state::REPLY => {
                    let index = index(number, self.questions.len());
                    let mad = slot.reply().unwrap_or_default();
                    let is_right = self
                        .questions
                        .get(index)
                        .is_some_and(|question| is_right(question, &self.ends, number, mad));
                    if is_right {
                        self.succeeded += 1;
                    } else {
                        let mad = mad.to_vec();
                        self.look_closer(number, &mad);
                    }
                    self.answered(since, now);
                }
                state::LATER => {
                    self.late.insert(number, since);
                }
                // There will be none.
                _ => {
                    self.report.timeouts += 1;
                    self.record(since, now);
                }
            }
        }
        self.client.release(count);
        self.received += count as u64;
        count
    }

    /// The same of answers that came apart from their slots.
    fn take_late(&mut self) -> usize {
        if self.late.is_empty() {
            return 0;
        }
        let mut count = 0;
        while let Some(reply) = self.client.late_reply() {
            let now = self.start.elapsed();
            let number = reply.position.wrapping_sub(self.base);
            let Some(since) = self.late.remove(&number) else {
                self.report.late += 1;
                continue;
            };
            count += 1;
            if reply.mad.is_empty() {
                self.report.timeouts += 1;
                self.record(since, now);
            } else {
                self.look_closer(number, &reply.mad);
                self.answered(since, now);
            }
        }
        count
    }

    /// An answer has come, right or wrong.
    fn answered(&mut self, since: Duration, now: Duration) {
        self.report.answered += 1;
        self.record(since, now);
    }

    /// How long one took.
    fn record(&mut self, since: Duration, now: Duration) {
        // The first tenth warms up.
        if since >= self.duration / 10 {
            self.report.latency.record(now.saturating_sub(since));
        }
    }

    /// What is wrong with an answer that is not the one expected, and its status. Most runs never
    /// come here.
    #[cold]
    fn look_closer(&mut self, number: u64, mad: &[u8]) {
        let index = index(number, self.questions.len());
        let transaction = mad.get(8..16).and_then(<[u8]>::first_chunk);
        let is_its = transaction.is_some_and(|bytes| u64::from_be_bytes(*bytes) == number + 1);
        let problem = if is_its {
            self.judge.problem(index, mad)
        } else {
            Some("the answer is to another request".to_owned())
        };
        if let Some(problem) = problem {
            self.report.wrong += 1;
            self.report.first_wrong.get_or_insert(problem);
        }
        let status = mad.get(4..6).and_then(<[u8]>::first_chunk);
        let status = status.map_or(0, |bytes| u16::from_be_bytes(*bytes));
        *self.report.statuses.entry(status).or_default() += 1;
    }
}

/// Which question a request was.
fn index(number: u64, questions: usize) -> usize {
    usize::try_from(number % (questions as u64).max(1)).unwrap_or(0)
}

/// One record, to this very request, as expected.
fn is_right(question: &Question, ends: &core::ops::Range<usize>, number: u64, mad: &[u8]) -> bool {
    let Some(mad) = mad.first_chunk::<SHORT>() else {
        return false;
    };
    let [_, _, _, kind, 0, 0, ..] = *mad else {
        return false;
    };
    let is_record = match &question.right {
        Right::Record(record) => mad.last_chunk() == Some(record),
        Right::Ends => mad.get(ends.clone()) == question.mad.get(ends.clone()),
        Right::Never => false,
    };
    kind == method::GET_RESP && mad.get(8..16) == Some(&(number + 1).to_be_bytes()) && is_record
}
