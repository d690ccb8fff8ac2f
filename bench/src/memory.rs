//! MAD in, MAD out in memory, without a port.
//!
//! No ring and no second thread: the answer path alone, on the calling thread, as the worker calls
//! it for a batch. Of all figures this one has the least in it besides the code that answers.
//!
//! ```text
//! a round:  write requests   answer (timed: CPU, wall)    compare
//!           write requests   null records (timed: CPU)
//!           write requests   answer (timed batch by batch) compare
//! ```
//!
//! Answers overwrite their requests, hence the writing before each. The first round is thrown away:
//! it brings tables and code into the caches.

use core::hint::black_box;
use std::time::{Duration, Instant};

use sa_answer::whole;
use sa_answer::{Outcome, answer_all};
use sa_snapshot::Snapshot;
use sa_wire::mad::DecodeError;
use sa_wire::umad::Slot;
use thiserror::Error;

use crate::clock::thread_cpu_time;
use crate::fresh::Passes;
use crate::latency::Latency;
use crate::null::null_records;
use crate::pace::Span;
use crate::pool::Pool;

/// What was seen.
///
/// CPU time of answers and of null records are of the same number of requests.
#[derive(Debug, Clone)]
pub struct MemoryReport {
    /// Requests answered in the time that is counted.
    pub queries: u64,
    /// Replies that were not exactly as expected, at any time.
    pub wrong: u64,
    /// CPU time of the serving thread.
    pub cpu: Duration,
    /// The same for as many null records, in the same passes.
    pub null_cpu: Duration,
    /// Wall time.
    pub wall: Duration,
    /// From the start of a batch to its last reply.
    pub latency: Latency,
}

/// Why nothing was measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// No memory for a histogram.
    #[error("no memory for a histogram")]
    NoHistogram,
    /// A request could not be drawn.
    #[error(transparent)]
    Draw(#[from] DecodeError),
}

impl MemoryReport {
    fn new() -> Result<Self, MemoryError> {
        Ok(Self {
            queries: 0,
            wrong: 0,
            cpu: Duration::ZERO,
            null_cpu: Duration::ZERO,
            wall: Duration::ZERO,
            latency: Latency::new().ok_or(MemoryError::NoHistogram)?,
        })
    }
}

/// Answers requests in place on the calling thread, pass by pass, for about the span and at least
/// once. Requests are written and replies compared between passes, outside the time that counts.
///
/// Passes for the cost, for that of the null record and for the latency of batches take turns: what
/// disturbs one disturbs the others, and reading the clock for each batch is not booked as
/// answering. Shape: `batch` is not 0. Errors: [`MemoryError`].
pub fn in_place(
    snapshot: &Snapshot,
    passes: &mut Passes<'_>,
    batch: usize,
    span: impl Into<Span>,
) -> Result<MemoryReport, MemoryError> {
    let (mut report, span) = (MemoryReport::new()?, span.into());
    let mut slots = Vec::new();
    let start = Instant::now();
    // The first pass warms up, and touches everything.
    for nth in 0_u64.. {
        passes.next(|pool| {
            slots.resize(pool.requests.len(), Slot::EMPTY);
            round(snapshot, pool, batch, (&mut slots, &mut report));
        })?;
        if nth == 0 {
            // A wrong reply of the warm-up counts: it is as wrong.
            report = MemoryReport {
                wrong: report.wrong,
                ..MemoryReport::new()?
            };
        } else if span.is_over(start) {
            break;
        }
    }
    Ok(report)
}

/// A pass of each kind.
///
/// Latency has a pass of its own, as reading the clock per batch would be booked as answering.
fn round(
    snapshot: &Snapshot,
    pool: &Pool,
    batch: usize,
    (slots, report): (&mut [Slot], &mut MemoryReport),
) {
    restore(pool, slots);
    let (wall, cpu) = (Instant::now(), thread_cpu_time());
    for batch in slots.chunks_mut(batch) {
        answer_in_place(snapshot, batch);
    }
    report.cpu += thread_cpu_time() - cpu;
    report.wall += wall.elapsed();
    report.queries += slots.len() as u64;
    report.wrong += wrong(pool, slots);

    restore(pool, slots);
    report.null_cpu += null_cpu(slots, batch);

    restore(pool, slots);
    for batch in slots.chunks_mut(batch) {
        let begun = Instant::now();
        answer_in_place(snapshot, batch);
        report.latency.record(begun.elapsed());
    }
    report.wrong += wrong(pool, slots);
}

/// CPU time of the null record for these requests.
fn null_cpu(slots: &mut [Slot], batch: usize) -> Duration {
    let begun = thread_cpu_time();
    for batch in slots.chunks_mut(batch) {
        // Else the whole pass could be left out by the compiler: nobody reads it.
        null_records(black_box(batch));
    }
    thread_cpu_time() - begun
}

/// Transaction ids are the places, so that a reply in the wrong slot is seen.
fn restore(pool: &Pool, slots: &mut [Slot]) {
    for (index, slot) in slots.iter_mut().enumerate() {
        pool.write(index, index as u64, slot);
    }
}

/// Answers a batch where it lies; the length of each reply is set, 0 where there is none.
///
/// As the worker does with what a port handed it, so that cost per query is the worker's.
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

/// A reply of length 0 is right only where silence is expected.
fn wrong(pool: &Pool, slots: &[Slot]) -> u64 {
    let all = slots.iter().enumerate();
    let is_wrong = |(index, slot): &(usize, &Slot)| match slot.header.length {
        0 => !pool.may_be_silent(*index, (0, 0)),
        _ => !pool.is_right(*index, *index as u64, (0, 0), slot),
    };
    all.filter(is_wrong).count() as u64
}

/// Answers the pool on the calling thread by the function of the slow lane, which makes replies of
/// any length. Otherwise as [`in_place`], with both measured in every pass; the requests are the
/// same again, and null records as many as do not stay in a cache. Errors: [`MemoryError`].
#[expect(clippy::cast_precision_loss, reason = "few")]
pub fn at_length(
    snapshot: &Snapshot,
    pool: &Pool,
    batch: usize,
    span: impl Into<Span>,
) -> Result<MemoryReport, MemoryError> {
    let (mut report, span) = (MemoryReport::new()?, span.into());
    let mut slots = vec![Slot::EMPTY; pool.requests.len()];
    restore(pool, &mut slots);
    // Few and long requests would lie in the cache, and their null record would cost nothing.
    let mut nulls: Vec<Slot> = slots.iter().copied().cycle().take(NULL_SLOTS).collect();
    let mut replies: Vec<Option<Vec<u8>>> = Vec::with_capacity(batch);
    let start = Instant::now();
    while !span.is_over(start) || report.queries == 0 {
        for (nth, batch_of) in slots.chunks(batch).enumerate() {
            let (wall, cpu) = (Instant::now(), thread_cpu_time());
            // Into memory that is there: freeing and comparing are outside the time.
            replies.extend(batch_of.iter().map(|slot| whole::respond(snapshot, slot)));
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
        // Brought to as many null records as there were queries.
        let share = slots.len() as f64 / nulls.len().max(1) as f64;
        report.null_cpu += null_cpu(&mut nulls, batch).mul_f64(share);
    }
    Ok(report)
}

/// Requests of a pass of null records, where those of the workload are few: as many as do not stay
/// in a cache.
const NULL_SLOTS: usize = 65_536;
