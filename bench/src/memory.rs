//! MAD in, MAD out in memory, without a port.

use core::hint::black_box;
use std::time::{Duration, Instant};

use sa_fastpath::answer::{Outcome, answer_all};
use sa_snapshot::Snapshot;
use sa_wire::umad::Slot;
use sm_control::slow_sa;

use crate::clock::thread_cpu_time;
use crate::latency::Latency;
use crate::pool::Pool;

/// What was seen.
#[derive(Debug, Clone)]
pub struct MemoryReport {
    /// Requests answered in the time that is counted.
    pub queries: u64,
    /// Replies that were not exactly as expected, at any time.
    pub wrong: u64,
    /// CPU time of the serving thread.
    pub cpu: Duration,
    /// Wall time.
    pub wall: Duration,
    /// From the start of a batch to its last reply.
    pub latency: Latency,
}

impl MemoryReport {
    fn new() -> Option<Self> {
        Some(Self {
            queries: 0,
            wrong: 0,
            cpu: Duration::ZERO,
            wall: Duration::ZERO,
            latency: Latency::new()?,
        })
    }
}

/// Answers the pool in place on the calling thread, pass by pass, for about `duration` and at least
/// once. Requests are restored and replies compared between passes, outside the time that counts.
///
/// Passes for the cost and for the latency of batches take turns, so that reading the clock for
/// each batch is not booked as answering. Shape: `batch` is not 0. None when no histogram could be
/// made.
pub fn in_place(
    snapshot: &Snapshot,
    pool: &Pool,
    batch: usize,
    duration: Duration,
) -> Option<MemoryReport> {
    let mut report = MemoryReport::new()?;
    let mut slots = vec![Slot::EMPTY; pool.requests.len()];
    // Warms up, and touches everything.
    pass(pool, &mut slots, &mut report, |slots, _| {
        answer_in_place(snapshot, slots);
    });
    let start = Instant::now();
    while start.elapsed() < duration || report.queries == 0 {
        pass(pool, &mut slots, &mut report, |slots, report| {
            let (wall, cpu) = (Instant::now(), thread_cpu_time());
            for batch in slots.chunks_mut(batch) {
                answer_in_place(snapshot, batch);
            }
            report.cpu += thread_cpu_time() - cpu;
            report.wall += wall.elapsed();
            report.queries += slots.len() as u64;
        });
        pass(pool, &mut slots, &mut report, |slots, report| {
            for batch in slots.chunks_mut(batch) {
                let begun = Instant::now();
                answer_in_place(snapshot, batch);
                report.latency.record(begun.elapsed());
            }
        });
    }
    Some(report)
}

fn pass(
    pool: &Pool,
    slots: &mut [Slot],
    report: &mut MemoryReport,
    timed: impl FnOnce(&mut [Slot], &mut MemoryReport),
) {
    restore(pool, slots);
    timed(slots, report);
    report.wrong += wrong(pool, slots);
}

fn restore(pool: &Pool, slots: &mut [Slot]) {
    for (index, slot) in slots.iter_mut().enumerate() {
        pool.write(index, index as u64, slot);
    }
}

/// Answers a batch where it lies; the length of each reply is set, 0 where there is none.
#[inline]
pub fn answer_in_place(snapshot: &Snapshot, slots: &mut [Slot]) {
    answer_all(snapshot, slots, |slot, outcome| {
        let length = match outcome {
            Outcome::Answered(length) | Outcome::Refused(length, _) => length,
            Outcome::Dropped(_) | Outcome::Punt(_) => 0,
        };
        slot.header.length = length.into();
    });
}

fn wrong(pool: &Pool, slots: &[Slot]) -> u64 {
    let all = slots.iter().enumerate();
    let is_wrong = |(index, slot): &(usize, &Slot)| match slot.header.length {
        0 => !pool.may_be_silent(*index, (0, 0)),
        _ => !pool.is_right(*index, *index as u64, (0, 0), slot),
    };
    all.filter(is_wrong).count() as u64
}

/// Answers the pool on the calling thread by the function of the slow lane, which makes replies of
/// any length. Otherwise as [`in_place`], with both measured in every pass.
pub fn at_length(
    snapshot: &Snapshot,
    pool: &Pool,
    batch: usize,
    duration: Duration,
) -> Option<MemoryReport> {
    let mut report = MemoryReport::new()?;
    let mut slots = vec![Slot::EMPTY; pool.requests.len()];
    restore(pool, &mut slots);
    let mut replies: Vec<Option<Vec<u8>>> = Vec::with_capacity(batch);
    let start = Instant::now();
    while start.elapsed() < duration || report.queries == 0 {
        for (nth, batch_of) in slots.chunks(batch).enumerate() {
            let (wall, cpu) = (Instant::now(), thread_cpu_time());
            replies.extend(batch_of.iter().map(|slot| slow_sa::respond(snapshot, slot)));
            report.cpu += thread_cpu_time() - cpu;
            let wall = wall.elapsed();
            report.wall += wall;
            report.latency.record(wall);
            report.queries += batch_of.len() as u64;
            for (index, reply) in (nth * batch..).zip(replies.drain(..)) {
                let is_right = pool.is_long_reply(index, index as u64, reply.as_deref());
                report.wrong += u64::from(!is_right);
            }
        }
    }
    Some(report)
}

/// What it costs to do no more than touch requests as an answer does: read two cache lines, write a
/// record. No cost of an answer can be below that. Units: ns of CPU time per request, the least of
/// so many passes.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub fn touch_floor(pool: &Pool, passes: u32) -> f64 {
    let mut slots = vec![Slot::EMPTY; pool.requests.len()];
    let mut least = Duration::MAX;
    for _ in 0..passes.max(1) {
        restore(pool, &mut slots);
        let begun = thread_cpu_time();
        touch(&mut slots);
        least = least.min(thread_cpu_time() - begun);
    }
    least.as_nanos() as f64 / slots.len().max(1) as f64
}

fn touch(slots: &mut [Slot]) {
    for slot in slots {
        let seen = slot
            .mad
            .iter()
            .step_by(64)
            .take(2)
            .fold(0, |all, byte| all ^ byte);
        if let Some(record) = slot.mad.get_mut(56..120) {
            record.fill(black_box(seen));
        }
    }
}
