//! The lines of the panes that are lists of sentences: findings and events; and the help.

use ratatui::text::Line;

use super::Shown;
use super::look::Tone;
use super::words::{age, wrapped};
use crate::control::show::age_of;
use crate::top::findings::{self, Finding};

/// What stands, with its remedy in full: it is what one looks for at night.
pub(super) fn findings(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let Some(reading) = &shown.model.reading else {
        return Vec::new();
    };
    let found = findings::all(reading);
    if found.is_empty() {
        return vec![shown.look.line(shown.tone(Tone::Good), "none")];
    }
    found
        .iter()
        .flat_map(|finding| of_finding(shown, finding, width))
        .collect()
}

/// Its title, then what belongs to it, indented.
fn of_finding(shown: &Shown<'_>, finding: &Finding, width: usize) -> Vec<Line<'static>> {
    let (tone, word) = match finding.is_fault {
        true => (Tone::Bad, "FAULT"),
        false => (Tone::Warn, "hint "),
    };
    let since = shown.model.aged(finding.age_s, shown.now);
    let since = since.map_or_else(String::new, |since| format!(", for {}", age_of(since)));
    let mut titles = wrapped(
        &format!("{}{since}", finding.title),
        width.saturating_sub(6),
    )
    .into_iter();
    let first = titles.next().unwrap_or_default();
    let mut lines = vec![Line::from(vec![
        shown.look.span(shown.tone(tone), word),
        shown
            .look
            .span(shown.tone(Tone::Plain), format!(" {first}")),
    ])];
    let more = finding
        .more
        .iter()
        .flat_map(|text| wrapped(text, width.saturating_sub(6)));
    for text in titles.chain(more) {
        lines.push(
            shown
                .look
                .line(shown.tone(Tone::Plain), format!("      {text}")),
        );
    }
    lines
}

/// What has happened, the newest first.
pub(super) fn events(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for event in shown.model.events.iter() {
        let tone = if event.is_bad {
            Tone::Warn
        } else {
            Tone::Plain
        };
        let ago = format!("{} ago", age(event.age(shown.now)));
        let mut texts = wrapped(&event.text, width.saturating_sub(18)).into_iter();
        let first = texts.next().unwrap_or_default();
        lines.push(Line::from(vec![
            shown.look.span(Tone::Dim, format!("{ago:>16}  ")),
            shown.look.span(tone, first),
        ]));
        lines.extend(texts.map(|text| shown.look.line(tone, format!("{:18}{text}", ""))));
    }
    lines
}

/// Keys and columns.
pub(super) const HELP: [&str; 20] = [
    "q, Esc, Ctrl-C    end",
    "Tab, left, right  the pane that has the keys: its title is reversed",
    "up, down          scroll it by a line; PgUp, PgDn by ten; Home, End",
    "p                 stand still, and go on; figures have their age meanwhile",
    "?                 this help; any key ends it",
    "",
    "All figures are the daemon's own. Rates are over the time between two",
    "readings (--every); a dash stands for none, as after a restart.",
    "",
    "busy       turns of the worker that found requests, of all its turns",
    "batch      requests to each turn that found any; 64 is a full one",
    "queries/s  requests taken from the port",
    "slow       requests given to the slow lane, which answers all but paths",
    "p50, p99   time of a batch since the start, with [workers] sample_every",
    "           on a wide terminal",
    "",
    "LATE       an answer is overdue; the figures are of the last one",
    "LOST       nobody answers any more; it is asked again and again",
    "Events are what changed while this runs, and what the first status",
    "told of the past. Programs read `sapphire status --json`.",
];
