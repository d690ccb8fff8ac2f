//! Parts of a line that know where they stand.

use crate::error::{Error, Problem, Span};

/// A part of one line.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    line: &'a str,
    line_offset: usize,
    line_number: usize,
    /// In the whole line a byte is a character.
    ascii: bool,
}

impl<'a> Piece<'a> {
    /// A whole line without its newline. Shape: `number` counts from 1.
    pub(super) fn line(text: &'a str, offset: usize, number: usize) -> Self {
        Self {
            text,
            line: text,
            line_offset: offset,
            line_number: number,
            ascii: text.is_ascii(),
        }
    }

    /// Another part of the same line.
    pub(super) fn with(self, text: &'a str) -> Self {
        Self { text, ..self }
    }

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
    pub(super) fn assignment(self) -> (Self, Option<Self>) {
        let (name, value) = self.split('=');
        (name.trimmed(), value.map(Self::trimmed))
    }

    pub(super) fn span(self) -> Span {
        let start = self.text.as_ptr().addr() - self.line.as_ptr().addr();
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let before = if self.ascii {
            start
        } else {
            self.line[..start].chars().count()
        };
        Span {
            offset: narrow(self.line_offset + start),
            length: narrow(self.text.len()),
            line: narrow(self.line_number),
            column: narrow(before + 1),
        }
    }

    pub(super) fn refuse(self, problem: Problem) -> Error {
        Error::new(self.span(), problem)
    }
}
