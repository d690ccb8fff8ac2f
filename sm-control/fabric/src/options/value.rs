//! The values of `opensm.conf`.
//!
//! OpenSM falls back to a default where a value does not parse, with a line in its log. Here it is
//! an error with its place: what an operator wrote and nobody followed is found when it is written
//! and not when paths are wrong.

use sa_text::{Line, Position};

use crate::error::ParseError;
use crate::text::{Cursor, in_range};

/// The value of a line, without blanks and quotes around it.
///
/// Quotes are taken off in pairs; one alone is part of the value.
pub(super) struct Value<'a> {
    /// Where errors point to: the value with its quotes.
    start: Cursor<'a>,
    /// Without blanks and quotes; may be empty.
    text: &'a str,
}

impl<'a> Value<'a> {
    pub(super) fn new(mut cursor: Cursor<'a>) -> Self {
        cursor.skip_blanks();
        let text = cursor.rest().trim();
        // Two characters at least: a single quote is not both ends.
        let quoted = |quote| text.len() >= 2 && text.starts_with(quote) && text.ends_with(quote);
        let text = if quoted('"') || quoted('\'') {
            text.get(1..text.len() - 1).unwrap_or(text)
        } else {
            text
        };
        Self {
            start: cursor,
            text,
        }
    }

    /// Where the value begins.
    pub(super) fn at(&self) -> Position {
        self.start.at()
    }

    /// Without blanks and quotes, whatever it is.
    pub(super) const fn raw(&self) -> &'a str {
        self.text
    }

    /// At the text without quotes. Columns of errors are those of `start`, so its own are not used.
    fn cursor(&self) -> Cursor<'a> {
        Cursor::new(Line {
            number: self.at().line,
            text: self.text,
        })
    }

    /// Anything but TRUE is FALSE to OpenSM; we ask for either.
    pub(super) fn boolean(&self) -> Result<bool, ParseError> {
        match self.text {
            "TRUE" => Ok(true),
            "FALSE" => Ok(false),
            _ => Err(self
                .start
                .expected("TRUE or FALSE (OpenSM reads anything else as FALSE)")),
        }
    }

    /// A number as C's `strtoull(.., 0)` reads it, and nothing behind it.
    pub(super) fn number(&self) -> Result<u64, ParseError> {
        let expected = || self.start.expected("a number");
        let mut cursor = self.cursor();
        let number = cursor.c_number("a number").map_err(|_| expected())?;
        if cursor.rest().is_empty() {
            Ok(number)
        } else {
            Err(expected())
        }
    }

    /// A number in a range; the error names the range.
    pub(super) fn within<T: TryFrom<u64>>(
        &self,
        what: &'static str,
        range: core::ops::RangeInclusive<u64>,
    ) -> Result<T, ParseError> {
        in_range(self.at(), what, self.number()?, range)
    }

    /// 2 to 24, or 63 for "all".
    pub(super) fn rate_enum(&self) -> Result<u8, ParseError> {
        match self.number()? {
            63 => Ok(63),
            _ => self.within("max_rate_enum (or 63 for all)", 2..=24),
        }
    }

    /// 0 to 255; a negative number is "not given".
    pub(super) fn high_limit(&self) -> Result<Option<u8>, ParseError> {
        // OpenSM's own default is written -1.
        let negative = self.text.strip_prefix('-').is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
        });
        if negative {
            Ok(None)
        } else {
            self.within("high_limit", 0..=255).map(Some)
        }
    }

    /// The rest of the line; none for `(null)`, as `opensm -c` writes what is not set.
    pub(super) fn text(&self) -> Result<Option<String>, ParseError> {
        match self.text {
            "" => Err(self.start.expected("a value")),
            "(null)" => Ok(None),
            text => Ok(Some(text.to_owned())),
        }
    }

    /// Words between commas or blanks, in their order; `(null)` is an empty list.
    pub(super) fn list(&self) -> Result<Vec<String>, ParseError> {
        let names = self.text()?.unwrap_or_default();
        let separators = [',', ' ', '\t'];
        Ok(names
            .split(separators)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// What one of these words stands for; the error has `expected`, which names them all.
    pub(super) fn choice<T: Copy>(
        &self,
        words: &[(&str, T)],
        expected: &'static str,
    ) -> Result<T, ParseError> {
        let found = words.iter().find(|(word, _)| *word == self.text);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| self.start.expected(expected))
    }
}
