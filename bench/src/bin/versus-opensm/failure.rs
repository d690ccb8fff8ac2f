//! Why a run ended early.

use std::process::ExitCode;

use thiserror::Error;

/// What a step gives.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a run ended early. Shape: texts for people, with a next step where there is one.
///
/// The kinds are exit statuses: scripts tell a void run from one that broke.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// Something did not work.
    #[error("{0}")]
    Failed(String),
    /// The options make no sense together.
    #[error("{0}")]
    Usage(String),
    /// The figures mean nothing.
    #[error("void: {0}")]
    Void(String),
    /// SIGINT or SIGTERM.
    #[error("interrupted; every process it started was ended")]
    Interrupted,
}

impl Failure {
    /// One that says what was attempted.
    pub(crate) fn of<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Self::Failed(format!("{what}: {error}"))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Void(_) => 3,
            // 130 as shells have it for SIGINT.
            Self::Interrupted => 130,
        })
    }
}
