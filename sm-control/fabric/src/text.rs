//! Reading lines of text with a position at hand.
//!
//! The readers of all line-oriented formats work with a [`Cursor`]: take what is expected, or say
//! what was expected and what stands there instead. An error is made where the cursor stands, so
//! that no reader has to keep lines and columns itself. There is no backtracking but by copying a
//! cursor, which is two words.
//!
//! ```text
//!  line 4:  [3] "S1"[7]         accept("[")  decimal -> 3  expect("]")  skip_blanks ...
//!               ^                on failure: line 4, column 5: expected a port number, found "S1"
//! ```
//!
//! Columns count characters and not bytes, as editors show them; [`Line::at`](sa_text::Line::at)
//! works that out when an error is made, so that it costs nothing on the way.

use sa_text::{Line, Number, Position};

use super::error::{Found, Note, Oddity, ParseError, Problem};

/// Bytes as text; what is no UTF-8 is replaced, with a note for the first place.
pub fn decode<'a>(bytes: &'a [u8], notes: &mut Vec<Note>) -> std::borrow::Cow<'a, str> {
    let (text, bad) = sa_text::decode_lossy(bytes);
    notes.extend(bad.map(|at| Note {
        at,
        what: Oddity::NotUtf8,
    }));
    text
}

/// A place in a line, moving right. A copy stays where it is: readers keep one for the error that
/// belongs at the beginning of a word.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    /// The whole line: positions are worked out from its beginning.
    line: Line<'a>,
    /// Units: bytes, always at a character boundary.
    offset: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first character of a line.
    pub const fn new(line: Line<'a>) -> Self {
        Self { line, offset: 0 }
    }

    /// What is left of the line, without its end.
    pub fn rest(&self) -> &'a str {
        self.line.text.get(self.offset..).unwrap_or("")
    }

    /// Where it stands. Units of columns: characters, as in every message.
    pub fn at(&self) -> Position {
        self.line.at(self.offset)
    }

    /// The start of the line it is in: for errors about a word that was read to see what it is.
    pub const fn line_start(&self) -> Self {
        Self::new(self.line)
    }

    /// The error that something else was due here; what stands here is put into it, shortened.
    pub fn expected(&self, expected: &'static str) -> ParseError {
        let found = Found::at(self.rest());
        ParseError::new(self.at(), Problem::Expected { expected, found })
    }

    /// Moves on by some bytes, to a character boundary.
    pub fn advance(&mut self, bytes: usize) {
        // Never beyond the line, so that `rest` needs no check.
        self.offset = self.offset.saturating_add(bytes).min(self.line.text.len());
        // A caller's count may end inside a character; the rest of the line must stay text.
        while !self.line.text.is_char_boundary(self.offset) {
            self.offset += 1;
        }
    }

    /// Skips blanks of any kind.
    pub fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.advance(rest.len() - rest.trim_start().len());
    }

    /// Takes this text if it is next, and says whether it was.
    ///
    /// Nothing is taken where only a part of it stands there.
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
    ///
    /// For words that a writer puts somewhere in a line, as ibnetdiscover does in comments.
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

    /// Takes decimal digits as a number. Errors: there is none, or it takes more than 64 bits;
    /// `what`
    /// is what was expected.
    pub fn decimal(&mut self, what: &'static str) -> Result<u64, ParseError> {
        self.digits(what, 10)
    }

    /// Takes hexadecimal digits, without prefix, as a number. Errors: as [`Self::decimal`].
    pub fn hex(&mut self, what: &'static str) -> Result<u64, ParseError> {
        self.digits(what, 16)
    }

    /// More digits than 64 bits hold are an error where they begin.
    fn digits(&mut self, what: &'static str, radix: u32) -> Result<u64, ParseError> {
        let start = *self;
        let digits = self.take_while(|c| c.is_digit(radix));
        // An empty run of digits fails here as well.
        u64::from_str_radix(digits, radix).map_err(|_| start.expected(what))
    }

    /// Takes a number as C's `strtoull(.., 0)` reads it: 0x for hexadecimal, a leading 0 for
    /// octal, else decimal; blanks before it are skipped.
    ///
    /// OpenSM and ibsim read nearly all their numbers so: `010` is 8.
    pub fn c_number(&mut self, what: &'static str) -> Result<u64, ParseError> {
        self.skip_blanks();
        let number = Number::read_digits(self.rest());
        match number.magnitude {
            Some(value) if number.length > 0 => {
                self.advance(number.length);
                Ok(value)
            }
            _ => Err(self.expected(what)),
        }
    }
}

/// A number in its range. Errors: [`Problem::Range`] at the place given.
///
/// `what` is a noun with its article where it has one: the message reads "a LID is 1 to 49151, not
/// 0".
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
        Cursor::new(Line { number: 1, text })
            .c_number("a number")
            .ok()
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
    fn bad_bytes_are_noted_at_their_place() {
        let mut notes = Vec::new();
        assert_eq!(decode(b"ab\ncd\xff", &mut notes), "ab\ncd\u{fffd}");
        assert_eq!(
            notes.first().map(|note| note.at),
            Some(Position { line: 2, column: 3 })
        );
    }
}
