//! The values of `opensm.conf`.

use sa_text::{Line, Position};

use crate::error::ParseError;
use crate::text::{Cursor, in_range};

/// The value of a line, without blanks and quotes around it.
pub(super) struct Value<'a> {
    start: Cursor<'a>,
    text: &'a str,
}

impl<'a> Value<'a> {
    pub(super) fn new(mut cursor: Cursor<'a>) -> Self {
        cursor.skip_blanks();
        let text = cursor.rest().trim();
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

    pub(super) fn at(&self) -> Position {
        self.start.at()
    }

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
        let negative = self.text.strip_prefix('-').is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
        });
        if negative {
            Ok(None)
        } else {
            self.within("high_limit", 0..=255).map(Some)
        }
    }

    pub(super) fn text(&self) -> Result<Option<String>, ParseError> {
        match self.text {
            "" => Err(self.start.expected("a value")),
            "(null)" => Ok(None),
            text => Ok(Some(text.to_owned())),
        }
    }

    pub(super) fn list(&self) -> Result<Vec<String>, ParseError> {
        let names = self.text()?.unwrap_or_default();
        let separators = [',', ' ', '\t'];
        Ok(names
            .split(separators)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect())
    }
}
