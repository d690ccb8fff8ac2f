//! A frame as a picture, for documents and for letters to others: what a terminal of dark ground
//! would show.
//!
//! Each run of cells that look alike is a piece of text of just their width, so that columns stand
//! below each other whatever font is at hand.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use ratatui::text::Span;

/// Of a cell. Units: pixels.
const WIDTH: usize = 8;
const HEIGHT: usize = 17;
/// Around all cells. Units: pixels.
const MARGIN: usize = 12;
/// From the top of a cell to the line that letters stand on. Units: pixels.
const BASE: usize = 13;

const GROUND: &str = "#1b1f24";
const TEXT: &str = "#d4d8dd";
const DIM: &str = "#8b939c";

/// Cells that look alike, in one row.
#[derive(Debug)]
struct Run {
    column: usize,
    columns: usize,
    text: String,
    colour: &'static str,
    is_bold: bool,
    is_reversed: bool,
}

impl Run {
    fn new(column: usize, cell: &Cell) -> Self {
        let has = |modifier| cell.modifier.contains(modifier);
        let colour = match cell.fg {
            Color::Cyan => "#56c2d6",
            Color::Green => "#7cc36e",
            Color::Yellow => "#e0b34c",
            Color::Red => "#ef6b6b",
            _ if has(Modifier::DIM) => DIM,
            _ => TEXT,
        };
        Self {
            column,
            columns: 0,
            text: String::new(),
            colour,
            is_bold: has(Modifier::BOLD),
            is_reversed: has(Modifier::REVERSED),
        }
    }

    fn looks_like(&self, other: &Self) -> bool {
        let look = |it: &Self| (it.colour, it.is_bold, it.is_reversed);
        look(self) == look(other)
    }

    /// Nothing to see.
    fn is_blank(&self) -> bool {
        !self.is_reversed && self.text.trim().is_empty()
    }

    fn write(&self, row: usize, svg: &mut String) {
        let (x, y) = (MARGIN + self.column * WIDTH, MARGIN + row * HEIGHT);
        let width = self.columns * WIDTH;
        // Writing to a `String` cannot fail.
        if self.is_reversed {
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" fill=\"{}\"/>",
                self.colour
            );
        }
        let text = self.text.trim();
        if text.is_empty() {
            return;
        }
        let blanks = |rest: &str| self.text.len() - rest.len();
        let before = blanks(self.text.trim_start());
        let columns = self.columns - before - blanks(self.text.trim_end());
        let fill = if self.is_reversed {
            GROUND
        } else {
            self.colour
        };
        let weight = if self.is_bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" textLength=\"{}\" fill=\"{fill}\"{weight}>{}</text>",
            x + before * WIDTH,
            y + BASE,
            columns * WIDTH,
            escaped(text)
        );
    }
}

/// The first rows of the cells as an SVG.
pub(super) fn of(cells: &Buffer, rows: u16) -> String {
    let width = usize::from(cells.area.width) * WIDTH + 2 * MARGIN;
    let height = usize::from(rows) * HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"13\">\n\
         <title>sapphire top</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{GROUND}\"/>\n"
    );
    for row in 0..rows {
        for run in runs(cells, row).iter().filter(|run| !run.is_blank()) {
            run.write(usize::from(row), &mut svg);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// A row, cut where the look changes, and behind two blanks, which a picture shows as one. A wide
/// character has two cells, of which the second is empty.
fn runs(cells: &Buffer, row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut column = 0_u16;
    while let Some(cell) = cells.cell((column, row)) {
        let width = u16::try_from(Span::raw(cell.symbol()).width())
            .unwrap_or(1)
            .max(1);
        let begun = Run::new(usize::from(column), cell);
        let goes_on = |run: &Run| run.looks_like(&begun) && !run.text.ends_with("  ");
        if !runs.last().is_some_and(goes_on) {
            runs.push(begun);
        }
        if let Some(run) = runs.last_mut() {
            run.text.push_str(cell.symbol());
            run.columns += usize::from(width);
        }
        column += width;
    }
    runs
}

/// Text as XML has it, without what it may not have.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_control() => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn cells_that_look_alike_are_one_text_and_markup_is_none() {
        let mut cells = Buffer::empty(Rect::new(0, 0, 12, 2));
        cells.set_string(0, 0, "<L0>&", Style::new().fg(Color::Green));
        cells.set_string(
            6,
            0,
            "\u{4e2d}x",
            Style::new().add_modifier(Modifier::REVERSED),
        );
        let svg = of(&cells, 2);
        assert!(
            svg.contains("fill=\"#7cc36e\">&lt;L0&gt;&amp;</text>"),
            "{svg}"
        );
        // The wide one has two columns.
        assert!(
            svg.contains("<rect x=\"60\" y=\"12\" width=\"24\""),
            "{svg}"
        );
        assert_eq!(svg.matches("<text").count(), 2, "{svg}");
        assert!(svg.ends_with("</svg>\n"), "{svg}");
        // Blanks move what stands behind them, and are no text.
        cells.set_string(0, 1, "  a    b", Style::new());
        let svg = of(&cells, 2);
        let at = |x: usize, text: &str| {
            format!("x=\"{x}\" y=\"42\" textLength=\"8\" fill=\"{TEXT}\">{text}<")
        };
        assert!(
            svg.contains(&at(12 + 2 * 8, "a")) && svg.contains(&at(12 + 7 * 8, "b")),
            "{svg}"
        );
    }
}
