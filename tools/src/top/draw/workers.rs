//! The pane of the workers: a line for each port.
//!
//! A pane is a list of lines, which `mod.rs` cuts and scrolls; so none knows how much room there is
//! but for its width.
//!
//! ```text
//!  #  port                 state    busy batch queries/s  answered refused dropped   slow       p50       p99
//!  0  umad mlx5_0 port 1   served    18%   4.1    124234    124200       0       0     34    2.3 us    9.2 us
//!                                                                                            where batches are sampled
//! ```

use ratatui::text::Line;
use serde_json::Value;

use super::Shown;
use super::look::Tone;
use super::words::{nanoseconds, percent, rate, tail};
use crate::control::show::{number, text_of};
use crate::top::rates::PortRates;
use crate::top::reading::Reading;

/// Columns of figures of a worker, with their widths.
const COLUMNS: [(&str, usize); 7] = [
    ("busy", 4),
    ("batch", 5),
    ("queries/s", 9),
    ("answered", 9),
    ("refused", 7),
    ("dropped", 7),
    ("slow", 6),
];

/// From this width on the times of batches have columns.
const WIDE: usize = 118;

/// Number and gap in front, state and gap behind the port. Units: columns.
const BESIDE: usize = 3 + 9;

/// Times of batches have two columns of this width, with their gaps.
const TIMES: usize = 2 * 10;

/// One line a port, and why it is away.
pub(super) fn workers(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let Some(reading) = &shown.model.reading else {
        return Vec::new();
    };
    let has_times = width >= WIDE && is_sampled(reading);
    let figures: usize = COLUMNS.iter().map(|(_, width)| width + 1).sum();
    let times = if has_times { TIMES } else { 0 };
    let place = width.saturating_sub(figures + times + BESIDE);
    let place = place.clamp(8, 40);
    let mut lines = vec![heads(shown, place, has_times)];
    for (nth, port) in reading.ports().iter().enumerate() {
        lines.push(of_port(shown, (nth, port), place, has_times));
        if let Some(why) = port.get("away").and_then(Value::as_str) {
            let tone = shown.tone(Tone::Bad);
            lines.push(shown.look.line(tone, format!("   away: {why}")));
        }
    }
    lines
}

/// Whether any port tells times of batches.
fn is_sampled(reading: &Reading) -> bool {
    let mut ports = reading.ports().iter();
    ports.any(|port| port.get("batch_ns").is_some_and(Value::is_object))
}

/// Names of the columns.
fn heads(shown: &Shown<'_>, place: usize, has_times: bool) -> Line<'static> {
    let mut text = format!("#  {:<place$} {:<8}", "port", "state");
    for (name, width) in COLUMNS {
        text += &format!(" {name:>width$}");
    }
    if has_times {
        text += &format!(" {:>9} {:>9}", "p50", "p99");
    }
    shown.look.line(Tone::Dim, text)
}

/// A port with the figures of its worker.
fn of_port(
    shown: &Shown<'_>,
    (nth, port): (usize, &Value),
    place: usize,
    has_times: bool,
) -> Line<'static> {
    let transport = text_of(port.get("transport"));
    let left = place.saturating_sub(transport.len() + 1);
    let name = format!("{transport} {}", tail(&text_of(port.get("place")), left));
    let (tone, state) = state(port);
    let mut figures = of_worker(shown, nth);
    if has_times {
        figures += &batch_times(port);
    }
    let plain = shown.tone(Tone::Plain);
    Line::from(vec![
        shown.look.span(plain, format!("{nth:<2} {name:<place$} ")),
        shown.look.span(shown.tone(tone), format!("{state:<8}")),
        shown.look.span(plain, figures),
    ])
}

/// In a word.
fn state(port: &Value) -> (Tone, &'static str) {
    let is = |name: &str| port.get(name) != Some(&Value::Bool(false));
    match (is("served"), is("attached")) {
        (false, _) => (Tone::Bad, "ENDED"),
        (true, false) => (Tone::Bad, "AWAY"),
        (true, true) => (Tone::Good, "served"),
    }
}

/// Its columns. Shape: as [`COLUMNS`].
fn of_worker(shown: &Shown<'_>, nth: usize) -> String {
    let rates = shown.model.rates.as_ref();
    let port = rates.and_then(|rates| rates.ports.get(nth).copied().flatten());
    let of = |field: fn(&PortRates) -> f64| rate(port.as_ref().map(field));
    let cells = [
        percent(port.and_then(|port| port.busy)),
        rate(port.and_then(|port| port.batch)),
        of(|port| port.received),
        of(|port| port.answered),
        of(|port| port.refused),
        of(|port| port.dropped),
        of(|port| port.punted),
    ];
    let cells = cells.iter().zip(COLUMNS);
    cells
        .map(|(cell, (_, width))| format!(" {cell:>width$}"))
        .collect()
}

/// Of batches since the start, where they are sampled.
fn batch_times(port: &Value) -> String {
    let times = port
        .get("batch_ns")
        .filter(|times| number(times, "samples").is_some_and(|samples| samples > 0));
    let of = |name: &str| {
        let time = times.and_then(|times| number(times, name));
        time.map_or_else(|| "-".to_owned(), nanoseconds)
    };
    format!(" {:>9} {:>9}", of("p50"), of("p99"))
}
