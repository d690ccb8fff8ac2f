//! Whether the control socket can be where a configuration has it.
//!
//! Judged here: the length of the path, its directory, the group. Whether the name is taken shows
//! only when it is bound, which the start does.
//!
//! The path has at most 107 bytes, since `sun_path` has 108 and ends with a NUL. A path in a deep
//! directory is the usual fault.

use std::io;
use std::path::{Path, PathBuf};

use sa_port::ring;
use thiserror::Error;

use crate::config::ControlSection;

/// Bytes of the path of a socket: `sun_path` holds 108, the last of which is a NUL.
pub(super) const LONGEST: usize = 107;

/// A control socket that cannot be made, or not there.
#[derive(Debug, Error)]
#[error("[control] {}: {problem}", path.display())]
pub struct ControlSocketError {
    /// The socket.
    pub path: PathBuf,
    /// Why not.
    pub problem: ControlSocketProblem,
}

/// Why a control socket cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlSocketProblem {
    /// The path does not fit into the address of a socket.
    #[error("the path of a socket has at most {LONGEST} bytes")]
    TooLong,
    /// Its directory is not there, or cannot be looked at.
    #[error("{}: {source}; make this directory", directory.display())]
    Directory {
        /// Which.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What should be its directory is none.
    #[error("{} is no directory", directory.display())]
    NoDirectory {
        /// Which.
        directory: PathBuf,
    },
    /// The group is unknown here.
    #[error("{said}")]
    Group {
        /// As the system's user database says it.
        said: String,
    },
    /// Something else has the name.
    #[error("there is something that is no socket; choose another path")]
    NoSocket,
    /// It is served already.
    #[error("another daemon listens there")]
    InUse,
    /// The system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ControlSocketProblem {
    /// The error of a section.
    pub(crate) fn at(self, section: &ControlSection) -> ControlSocketError {
        ControlSocketError {
            path: section.path.clone(),
            problem: self,
        }
    }
}

/// Whether the socket can be there. Errors: [`ControlSocketError`].
pub(crate) fn check(section: &ControlSection) -> Result<(), ControlSocketError> {
    judge(section).map_err(|problem| problem.at(section))
}

fn judge(section: &ControlSection) -> Result<(), ControlSocketProblem> {
    if section.path.as_os_str().len() > LONGEST {
        return Err(ControlSocketProblem::TooLong);
    }
    let directory = directory(&section.path);
    let about = directory
        .metadata()
        .map_err(|source| ControlSocketProblem::Directory {
            directory: directory.to_owned(),
            source,
        })?;
    if !about.is_dir() {
        let directory = directory.to_owned();
        return Err(ControlSocketProblem::NoDirectory { directory });
    }
    group(section).map(drop)
}

/// The group that the section names, by number. Errors: it is unknown here.
pub(crate) fn group(section: &ControlSection) -> Result<Option<u32>, ControlSocketProblem> {
    let group = section.group.as_deref().map(ring::group_id).transpose();
    group.map_err(|said| ControlSocketProblem::Group { said })
}

/// Where the socket is to be; a name alone is in the working directory.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
