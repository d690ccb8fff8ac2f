//! What is wrong with a file, and where.

use std::ops::Deref;

use thiserror::Error as ThisError;

pub use crate::problem::Problem;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// Units: bytes of the decoded text before it.
    pub offset: u32,
    /// Units: bytes.
    pub length: u32,
    /// From 1.
    pub line: u32,
    /// From 1. Units: characters; a tab is one.
    pub column: u32,
}

impl Span {
    /// The very beginning.
    pub const START: Self = Self {
        offset: 0,
        length: 0,
        line: 1,
        column: 1,
    };

    /// From the beginning of this to the end of `last`, which comes later.
    #[must_use]
    pub const fn to(self, last: Self) -> Self {
        Self {
            length: (last.offset + last.length).saturating_sub(self.offset),
            ..self
        }
    }
}

/// A value, and where it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// What.
    pub value: T,
    /// Where.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Puts both together.
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

/// Why a file is refused. Whoever shows it adds the file's name.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("line {}, column {}: {problem}", span.line, span.column)]
pub struct Error {
    /// Where.
    pub span: Span,
    /// What.
    pub problem: Problem,
    /// What would have been right here, for syntax errors.
    pub expected: Option<&'static str>,
    /// What to do about it, where more can be said than the problem's own advice.
    pub hint: Option<String>,
}

impl Error {
    /// Shape: no expectation, no hint.
    pub const fn new(span: Span, problem: Problem) -> Self {
        Self {
            span,
            problem,
            expected: None,
            hint: None,
        }
    }

    /// More than is read of something. Units: bytes.
    pub(crate) const fn too_long(
        span: Span,
        what: &'static str,
        length: usize,
        limit: usize,
    ) -> Self {
        let problem = Problem::TooLong {
            what,
            length,
            limit,
        };
        Self::new(span, problem)
    }

    /// Adds what would have been right.
    #[must_use]
    pub const fn expecting(mut self, expected: &'static str) -> Self {
        self.expected = Some(expected);
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// From 1.
    pub const fn line(&self) -> u32 {
        self.span.line
    }

    /// From 1.
    pub const fn column(&self) -> u32 {
        self.span.column
    }

    /// The problem in one sentence, without its place.
    pub fn message(&self) -> String {
        self.problem.to_string()
    }

    /// What would have been right here.
    pub const fn expected(&self) -> Option<&'static str> {
        self.expected
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        self.hint
            .clone()
            .or_else(|| self.problem.advice().map(String::from))
    }
}
