//! The lines of a text, numbered.

use crate::place::Position;

/// A line, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number in the text, from 1.
    pub number: u32,
    /// Without line feed and carriage return.
    pub text: &'a str,
}

impl Line<'_> {
    /// The position of a byte offset; offsets beyond the end are the end.
    pub fn at(&self, offset: usize) -> Position {
        // Offsets inside a character count as the end, like all that cannot be sliced.
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = self.number;
        Position { line, column: 1 }.after(before)
    }
}

/// The lines of a text; without the byte order mark that some editors put before it.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    // Columns begin behind the mark, as editors do not show it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .map(|(number, text)| Line { number, text })
}

/// The position after the last character of a text, where what is missing would stand.
pub fn end_of(text: &str) -> Position {
    lines(text)
        .last()
        .map_or(Position::START, |line| line.at(line.text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "\u{e9}\u{e9}x";
        let line = Line { number: 3, text };
        assert_eq!(line.at(4), Position { line: 3, column: 3 });
        assert_eq!(line.at(99), Position { line: 3, column: 4 });
    }

    #[test]
    fn the_end_of_a_text_is_that_of_its_last_line() {
        assert_eq!(end_of(""), Position::START);
        assert_eq!(end_of("\u{feff}a\nbc\r\n"), Position { line: 2, column: 3 });
    }
}
