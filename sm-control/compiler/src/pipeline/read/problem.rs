//! Why an input cannot be taken in.
//!
//! Each names a file and, where there is one, the place in it (`file:line:column: what; what to
//! do`), as compilers do, so that editors can jump there. [`ReadProblem::location`] has the same as
//! a value for JSON documents. The daemon logs a problem and keeps what it serves; the tool ends
//! with it.

use std::path::{Path, PathBuf};

use routing::engine::torus::ConfigErrors;
use sa_fabric::ParseError;
use sa_fabric::detect::LoadError;
use sa_fabric::display::at_most;
use sa_fabric::intake::ReadError;
use sa_fabric::mistaken::Mistaken;
use sa_fabric::subnet::SubnetError;
use sa_text::{Location, Position};
use sa_wire::{Guid, Lid};
use thiserror::Error;

use super::failures::FailedPartError;

/// An input that cannot be read or parsed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadProblem {
    /// The fabric, the LIDs or the dumps.
    #[error(transparent)]
    Fabric(#[from] LoadError),
    /// The fabric gives no subnet.
    #[error("{}: {source}", path.display())]
    Subnet {
        /// The fabric file.
        path: PathBuf,
        /// Why not.
        source: SubnetError,
    },
    /// What a running SA told gives no subnet.
    #[error("the fabric of {whom}: {source}")]
    SubnetOfSa {
        /// The SA.
        whom: String,
        /// Why not.
        source: SubnetError,
    },
    /// A port of a running fabric has a LID that its LMC does not allow.
    #[error("the fabric of {whom}: LID {lid} of {port} does not fit its LMC; is the SM at work?")]
    LidOfSa {
        /// The SA.
        whom: String,
        /// The LID.
        lid: Lid,
        /// The port, for people.
        port: String,
    },
    /// A snapshot where a fabric must stand.
    #[error(
        "{}: this is a snapshot, which holds no forwarding tables to work from; give the fabric \
        file it was compiled from",
        .0.display()
    )]
    IsSnapshot(PathBuf),
    /// A directory of dumps without forwarding tables.
    #[error("{}: holds no {name} (nor .xz)", directory.display())]
    NoTables {
        /// The directory.
        directory: PathBuf,
        /// The file that it lacks.
        name: &'static str,
    },
    /// A dump of a switch or port that the fabric does not have.
    #[error(
        "{}:{line}:1: {guid} is not in the fabric; are these dumps of another fabric?",
        path.display()
    )]
    ForeignTable {
        /// The dump.
        path: PathBuf,
        /// The line that names it.
        line: u32,
        /// The switch or port.
        guid: Guid,
    },
    /// Another file than it was to be.
    #[error(transparent)]
    Mistaken(#[from] Mistaken),
    /// A text that is not what it should be.
    #[error("{}:{}:{}: {}", path.display(), source.at.line, source.at.column, source.problem)]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: ParseError,
    },
    /// `torus-2QoS.conf`. Shape: a line per error, as many as people read.
    #[error("{}", torus_report(path, errors))]
    TorusConf {
        /// The file.
        path: PathBuf,
        /// All that is wrong with it.
        errors: ConfigErrors,
    },
    /// A policy, the names of its services, or partitions.
    #[error("{}: {}", Location::new(path, error.span.start), sentence(error))]
    Policy {
        /// The file.
        path: PathBuf,
        /// Where and what, and what to do.
        error: Box<policy::Error>,
    },
    /// An alias GUID that is the GUID of a port.
    #[error(
        "{}: {alias} is the GUID of a port, and cannot be an alias of {port}; remove it",
        Location::new(path, *at)
    )]
    AliasIsPort {
        /// The file.
        path: PathBuf,
        /// The alias in it.
        at: Position,
        /// The alias.
        alias: Guid,
        /// The port that it is given to.
        port: Guid,
    },
    /// An alias GUID that was given before.
    #[error(
        "{}: {alias} is an alias already, at {first}; remove one of them",
        Location::new(path, *at)
    )]
    AliasTwice {
        /// The file.
        path: PathBuf,
        /// The second place in it.
        at: Position,
        /// The alias.
        alias: Guid,
        /// The first place.
        first: Position,
    },
    /// A part that is to be taken as failed.
    #[error(transparent)]
    FailedPart(#[from] FailedPartError),
    /// Contradicting options.
    #[error(transparent)]
    Options(#[from] OptionsProblem),
}

/// Inputs that cannot stand beside each other, or one that lacks another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OptionsProblem {
    /// Engine `files` without tables.
    #[error("engine files needs a directory of OpenSM dumps as the fabric")]
    NoDumps,
    /// Engine `files` with failed parts.
    #[error(
        "engine files cannot route around failures, because its tables are given; choose another engine"
    )]
    TablesAndFailures,
    /// An engine that makes its own paths, for a fabric that is routed already.
    #[error("engine {engine} computes its own paths, but a running SA gives out those of its SM")]
    EngineForSa {
        /// The engine.
        engine: &'static str,
    },
    /// A torus engine without its configuration.
    #[error(
        "engines torus-2qos and torus-proved need a torus configuration, and no \
         torus-2QoS.conf lies beside the fabric; give --torus-conf (torus_conf in [routing])"
    )]
    NoTorusConf,
}

impl ReadProblem {
    /// The file that is wrong, and the place in it; none where no single file is.
    pub fn location(&self) -> Option<Location> {
        Some(match self {
            Self::Fabric(problem) => problem.location(),
            Self::Subnet { path, .. } | Self::IsSnapshot(path) => Location::file(path),
            Self::NoTables { directory, .. } => Location::file(directory),
            Self::ForeignTable { path, line, .. } => {
                let (line, column) = (*line, 1);
                Location::new(path, Position { line, column })
            }
            Self::Mistaken(other) => Location::file(&other.path),
            Self::Parse { path, source } => Location::new(path, source.at),
            Self::TorusConf { path, errors } => {
                let first = errors.0.first().map(|error| error.at);
                Location::new(path, first.unwrap_or(Position::START))
            }
            Self::Policy { path, error } => Location::new(path, error.span.start),
            Self::AliasIsPort { path, at, .. } | Self::AliasTwice { path, at, .. } => {
                Location::new(path, *at)
            }
            Self::SubnetOfSa { .. }
            | Self::LidOfSa { .. }
            | Self::FailedPart(_)
            | Self::Options(_) => return None,
        })
    }

    /// A policy, names of services or partitions that do not parse.
    pub(super) fn policy(path: impl Into<PathBuf>, error: policy::Error) -> Self {
        Self::Policy {
            path: path.into(),
            error: Box::new(error),
        }
    }

    /// A text that does not parse.
    pub(super) fn parse(path: impl Into<PathBuf>, source: ParseError) -> Self {
        Self::Parse {
            path: path.into(),
            source,
        }
    }
}

impl From<ReadError> for ReadProblem {
    /// Any file that cannot be read is told in the same words, whatever it is for.
    fn from(problem: ReadError) -> Self {
        Self::Fabric(problem.into())
    }
}

/// All errors of a `torus-2QoS.conf`, a line each, as its parser finds them in one go.
fn torus_report(path: &Path, errors: &ConfigErrors) -> String {
    let report = errors.report(&path.display().to_string());
    let lines = report.lines().map(str::to_owned);
    at_most(lines, "error", "errors").join("\n")
}

/// A policy or partition error with all it has to say but its place, on one line.
///
/// For messages that show a place of their own.
pub(super) fn sentence(error: &policy::Error) -> String {
    let mut sentence = error.message();
    if let Some(expected) = error.expected() {
        sentence.push_str("; expected ");
        sentence.push_str(expected);
    }
    match error.help() {
        Some(help) => format!("{sentence} ({help})"),
        None => sentence,
    }
}
