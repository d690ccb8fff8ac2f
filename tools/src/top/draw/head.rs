//! The first lines: whether the daemon is there and of when the figures are; who it is; what it
//! serves.

use ratatui::text::Line;

use super::Shown;
use super::look::Tone;
use super::words::{age, wrapped};
use crate::control::show::{age_of, number, text_of};
use crate::top::model::{Model, Standing};
use crate::top::reading::Reading;

/// Shape: one line to six, so that a small screen has room for more.
pub(super) fn lines(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let mut lines = standing(shown, width);
    if let Some(reading) = &shown.model.reading {
        let tone = shown.tone(Tone::Plain);
        lines.push(shown.look.line(tone, who(shown, reading)));
        lines.push(served(shown, reading));
    }
    lines
}

/// What must not be missed: figures that are not of now, and why they are not.
fn standing(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let (look, model) = (shown.look, shown.model);
    let standing = model.standing(shown.now);
    if shown.view.is_paused {
        let of = model
            .reading
            .as_ref()
            .map(|reading| shown.now.saturating_duration_since(reading.at));
        let of = of.map_or_else(String::new, |of| {
            format!(", the figures are {} old; p goes on", age(of))
        });
        return vec![Line::from(vec![
            look.span(Tone::Bad, "PAUSED"),
            look.span(Tone::Warn, of),
        ])];
    }
    let (tone, word) = match standing {
        Standing::Waiting => (Tone::Warn, "ASKING"),
        Standing::Absent { .. } => (Tone::Bad, "ABSENT"),
        Standing::Live => (Tone::Good, "LIVE"),
        Standing::Late { .. } => (Tone::Warn, "LATE"),
        Standing::Lost { .. } => (Tone::Bad, "LOST"),
    };
    let text = format!(" {}", in_words(standing, model));
    let mut lines = vec![Line::from(vec![
        look.span(tone, word),
        look.span(Tone::Plain, text),
    ])];
    if let Standing::Absent { why, .. } | Standing::Lost { why, .. } = standing {
        let why = wrapped(why, width).into_iter().take(3);
        lines.extend(why.map(|text| look.line(Tone::Plain, text)));
    }
    lines
}

/// What stands behind the word.
fn in_words(standing: Standing<'_>, model: &Model) -> String {
    let place = &model.place;
    match standing {
        Standing::Waiting => place.clone(),
        Standing::Absent { since, .. } => {
            format!("no daemon at {place} for {}; trying again", age(since))
        }
        Standing::Live => format!("{place}, every {:?}", model.every),
        Standing::Late { age: of } => format!("no answer yet; the figures are {} old", age(of)),
        Standing::Lost { since, age: of, .. } => {
            format!(
                "no daemon for {}; the figures are {} old; trying again",
                age(since),
                age(of)
            )
        }
    }
}

/// Version, process, role.
fn who(shown: &Shown<'_>, reading: &Reading) -> String {
    let up = shown.model.aged(Some(reading.uptime()), shown.now);
    // A daemon that is gone is not up any more.
    let up = match shown.is_current() {
        true => up.map_or_else(|| "?".to_owned(), age_of),
        false => age_of(reading.uptime()),
    };
    format!(
        "daemon {}, process {}, up {up}, role {}, loads {}, failed {}{}",
        reading.word("version"),
        reading.word("pid"),
        reading.word("role"),
        reading.word("loads"),
        reading.word("failed_loads"),
        number(&reading.status, "loading_s").map_or_else(String::new, |seconds| format!(
            ", one under way for {seconds} s"
        ))
    )
}

/// Whether it is ready, and what it answers from.
fn served(shown: &Shown<'_>, reading: &Reading) -> Line<'static> {
    let is_ready = reading
        .status
        .get("not_ready")
        .is_none_or(serde_json::Value::is_null);
    let (tone, word) = match is_ready {
        true => (Tone::Good, "ready"),
        false => (Tone::Bad, "NOT READY"),
    };
    let text = match reading.part("snapshot") {
        Some(snapshot) => {
            let word = |name: &str| text_of(snapshot.get(name));
            let age = shown.model.aged(number(snapshot, "age_s"), shown.now);
            format!(
                ", epoch {}, {} old; switches {}, hosts {}, engine {}",
                word("epoch"),
                age.map_or_else(|| "?".to_owned(), age_of),
                word("switches"),
                word("hosts"),
                word("engine")
            )
        }
        None => ", no snapshot: requests are dropped".to_owned(),
    };
    Line::from(vec![
        shown.look.span(shown.tone(tone), word),
        shown.look.span(shown.tone(Tone::Plain), text),
    ])
}
