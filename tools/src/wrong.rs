//! An error that is told to a person, and that nothing decides on.
//!
//! Values of options, lines of standard input and pieces of files are taken or not; where one is
//! not, all that is left to do is to say what was expected. Whoever has more to say about it, such
//! as the file and the place, makes a [`Failure`](crate::failure::Failure) of it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// Why something is not taken. Shape: what was expected, in words, without an end.
///
/// Constant words are borrowed: most of them are, and clap makes one for each value it refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong(Cow<'static, str>);

impl Wrong {
    /// What another error says.
    pub(crate) fn of(error: impl fmt::Display) -> Self {
        Self(Cow::Owned(error.to_string()))
    }
}

impl From<&'static str> for Wrong {
    fn from(words: &'static str) -> Self {
        Self(Cow::Borrowed(words))
    }
}

impl From<String> for Wrong {
    fn from(words: String) -> Self {
        Self(Cow::Owned(words))
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Wrong {}
