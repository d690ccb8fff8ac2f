//! Numbers, times and names as people read them.
//!
//! Names come from devices, over the wire: they may have any bytes. Markup in them is text by the
//! macro that writes documents; what would change how text around it looks (control characters,
//! changes of direction) is replaced here.

use form_urlencoded::byte_serialize;

/// What a device calls itself, without what harms a page or a terminal.
///
/// Replaced by U+FFFD: control characters, and those that turn the direction of writing, which
/// could make one name look like another.
pub fn name_of(description: &str) -> String {
    let clean = |c: char| match c {
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        c => c,
    };
    let name: String = description.chars().map(clean).collect();
    match name.trim().is_empty() {
        true => "(no name)".to_owned(),
        false => name,
    }
}

/// A value of an address, as `%22` for `"`.
pub fn escaped(value: &str) -> String {
    byte_serialize(value.as_bytes()).collect()
}

/// How long, in the two largest units: `412 s` is `6 min 52 s`. Units: seconds.
pub fn age(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {} s", seconds % 60),
        3600..86400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// With commas between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 host`, `2 hosts`, `3 switches`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    let plural = match (number, what.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", count(number as u64))
}

/// Per second; a dash before there are two readings.
pub(crate) fn rate(per_second: Option<f64>) -> String {
    // More than any port takes is no rate; less than 0 neither.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate of requests"
    )]
    let whole = |rate: f64| count(rate.max(0.0).round() as u64);
    match per_second {
        None => "–".to_owned(),
        Some(rate) if rate > 0.0 && rate < 10.0 => format!("{rate:.1}"),
        Some(rate) => whole(rate),
    }
}

/// In units of 1,000.
pub(crate) fn bytes(number: usize) -> String {
    match number {
        0..10_000 => format!("{number} B"),
        10_000..10_000_000 => format!("{} kB", number / 1000),
        _ => format!("{} MB", number / 1_000_000),
    }
}

/// A moment, as `2026-11-28 04:10:00 UTC`. Units: seconds since 1970.
pub fn unix(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400, seconds % 86400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day of a day since 1970. Source: H. Hinnant, chrono-Compatible Low-Level Date
/// Algorithms, `civil_from_days`.
const fn date(days: u64) -> (u64, u64, u64) {
    // Years begin in March, so that the day that some have more is their last.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (
        era * 400 + year,
        if month < 10 { month + 3 } else { month - 9 },
    );
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_by_the_calendar() {
        for (seconds, words) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_795_838_400, "2026-11-28 04:00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(unix(seconds), words);
        }
    }

    #[test]
    fn numbers_are_told_as_people_read_them() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [0, 59, 60, 3600, 86_400 * 3].map(age),
            ["0 s", "59 s", "1 min 0 s", "1 h 0 min", "3 d 0 h"]
        );
        assert_eq!(counted(1, "switch"), "1 switch");
        assert_eq!(counted(2000, "switch"), "2,000 switches");
        assert_eq!(
            [None, Some(0.0), Some(2.5), Some(12_345.6)].map(rate),
            ["–", "0", "2.5", "12,346"]
        );
        assert_eq!(
            [5, 20_000, 30_000_000].map(bytes),
            ["5 B", "20 kB", "30 MB"]
        );
    }

    #[test]
    fn names_keep_what_is_harmless() {
        assert_eq!(name_of("Mellanox ü 交換機 <b>"), "Mellanox ü 交換機 <b>");
        assert_eq!(name_of("a\u{202e}b\0c\n"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert_eq!(name_of(" \t"), " \u{fffd}");
        assert_eq!(name_of("  "), "(no name)");
        assert_eq!(escaped("a b\"<&/é"), "a+b%22%3C%26%2F%C3%A9");
    }
}
