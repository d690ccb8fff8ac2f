//! Reading lines of text with a position at hand.

use super::error::{Found, Note, Oddity, ParseError, Position, Problem};

/// A line, without its end. Positions in it count characters, from 1.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// From 1.
    pub number: u32,
    /// Without line feed and carriage return.
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// The position of a byte offset; offsets beyond the end are the end.
    pub fn at(&self, offset: usize) -> Position {
        let before = self.text.get(..offset).unwrap_or(self.text);
        Position {
            line: self.number,
            column: u32::try_from(before.chars().count())
                .unwrap_or(u32::MAX)
                .saturating_add(1),
        }
    }

    /// A cursor at its start.
    pub const fn cursor(self) -> Cursor<'a> {
        Cursor {
            line: self,
            offset: 0,
        }
    }
}

/// The lines of a text, numbered; without the byte order mark that some editors put before it.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .map(|(number, text)| Line { number, text })
}

/// The position after the last character of a text.
pub fn end_of(text: &str) -> Position {
    lines(text)
        .last()
        .map_or(Position { line: 1, column: 1 }, |line| {
            line.at(line.text.len())
        })
}

/// Bytes as text; what is no UTF-8 is replaced, with a note for the first place.
pub fn decode<'a>(bytes: &'a [u8], notes: &mut Vec<Note>) -> std::borrow::Cow<'a, str> {
    if let Err(error) = core::str::from_utf8(bytes) {
        let before = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |last| last.chars().count());
        let from_one = |count| u32::try_from(count).unwrap_or(u32::MAX - 1) + 1;
        notes.push(Note {
            at: Position {
                line: from_one(line),
                column: from_one(column),
            },
            what: Oddity::NotUtf8,
        });
    }
    String::from_utf8_lossy(bytes)
}

/// A place in a line, moving right.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    line: Line<'a>,
    offset: usize,
}

impl<'a> Cursor<'a> {
    /// What is left of the line.
    pub fn rest(&self) -> &'a str {
        self.line.text.get(self.offset..).unwrap_or("")
    }

    /// Where it stands.
    pub fn at(&self) -> Position {
        self.line.at(self.offset)
    }

    /// The start of the line it is in.
    pub const fn line_start(&self) -> Self {
        self.line.cursor()
    }

    /// "Expected this", here.
    pub fn expected(&self, expected: &'static str) -> ParseError {
        let found = Found::at(self.rest());
        ParseError::new(self.at(), Problem::Expected { expected, found })
    }

    /// Moves on by some bytes, to a character boundary.
    pub fn advance(&mut self, bytes: usize) {
        self.offset = self.offset.saturating_add(bytes).min(self.line.text.len());
        while !self.line.text.is_char_boundary(self.offset) {
            self.offset += 1;
        }
    }

    /// Skips spaces and tabs.
    pub fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.advance(rest.len() - rest.trim_start().len());
    }

    /// Takes this text if it is next.
    pub fn accept(&mut self, literal: &str) -> bool {
        let found = self.rest().starts_with(literal);
        if found {
            self.advance(literal.len());
        }
        found
    }

    /// Takes this text. Errors: [`Problem::Expected`].
    pub fn expect(&mut self, literal: &'static str) -> Result<(), ParseError> {
        if self.accept(literal) {
            Ok(())
        } else {
            Err(self.expected(literal))
        }
    }

    /// Takes everything up to this text, and the text. `None` leaves the cursor where it was.
    pub fn take_until(&mut self, literal: &str) -> Option<&'a str> {
        let (before, _) = self.rest().split_once(literal)?;
        self.advance(before.len() + literal.len());
        Some(before)
    }

    /// Takes the longest run of such characters, maybe none.
    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.advance(end);
        rest.get(..end).unwrap_or("")
    }

    /// Takes the next word after blanks, maybe empty.
    pub fn word(&mut self) -> &'a str {
        self.skip_blanks();
        self.take_while(|c| !c.is_whitespace())
    }

    /// Takes decimal digits as a number.
    pub fn decimal(&mut self, what: &'static str) -> Result<u64, ParseError> {
        self.digits(what, 10)
    }

    /// Takes hexadecimal digits, without prefix, as a number.
    pub fn hex(&mut self, what: &'static str) -> Result<u64, ParseError> {
        self.digits(what, 16)
    }

    fn digits(&mut self, what: &'static str, radix: u32) -> Result<u64, ParseError> {
        let start = *self;
        let digits = self.take_while(|c| c.is_digit(radix));
        u64::from_str_radix(digits, radix).map_err(|_| start.expected(what))
    }

    /// Takes a number as C's `strtoull(.., 0)` reads it: 0x for hexadecimal, a leading 0 for
    /// octal, else decimal; blanks before it are skipped.
    pub fn c_number(&mut self, what: &'static str) -> Result<u64, ParseError> {
        self.skip_blanks();
        let rest = self.rest();
        let hex = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
        match hex {
            Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
                self.advance(2);
                self.digits(what, 16)
            }
            _ if rest.starts_with('0') => self.digits(what, 8),
            _ => self.digits(what, 10),
        }
    }
}

/// A number in its range. Errors: [`Problem::Range`] at the place given.
pub fn in_range<T: TryFrom<u64>>(
    at: Position,
    what: &'static str,
    value: u64,
    range: core::ops::RangeInclusive<u64>,
) -> Result<T, ParseError> {
    let outside = || {
        let (low, high) = (*range.start(), *range.end());
        ParseError::new(
            at,
            Problem::Range {
                what,
                low,
                high,
                value,
            },
        )
    };
    if !range.contains(&value) {
        return Err(outside());
    }
    T::try_from(value).map_err(|_| outside())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<u64> {
        Line { number: 1, text }.cursor().c_number("a number").ok()
    }

    #[test]
    fn numbers_are_read_as_c_does() {
        assert_eq!(number("0x20(20)"), Some(0x20));
        assert_eq!(number(" 010"), Some(8));
        assert_eq!(number("12x"), Some(12));
        assert_eq!(number("0"), Some(0));
        assert_eq!(
            number("0xg"),
            Some(0),
            "the 0 is a number, the x is not part of it"
        );
        assert_eq!(number("x"), None);
        assert_eq!(number("99999999999999999999"), None);
    }

    #[test]
    fn columns_count_characters() {
        let line = Line {
            number: 3,
            text: "\u{e9}\u{e9}x",
        };
        assert_eq!(line.at(4), Position { line: 3, column: 3 });
        assert_eq!(line.at(99), Position { line: 3, column: 4 });
    }

    #[test]
    fn bad_bytes_are_noted_at_their_place() {
        let mut notes = Vec::new();
        assert_eq!(decode(b"ab\ncd\xff", &mut notes), "ab\ncd\u{fffd}");
        assert_eq!(
            notes.first().map(|note| note.at),
            Some(Position { line: 2, column: 3 })
        );
    }
}
