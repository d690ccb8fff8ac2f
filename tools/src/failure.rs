//! How a verb fails, and the exit status that says so.

use std::fmt;

/// What a verb ends with.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A verb that did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file cannot be read or parsed, or the work failed: exit 1.
    Failed(String),
    /// Options that clap cannot judge: exit 2.
    Usage(String),
    /// Inputs understood, but the route is refused or problems were found: exit 3.
    Refused(String),
    /// Nobody answered: exit 4.
    Unreachable(String),
}

impl Failure {
    /// The exit status.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Unreachable(_) => 4,
        }
    }

    /// A failure of the work itself.
    pub(crate) fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Failed(text)
        | Self::Usage(text)
        | Self::Refused(text)
        | Self::Unreachable(text)) = self;
        write!(f, "sapphire: {text}")
    }
}
