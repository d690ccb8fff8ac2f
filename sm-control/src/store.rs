//! Files, snapshots above all: written so that a reader sees the old one or the new one, never a part.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sa_snapshot::{LoadError, Snapshot};
use thiserror::Error;

use crate::intake::{self, ReadError};

/// A snapshot file that could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused.
    #[error("{}: cannot {what}: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file is no snapshot to trust.
    #[error("{}: {source}", path.display())]
    Load {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: LoadError,
    },
}

/// Writes a snapshot. Errors: as [`write_file`].
pub fn write(path: &Path, snapshot: &Snapshot) -> Result<(), StoreError> {
    write_file(path, snapshot.as_bytes())
}

/// Writes a file: temporary file beside the target, fsync, rename, fsync of the directory.
/// Errors: [`StoreError::Io`]; the target is untouched and the temporary file removed then.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = temporary_name(path);
    let written = write_through(&temporary, bytes)
        .map_err(|source| failed("write", &temporary, source))
        .and_then(|()| {
            fs::rename(&temporary, path).map_err(|source| failed("rename into", path, source))
        });
    if written.is_err() {
        // What is left of it is useless; the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    sync_directory(path)
}

/// Maps a snapshot file and verifies it. Errors: [`StoreError`].
pub fn open(path: &Path) -> Result<Snapshot, StoreError> {
    let (file, _) = intake::open(path)?;
    Snapshot::map(&file).map_err(|source| StoreError::Load {
        path: path.into(),
        source,
    })
}

fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the rename itself durable.
fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| failed("sync the directory of", path, source))
}

fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

fn failed(what: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        what,
        path: path.into(),
        source,
    }
}
