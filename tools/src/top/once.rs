//! `sapphire top --once`: one frame as text, or as a picture, for scripts and for letters to
//! others.
//!
//! Rates need two readings, so that it takes `--every`. The frame is as high as all that there is,
//! and as wide as the terminal, or [`WIDTH`] where there is none.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::crossterm::terminal;
use ratatui::layout::Rect;
use ratatui::text::Span;
use sa_fabric::outlet::{self, Readers};

use super::asker::Asker;
use super::draw::look::Look;
use super::draw::{Shown, draw, height_of_all};
use super::events::Events;
use super::model::Model;
use super::svg;
use super::view::View;
use crate::failure::Outcome;
use crate::inputs::or_fail;
use crate::output;

/// Columns where nobody says how many there are.
const WIDTH: u16 = 100;

/// Rows of a picture at most, as of a large terminal.
const PICTURE: u16 = 40;

/// `picture`: the file of it; none: text. Errors: nobody answers (exit 4), the first time or the
/// second; the file cannot be written.
pub(super) fn run(mut asker: Asker, every: Duration, picture: Option<&Path>) -> Outcome {
    let mut model = Model::new(asker.place(), every, Events::default());
    let begun = Instant::now();
    model.take(Ok(asker.ask()?), Instant::now());
    thread::sleep(every.saturating_sub(begun.elapsed()));
    model.take(Ok(asker.ask()?), Instant::now());
    let width = match output::is_terminal() {
        true => terminal::size().map_or(WIDTH, |(width, _)| width),
        false => WIDTH,
    };
    let width = width.clamp(40, 400);
    if let Some(picture) = picture {
        let cells = cells(&model, Instant::now(), width, (Look::Coloured, PICTURE));
        let svg = svg::of(
            &cells,
            u16::try_from(lines(&cells).len()).unwrap_or(u16::MAX),
        );
        return or_fail(outlet::write(picture, Readers::All, svg.as_bytes()));
    }
    for line in frame(&model, Instant::now(), width) {
        outln!("{line}");
    }
    Ok(())
}

/// Everything, without blanks at the ends of lines.
fn frame(model: &Model, now: Instant, width: u16) -> Vec<String> {
    lines(&cells(model, now, width, (Look::Plain, u16::MAX)))
}

/// Everything that there is room for in so many rows, and a row for keys.
fn cells(model: &Model, now: Instant, width: u16, (look, rows): (Look, u16)) -> Buffer {
    let view = View::default();
    let shown = Shown {
        model,
        view: &view,
        now,
        look,
    };
    // The head may have a third, and a line for keys is cut off again.
    let height = height_of_all(&shown, width).min(rows);
    let height = height.saturating_add(1).max(12);
    let mut cells = Buffer::empty(Rect::new(0, 0, width, height));
    draw(&shown, cells.area, &mut cells);
    cells
}

/// The rows without that for keys, and without what is empty below.
fn lines(cells: &Buffer) -> Vec<String> {
    let height = cells.area.height;
    let mut lines: Vec<String> = (0..height.saturating_sub(1))
        .map(|y| row(cells, y))
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// A row of cells. A wide character has two, of which the second is empty.
fn row(cells: &Buffer, y: u16) -> String {
    let mut text = String::new();
    let mut x = 0;
    while let Some(cell) = cells.cell((x, y)) {
        text.push_str(cell.symbol());
        let width = u16::try_from(Span::raw(cell.symbol()).width()).unwrap_or(1);
        x += width.max(1);
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::top::reading::Reading;

    #[test]
    fn a_frame_has_all_lines_and_no_keys() {
        let now = Instant::now();
        let findings: Vec<String> = (0..60)
            .map(|nth| format!("finding {nth} of \u{1b}[31mthe \u{4e2d} fabric"))
            .collect();
        let status =
            json!({"pid": 7, "uptime_s": 1, "ports": [], "subnet_manager": {"findings": findings}});
        let mut model = Model::new("/c".to_owned(), Duration::from_secs(1), Events::default());
        model.take(Ok(Reading::new(now, status, None)), now);
        let text = frame(&model, now, 80).join("\n");
        assert!(text.starts_with("LIVE /c, every 1s\n"), "{text}");
        for nth in 0..60 {
            assert!(
                text.contains(&format!("finding {nth} of [31mthe \u{4e2d} fabric")),
                "{nth}: {text}"
            );
        }
        assert!(
            !text.contains("q quit") && !text.contains('\u{1b}') && !text.contains(" \n"),
            "{text}"
        );
    }
}
