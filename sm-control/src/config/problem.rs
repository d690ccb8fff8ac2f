//! Why a configuration cannot be used, as values with a place.
//!
//! `FILE:LINE:COLUMN: what`, always of the first problem: later ones are often its consequences.
//! Problems are values so that `sapphire doctor` can point at the place and tests can name the
//! problem; their words are for people.
//!
//! ```text
//!  sapphired.toml:3:1: unknown field `pth`, expected one of `source`, `path`, ..
//!  sapphired.toml:9:9: invalid value: integer `1`, expected 2 to 65536 slots
//!  sapphired.toml:14:1: no [[port]] section: say where requests come from
//! ```
//!
//! Nothing is judged here; these are the words.

use std::path::PathBuf;

use sa_fabric::intake::ReadError;
use sa_text::{Location, Position};
use thiserror::Error;

use super::{
    FleetContradiction, LocalContradiction, NumberProblem, RoleContradiction, ShadowContradiction,
    SourceContradiction,
};

/// A configuration that cannot be used.
///
/// Ends a start; a reload keeps the configuration that is in force.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not what was expected.
    #[error("{}:{source}", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Where and what.
        source: ConfigProblem,
    },
}

/// What is wrong in the text of a configuration.
///
/// Shape: prints as `LINE:COLUMN: what`, to stand behind the name of the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}:{}: {problem}", at.line, at.column)]
pub struct ConfigProblem {
    /// The key or value that is to blame; the end of the text where something is missing.
    pub at: Position,
    /// What it is.
    pub problem: Problem,
}

/// What can be wrong with the text of a configuration.
///
/// New ones may come: programs are to go by the place, people by the words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is no TOML, or a section does not take it; as the parser says it.
    #[error("{said}")]
    Text {
        /// What was found, what was expected.
        said: String,
    },
    /// A number that is none, or outside what its key takes.
    #[error(transparent)]
    Number(#[from] NumberProblem),
    /// Nobody could ask.
    #[error("no [[port]] section: say where requests come from")]
    NoPort,
    /// The fabric cannot be read as `[fabric]` has it.
    #[error(transparent)]
    Source(#[from] SourceContradiction),
    /// `[fleet]` cannot be, or does not fit the rest.
    #[error(transparent)]
    Fleet(#[from] FleetContradiction),
    /// `[local_service]` would be without effect, or answer from nothing.
    #[error(transparent)]
    LocalService(#[from] LocalContradiction),
    /// What clients set would be nobody's, or kept twice.
    #[error(transparent)]
    Role(#[from] RoleContradiction),
    /// A shadow would have nobody to compare with.
    #[error(transparent)]
    Shadow(#[from] ShadowContradiction),
}

impl ConfigError {
    /// The file, and the place in it where there is one.
    ///
    /// For a program that opens an editor.
    pub fn location(&self) -> Location {
        match self {
            Self::Read(problem) => Location::file(problem.path()),
            Self::Parse { path, source } => Location::new(path, source.at),
        }
    }
}
