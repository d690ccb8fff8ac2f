//! Names and descriptions in the text of an entry.
//!
//! Names may be quoted in lines, where they may hold commas then; in XML quotes are part of a name.
//! Blanks inside a name stay, unlike in OpenSM's dialect: `vs1 HCA-1` needs no quotes.
//!
//! ```text
//! name: "a, b"  # why       a, b      and a remark about the comment
//! source: g1, "a, b"        g1 and a, b
//! ```

use sa_text::{LineIndex, Span, Spanned};

use super::value::{NO_BREAK, Piece, Value};
use crate::error::{Error, Problem, Remark};
use crate::link::diagnostics::Diagnostics;
use crate::model::dialect::Dialect;
use crate::model::limits::{MAX_NAME_BYTES, MAX_TEXT_BYTES};
use crate::services::UlpNames;

/// Reads values, and notes what is odd about them.
/// Lives as long as a file is read; what it noted goes into the draft.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    /// Of the file; values know bytes, messages need lines and columns.
    pub(super) places: LineIndex<'a>,
    /// One of the two RFCs'. It decides about quotes, comments and what a table may lack.
    pub(super) dialect: Dialect,
    /// In no order yet; sorted by place at the end.
    pub(super) diagnostics: Diagnostics,
    /// Names of services, where extensions are read.
    pub(super) names: Option<UlpNames>,
    /// What was read that the RFCs do not have.
    pub(super) extensions: Vec<Spanned<&'static str>>,
}

impl Reader<'_> {
    /// Where a piece of a value stands.
    pub(super) fn span(&self, value: &Value<'_>, piece: Piece) -> Span {
        self.places
            .span(value.source(piece.from)..value.source(piece.to))
    }

    /// Something else was expected at this piece.
    pub(super) fn unexpected(
        &self,
        value: &Value<'_>,
        piece: Piece,
        expected: &'static str,
    ) -> Error {
        let found = match &value.text[piece.from..piece.to] {
            "" => String::from("end of the value"),
            text => format!("'{}'", text.chars().take(40).collect::<String>()),
        };
        Error::new(self.span(value, piece), Problem::Unexpected { found }).expecting(expected)
    }

    /// A description; none when there is no text.
    /// No comment is cut off: `#` belongs to the text.
    pub(super) fn description(
        &mut self,
        value: &Value<'_>,
    ) -> Result<Option<Spanned<String>>, Error> {
        let all = Piece {
            from: 0,
            to: value.text.len(),
        };
        let text = self.text(value, all, MAX_TEXT_BYTES, "a description")?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// One name, with or without quotes.
    pub(super) fn name(&mut self, value: &Value<'_>) -> Result<Spanned<String>, Error> {
        let all = self.before_comment(value);
        let inner = self.unquoted(value, all);
        // An empty element is an empty name in XML, which nothing can refer to.
        if all.from == all.to && self.dialect == Dialect::Rfc02Text {
            return Err(self.unexpected(value, all, "a name"));
        }
        let name = self.text(value, inner, MAX_NAME_BYTES, "a name")?;
        // A word processor made them of straight ones; here they are letters.
        if name.contains(['\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}']) {
            self.diagnostics.add(name.span, Remark::CurlyQuotes);
        }
        Ok(name)
    }

    /// Names with commas between; a name that holds a comma stands in quotes.
    pub(super) fn names(&mut self, value: &Value<'_>) -> Result<Vec<Spanned<String>>, Error> {
        let text = value.text.as_ref();
        let all = self.before_comment(value);
        let mut names = Vec::new();
        let mut at = all.from;
        loop {
            let rest = Piece {
                from: at,
                to: all.to,
            }
            .trimmed(text);
            let (name, end) = self.listed_name(value, rest)?;
            names.push(self.text(value, name, MAX_NAME_BYTES, "a name")?);
            if end == all.to {
                return Ok(names);
            }
            // Behind the comma. With nothing there the next turn is an error.
            at = end + 1;
        }
    }

    /// The first name of a list, and where the comma behind it or the end is.
    /// Errors: an empty name, an open quote, something behind a closed one.
    fn listed_name(&self, value: &Value<'_>, rest: Piece) -> Result<(Piece, usize), Error> {
        const EXPECTED: &str = "a name, or names with commas between";
        let text = &value.text[..rest.to];
        if !text[rest.from..].starts_with('"') {
            let end = text[rest.from..]
                .find(',')
                .map_or(rest.to, |at| rest.from + at);
            let name = Piece {
                from: rest.from,
                to: end,
            }
            .trimmed(text);
            return if name.from == name.to {
                Err(self.unexpected(value, name, EXPECTED))
            } else {
                Ok((name, end))
            };
        }
        let from = rest.from + 1;
        let Some(length) = text[from..].find('"') else {
            return Err(self.unexpected(value, rest, "a quote that closes the name"));
        };
        let name = Piece {
            from,
            to: from + length,
        };
        let behind = Piece {
            from: name.to + 1,
            to: rest.to,
        }
        .trimmed(text);
        match text[behind.from..].chars().next() {
            None => Ok((name, rest.to)),
            Some(',') => Ok((name, behind.from)),
            Some(_) => Err(self.unexpected(value, behind, "',' behind the quote")),
        }
    }

    /// A piece of the value as text. Errors: longer than `limit` bytes.
    fn text(
        &self,
        value: &Value<'_>,
        piece: Piece,
        limit: usize,
        what: &'static str,
    ) -> Result<Spanned<String>, Error> {
        let piece = piece.trimmed(&value.text);
        let (text, span) = (&value.text[piece.from..piece.to], self.span(value, piece));
        if text.len() > limit {
            return Err(Error::too_long(span, what, text.len(), limit));
        }
        // So that a name pasted from a mail is equal to one that was typed.
        Ok(Spanned::new(text.replace(NO_BREAK, " "), span))
    }

    /// Tells once of blanks that are none in other programs.
    pub(super) fn note_no_break(&mut self, text: &str) {
        if let Some(at) = text.find(NO_BREAK) {
            let span = self.places.span(at..at + NO_BREAK.len_utf8());
            self.diagnostics.add(span, Remark::NoBreakBlanks);
        }
    }

    /// Without the quotes that text files may have around a value.
    /// Only where the quotes are the first and the last character, and there are no others.
    fn unquoted(&self, value: &Value<'_>, piece: Piece) -> Piece {
        let text = &value.text[piece.from..piece.to];
        let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        match inner {
            Some(inner) if self.dialect == Dialect::Rfc02Text && !inner.contains('"') => Piece {
                from: piece.from + 1,
                to: piece.to - 1,
            },
            _ => piece,
        }
    }

    /// A value of names up to a comment, which needs a blank in front.
    /// `a#b` is a name, `a #b` a name and a comment.
    fn before_comment(&mut self, value: &Value<'_>) -> Piece {
        // Any letter will do as the one before the first: no comment begins a value.
        let (mut quoted, mut last) = (false, b'x');
        let mut is_comment = |byte: u8| {
            quoted ^= byte == b'"';
            let blank = std::mem::replace(&mut last, byte);
            byte == b'#' && !quoted && (blank == b' ' || blank == b'\t')
        };
        let end = value.text.bytes().position(&mut is_comment);
        self.without_comment(value, end)
    }

    /// RFC 0.2 has comments on lines of their own only, but users of OpenSM write them anywhere.
    /// In XML nothing is a comment here: its own are gone by now.
    pub(super) fn without_comment(&mut self, value: &Value<'_>, at: Option<usize>) -> Piece {
        let to = value.text.len();
        let Some(from) = at.filter(|_| self.dialect == Dialect::Rfc02Text) else {
            return Piece { from: 0, to };
        };
        let span = self.span(value, Piece { from, to });
        self.diagnostics.add(span, Remark::CommentBehindValue);
        Piece { from: 0, to: from }.trimmed(&value.text)
    }
}
