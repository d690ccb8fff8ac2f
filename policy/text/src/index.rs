//! Line and column of any byte of one text, asked for many times.
//!
//! Parsers that read out of order ask for places byte by byte. Counting from the beginning each time would
//! take quadratic time in a hostile file; a mark every few hundred bytes bounds it.

use std::ops::Range;

use crate::place::{Position, Span, narrow};

/// Finds places in a text. Cost: a few hundred bytes looked at for each, however long lines are.
#[derive(Debug)]
pub struct LineIndex<'a> {
    text: &'a str,
    /// The place of every byte whose number is a multiple of [`STEP`].
    marks: Vec<Position>,
}

/// Distance of marks. Units: bytes.
const STEP: usize = 256;

impl<'a> LineIndex<'a> {
    /// Looks at the text once. Shape: `text` has less than 2^32 bytes.
    pub fn new(text: &'a str) -> Self {
        let mut marks = vec![Position::START];
        let mut at = Position::START;
        // A mark may lie inside a character: bytes are counted, and its later bytes add no column.
        for piece in text.as_bytes().chunks_exact(STEP) {
            at = at.after_bytes(piece);
            marks.push(at);
        }
        Self { text, marks }
    }

    /// The place of these bytes. Shape: both ends within the text, in order.
    pub fn span(&self, bytes: Range<usize>) -> Span {
        // From the last mark before it: never more than STEP bytes to count.
        let mark = bytes.start / STEP;
        let at = self.marks.get(mark).copied().unwrap_or(Position::START);
        let between = self.text.as_bytes().get(mark * STEP..bytes.start);
        Span {
            start: at.after_bytes(between.unwrap_or_default()),
            offset: narrow(bytes.start),
            length: narrow(bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_a_plain_count() {
        let text = "ab\u{e9}d\n\n\u{20ac}x".repeat(200) + &"y".repeat(1000);
        let index = LineIndex::new(&text);
        for (at, _) in text.char_indices() {
            assert_eq!(index.span(at..at), Span::in_text(&text, at..at), "{at}");
        }
    }
}
