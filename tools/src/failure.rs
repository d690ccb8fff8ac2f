//! How a verb fails: the exit status that says so, and the place where something is wrong.
//!
//! A failure is made from an error, whose type knows its place ([`Cause`]), or from a sentence. No
//! place is read out of a text: what programs get as `file`, `line` and `column` is what the
//! reader of the file knew.
//!
//! ```text
//! 0   done
//! 1   Failed        a file cannot be read or parsed, or the work failed
//! 2   Usage         what clap refuses, and what it cannot judge
//! 3   Refused       understood, and the answer is no: a credit loop, a difference, a wrong reply
//! 4   Unreachable   nobody answered
//! 130   Interrupted   by Ctrl-C (SIGINT); 143 by SIGTERM, 129 by SIGHUP
//! ```
//!
//! Scripts rely on 3 and 4 being apart from 1: a check that found something is not a check that did
//! not run. Verbs never print an error themselves; they return it, and `main` prints it once, on
//! standard error, and with `--json` as a document where nothing else was printed.
//!
//! For programs, as the last field of a document or as a document of its own:
//!
//! ```text
//! {"schema":"sapphire.error/1","error":{"message":"..","exit_code":1,"file":"net","line":3,"column":14}}
//! ```

use std::fmt;
use std::io;
use std::path::PathBuf;

use fleet_keys::{KeyProblem, RootFileProblem};
use sa_bench::count::CountError;
use sa_bench::memory::MemoryError;
use sa_bench::threads::LineError;
use sa_compiler::account::AccountError;
use sa_compiler::export::ExportError;
use sa_compiler::pipeline::{PipelineError, ReadProblem};
use sa_fabric::generate::GenerateError;
use sa_fabric::intake::ReadError;
use sa_fabric::mistaken::Mistaken;
use sa_fabric::multicast::TableError;
use sa_fabric::outlet::WriteError;
use sa_fabric::sa_records::FilesError;
use sa_fabric::store::StoreError;
use sa_fabric::{LoadError, LookupError};
use sa_source::SourceError;
use sa_text::{Location, Position};
use sa_wire::mad::DecodeError;
use sa_wire::request::TooShort;
use serde::Serialize;
use sm_control::config::ConfigError;

/// What a verb ends with.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A verb that did not do what was asked.
/// Made where the error is first seen by the tool.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// May have several lines, such as all errors of a file.
    text: String,
    /// None for a failure that no file is to blame for.
    location: Option<Location>,
}

/// In which way it failed, which is its exit status.
/// Verbs may look at it: `sapphire compare` goes on after silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// A file cannot be read or parsed, or the work failed: exit 1.
    Failed,
    /// Options that clap cannot judge: exit 2.
    Usage,
    /// Inputs understood, but the route is refused or problems were found: exit 3.
    Refused,
    /// Nobody answered: exit 4.
    Unreachable,
    /// Cut short by a signal, with this exit status.
    Interrupted(u8),
}

/// What a failure is made from.
/// Implemented by every error type that verbs meet, so that no place gets lost in a text. Whoever
/// adds one has to say here whether it knows its file.
pub(crate) trait Cause: fmt::Display {
    /// The file that it is about, and the place in it; none for what no file says.
    /// The default is for errors of the system and of sentences.
    fn location(&self) -> Option<Location> {
        None
    }
}

impl Failure {
    /// Exit status of wrong usage.
    pub(crate) const USAGE: u8 = 2;

    /// Without a place; see [`Failure::about`].
    const fn new(kind: FailureKind, text: String) -> Self {
        Self {
            kind,
            text,
            location: None,
        }
    }

    /// A failure of the work itself: exit 1.
    pub(crate) fn failed(cause: impl Cause) -> Self {
        let failure = Self::new(FailureKind::Failed, cause.to_string());
        Self {
            location: cause.location(),
            ..failure
        }
    }

    /// The same about a file. Shape: the text begins with its name.
    /// For errors whose type does not know its file.
    pub(crate) fn failed_in(file: impl Into<PathBuf>, what: impl fmt::Display) -> Self {
        let location = Location::file(file);
        let text = format!("{location}: {what}");
        Self::failed(text).about(location)
    }

    /// The same about a place in a file. Shape: the text begins with `file:line:column`.
    /// Lines and columns count from 1.
    pub(crate) fn failed_at(
        file: impl Into<PathBuf>,
        at: Position,
        what: impl fmt::Display,
    ) -> Self {
        let location = Location::new(file, at);
        let text = format!("{location}: {what}");
        Self::failed(text).about(location)
    }

    /// Wrong usage that clap cannot judge: exit 2.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, text.into())
    }

    /// Inputs understood, but something is refused or problems were found: exit 3.
    /// What the verb prints otherwise is printed all the same, before it.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Refused, text.into())
    }

    /// Nobody answered: exit 4.
    pub(crate) fn unreachable(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Unreachable, text.into())
    }

    /// Cut short by a signal. What was measured until then was printed before it.
    pub(crate) fn interrupted(status: u8, text: impl Into<String>) -> Self {
        Self::new(FailureKind::Interrupted(status), text.into())
    }

    /// The same failure, which is about this file or place.
    pub(crate) fn about(self, location: Location) -> Self {
        Self {
            location: Some(location),
            ..self
        }
    }

    /// The exit status.
    /// An interface: it never changes for a kind.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::Failed => 1,
            FailureKind::Usage => Self::USAGE,
            FailureKind::Refused => 3,
            FailureKind::Unreachable => 4,
            FailureKind::Interrupted(status) => status,
        }
    }

    /// What is wrong, and what to do about it.
    /// Without the `sapphire: ` that standard error has in front.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// For programs: what stands as `error` in a document.
    /// Borrows: it is printed at once.
    pub(crate) fn report(&self) -> ErrorReport<'_> {
        let location = self.location.as_ref();
        // A file may be at fault as a whole: then it has no line.
        let at = location.and_then(|location| location.at);
        ErrorReport {
            message: &self.text,
            exit_code: self.exit_code(),
            file: location.map(|location| location.file.display().to_string()),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
        }
    }
}

/// A failure for programs.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorReport<'a> {
    /// What is wrong, and what to do about it, as standard error has it.
    message: &'a str,
    exit_code: u8,
    /// The file that it is about; none for what no file says.
    file: Option<String>,
    /// From 1; none where the whole file is meant.
    line: Option<u32>,
    /// From 1. Units: characters.
    column: Option<u32>,
}

/// As standard error shows it.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sapphire: {}", self.text)
    }
}

impl Cause for &str {}
impl Cause for String {}
impl Cause for io::Error {}
impl Cause for serde_json::Error {}
impl Cause for sa_snapshot::LoadError {}
impl Cause for LookupError {}
impl Cause for DecodeError {}
impl Cause for TooShort {}
impl Cause for AccountError {}
impl Cause for GenerateError {}
impl Cause for CountError {}
impl Cause for LineError {}
impl Cause for MemoryError {}
impl Cause for sa_bench::live::LiveError {}
impl Cause for sa_bench::sweeps::SweepFailure {}
impl Cause for sa_source::SaReadError {}

impl Cause for ReadError {
    fn location(&self) -> Option<Location> {
        Some(Location::file(self.path()))
    }
}

impl Cause for WriteError {
    fn location(&self) -> Option<Location> {
        Some(Location::file(self.path()))
    }
}

impl Cause for StoreError {
    fn location(&self) -> Option<Location> {
        Some(Location::file(self.path()))
    }
}

impl Cause for Mistaken {
    fn location(&self) -> Option<Location> {
        Some(Location::file(&self.path))
    }
}

impl Cause for LoadError {
    fn location(&self) -> Option<Location> {
        Some(self.location())
    }
}

impl Cause for KeyProblem {
    fn location(&self) -> Option<Location> {
        Some(self.location())
    }
}

impl Cause for RootFileProblem {
    fn location(&self) -> Option<Location> {
        Some(self.location())
    }
}

impl Cause for TableError {
    fn location(&self) -> Option<Location> {
        Some(self.location())
    }
}

/// Other variants are about records of an SA, which lie in no file.
impl Cause for FilesError {
    fn location(&self) -> Option<Location> {
        match self {
            Self::Write(problem) => Cause::location(problem),
            _ => None,
        }
    }
}

impl Cause for ReadProblem {
    fn location(&self) -> Option<Location> {
        self.location()
    }
}

impl Cause for PipelineError {
    fn location(&self) -> Option<Location> {
        self.location()
    }
}

impl Cause for ExportError {
    fn location(&self) -> Option<Location> {
        Some(Location::file(self.path()))
    }
}

impl Cause for ConfigError {
    fn location(&self) -> Option<Location> {
        Some(self.location())
    }
}

impl Cause for SourceError {
    fn location(&self) -> Option<Location> {
        self.location()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_what_the_reader_knew() {
        let path = "a: b.conf";
        let failure = Failure::failed_at(
            path,
            Position {
                line: 3,
                column: 14,
            },
            "expected x",
        );
        assert_eq!(failure.text(), "a: b.conf:3:14: expected x");
        let error = failure.report();
        assert_eq!(error.file.as_deref(), Some(path));
        assert_eq!((error.line, error.column), (Some(3), Some(14)));
        let whole = Failure::failed_in(path, "cannot be read");
        let error = whole.report();
        assert_eq!((error.file.as_deref(), error.line), (Some(path), None));
    }

    #[test]
    fn a_sentence_that_looks_like_a_place_is_none() {
        for text in ["", "LID 3: no such port", "1:2: x", "src/main.rs:3:14: no"] {
            assert_eq!(Failure::failed(text).report().file, None);
        }
    }
}
