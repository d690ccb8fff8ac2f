//! Clocks of a host, and true time, which only the oracle knows.

use sa_fleet::time::{Boot, Now, Wall};

/// True time. Units: nanoseconds.
pub(crate) type Time = u64;

/// Nanoseconds of a millisecond.
pub(crate) const MS: Time = 1_000_000;
/// Nanoseconds of a second.
pub(crate) const SECOND: Time = 1_000 * MS;
/// What the wall clock says at the beginning: some day in 2026.
const DAY: i64 = 1_795_000_000_000;

/// Both clocks of a host.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// What the boot clock says at the beginning.
    pub(crate) start: Time,
    /// How much faster than true time it runs. Units: parts per million.
    pub(crate) ppm: i64,
    /// By how much the wall clock is ahead. Units: ms.
    pub(crate) wall_ahead: i64,
    /// True time that the boot clock did not count, where it is broken.
    pub(crate) lost: Time,
}

impl Clock {
    /// What both say at a true time.
    pub(crate) fn at(&self, time: Time) -> Now {
        let counted = time.saturating_sub(self.lost);
        let drift = i128::from(counted) * i128::from(self.ppm) / 1_000_000;
        let boot = i128::from(self.start) + i128::from(counted) + drift;
        let true_ms = i64::try_from(time / MS).unwrap_or(i64::MAX);
        let wall = DAY + true_ms + self.wall_ahead;
        Now {
            boot: Boot(u64::try_from(boot).unwrap_or(0)),
            wall: Wall(u64::try_from(wall).unwrap_or(0)),
        }
    }

    /// The first true time at which the boot clock says this.
    pub(crate) fn when(&self, boot: Boot) -> Time {
        if boot == Boot::ALWAYS {
            return Time::MAX;
        }
        if boot.0 <= self.start {
            return 0;
        }
        let counted = i128::from(boot.0.saturating_sub(self.start));
        let rate = 1_000_000 + i128::from(self.ppm);
        let time = (counted * 1_000_000 + rate - 1) / rate;
        let mut time = u64::try_from(time)
            .unwrap_or(Time::MAX)
            .saturating_add(self.lost);
        // Rounding of both directions.
        while self.at(time).boot < boot {
            time += 1;
        }
        while time > self.lost && self.at(time - 1).boot >= boot {
            time -= 1;
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_at_which_a_clock_says_something_is_found() {
        for ppm in [-20_000, -500, 0, 1, 500, 20_000] {
            let clock = Clock {
                start: 77 * SECOND,
                ppm,
                wall_ahead: 0,
                lost: 3,
            };
            for time in [4, 5, 1_000_003, 100 * SECOND + 17] {
                let boot = clock.at(time).boot;
                let first = clock.when(boot);
                assert!(first <= time && clock.at(first).boot == boot);
                assert!(clock.at(first - 1).boot < boot, "{ppm}, {time}");
            }
        }
    }
}
