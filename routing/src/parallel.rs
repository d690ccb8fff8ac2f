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
//! none: who calls does it. A plan for a small fabric is dozens of such calls, and on a busy host each thread would
//! wait for its turn before it began. Of larger work who calls does the last piece, rather than wait for all.
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
    let firsts = (0..).step_by(rows_each);
    at_once(firsts.zip(runs), |(first, run)| work(first, run))
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
    let starts = (0..count).step_by(each);
    at_once(starts, |start| work(start..count.min(start + each)))
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
    let next = &next;
    at_once(0..workers(effort), |_| work(Queue { next, count }))
}

/// Works on all pieces at the same time, the last of them on the thread that calls. Results are in the order of the pieces.
fn at_once<P: Send, R: Send>(
    pieces: impl Iterator<Item = P>,
    work: impl Fn(P) -> R + Sync,
) -> Vec<R> {
    let mut pieces: Vec<P> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return Vec::new();
    };
    if pieces.is_empty() {
        return vec![work(last)];
    }
    thread::scope(|scope| {
        let work = &work;
        let spawned = pieces
            .into_iter()
            .map(|piece| scope.spawn(move || work(piece)));
        // All of them run before the last piece is begun here.
        let handles: Vec<_> = spawned.collect();
        let last = work(last);
        handles
            .into_iter()
            // Joined in the order in which they were started, which is that of the pieces.
            .map(|handle| handle.join().unwrap_or_else(|e| resume_unwind(e)))
            .chain([last])
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
    let most = effort / WORTH_A_THREAD;
    // Not asked for small work: it reads the files of control groups.
    let cores = match most {
        0 | 1 => 1,
        _ => thread::available_parallelism().map_or(1, usize::from),
    };
    cores.min(most).clamp(1, 64)
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

    #[test]
    fn results_are_in_the_order_of_the_pieces() {
        for effort in [1, 1 << 24] {
            let ranges = over_range(1000, effort, |range| range);
            let flat: Vec<usize> = ranges.into_iter().flatten().collect();
            assert_eq!(flat, (0..1000).collect::<Vec<_>>());
        }
        assert!(over_range(0, 1 << 24, |range| range).is_empty());
        let mut table = vec![0; 1 << 20];
        let firsts = over_rows(&mut table, 1 << 10, |first, rows| {
            rows.fill(first);
            first
        });
        assert!(firsts.is_sorted() && firsts.first() == Some(&0));
        assert!(table.iter().is_sorted());
    }

    #[test]
    fn small_work_is_done_by_who_calls() {
        let caller = thread::current().id();
        let threads = over_range(10, 10, |_| thread::current().id());
        assert_eq!(threads, [caller]);
    }

    #[test]
    #[should_panic(expected = "of the last piece")]
    fn a_panic_of_the_last_piece_goes_on_too() {
        at_once(0..3, |piece| assert_ne!(piece, 2, "of the last piece"));
    }
}
