//! What is wrong with a file, and where.
//!
//! An [`Error`] is the first thing in a file that leaves no reading: a [`Problem`] with its place. Problems
//! are values with the words of the file in them; sentences and advice are made from them here, so that every
//! program says the same. It is below everything else in this crate. A [`Remark`] is about a part of a policy
//! that is accepted.
//!
//! ```text
//! Error { span: 12:9..12:13, problem: UnknownLevel { name: "bluk" }, expected: None, hint: None }
//! shown: policy.conf:12:9: .. with the line of text and the advice below it
//! ```

use sa_text::{BadText, MAX_FILE_BYTES, Span};
use thiserror::Error as ThisError;

mod problem;
mod remark;
mod service;

pub use problem::Problem;
pub use remark::Remark;
pub(crate) use remark::{VLARB_SCOPE, partition_hint};
pub use service::{UlpError, UlpProblem};

/// Why a file is refused. Whoever shows it adds the file's name.
/// One for a file: the first that is found, which is not always the first by place.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("{}: {problem}", span.start)]
pub struct Error {
    /// What is wrong: the first character that leaves no reading, or the whole of what contradicts something.
    pub span: Span,
    /// What is wrong there, as a value.
    pub problem: Problem,
    /// What would have been right here, for syntax errors.
    pub expected: Option<&'static str>,
    /// What to do about it, where more can be said than the problem's own advice.
    /// Allocated only once there is an error.
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

    /// Adds advice, which goes before that of the problem.
    #[must_use]
    pub fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The line where the problem begins. Units: from 1.
    pub const fn line(&self) -> u32 {
        self.span.start.line
    }

    /// The character in its line where the problem begins. Units: characters, from 1.
    pub const fn column(&self) -> u32 {
        self.span.start.column
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
    /// A hint knows the case and goes before the advice for all such problems.
    pub fn help(&self) -> Option<String> {
        self.hint
            .clone()
            .or_else(|| self.problem.advice().map(String::from))
    }
}

impl From<BadText> for Error {
    fn from(bad: BadText) -> Self {
        let problem = match bad {
            BadText::TooLong { length } => Problem::TooMany {
                what: "bytes",
                found: length,
                limit: MAX_FILE_BYTES,
            },
            BadText::Nul { .. } => Problem::NulByte,
        };
        Self::new(bad.span(), problem)
    }
}
