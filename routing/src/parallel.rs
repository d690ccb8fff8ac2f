//! Work split over the cores. The split never shows in a result.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Splits a table of rows into runs of whole rows, works on the runs at the same time, and gives
/// the results in the order of the rows. `work` gets the number of its first row.
pub(crate) fn over_rows<T, R, F>(table: &mut [T], row_len: usize, work: F) -> Vec<R>
where
    T: Send,
    R: Send,
    F: Fn(usize, &mut [T]) -> R + Sync,
{
    let rows = table.len().checked_div(row_len).unwrap_or(0);
    let rows_each = rows.div_ceil(workers(table.len())).max(1);
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
            .map(|handle| handle.join().unwrap_or_else(|e| resume_unwind(e)))
            .collect()
    })
}

/// Splits `0..count` into ranges, works on them at the same time, and gives the results in order.
/// `effort` is the size of the whole work in elementary steps.
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
pub(crate) struct Queue<'a> {
    next: &'a AtomicUsize,
    count: usize,
}

impl Iterator for Queue<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let piece = self.next.fetch_add(1, Ordering::Relaxed);
        (piece < self.count).then_some(piece)
    }
}

/// One thread for small work, else one per core.
fn workers(effort: usize) -> usize {
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
