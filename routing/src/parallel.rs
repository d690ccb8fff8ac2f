//! Work split over the cores. The split never shows in a result.

use std::panic::resume_unwind;
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

/// One thread for small work, else one per core.
fn workers(effort: usize) -> usize {
    const WORTH_A_THREAD: usize = 1 << 18;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    cores.min(effort / WORTH_A_THREAD).clamp(1, 64)
}
