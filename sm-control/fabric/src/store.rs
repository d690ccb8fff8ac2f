//! Snapshots as files.

use std::fs::File;
use std::path::{Path, PathBuf};

use sa_snapshot::{LoadError, Snapshot};
use thiserror::Error;

use crate::intake::{self, ReadError};
use crate::outlet::{self, Readers, WriteError};

/// A snapshot file that could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The file is no snapshot to trust.
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
pub fn read(path: &Path, file: &mut File, length: u64) -> Result<Snapshot, StoreError> {
    Snapshot::read(file, length).map_err(|source| StoreError::Load {
        path: path.into(),
        source,
    })
}
