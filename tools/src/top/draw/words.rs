//! Numbers and lines in the width that there is.

use std::time::Duration;

use crate::control::show::age_of;

/// A rate. Shape: whole, but for less than 10; a dash where there is none.
pub(crate) fn rate(rate: Option<f64>) -> String {
    match rate {
        None => "-".to_owned(),
        Some(rate) if rate > 0.0 && rate < 9.95 => format!("{rate:.1}"),
        Some(rate) => format!("{rate:.0}"),
    }
}

/// A part of 1 in percent. A little is not nothing.
pub(crate) fn percent(part: Option<f64>) -> String {
    match part {
        None => "-".to_owned(),
        Some(part) if part > 0.0 && part < 0.005 => "<1%".to_owned(),
        Some(part) => format!("{:.0}%", part * 100.0),
    }
}

/// An age in its two largest units.
pub(crate) fn age(age: Duration) -> String {
    age_of(age.as_secs())
}

/// A time of nanoseconds with a unit.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn nanoseconds(ns: u64) -> String {
    match ns {
        ..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// The end of a text where it is too long: of a path the end tells more than the beginning.
pub(crate) fn tail(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - width.saturating_sub(2)).collect();
    format!("..{end}")
}

/// The beginning of a text where it is too long.
pub(crate) fn head(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let begin: String = text.chars().take(width.saturating_sub(2)).collect();
    format!("{begin}..")
}

/// Lines of at most so many characters, broken at spaces; a longer word is broken within. Shape: at
/// least one line.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    // Names come from devices, and may hold anything.
    for word in text.split_whitespace() {
        let word: Vec<char> = word.chars().filter(|it| !it.is_control()).collect();
        for (nth, piece) in word.chunks(width).enumerate() {
            let gap = usize::from(used > 0 && nth == 0);
            if used + gap + piece.len() > width {
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                let gap = usize::from(used > 0 && nth == 0);
                line.extend(core::iter::repeat_n(' ', gap));
                line.extend(piece);
                used += gap + piece.len();
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_say_when_there_is_none() {
        let rates = [None, Some(0.0), Some(0.25), Some(9.96), Some(1_234_567.8)];
        assert_eq!(rates.map(rate), ["-", "0", "0.2", "10", "1234568"]);
        let parts = [None, Some(0.0), Some(0.001), Some(0.5), Some(1.0)];
        assert_eq!(parts.map(percent), ["-", "0%", "<1%", "50%", "100%"]);
        assert_eq!(
            [999, 1500, 2_000_000].map(nanoseconds),
            ["999 ns", "1.5 us", "2.0 ms"]
        );
    }

    #[test]
    fn lines_are_broken_at_spaces_and_long_words_within() {
        assert_eq!(wrapped("reseat the cable", 10), ["reseat the", "cable"]);
        assert_eq!(wrapped("0123456789abc d", 10), ["0123456789", "abc d"]);
        assert_eq!(wrapped("", 10), [""]);
        assert_eq!(wrapped("ab", 0), ["a", "b"]);
        assert_eq!(wrapped("a\u{1b}[31mb", 10), ["a[31mb"]);
        assert_eq!(tail("/run/sapphire/control", 9), "..control");
        assert_eq!(tail("ring", 9), "ring");
        assert_eq!(
            [head("NodeRecord", 9), head("NodeRecord", 10)],
            ["NodeRec..", "NodeRecord"]
        );
    }
}
