//! What was counted in the last hour, in pieces of ten minutes.
//!
//! ```text
//!  now 1:07      0:10  0:20  0:30  0:40  0:50  1:00   pieces; the seventh takes the place of the first
//!                 └──────────── 57 minutes ───────┘
//! ```
//!
//! So the hour has 50 to 60 minutes, and what is older leaves in steps.
//!
//! An hour is long enough to see a link that goes down twice in it, and to tell a rate of 1e-12 apart from chance (at 4x SDR that is 36
//! errors an hour), and short enough that a cable that was mended is seen to be so on the same shift. Pieces and not single events: a port
//! may count thousands of errors between two readings, and memory must not go with them.
//!
//! Nothing has to be done for time to pass: pieces know their number, and what is too old is not added up.

use std::time::Duration;

use crate::counters::ERRORS;

/// What is summed up: counters of errors, and behind them how often sweeps missed the link.
pub(crate) const SLOTS: usize = ERRORS + 1;
/// The slot of missed links.
pub(crate) const LOST: usize = ERRORS;

/// Sums of one port. Only those that have counted something need one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hour {
    /// A piece is at its number modulo their count.
    pieces: [[u32; SLOTS]; PIECES],
    /// Number of the newest piece that was written.
    newest: u64,
}

impl Hour {
    /// Counts. A slot that is none counts nothing.
    pub(crate) fn add(&mut self, slot: usize, by: u64, now: Duration) {
        let number = number(now);
        // Pieces that were skipped are empty.
        let first = (self.newest + 1).max(number.saturating_sub(LAST));
        for stale in first..=number {
            if let Some(piece) = self.pieces.get_mut(place(stale)) {
                *piece = [0; SLOTS];
            }
        }
        // Time that goes back counts for the newest piece.
        self.newest = self.newest.max(number);
        let piece = self.pieces.get_mut(place(self.newest));
        // 64 bits at a time, and 32 that are kept: more than four billion errors in ten minutes are as bad.
        if let Some(sum) = piece.and_then(|piece| piece.get_mut(slot)) {
            *sum = sum.saturating_add(u32::try_from(by).unwrap_or(u32::MAX));
        }
    }

    /// What was counted in the hour before `now`.
    pub(crate) fn sum(&self, slot: usize, now: Duration) -> u64 {
        let first = number(now).saturating_sub(LAST);
        let pieces = (first..=self.newest).filter_map(|number| self.pieces.get(place(number)));
        let sums = pieces.filter_map(|piece| piece.get(slot));
        sums.map(|sum| u64::from(*sum)).sum()
    }

    /// True where the hour has nothing.
    pub(crate) fn is_empty(&self, now: Duration) -> bool {
        (0..SLOTS).all(|slot| self.sum(slot, now) == 0)
    }
}

/// How much time the sums at `now` are of, for what is watched since `first`.
pub(crate) fn covered(first: Duration, now: Duration) -> Duration {
    let begins = PIECE * u32::try_from(number(now).saturating_sub(LAST)).unwrap_or(u32::MAX);
    now.saturating_sub(first.max(begins))
}

/// Of the piece that a time is in, counted from time 0.
fn number(at: Duration) -> u64 {
    at.as_secs() / PIECE.as_secs()
}

/// Where a piece is kept; the one six before was there.
fn place(number: u64) -> usize {
    usize::try_from(number % PIECES as u64).unwrap_or_default()
}

/// How many are kept, the one that goes on among them.
const PIECES: usize = 6;
/// The oldest piece is so many before the newest.
const LAST: u64 = PIECES as u64 - 1;
/// How long a piece is.
const PIECE: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_forgets_in_steps() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let mut hour = Hour::default();
        hour.add(0, 5, minutes(9));
        hour.add(0, 2, minutes(11));
        hour.add(LOST, 1, minutes(11));
        assert_eq!(hour.sum(0, minutes(59)), 7);
        assert_eq!(
            hour.sum(0, minutes(60)),
            2,
            "the first ten minutes are over"
        );
        assert!(!hour.is_empty(minutes(69)));
        assert!(hour.is_empty(minutes(70)));
        // A piece that comes again after hours begins with nothing.
        hour.add(0, 1, minutes(600));
        assert_eq!(hour.sum(0, minutes(600)), 1);
        assert_eq!(hour.sum(LOST, minutes(600)), 0);
        hour.add(SLOTS, 1, minutes(600));
        assert_eq!(covered(minutes(5), minutes(7)), minutes(2));
        assert_eq!(covered(minutes(5), minutes(125)), minutes(55));
    }
}
