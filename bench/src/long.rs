//! Replies longer than a MAD over a ring: the worker hands the request to a slow lane on a thread
//! of its own, which gives the whole reply back beside the ring.
//!
//! Tables and MultiPathRecords do not fit a slot. Their way through the daemon is longer, and so is
//! the measurement's:
//!
//! ```text
//! client --ring--> worker --queue--> slow lane (third thread)
//! client <--ring-- empty slot          |
//! client <-------- channel ------------+  the whole reply, with the transaction id
//! ```
//!
//! A request is settled when its reply came by either way: a slot with a reply (a refusal, which is
//! short) or a message with the whole one. Replies overtake each other, so requests are known by
//! transaction id, not by order.
//!
//! The window is bounded by what the queue to the slow lane holds: more would be dropped, as the
//! daemon drops them, and would count as lost here.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use sa_answer::whole;
use sa_fastpath::affinity;
use sa_fastpath::punt::PuntReceiver;
use sa_port::ring::{RingClient, reply_length};
use sa_snapshot::Snapshot;
use sa_wire::umad::Slot;

use crate::clock::thread_cpu_time;
use crate::latency::Latency;
use crate::line::Line;
use crate::pace::{PATIENCE, Span, due_after};
use crate::pool::Pool;
use crate::threads::LineError;

/// How fast to ask.
///
/// Both are bounded by [`MOST_IN_FLIGHT`].
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    /// As many in flight as this, at most [`MOST_IN_FLIGHT`].
    Window(usize),
    /// So many requests a second; latencies count from the time that a request was due.
    Rate(f64),
}

/// What was seen.
///
/// `ns_per_query` adds two threads; on one core it is what a query costs the machine.
#[derive(Debug, Clone)]
pub struct LongReport {
    /// Requests answered.
    pub queries: u64,
    /// Replies that were not exactly as expected.
    pub wrong: u64,
    /// Requests without the reply that they must get.
    pub lost: u64,
    /// Wall time.
    pub elapsed: Duration,
    /// At a rate: of each request since it was due, the first tenth left out.
    pub latency: Latency,
    /// CPU time of worker and slow lane per query, turns that found nothing left out. Units: ns.
    pub ns_per_query: f64,
}

impl LongReport {
    /// Queries per second, by wall time. Units: millions.
    ///
    /// Of few and long replies: figures far below 1.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn mqps(&self) -> f64 {
        self.queries as f64 / self.elapsed.as_secs_f64().max(1e-9) / 1e6
    }
}

/// More might not find room in the queue to the slow lane.
pub const MOST_IN_FLIGHT: usize = 32;

impl Line {
    /// Asks for the span. `snapshot` is what was published. Errors: [`LineError`].
    ///
    /// Three threads, each on its core where there are three: the worker, the slow lane, and the
    /// client that asks.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn long(
        &mut self,
        snapshot: &Snapshot,
        pool: &Pool,
        pace: Pace,
        span: impl Into<Span>,
    ) -> Result<LongReport, LineError> {
        let span = span.into();
        let before = self.stats().empty;
        // Before the worker is borrowed by its thread.
        let punts = self.punts();
        let (core, third) = (self.client_core(), self.third_core());
        let stop = AtomicBool::new(false);
        let (sender, receiver) = channel();
        let (run, worker_cpu) = self.with_worker_among(3, |ends| {
            std::thread::scope(|scope| {
                let slow_lane = scope.spawn(|| {
                    third.map(affinity::pin);
                    serve(snapshot, &punts, sender, &stop)
                });
                let asking = scope.spawn(|| {
                    core.map(affinity::pin);
                    let asker = Asker::new(ends.client, pool, pace, receiver);
                    asker.map(|asker| asker.run(span))
                });
                let report = asking.join();
                // After the client has ended: until then it may wait for the slow lane.
                stop.store(true, Ordering::Relaxed);
                let slow_cpu = slow_lane.join().map_err(|_| LineError::Panicked)?;
                let report = report.map_err(|_| LineError::Panicked)?;
                Ok::<_, LineError>((report.ok_or(LineError::NoHistogram)?, slow_cpu))
            })
        })?;
        let (mut report, slow_cpu) = run?;
        let empty = self.stats().empty - before;
        let (worker_ns, _) = self.per_query(worker_cpu, empty, report.queries);
        let slow_ns = slow_cpu.as_nanos() as f64 / report.queries.max(1) as f64;
        report.ns_per_query = worker_ns + slow_ns;
        Ok(report)
    }
}

/// The slow lane. Returns the CPU time of its answers.
///
/// Time of looks that found nothing does not count, as with the worker.
fn serve(
    snapshot: &Snapshot,
    punts: &PuntReceiver,
    replies: Sender<(u64, Option<Vec<u8>>)>,
    stop: &AtomicBool,
) -> Duration {
    let mut cpu = Duration::ZERO;
    // Relaxed: nothing else is read through the flag.
    while !stop.load(Ordering::Relaxed) {
        // Taken before the queue is looked at: a look that finds something belongs to the answer.
        let begun = thread_cpu_time();
        let Some(punted) = punts.pop() else {
            std::thread::yield_now();
            continue;
        };
        let reply = whole::punted(snapshot, &punted.request);
        // Nobody listens any more when the run is over.
        let _ = replies.send((transaction(&punted.request), reply));
        cpu += thread_cpu_time() - begun;
    }
    cpu
}

/// 0 for a slot without one, which no MAD is.
///
/// Bytes 8 to 15 of the MAD.
fn transaction(slot: &Slot) -> u64 {
    let id = slot.mad.get(8..16).and_then(<[u8]>::first_chunk);
    id.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The asking side.
///
/// Counts by transaction id: those below `sent` are out or settled.
struct Asker<'a> {
    /// The client's end of the ring.
    client: &'a mut RingClient,
    /// What is asked, and what is right.
    pool: &'a Pool,
    pace: Pace,
    /// Whole replies of the slow lane, by transaction id.
    replies: Receiver<(u64, Option<Vec<u8>>)>,
    /// Set anew when the loop begins.
    start: Instant,
    /// Also the next transaction id.
    sent: u64,
    /// By either way, right or wrong.
    settled: u64,
    /// Requests below this number are not measured.
    warm_up: u64,
    report: LongReport,
}

impl<'a> Asker<'a> {
    /// None: no memory for a histogram.
    fn new(
        client: &'a mut RingClient,
        pool: &'a Pool,
        pace: Pace,
        replies: Receiver<(u64, Option<Vec<u8>>)>,
    ) -> Option<Self> {
        let report = LongReport {
            queries: 0,
            wrong: 0,
            lost: 0,
            elapsed: Duration::ZERO,
            latency: Latency::new()?,
            ns_per_query: 0.0,
        };
        Some(Self {
            client,
            pool,
            pace,
            replies,
            start: Instant::now(),
            sent: 0,
            settled: 0,
            warm_up: 0,
            report,
        })
    }

    /// Ends when all is settled, or when the time is over and the patience after it.
    ///
    /// At a rate it may take four times as long as planned before it is given up.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of requests far below 2^53"
    )]
    fn run(mut self, span: Span) -> LongReport {
        let duration = span.time;
        let total = match self.pace {
            Pace::Window(_) => u64::MAX,
            Pace::Rate(rate) => ((rate * duration.as_secs_f64()) as u64).max(1),
        };
        if let Pace::Rate(_) = self.pace {
            self.warm_up = total / 10;
        }
        // A machine that is busy with other things makes the run longer, not its replies lost.
        let most = match self.pace {
            Pace::Window(_) => duration,
            Pace::Rate(_) => duration * 4,
        };
        self.start = Instant::now();
        while self.settled < total && self.start.elapsed() < most && !span.is_stopped() {
            let due = match self.pace {
                Pace::Window(window) => self.settled + window.min(MOST_IN_FLIGHT) as u64,
                Pace::Rate(rate) => {
                    let due = (self.start.elapsed().as_secs_f64() * rate) as u64;
                    due.min(total).min(self.settled + MOST_IN_FLIGHT as u64)
                }
            };
            self.send(due);
            self.receive();
        }
        self.report.elapsed = self.start.elapsed();
        let deadline = Instant::now() + PATIENCE;
        while self.settled < self.sent && Instant::now() < deadline {
            self.receive();
        }
        self.report.lost += self.sent - self.settled;
        self.report
    }

    /// Up to `due` requests in all; fewer where the ring has no room.
    fn send(&mut self, due: u64) {
        // What is due may lie below what was sent: requests settle in any order.
        let wanted = due.saturating_sub(self.sent);
        let slots = self.client.claim(usize::try_from(wanted).unwrap_or(0));
        let count = slots.len();
        for slot in slots {
            let index = self.pool.place(self.sent);
            self.pool.write(index, self.sent, slot);
            self.sent += 1;
        }
        if count > 0 {
            self.client.publish(count);
        }
    }

    /// Looks at both ways. The slots are released before anything is settled, so that the worker
    /// can go on.
    fn receive(&mut self) {
        // On the stack: nothing is allocated while the worker waits for its slots.
        let mut settled: [Option<(u64, bool)>; MOST_IN_FLIGHT] = [None; MOST_IN_FLIGHT];
        let slots = self.client.replies();
        let slots = slots
            .get(..slots.len().min(MOST_IN_FLIGHT))
            .unwrap_or(slots);
        let count = slots.len();
        // A slot without a reply is the slow lane's.
        for (slot, place_of) in slots.iter().zip(&mut settled) {
            if reply_length(slot).is_some() {
                let id = transaction(slot);
                let index = self.pool.place(id);
                *place_of = Some((id, self.pool.is_right(index, id, (0, 0), slot)));
            }
        }
        self.client.release(count);
        for (id, is_right) in settled.into_iter().flatten() {
            self.settle(id, is_right);
        }
        let mut found = count;
        while let Ok((id, reply)) = self.replies.try_recv() {
            let index = self.pool.place(id);
            let is_right = self.pool.is_long_reply(index, id, reply.as_deref());
            self.settle(id, is_right);
            found += 1;
        }
        if found == 0 {
            // The slow lane may share this core.
            std::thread::yield_now();
        }
    }

    /// An id that was never sent counts as wrong: something made it up.
    ///
    /// At a rate latency counts from the due time, warm-up left out; a window has no due times.
    fn settle(&mut self, id: u64, is_right: bool) {
        self.settled += 1;
        self.report.queries += 1;
        self.report.wrong += u64::from(!is_right || id >= self.sent);
        if let Pace::Rate(rate) = self.pace
            && id >= self.warm_up
        {
            let since = self.start.elapsed().saturating_sub(due_after(id, rate));
            self.report.latency.record(since);
        }
    }
}
