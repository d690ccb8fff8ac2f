//! Snapshots as files: written for the next start, read without a compilation.
//!
//! A snapshot is its file, byte for byte (ADR 1), so there is nothing to convert. What this adds is
//! the safe way in and out: through `intake` (a regular file, never waited for) and `outlet` (whole
//! or not at all), and that a file with a key inside is readable by its owner alone.
//!
//! It is read into memory of our own and not mapped: a file that another process cuts while it is
//! mapped ends ours with SIGBUS, and the verifier's word would be worth nothing once bytes may
//! change behind it.

use std::fs::File;
use std::path::{Path, PathBuf};

use sa_snapshot::{LoadError, Snapshot};
use thiserror::Error;

use crate::intake::{self, ReadError};
use crate::outlet::{self, Readers, WriteError};

/// A snapshot file that could not be written or read.
///
/// A daemon that cannot load one compiles instead; one that cannot write goes on and tries again.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The file is no snapshot to trust: another version, cut off, or with another digest than its
    /// content.
    #[error("{}: {source}", path.display())]
    Load {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: LoadError,
    },
}

impl StoreError {
    /// The snapshot file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read(problem) => problem.path(),
            Self::Write(problem) => problem.path(),
            Self::Load { path, .. } => path,
        }
    }
}

/// Writes a snapshot, for its owner alone where there is a key inside. Errors: [`StoreError`]; what
/// was there stays then.
pub fn write(path: &Path, snapshot: &Snapshot) -> Result<(), StoreError> {
    // The SA's key lets its owner see P_Key tables and every member of groups.
    let readers = match snapshot.has_key() {
        true => Readers::Owner,
        false => Readers::All,
    };
    Ok(outlet::write(path, readers, snapshot.as_bytes())?)
}

/// Reads a snapshot file into memory of our own and verifies it there. Errors: [`StoreError`].
pub fn open(path: &Path) -> Result<Snapshot, StoreError> {
    let (mut file, about) = intake::open(path)?;
    read(path, &mut file, about.len())
}

/// The same of a file that is open, with its length. Errors: [`StoreError::Load`].
///
/// For files that the caller has opened in a directory which it holds, so that no name is gone
/// through twice.
pub fn read(path: &Path, file: &mut File, length: u64) -> Result<Snapshot, StoreError> {
    Snapshot::read(file, length).map_err(|source| StoreError::Load {
        path: path.into(),
        source,
    })
}
