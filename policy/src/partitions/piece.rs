//! Parts of a line that know where they stand.
//!
//! Splitting a line by commas and colons loses where its parts stood; a piece keeps the line beside
//! the part, so that a message can point at the word.
//!
//! ```text
//! line  " storage = 0x0123 , ipoib : ALL"      piece "0x0123"      line 7, column 12
//! ```

use sa_text::Span;

use crate::error::{Error, Problem};

/// A part of one line.
/// Borrowed from the text of the file; copied freely.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    /// A part of `line`, by address and not only by content.
    pub(super) text: &'a str,
    /// The line that `text` is a part of.
    line: &'a str,
    /// Where the line begins.
    start: Span,
}

impl<'a> Piece<'a> {
    /// A whole line without its newline, and where it begins.
    pub(super) const fn line(text: &'a str, start: Span) -> Self {
        let line = text;
        Self { text, line, start }
    }

    /// Another part of the same line.
    pub(super) fn with(self, text: &'a str) -> Self {
        Self { text, ..self }
    }

    /// Without blanks and tabs at its ends; other white space counts as text, as in OpenSM.
    pub(super) fn trimmed(self) -> Self {
        self.with(self.text.trim_matches([' ', '\t']))
    }

    /// What stands before and behind a character.
    pub(super) fn split(self, at: char) -> (Self, Option<Self>) {
        match self.text.split_once(at) {
            Some((before, behind)) => (self.with(before), Some(self.with(behind))),
            None => (self, None),
        }
    }

    /// A name and its value, blanks around them removed.
    /// `sl=2` is two pieces, `ipoib` one; a second `=` belongs to the value.
    pub(super) fn assignment(self) -> (Self, Option<Self>) {
        let (name, value) = self.split('=');
        (name.trimmed(), value.map(Self::trimmed))
    }

    /// Where it stands. A piece is always a part of its line, so that their addresses tell.
    pub(super) fn span(self) -> Span {
        // Both are parts of one text, so the difference is the offset within the line.
        let from = self.text.as_ptr().addr() - self.line.as_ptr().addr();
        self.start.piece(self.line, from..from + self.text.len())
    }

    /// An error at this place.
    pub(super) fn refuse(self, problem: Problem) -> Error {
        Error::new(self.span(), problem)
    }
}
