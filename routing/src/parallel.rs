//! Work split over the cores. The split never shows in a result.
//!
//! Three shapes, by what the work is:
//!
//! | function | for | results |
//! |---|---|---|
//! | [`over_rows`] | filling a table, one row per switch | in the order of the rows |
//! | [`over_range`] | pieces of about equal cost | in the order of the range |
//! | [`over_queue`] | pieces of very different cost | in no order |
//!
//! Threads are scoped and end with the call: a pure crate leaves no pool behind, which is why this
//! is not rayon (ADR 20). The price is that threads start anew for each call, so small work gets
//! one thread only.
//!
//! A panic of a worker goes on in the caller, with its own message, and not as a failed join.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Splits a table of rows into runs of whole rows, works on the runs at the same time, and gives
/// the results in the order of the rows. `work` gets the number of its first row.
/// Rows are given out as memory that nobody else touches, so that threads need no lock and each
/// page is first touched by the thread that fills it.
pub(crate) fn over_rows<T, R, F>(table: &mut [T], row_len: usize, work: F) -> Vec<R>
where
    T: Send,
    R: Send,
    F: Fn(usize, &mut [T]) -> R + Sync,
{
    let rows = table.len().checked_div(row_len).unwrap_or(0);
    // At least one row each, also for an empty table: a chunk size of 0 would panic.
    let rows_each = rows.div_ceil(workers(table.len())).max(1);
    // Whole rows only: a run that ended within one would give two threads the same switch.
    let runs = table.chunks_mut((rows_each * row_len).max(1));
    thread::scope(|scope| {
        let work = &work;
        let handles: Vec<_> = (0..)
            .step_by(rows_each)
            .zip(runs)
            .map(|(first, run)| scope.spawn(move || work(first, run)))
            .collect();
        handles
            .into_iter()
            // Joined in the order in which they were started, which is that of the rows.
            .map(|handle| handle.join().unwrap_or_else(|e| resume_unwind(e)))
            .collect()
    })
}

/// Splits `0..count` into ranges, works on them at the same time, and gives the results in order.
/// `effort` is the size of the whole work in elementary steps.
/// The ranges are cut before anything starts; one that turns out dear keeps its thread while others
/// wait. Where that hurts, [`over_queue`] is the better shape.
pub(crate) fn over_range<R, F>(count: usize, effort: usize, work: F) -> Vec<R>
where
    R: Send,
    F: Fn(std::ops::Range<usize>) -> R + Sync,
{
    let each = count.div_ceil(workers(effort)).max(1);
    thread::scope(|scope| {
        let work = &work;
        let starts = (0..count).step_by(each);
        let handles: Vec<_> = starts
            .map(|start| scope.spawn(move || work(start..count.min(start + each))))
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|e| resume_unwind(e)))
            .collect()
    })
}

/// Lets every worker take pieces of `0..count` from a queue until none is left, and gives what the
/// workers made, in no order. Who gets which piece is chance, so it must not matter.
/// `effort` is the size of the whole work in elementary steps.
/// One result per worker, not per piece, so that workers can keep large state (a block of columns,
/// a graph) from piece to piece.
pub(crate) fn over_queue<R, F>(count: usize, effort: usize, work: F) -> Vec<R>
where
    R: Send,
    F: Fn(Queue<'_>) -> R + Sync,
{
    let next = AtomicUsize::new(0);
    let (work, next) = (&work, &next);
    thread::scope(|scope| {
        let handles: Vec<_> = (0..workers(effort))
            .map(|_| scope.spawn(move || work(Queue { next, count })))
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|e| resume_unwind(e)))
            .collect()
    })
}

/// Pieces of work for whoever asks next.
/// Shared by all workers of one call. Each piece comes out once.
pub(crate) struct Queue<'a> {
    next: &'a AtomicUsize,
    count: usize,
}

impl Iterator for Queue<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        // Relaxed: the number alone decides who gets a piece, and what pieces need was there before
        // the threads started. It cannot wrap: each worker goes past `count` once.
        let piece = self.next.fetch_add(1, Ordering::Relaxed);
        (piece < self.count).then_some(piece)
    }
}

/// One thread for small work, else one per core.
/// `effort` counts elementary steps, mostly table entries. Never more than 64, since each worker
/// has state of its own (a block of columns, a graph) that is paid as often.
fn workers(effort: usize) -> usize {
    // A quarter of a million steps for each thread: less is done sooner than threads are started.
    const WORTH_A_THREAD: usize = 1 << 18;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    cores.min(effort / WORTH_A_THREAD).clamp(1, 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_taken_once() {
        for effort in [1, 1 << 24] {
            let mut pieces: Vec<usize> =
                over_queue(1000, effort, |queue| queue.collect::<Vec<_>>())
                    .into_iter()
                    .flatten()
                    .collect();
            pieces.sort_unstable();
            assert_eq!(pieces, (0..1000).collect::<Vec<_>>());
        }
    }
}
