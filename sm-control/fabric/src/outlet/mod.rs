//! Writing files that somebody named. A path may lead anywhere: no link is written through, and a
//! reader sees the old file or the new one, never a part.
//!
//! A file is made beside its place under a name that nobody can foresee, synced, renamed into its
//! place, and the directory synced. What goes wrong on the way leaves the place as it was.
//!
//! ```text
//!  open the directory once ─> openat .sapphire-<16 random digits>.tmp  O_EXCL | O_NOFOLLOW
//!    ─> write, fsync ─> renameat over the name ─> fsync the directory
//! ```
//!
//! Why the name cannot be foreseen: in a directory that others write to, `/tmp` above all, a link
//! under a name that is known beforehand would lead the daemon's bytes, as root, anywhere. Why the
//! directory is held open: between two uses of its path somebody could put another one in its
//! place. Why both are synced: after a power cut the file is the old one or the new one, and not an
//! empty one under the new name.
//!
//! `door` handles what is no file but takes bytes (`/dev/stdout`, pipes): it must not be replaced.
//! A [`Folder`] is for many files of one directory; the daemon also locks it and sweeps what a
//! killed writer left (ADR 20 says why this is no crate of others).
//!
//! A program that is told to end in the middle of it removes what has no name yet: [`unfinished`].
//!
//! Reading is `intake`'s.

mod door;
mod folder;
pub mod unfinished;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use folder::{Folder, unforeseen};

/// What is written to: buffered, and flushed by whoever lent it.
pub type Out = BufWriter<File>;

/// Who may read a file.
///
/// The mode is set when the file is made, not afterwards: in between others could open it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone: there is a key inside, or what clients told in confidence.
    Owner,
    /// Those whom the umask leaves.
    All,
}

/// Why a file cannot be written.
///
/// In each case what was in the place is still there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system says no.
    #[error("{}: cannot {what}: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nothing of this kind is written to.
    #[error("{}: is {what}; {remedy}", path.display())]
    Odd {
        /// Where it is.
        path: PathBuf,
        /// Such as "a directory".
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
}

impl WriteError {
    /// An attempt that the system refused.
    pub fn io(what: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io {
            what,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// The file or directory that cannot be written.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. } | Self::Odd { path, .. } => path,
        }
    }

    fn odd(path: &Path, what: &'static str, remedy: &'static str) -> Self {
        Self::Odd {
            path: path.to_owned(),
            what,
            remedy,
        }
    }
}

/// Whether bytes for this path go to something that is no file: a descriptor, a pipe, a device.
pub fn is_door(path: &Path) -> bool {
    door::is_one(path)
}

/// Writes a whole file, see [`write_with`]. Errors: [`WriteError`].
pub fn write(path: &Path, readers: Readers, bytes: &[u8]) -> Result<(), WriteError> {
    write_with(path, readers, |out| out.write_all(bytes))
}

/// Writes a file by parts.
///
/// A file that is there, or a link, is replaced: links are never followed. What is no file, but
/// takes bytes (`/dev/null`, `/dev/stdout`, a pipe), gets them as they come. Errors:
/// [`WriteError`].
///
/// `write` gets the file buffered; when it fails, nothing is renamed.
pub fn write_with(
    path: &Path,
    readers: Readers,
    write: impl FnOnce(&mut Out) -> io::Result<()>,
) -> Result<(), WriteError> {
    if let Some(stream) = door::open(path)? {
        let mut out = BufWriter::new(stream);
        let written = write(&mut out).and_then(|()| out.flush());
        // No sync: pipes and terminals know no such thing.
        return written.map_err(|source| WriteError::io("write", path, source));
    }
    let name = path
        .file_name()
        .ok_or_else(|| WriteError::odd(path, "no name of a file", "name a file"))?;
    Folder::of(path)?.write_with(name, readers, write)
}

#[cfg(test)]
mod tests;
