//! Places in a text.
//!
//! A [`Position`] is for people, a [`Span`] for programs too: it knows the bytes, so that the text can be
//! sliced. Columns count characters whatever file format is read, because that is what editors jump to.

use std::fmt;
use std::ops::{Deref, Range};

/// A place in a text, as editors count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Number of the line, from 1.
    pub line: u32,
    /// Number of the character in its line, from 1. Units: characters; a tab is one.
    pub column: u32,
}

impl Position {
    /// The first character of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Where the text goes on after `text`, which begins here.
    #[must_use]
    pub fn after(self, text: &str) -> Self {
        self.after_bytes(text.as_bytes())
    }

    /// The same for a text that may end inside a character.
    pub(crate) fn after_bytes(self, text: &[u8]) -> Self {
        let mut at = self;
        for byte in text {
            if *byte == b'\n' {
                // A line feed alone ends lines; a carriage return is one more character of the
                // line.
                at.line = at.line.saturating_add(1);
                at.column = 1;
            } else if byte & 0xc0 != 0x80 {
                // Every byte of UTF-8 but those that continue a character.
                at.column = at.column.saturating_add(1);
            }
        }
        at
    }

    /// The place of a byte of `text`; a byte behind the end, or inside a character, is the end.
    pub fn in_text(text: &str, byte: usize) -> Self {
        // Inside a character there is nothing to slice: the end is wrong, and no panic.
        Self::START.after(text.get(..byte).unwrap_or(text))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// Line and column of its first character.
    pub start: Position,
    /// Units: bytes of the decoded text before it.
    pub offset: u32,
    /// How long the piece is. Units: bytes.
    pub length: u32,
}

impl Span {
    /// Nothing, at the very beginning.
    pub const START: Self = Self {
        start: Position::START,
        offset: 0,
        length: 0,
    };

    /// These bytes of `text`. Cost: looks at all of the text before them.
    pub fn in_text(text: &str, bytes: Range<usize>) -> Self {
        Self::START.piece(text, bytes)
    }

    /// These bytes of `text`, which begins where this span does.
    #[must_use]
    pub fn piece(self, text: &str, bytes: Range<usize>) -> Self {
        let before = text.get(..bytes.start).unwrap_or(text);
        Self {
            start: self.start.after(before),
            offset: self.offset.saturating_add(narrow(before.len())),
            length: narrow(bytes.len()),
        }
    }

    /// From the beginning of this to the end of `last`, which comes later.
    #[must_use]
    pub const fn to(self, last: Self) -> Self {
        Self {
            // A `last` that comes earlier gives an empty span instead of one of 4 GiB.
            length: (last.offset + last.length).saturating_sub(self.offset),
            ..self
        }
    }
}

/// A value that was read from a text, and the place that it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// The value; the pair dereferences to it.
    pub value: T,
    /// The text that says it.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value with the place that it was read from.
    pub const fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Texts are shorter than 4 GiB; one that is not ends there.
pub(crate) fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "a\n\u{e9}\u{20ac}x\n";
        assert_eq!(
            Position::in_text(text, 7),
            Position { line: 2, column: 3 },
            "after two characters of five bytes"
        );
        assert_eq!(Position::in_text(text, 99), Position { line: 3, column: 1 });
        let span = Span::in_text(text, 4..8);
        assert_eq!((span.start.column, span.offset, span.length), (2, 4, 4));
    }

    #[test]
    fn a_piece_is_placed_from_the_start_of_its_whole() {
        let whole = Span::in_text("key: a b", 5..8);
        let piece = whole.piece("a b", 2..3);
        assert_eq!(piece, Span::in_text("key: a b", 7..8));
        assert_eq!(whole.to(piece), whole);
    }
}
