//! Line and column of any byte.

use crate::error::Span;

/// Finds places in a text. Cost: a few hundred bytes looked at, however long lines are.
#[derive(Debug)]
pub(super) struct Places<'a> {
    text: &'a str,
    /// Line and column every [`STEP`] bytes.
    marks: Vec<(u32, u32)>,
}

const STEP: usize = 256;

impl<'a> Places<'a> {
    /// Shape: `text` has less than 2^32 bytes.
    pub(super) fn new(text: &'a str) -> Self {
        let mut marks = vec![(1, 1)];
        for piece in text.as_bytes().chunks_exact(STEP) {
            let last = marks.last().copied().unwrap_or((1, 1));
            marks.push(advance(last, piece));
        }
        Self { text, marks }
    }

    /// The text between two bytes. Shape: both within the text, in order.
    pub(super) fn span(&self, from: usize, to: usize) -> Span {
        let mark = from / STEP;
        let start = self.marks.get(mark).copied().unwrap_or((1, 1));
        let between = self.text.as_bytes().get(mark * STEP..from);
        let (line, column) = advance(start, between.unwrap_or_default());
        Span {
            offset: narrow(from),
            length: narrow(to.saturating_sub(from)),
            line,
            column,
        }
    }
}

fn advance((mut line, mut column): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    for byte in bytes {
        if *byte == b'\n' {
            line += 1;
            column = 1;
        } else if byte & 0xc0 != 0x80 {
            column += 1;
        }
    }
    (line, column)
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_a_plain_count() {
        let text = "ab\u{e9}d\n\n\u{20ac}x".repeat(200) + &"y".repeat(1000);
        let places = Places::new(&text);
        let (mut line, mut column) = (1, 1);
        for (at, character) in text.char_indices() {
            let span = places.span(at, at);
            assert_eq!((span.line, span.column), (line, column), "{at}");
            match character {
                '\n' => (line, column) = (line + 1, 1),
                _ => column += 1,
            }
        }
    }
}
