//! Words, numbers and ranges in one line of text.
//!
//! Smaller than any of the languages' own readers: what people type on a command line, one line of
//! a file of names, the value of `ulp:`. Blanks may stand between all parts. Errors count bytes, as
//! nobody here knows of files.
//!
//! ```text
//! "tcp port 4420, 20049-20051, nfs"     word, keyword, ranges; the comma before `nfs` is left
//! ```

use crate::error::{UlpError, UlpProblem};

/// What is left of a text, and how much was read.
/// Copied to look ahead, and put back where that fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scan<'a> {
    /// All of it, so that errors count from its beginning.
    text: &'a str,
    /// Read up to here. Units: bytes.
    at: usize,
}

impl<'a> Scan<'a> {
    /// At the beginning of a text.
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Behind blanks. Units: bytes.
    pub(crate) fn place(&mut self) -> usize {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.at
    }

    /// True when nothing but blanks is left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.place() == self.text.len()
    }

    /// True when this character comes next, which is taken then.
    /// Nothing but blanks is taken where it does not.
    pub(crate) fn accept(&mut self, wanted: char) -> bool {
        self.place();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// A name or keyword: a letter, then letters, digits, `_`, `.`, `+` and `-`.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        self.place();
        let rest = self.rest();
        if !rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return None;
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end])
    }

    /// The next word if it is one of these, which is taken then.
    /// Letter case does not matter; a longer word that begins so is another one.
    pub(crate) fn keyword(&mut self, wanted: &[&str]) -> bool {
        let mut ahead = *self;
        let found = ahead
            .word()
            .is_some_and(|word| wanted.iter().any(|one| one.eq_ignore_ascii_case(word)));
        if found {
            *self = ahead;
        }
        found
    }

    /// True before a digit.
    pub(crate) fn is_at_number(&mut self) -> bool {
        self.place();
        self.rest()
            .starts_with(|first: char| first.is_ascii_digit())
    }

    /// A number up to `most`, decimal or `0x` hexadecimal.
    fn number(&mut self, what: &'static str, most: u64) -> Result<u64, UlpError> {
        let from = self.place();
        let rest = self.rest();
        // All letters and digits: `20049x` is no number, not 20049.
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let word = &rest[..end];
        let hex = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
        let parsed = match hex {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        let Ok(value) = parsed else {
            return Err(self.unexpected(what));
        };
        if value > most {
            let problem = UlpProblem::OutOfRange { what, value, most };
            return Err(UlpError {
                at: from,
                length: end,
                problem,
            });
        }
        self.at += end;
        Ok(value)
    }

    /// A number, or two with a dash between. Shape: ascending.
    /// Turned bounds are put in order, as in OpenSM's lists.
    pub(crate) fn range(&mut self, what: &'static str, most: u64) -> Result<(u64, u64), UlpError> {
        let first = self.number(what, most)?;
        if !self.accept('-') {
            return Ok((first, first));
        }
        let last = self.number(what, most)?;
        Ok((first.min(last), first.max(last)))
    }

    /// Ranges with commas between, as long as numbers come.
    pub(crate) fn ranges(
        &mut self,
        what: &'static str,
        most: u64,
    ) -> Result<Vec<(u64, u64)>, UlpError> {
        let mut ranges = vec![self.range(what, most)?];
        loop {
            let mut ahead = *self;
            // A comma may also part names; then it is left for the caller.
            if !ahead.accept(',') || !ahead.is_at_number() {
                return Ok(ranges);
            }
            *self = ahead;
            ranges.push(self.range(what, most)?);
        }
    }

    /// What has not been read, blanks before it included.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Something else was expected here.
    /// Points at the next word, up to a blank or a comma.
    pub(crate) fn unexpected(&mut self, expected: &'static str) -> UlpError {
        let at = self.place();
        let rest = self.rest();
        let length = rest
            .char_indices()
            .position(|(_, c)| c.is_whitespace() || c == ',')
            .and_then(|count| rest.char_indices().nth(count))
            .map_or(rest.len(), |(end, _)| end);
        let shown: String = rest[..length].chars().take(40).collect();
        let found = match shown.is_empty() {
            // No word: either the end or a comma.
            true if rest.is_empty() => String::from("the end"),
            true => String::from("','"),
            false => format!("'{shown}'"),
        };
        let problem = UlpProblem::Unexpected { expected, found };
        UlpError {
            at,
            length,
            problem,
        }
    }
}
