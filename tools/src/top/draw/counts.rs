//! The panes of what became of requests, and of what was asked for: a line for each kind, with its
//! rate and its count.

use ratatui::text::Line;

use super::Shown;
use super::look::Tone;
use super::words::{head, rate};
use crate::control::show::number;
use crate::top::reading::PortCounts;

/// What became of requests: all ports together, by rate.
pub(super) fn answers(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let Some(reading) = &shown.model.reading else {
        return Vec::new();
    };
    let rates = shown
        .model
        .rates
        .as_ref()
        .map(|rates| rates.answers.as_slice());
    let rows = reading
        .answers()
        .into_iter()
        .map(|((what, reason), count)| {
            let key = (what, reason);
            let rate = rates.and_then(|rates| {
                rates
                    .iter()
                    .find(|(known, _)| *known == key)
                    .map(|(_, rate)| *rate)
            });
            let (what, reason) = key;
            (
                format!("{what} {reason}").trim_end().to_owned(),
                rate,
                count,
            )
        });
    counted(shown, "what", rows.collect(), width)
}

/// What was asked for. Workers count no attributes, as they answer paths alone; the slow lane
/// counts what it gets.
pub(super) fn attributes(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let Some(reading) = &shown.model.reading else {
        return Vec::new();
    };
    let rates = shown.model.rates.as_ref();
    let paths: u64 = reading
        .ports()
        .iter()
        .map(|port| PortCounts::of(port).answered)
        .sum();
    let path_rate = rates.map(|rates| rates.ports.iter().flatten().map(|port| port.answered).sum());
    let mut rows = vec![("paths (workers)".to_owned(), path_rate, paths)];
    for (name, count) in reading.lane() {
        let rate = rates.and_then(|rates| rates.lane.iter().find(|(known, _)| *known == name));
        rows.push((name.clone(), rate.map(|(_, rate)| *rate), count));
    }
    let mut lines = counted(shown, "attribute", rows, width);
    if let Some(lane) = reading.part("slow_lane") {
        let given_up = ["late", "beyond_share"].map(|name| number(lane, name).unwrap_or(0));
        if given_up != [0, 0] {
            let [late, beyond] = given_up;
            lines.push(shown.look.line(
                Tone::Warn,
                format!("slow lane gave up: {late} late, {beyond} beyond their share"),
            ));
        }
    }
    lines
}

/// Name, rate, and count since the start: the first as it is, the others by rate, then by count.
fn counted(
    shown: &Shown<'_>,
    title: &str,
    mut rows: Vec<(String, Option<f64>, u64)>,
    width: usize,
) -> Vec<Line<'static>> {
    if let Some((_, others)) = rows.split_first_mut() {
        others.sort_by(|one, other| {
            let key = |row: &(String, Option<f64>, u64)| (row.1.unwrap_or(0.0), row.2);
            let ((rate, count), (other_rate, other_count)) = (key(one), key(other));
            other_rate.total_cmp(&rate).then(other_count.cmp(&count))
        });
    }
    let name = width.saturating_sub(10 + 12).clamp(8, 44);
    let mut lines = vec![shown.look.line(
        Tone::Dim,
        format!("{title:<name$} {:>9} {:>11}", "a second", "in all"),
    )];
    lines.extend(rows.into_iter().map(|(what, per_second, count)| {
        let text = format!(
            "{:<name$} {:>9} {count:>11}",
            head(&what, name),
            rate(per_second)
        );
        shown.look.line(shown.tone(Tone::Plain), text)
    }));
    lines
}
