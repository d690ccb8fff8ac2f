//! A day, as root files have it.

use core::fmt;
use std::str::FromStr;

use sa_fleet::root::date;
use sa_fleet::time::Wall;

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// A day of the calendar (UTC).
///
/// Units: days since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub u64);

/// No day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a day such as 2027-06-30")]
pub struct NoDay;

impl Day {
    /// The one of a moment.
    pub const fn of(wall: Wall) -> Self {
        Self(wall.0 / DAY)
    }

    /// Its first moment.
    pub const fn begins(self) -> Wall {
        Wall(self.0.saturating_mul(DAY))
    }

    /// So many days later.
    #[must_use]
    pub const fn after(self, days: u64) -> Self {
        Self(self.0.saturating_add(days))
    }
}

impl fmt::Display for Day {
    /// Shape: `2027-06-30`. Source: H. Hinnant, chrono-Compatible Low-Level Date Algorithms,
    /// `civil_from_days`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Years begin in March, so that the day that some have more is their last.
        let days = self.0.saturating_add(719_468);
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        let year = year_of_era + era * 400 + next;
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl FromStr for Day {
    type Err = NoDay;

    fn from_str(text: &str) -> Result<Self, NoDay> {
        date(text).map(Self::of).ok_or(NoDay)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::*;

    #[test]
    fn every_day_is_read_as_it_is_written() {
        assert_eq!(Day(20_999).to_string(), "2027-06-30");
        assert_eq!("1970-01-01".parse(), Ok(Day(0)));
        // To the last one of the year 9999.
        for days in 0..=2_932_896 {
            assert_eq!(Day(days).to_string().parse(), Ok(Day(days)));
        }
        for wrong in ["", "2027-02-29", "2027-6-30", "10000-01-01", "tomorrow"] {
            assert_eq!(wrong.parse::<Day>(), Err(NoDay), "{wrong}");
        }
    }
}
