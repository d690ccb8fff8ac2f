//! Figures of several rounds. Units: ms.

use std::time::Duration;

/// With two digits behind the point.
///
/// Shape: ten microseconds are the last digit; what is finer is noise of a shared machine.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 1e2
}

/// Of an odd number of figures the middle one; none of none.
pub(crate) fn median(all: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = all.collect();
    // `total_cmp`: no NaN can come of durations, and a comparator that may panic has no place beside figures.
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// The smallest; none of none.
pub(crate) fn least(all: impl Iterator<Item = f64>) -> Option<f64> {
    all.reduce(f64::min)
}
