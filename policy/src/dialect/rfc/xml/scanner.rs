//! Goes through a text tag by tag.
//!
//! It knows no nesting: it tells tags from text and comments, and refuses what could turn text into
//! something else. Places are bytes of the file; nothing is decoded here.
//!
//! ```text
//! <sl>  3 <!-- why -->  </sl>     Open(sl)  pieces "  3 " and "  "  Close(sl)
//! ```

use super::markup::{Markup, comment_opening, name_length, tag_length};
use crate::dialect::rfc::tags::Tag;
use crate::dialect::rfc::value::{Piece, WHITE};
use crate::dialect::rfc::values::Reader;
use crate::error::{Error, Problem, Remark};

/// A place in the text.
/// Small, so that looking ahead is done on a copy.
#[derive(Debug, Clone)]
pub(super) struct Scanner<'a> {
    /// The whole file; never cut, so that places stay right.
    text: &'a str,
    /// Always between characters. Units: bytes.
    at: usize,
}

impl<'a> Scanner<'a> {
    /// At the beginning of a text.
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The whole text, which pieces of values count in.
    pub(super) const fn text(&self) -> &'a str {
        self.text
    }

    /// What has not been read.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// True when nothing is left.
    pub(super) const fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Something else was expected here.
    /// Quotes 40 characters of what is there.
    pub(super) fn unexpected(&self, reader: &Reader<'_>, expected: &'static str) -> Error {
        let word = self.rest().split(WHITE).next().unwrap_or_default();
        let shown: String = word.chars().take(40).collect();
        let length = shown.len();
        let found = match shown.as_str() {
            "" => String::from("end of the file"),
            shown if shown.starts_with('<') => format!("'{shown}'"),
            shown => format!("text '{shown}'"),
        };
        let span = reader.places.span(self.at..self.at + length);
        Error::new(span, Problem::Unexpected { found }).expecting(expected)
    }

    /// A byte order mark, the XML declaration, comments and white space.
    /// None of them has to be there.
    pub(super) fn skip_prolog(&mut self, reader: &mut Reader<'_>) -> Result<(), Error> {
        if self.rest().starts_with('\u{feff}') {
            self.at += '\u{feff}'.len_utf8();
        }
        self.skip_blanks(reader)?;
        // Not looked into: the text is UTF-8 by now, whatever the declaration says.
        if self.rest().starts_with("<?xml") {
            match self.rest().find("?>") {
                Some(end) => self.at += end + "?>".len(),
                None => {
                    return Err(self.not_closed(reader, "the XML declaration", "end it with ?>"));
                }
            }
        }
        self.skip_blanks(reader)
    }

    /// White space and comments.
    pub(super) fn skip_blanks(&mut self, reader: &mut Reader<'_>) -> Result<(), Error> {
        loop {
            self.skip_white();
            if !self.skip_comment(reader)? {
                return Ok(());
            }
        }
    }

    /// White space as the RFC's example has it, no-break blanks included.
    fn skip_white(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(WHITE).len();
    }

    /// True when there was one. Errors: one that does not end.
    /// A comment may stand between tags and inside text.
    fn skip_comment(&mut self, reader: &mut Reader<'_>) -> Result<bool, Error> {
        let Some((opening, plain)) = comment_opening(self.rest()) else {
            return Ok(false);
        };
        let Some(length) = self.rest()[opening..].find("-->") else {
            return Err(self.not_closed(reader, "the comment", "end it with -->"));
        };
        // Told for each, as each has to be mended.
        if !plain {
            let span = reader.places.span(self.at..self.at + opening);
            reader.diagnostics.add(span, Remark::TypographicDash);
        }
        self.at += opening + length + "-->".len();
        Ok(true)
    }

    /// Markup that begins here and does not end.
    /// Points at where it begins, as its end is what is missing.
    fn not_closed(&self, reader: &Reader<'_>, what: &str, hint: &str) -> Error {
        let span = reader.places.span(self.at..self.at + 1);
        let what = String::from(what);
        Error::new(span, Problem::NotClosed { what }).hinting(hint)
    }

    /// The tag here. Shape: `<` comes next. Errors: what is no tag.
    pub(super) fn markup(&mut self, reader: &mut Reader<'_>) -> Result<Markup<'a>, Error> {
        let start = self.at;
        let rest = self.rest();
        // First, since `<!` would give an empty name.
        self.refuse(reader)?;
        let closes = rest.starts_with("</");
        let name_at = if closes { 2 } else { 1 };
        let name = &rest[name_at..][..name_length(&rest[name_at..])];
        if name.is_empty() {
            let error = self.unexpected(reader, "the name of an element behind '<'");
            return Err(error.hinting("write &lt; for a '<' in text"));
        }
        let behind = &rest[name_at + name.len()..];
        let Some(length) = tag_length(behind) else {
            return Err(self.not_closed(reader, "the tag", "end it with '>'"));
        };
        let inside = behind[..length - 1].trim_matches(WHITE);
        let empty = !closes && inside.ends_with('/');
        self.at += name_at + name.len() + length;
        let span = reader.places.span(start..self.at);
        // No element has attributes; they are passed over and told.
        if !inside.trim_end_matches('/').is_empty() {
            let name = String::from(name);
            reader.diagnostics.add(span, Remark::Attributes { name });
        }
        Ok(if closes {
            Markup::Close { name, span }
        } else {
            Markup::Open { name, span, empty }
        })
    }

    /// Errors: markup that could make text of something else.
    fn refuse(&self, reader: &Reader<'_>) -> Result<(), Error> {
        let rest = self.rest();
        // The longest beginnings first: `<!DOCTYPE` is one of `<!`, too.
        let refused = [
            ("<!DOCTYPE", "a document type definition"),
            ("<!ENTITY", "a declaration of an entity"),
            ("<![", "a CDATA or conditional section"),
            ("<!", "a declaration"),
            ("<?", "a processing instruction"),
        ];
        let found = refused.iter().find(|(start, _)| {
            let head = rest.as_bytes().get(..start.len());
            // Bytes, as the file may have a character across the end of the head.
            head.is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
        });
        match found {
            None => Ok(()),
            Some((start, what)) => {
                let span = reader.places.span(self.at..self.at + start.len());
                Err(Error::new(span, Problem::RefusedMarkup { what }))
            }
        }
    }

    /// The pieces of text up to the next closing tag, comments left out; none when another
    /// element opens or the file ends before.
    /// Shape: at the closing tag afterwards, which is not read.
    pub(super) fn entry_text(
        &mut self,
        reader: &mut Reader<'_>,
    ) -> Result<Option<Vec<Piece>>, Error> {
        let mut pieces = Vec::new();
        loop {
            let from = self.at;
            let Some(length) = self.rest().find('<') else {
                return Ok(None);
            };
            self.at += length;
            pieces.push(Piece { from, to: self.at });
            if self.rest().starts_with("</") {
                return Ok(Some(pieces));
            }
            if !self.skip_comment(reader)? {
                self.refuse(reader)?;
                return match name_length(&self.rest()[1..]) {
                    0 => self.markup(reader).map(|_| None),
                    _ => Ok(None),
                };
            }
        }
    }

    /// True when one of these elements opens next, comments and white space aside.
    /// Looks ahead only; used where an opening tag may stand for a closing one.
    pub(super) fn goes_on_with(&self, tags: &[Tag]) -> bool {
        let mut ahead = self.clone();
        loop {
            ahead.skip_white();
            let rest = ahead.rest();
            match comment_opening(rest) {
                Some((opening, _)) => match rest[opening..].find("-->") {
                    Some(length) => ahead.at += opening + length + "-->".len(),
                    None => return false,
                },
                None => {
                    let name = rest.strip_prefix('<').unwrap_or_default();
                    let tag = Tag::find(&name[..name_length(name)]);
                    return tag.is_some_and(|tag| tags.contains(&tag));
                }
            }
        }
    }
}
