//! Times on the command line: a number and its unit.
//!
//! ```text
//! 500ms  2s  1m  12h  30d        2000: in the unit that the option had before times had units
//! ```
//!
//! All verbs read times here, so that `--timeout 2s` is the same with each.

use core::ops::RangeInclusive;
use core::time::Duration;

use crate::wrong::Wrong;

/// A second.
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A day, longer than anybody waits.
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// Units, and how many milliseconds they have.
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Milliseconds alone. A number without a unit counts them, which is how long answers of an SA are
/// waited for.
pub(crate) fn milliseconds(text: &str) -> Result<Duration, Wrong> {
    within(text, Some(1), Duration::from_millis(1)..=DAY)
}

/// The same where a number without a unit counts seconds, as for answers of a daemon.
pub(crate) fn seconds(text: &str) -> Result<Duration, Wrong> {
    within(text, Some(1000), Duration::from_millis(1)..=DAY)
}

/// A time between two others. `bare`: milliseconds that a number without a unit counts; none: there
/// is always a unit.
///
/// Errors: no such time, in words.
pub(crate) fn within(
    text: &str,
    bare: Option<u64>,
    bounds: RangeInclusive<Duration>,
) -> Result<Duration, Wrong> {
    let time = read(text, bare).filter(|time| bounds.contains(time));
    time.ok_or_else(|| {
        let (least, most) = (words(*bounds.start()), words(*bounds.end()));
        Wrong::from(format!(
            "expected a number and ms, s, m, h or d, such as 500ms or 2s, from {least} to {most}"
        ))
    })
}

fn read(text: &str, bare: Option<u64>) -> Option<Duration> {
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits)?;
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let factor = match unit {
        "" => bare?,
        _ => known?.1,
    };
    // A sign would be taken by the parser.
    if !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(factor).map(Duration::from_millis)
}

/// In the largest unit that it has a whole number of.
pub(crate) fn words(time: Duration) -> String {
    let ms = time.as_millis();
    let whole = UNITS
        .iter()
        .rev()
        .find(|(_, factor)| ms.is_multiple_of(u128::from(*factor)));
    let (unit, factor) = whole.copied().unwrap_or(("ms", 1));
    format!("{}{unit}", ms / u128::from(factor))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::*;

    #[test]
    fn times_have_units_and_bounds() {
        for (text, ms) in [
            ("500ms", 500),
            ("2s", 2000),
            ("3m", 180_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            ("7", 7),
        ] {
            assert_eq!(milliseconds(text).unwrap().as_millis(), ms, "{text}");
        }
        assert_eq!(seconds("7").unwrap(), Duration::from_secs(7));
        for wrong in [
            "",
            "s",
            "0",
            "0s",
            "2d",
            "1w",
            "1hh",
            "-1s",
            "+1s",
            "1.5s",
            "1 s",
            "99999999999999999999ms",
            "1\u{b5}s",
        ] {
            let words = milliseconds(wrong).unwrap_err().to_string();
            assert!(words.contains("from 1ms to 1d"), "{wrong:?}: {words}");
        }
        assert!(within("30", None, SECOND..=DAY).is_err());
        assert!(within("500ms", None, SECOND..=DAY).is_err());
    }

    #[test]
    fn times_are_told_in_whole_units() {
        for (ms, said) in [
            (1, "1ms"),
            (1500, "1500ms"),
            (2000, "2s"),
            (60_000, "1m"),
            (86_400_000, "1d"),
        ] {
            assert_eq!(words(Duration::from_millis(ms)), said);
        }
    }
}
