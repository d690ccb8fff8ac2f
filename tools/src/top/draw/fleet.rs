//! The part of the daemon's host in its fleet, in a line: what it does, until when, and who asks
//! there.

use ratatui::text::Line;
use serde_json::Value;

use super::Shown;
use super::look::Tone;
use super::words::wrapped;
use crate::control::show::{age_of, number, text_of};
use crate::top::reading::Reading;

/// Nothing of a daemon that is of no fleet. On a narrow terminal it is more lines.
pub(super) fn fleet(shown: &Shown<'_>, reading: &Reading, width: usize) -> Vec<Line<'static>> {
    let Some(fleet) = reading.part("fleet") else {
        return Vec::new();
    };
    let tone = match fleet.get("answers") {
        Some(Value::Bool(false)) => Tone::Bad,
        _ => Tone::Plain,
    };
    let lines = wrapped(&words(fleet), width);
    let lines = lines
        .into_iter()
        .map(|text| shown.look.line(shown.tone(tone), text));
    lines.collect()
}

fn words(fleet: &Value) -> String {
    let word = |name: &str| text_of(fleet.get(name));
    let mut text = format!("fleet: {}, {}", word("role"), word("state"));
    if fleet.get("answers") == Some(&Value::Bool(false)) {
        text += ", NOBODY IS ANSWERED";
    }
    if let Some(ms) = number(fleet, "fresh_ms") {
        text += &format!(", fresh for {}", age_of(ms / 1000));
    }
    text += &format!(", announced {}", word("announced"));
    if let Some(children) = fleet.get("children").filter(|it| it.is_object()) {
        let word = |name: &str| text_of(children.get(name));
        text += &format!(
            "; hosts {}, fresh {}, connections {}, sent {}",
            word("count"),
            word("fresh"),
            word("connections"),
            number(children, "sent_bytes").map_or_else(|| "?".to_owned(), bytes)
        );
    }
    text
}

/// In units of 1,000.
fn bytes(number: u64) -> String {
    match number {
        0..10_000 => format!("{number} B"),
        10_000..10_000_000 => format!("{} kB", number / 1000),
        _ => format!("{} MB", number / 1_000_000),
    }
}
