//! Load on a live SA through a client port.
//!
//! One thread sends requests, takes answers and judges them:
//!
//! ```text
//! requests ──> submit ──> under way ──┬──> answered, judged ──> statuses, wrong, latency
//!  in turn      (pace)    by the low  ├──> too late ─────────> timeouts, latency
//!                         half of TID └──> nobody waits ─────> late
//! ```
//!
//! Requests are not sent again: an answer would then say nothing about how long the first one took.

use core::sync::atomic::AtomicBool;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use sa_port::{ClientPort, Destination, Patience, PortError, Reply, low_transaction};
use sa_wire::umad::MAD_SIZE;
use thiserror::Error;

use crate::latency::Latency;
use crate::pace::{CATCH_UP, Pace, Span, due_after};

/// How to load.
#[derive(Debug, Clone, Copy)]
pub struct LiveOptions {
    /// The SA.
    ///
    /// The same for each request of a load: what is varied is which request, not how.
    pub to: Destination,
    /// How requests follow each other.
    pub pace: Pace,
    /// How long requests are sent; latencies of the first tenth do not count.
    pub duration: Duration,
    /// A request without an answer after that has timed out. It is not sent again.
    pub timeout: Duration,
    /// Ends the load at once when it is set.
    pub stop: Option<&'static AtomicBool>,
}

/// What was seen.
///
/// Every request that was sent is answered, timed out, or answered late and counted as timed out
/// before; where the load was stopped some are still under way.
#[derive(Debug, Clone)]
pub struct LiveReport {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered in time, whatever the status.
    pub answered: u64,
    /// Requests without an answer in time.
    pub timeouts: u64,
    /// Answers that came after their time, or twice.
    pub late: u64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Answers that were not as they must be.
    pub wrong: u64,
    /// What was wrong with the first of them.
    pub first_wrong: Option<String>,
    /// Of every request; one that timed out counts with the time it was waited for.
    pub latency: Latency,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// How far behind its time the latest request was sent; none in a closed loop.
    pub latest: Option<Duration>,
    /// Requests of an open loop that were due and not sent when its time was over: the SA, or the
    /// loop, does not keep up. Each counts as a latency up to then.
    pub unsent: u64,
    /// Requests that were under way when the load was stopped: nobody knows what became of them.
    pub under_way: u64,
}

/// Why a load ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// No memory for a histogram.
    #[error("no memory for a histogram")]
    NoHistogram,
    /// There is nothing to ask.
    #[error("there are no requests to send")]
    NoRequests,
    /// The transport failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Says what is wrong with an answer, if anything. Gets the place of the request and the MAD.
///
/// Called while the clock runs, so it has to be quick: comparing bytes, not decoding.
pub type Judge<'a> = dyn FnMut(usize, &[u8]) -> Option<String> + 'a;

/// Sends the requests in turn, again and again, for as long as the options say, then waits for the
/// answers still out. Errors: [`LiveError`].
pub fn load(
    port: &mut dyn ClientPort,
    requests: &[[u8; MAD_SIZE]],
    options: &LiveOptions,
    judge: &mut Judge<'_>,
) -> Result<LiveReport, LiveError> {
    if requests.is_empty() {
        return Err(LiveError::NoRequests);
    }
    let load = Load {
        port,
        requests,
        options,
        // Capacity for windows that are usual: growing in the middle of a load would show as latency.
        start: Instant::now(),
        under_way: HashMap::with_capacity(1 << 12),
        by_time: VecDeque::with_capacity(1 << 12),
        reply: Reply::default(),
        report: LiveReport::new().ok_or(LiveError::NoHistogram)?,
    };
    load.run(judge)
}

impl LiveReport {
    /// Nothing seen. None when there is no memory for a histogram.
    pub fn new() -> Option<Self> {
        Some(Self {
            sent: 0,
            answered: 0,
            timeouts: 0,
            late: 0,
            statuses: BTreeMap::new(),
            wrong: 0,
            first_wrong: None,
            latency: Latency::new()?,
            elapsed: Duration::ZERO,
            latest: None,
            unsent: 0,
            under_way: 0,
        })
    }

    /// Counts the requests from `sent` on that were due before `end` at this rate, with how long
    /// each had waited then. Those of the first tenth of `duration` are not measured. Units: of
    /// `end`: since the start.
    pub fn count_unsent(
        &mut self,
        sent: u64,
        due: u64,
        rate: f64,
        duration: Duration,
        end: Duration,
    ) {
        self.unsent = due.saturating_sub(sent);
        for nth in sent..due {
            let since = due_after(nth, rate);
            if since >= duration / 10 {
                self.latency.record(end.saturating_sub(since));
            }
        }
    }

    /// Answers per second.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn rate(&self) -> f64 {
        self.answered as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// A load that goes on.
///
/// One thread sends, takes and judges: no lock, no channel, and nothing to be scheduled between
/// them.
struct Load<'a> {
    /// What carries requests; the load does not know which transport it is.
    port: &'a mut dyn ClientPort,
    /// Sent in turn, with a transaction id of their own each time.
    requests: &'a [[u8; MAD_SIZE]],
    options: &'a LiveOptions,
    /// When the clock began; due times count from there.
    start: Instant,
    /// By the low half of the transaction id.
    under_way: HashMap<u32, UnderWay>,
    /// Transactions in the order in which they time out; those answered are skipped.
    by_time: VecDeque<(Instant, u32)>,
    /// Taken over and over, so that no answer costs memory.
    reply: Reply,
    report: LiveReport,
}

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    /// Which request.
    index: usize,
    /// Latency counts from there.
    since: Instant,
}

impl Load<'_> {
    /// Until the time is over and nothing is out. Errors: the transport's.
    fn run(mut self, judge: &mut Judge<'_>) -> Result<LiveReport, LiveError> {
        let span = Span {
            time: self.options.duration,
            stop: self.options.stop,
        };
        loop {
            // Nobody waits for answers that may take as long as a timeout.
            if span.is_stopped() {
                self.report.under_way = self.under_way.len() as u64;
                return Ok(self.finish());
            }
            let is_over = span.is_over(self.start);
            // A burst at most of each in turn, so that neither sending nor taking starves.
            let sent = self.send(is_over)?;
            let taken = self.take(judge)?;
            self.expire();
            if self.all_sent(is_over) && self.under_way.is_empty() {
                return Ok(self.finish());
            }
            // Only where nothing moved: waiting costs a system call.
            if sent + taken == 0 {
                self.wait(is_over)?;
            }
        }
    }

    /// Counts what an open loop still owed.
    fn finish(mut self) -> LiveReport {
        if let Pace::Open { rate } = self.options.pace {
            let (due, end) = (self.due(true), self.start.elapsed());
            let duration = self.options.duration;
            self.report
                .count_unsent(self.report.sent, due, rate, duration, end);
        }
        self.report
    }

    /// Requests that should have been sent by now.
    ///
    /// Since the start, those that were sent included.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of requests far below 2^53"
    )]
    fn due(&self, is_over: bool) -> u64 {
        match self.options.pace {
            Pace::Closed { .. } if is_over => self.report.sent,
            Pace::Closed { window } => {
                // Room and not the window: what is under way counts.
                let room = window.saturating_sub(self.under_way.len());
                self.report.sent + room as u64
            }
            Pace::Open { rate } => {
                // What is due ends with the load, however late it is.
                let elapsed = self.start.elapsed().min(self.options.duration);
                (elapsed.as_secs_f64() * rate) as u64
            }
        }
    }

    /// An open loop sends what was due in the end, but has no more time to catch up.
    fn all_sent(&self, is_over: bool) -> bool {
        let is_late = self.start.elapsed() > self.options.duration + CATCH_UP;
        is_over && (self.report.sent >= self.due(true) || is_late)
    }

    /// A burst at most. Returns how many went out.
    fn send(&mut self, is_over: bool) -> Result<usize, LiveError> {
        if self.all_sent(is_over) {
            return Ok(0);
        }
        let due = self.due(is_over);
        let mut count = 0;
        // `MOST` bounds memory where an SA does not answer at all: an open loop would go on sending.
        while self.report.sent < due && count < BURST && self.under_way.len() < MOST {
            if !self.send_one()? {
                // The transport is full, and taking answers is what makes room.
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    /// False: the transport has no room. Errors: the transport's.
    fn send_one(&mut self) -> Result<bool, LiveError> {
        // The number of a request decides both which one it is and its transaction id.
        let sent = self.report.sent;
        let index = usize::try_from(sent % self.requests.len() as u64).unwrap_or(0);
        let transaction = transaction(sent);
        let Some(mut mad) = self.requests.get(index).copied() else {
            return Ok(false);
        };
        // Bytes 12 to 16 are the low half; the high one is the kernel's on umad.
        if let Some(place) = mad.get_mut(12..16) {
            place.copy_from_slice(&transaction.to_be_bytes());
        }
        let patience = Patience {
            timeout: self.options.timeout,
            retries: 0,
        };
        // No room in the transport: tried again in the next turn, late or not.
        if !self.port.submit(&self.options.to, &mad, patience)? {
            return Ok(false);
        }
        let now = Instant::now();
        let since = match self.options.pace {
            Pace::Closed { .. } => now,
            // From the time it was due: a request that is sent late has waited since then.
            Pace::Open { rate } => self.start + due_after(sent, rate),
        };
        if matches!(self.options.pace, Pace::Open { .. }) {
            let behind = now.saturating_duration_since(since);
            self.report.latest = self.report.latest.max(Some(behind));
        }
        self.under_way
            .insert(transaction, UnderWay { index, since });
        // In order of sending and so of deadlines, as all wait equally long.
        self.by_time
            .push_back((now + self.options.timeout, transaction));
        self.report.sent += 1;
        Ok(true)
    }

    /// A burst at most. Returns how many came.
    fn take(&mut self, judge: &mut Judge<'_>) -> Result<usize, LiveError> {
        let mut count = 0;
        while count < BURST && self.port.take(&mut self.reply)? {
            count += 1;
            // One that was given up, or of another run: nobody waits for it.
            let transaction = low_transaction(&self.reply.mad);
            let found = transaction.and_then(|transaction| self.under_way.remove(&transaction));
            match found {
                None => self.report.late += 1,
                // The transport hands a request back that it gave up.
                Some(request) if self.reply.header.status != 0 => self.timed_out(request),
                Some(request) => self.answered(request, judge),
            }
        }
        Ok(count)
    }

    /// Measured before it is judged: judging is the measurement's own time.
    fn answered(&mut self, request: UnderWay, judge: &mut Judge<'_>) {
        self.measure(request);
        self.report.answered += 1;
        // To the last answer: waiting for what is lost does not lower the rate.
        self.report.elapsed = self.start.elapsed();
        let status = self.reply.mad.get(4..6).and_then(<[u8]>::first_chunk);
        let status = status.map_or(u16::MAX, |bytes| u16::from_be_bytes(*bytes));
        *self.report.statuses.entry(status).or_default() += 1;
        if let Some(what) = judge(request.index, &self.reply.mad) {
            self.report.wrong += 1;
            self.report.first_wrong.get_or_insert(what);
        }
    }

    /// Counted with the time that it was waited for: leaving lost ones out would flatter the
    /// latencies.
    fn timed_out(&mut self, request: UnderWay) {
        self.measure(request);
        self.report.timeouts += 1;
    }

    /// The first tenth is warm-up.
    fn measure(&mut self, request: UnderWay) {
        if request.since.duration_since(self.start) >= self.options.duration / 10 {
            self.report.latency.record(request.since.elapsed());
        }
    }

    /// Gives up what has waited too long.
    fn expire(&mut self) {
        // The transport that resends says by itself that it gave up; later than that it forgot.
        let more = if self.port.resends() {
            GRACE
        } else {
            Duration::ZERO
        };
        let now = Instant::now();
        while let Some((deadline, transaction)) = self.by_time.front().copied() {
            let is_answered = !self.under_way.contains_key(&transaction);
            if !is_answered && now < deadline + more {
                // Deadlines are in order: whoever is behind this one is not due either.
                return;
            }
            self.by_time.pop_front();
            if let Some(request) = self.under_way.remove(&transaction) {
                self.timed_out(request);
            }
        }
    }

    /// Until something may have come or is due.
    fn wait(&mut self, is_over: bool) -> Result<(), LiveError> {
        let mut most = LONGEST_WAIT;
        if let Pace::Open { rate } = self.options.pace
            && !self.all_sent(is_over)
        {
            let next = self.start + due_after(self.report.sent, rate);
            most = most.min(next.saturating_duration_since(Instant::now()));
        }
        // Sleeps are counted in milliseconds: they would send what is due soon too late.
        match most.checked_sub(SHORTEST_WAIT) {
            Some(most) => self.port.wait(most).map(drop)?,
            None => std::thread::yield_now(),
        }
        Ok(())
    }
}

/// The low half of the transaction id of the n-th request; what another run of this program left
/// behind has another.
fn transaction(n: u64) -> u32 {
    // By process: replies of a run before must not be taken for those of this one.
    let first = std::process::id().wrapping_mul(0x9e37_79b1);
    // The remainder fits: n counts round and round.
    first.wrapping_add(u32::try_from(n & u64::from(u32::MAX)).unwrap_or(0))
}

/// Requests sent, or replies taken, before looking at the other side.
const BURST: usize = 64;
/// Requests under way in an open loop whose SA does not keep up.
const MOST: usize = 1 << 16;
/// How much longer than its own patience a transport that resends may take.
const GRACE: Duration = Duration::from_millis(500);
/// So that the end of a load is seen in time.
const LONGEST_WAIT: Duration = Duration::from_millis(10);
/// Below that the thread yields instead.
const SHORTEST_WAIT: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use sa_wire::Lid;

    use super::*;

    /// An SA that takes nothing before a time, leaves some requests unanswered and answers others
    /// twice.
    struct Fake {
        opens: Instant,
        replies: VecDeque<Vec<u8>>,
        taken: u64,
        silent: fn(u64) -> bool,
        twice: fn(u64) -> bool,
    }

    impl Fake {
        fn new() -> Self {
            Self {
                opens: Instant::now(),
                replies: VecDeque::new(),
                taken: 0,
                silent: |_| false,
                twice: |_| false,
            }
        }
    }

    impl ClientPort for Fake {
        fn submit(
            &mut self,
            _to: &Destination,
            request: &[u8],
            _patience: Patience,
        ) -> Result<bool, PortError> {
            if Instant::now() < self.opens {
                return Ok(false);
            }
            let copies = match self.taken {
                n if (self.silent)(n) => 0,
                n if (self.twice)(n) => 2,
                _ => 1,
            };
            self.replies
                .extend(core::iter::repeat_n(request.to_vec(), copies));
            self.taken += 1;
            Ok(true)
        }

        fn take(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
            let Some(mad) = self.replies.pop_front() else {
                return Ok(false);
            };
            reply.header.status = 0;
            reply.mad = mad;
            Ok(true)
        }

        fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
            std::thread::sleep(timeout);
            Ok(!self.replies.is_empty())
        }

        fn resends(&self) -> bool {
            false
        }
    }

    fn options(pace: Pace, milliseconds: u64) -> LiveOptions {
        LiveOptions {
            to: Destination::sa(Lid::new(1).unwrap()),
            pace,
            duration: Duration::from_millis(milliseconds),
            timeout: Duration::from_millis(200),
            stop: None,
        }
    }

    #[test]
    fn a_stall_shows_in_every_request_that_was_due_meanwhile() {
        let mut fake = Fake::new();
        fake.opens = Instant::now() + Duration::from_millis(100);
        let options = options(Pace::Open { rate: 1000.0 }, 200);
        let report = load(&mut fake, &[[0; MAD_SIZE]], &options, &mut |_, _| None).unwrap();
        assert_eq!(report.sent, 200, "late, and none skipped");
        assert_eq!((report.answered, report.timeouts), (200, 0));
        // Those due from 20 ms on count; of these 180 each due before 70 ms waited 30 ms.
        assert!(report.latency.quantile_ns(0.9) >= 29_000_000);
        assert!(report.latest.unwrap() >= Duration::from_millis(90));
    }

    #[test]
    fn an_open_loop_that_cannot_keep_up_ends_at_its_end_and_says_what_it_did_not_send() {
        let mut fake = Fake::new();
        fake.opens = Instant::now() + Duration::from_secs(60);
        let options = options(Pace::Open { rate: 100_000.0 }, 200);
        let begun = Instant::now();
        let report = load(&mut fake, &[[0; MAD_SIZE]], &options, &mut |_, _| None).unwrap();
        // Four times its time and a timeout is what it used to take.
        assert!(begun.elapsed() < Duration::from_millis(800));
        assert_eq!((report.sent, report.unsent), (0, 20_000));
        // Each has waited to the end.
        assert_eq!(report.latency.samples(), 18_000);
        assert!(report.latency.quantile_ns(0.1) >= 100_000_000);
    }

    #[test]
    fn timeouts_count_with_their_time_and_second_answers_apart() {
        let mut fake = Fake::new();
        fake.silent = |n| n % 10 == 9;
        fake.twice = |n| n % 10 == 0;
        let options = options(Pace::Open { rate: 1000.0 }, 100);
        let mut judged = 0;
        let mut judge = |nth: usize, _: &[u8]| {
            judged += 1;
            (nth == 1).then(|| "the second is always wrong".to_owned())
        };
        let requests = [[0; MAD_SIZE]; 2];
        let report = load(&mut fake, &requests, &options, &mut judge).unwrap();
        assert_eq!((report.sent, report.answered), (100, 90));
        assert_eq!((report.timeouts, report.late), (10, 10));
        assert_eq!(report.statuses, BTreeMap::from([(0, 90)]));
        // Every second request is the second one; ten of these got no answer.
        assert_eq!((judged, report.wrong), (90, 40));
        assert!(report.first_wrong.is_some());
        assert!(report.latency.longest_ns() >= 199_000_000);
    }

    #[test]
    fn a_load_that_is_stopped_ends_with_what_it_has_seen() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let mut fake = Fake::new();
        fake.silent = |n| n % 2 == 1;
        let options = LiveOptions {
            timeout: Duration::from_secs(600),
            stop: Some(&STOP),
            ..options(Pace::Open { rate: 1000.0 }, 600_000)
        };
        let mut judged = 0;
        let begun = Instant::now();
        let report = load(&mut fake, &[[0; MAD_SIZE]], &options, &mut |_, _| {
            judged += 1;
            STOP.store(judged >= 50, core::sync::atomic::Ordering::Relaxed);
            None
        });
        let report = report.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert!(report.answered >= 50, "{report:?}");
        assert_eq!(report.timeouts, 0);
        assert_eq!(report.sent, report.answered + report.under_way);
        // None is missed that was not due yet: 600,000 would be.
        assert!(report.unsent < 100_000, "{report:?}");
    }

    #[test]
    fn a_closed_loop_keeps_its_window() {
        let mut fake = Fake::new();
        fake.silent = |_| true;
        // Nobody answers: the window is sent once per timeout.
        let report = load(
            &mut fake,
            &[[0; MAD_SIZE]],
            &options(Pace::Closed { window: 3 }, 150),
            &mut |_, _| None,
        )
        .unwrap();
        assert_eq!((report.sent, report.timeouts, report.answered), (3, 3, 0));
    }
}
