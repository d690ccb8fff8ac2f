//! Why a file is not taken in.
//!
//! Each says which file and, where there is something to do, what. The path is the one that was
//! given, so that an operator finds it in a configuration or on a command line.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::limits::Kind;
use super::xz;

/// Why a file cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system says no.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something that a read may wait for without end, or that holds no bytes.
    #[error("{}: is {what}; {remedy}", path.display())]
    NotAFile {
        /// Where it is.
        path: PathBuf,
        /// Such as "a directory".
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Damaged, cut off, or in need of too much memory.
    #[error("{}: the xz data is damaged or cut off ({source}); copy the file again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What the decoder says.
        source: io::Error,
    },
    /// Packed in a way that takes too much memory to unpack.
    #[error(
        "{}: unpacking it takes more than {} MiB of memory; pack it again with `xz -6`",
        path.display(),
        xz::DECODER_KIB >> 10
    )]
    LargeDictionary {
        /// The file.
        path: PathBuf,
    },
    /// Over the limit of its kind.
    #[error("{}: {} {}", path.display(), size_in_words(*size, *packed), kind.limit_in_words(*limit))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What it is read for.
        kind: Kind,
        /// Of its content. Units: bytes; none: more than the limit.
        size: Option<u64>,
        /// Whether the size is that of what it unpacks to.
        packed: bool,
        /// Units: bytes.
        limit: u64,
    },
    /// Text was expected.
    #[error("{}: is no text: byte {at} is not UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The byte, from 0.
        at: usize,
    },
    /// Not what it was when it was tried.
    #[error("{}: changed while it was read; read it again when its writer is done", .0.display())]
    Changed(PathBuf),
}

impl ReadError {
    /// The file that cannot be read.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NotAFile { path, .. }
            | Self::Corrupt { path, .. }
            | Self::LargeDictionary { path }
            | Self::TooLarge { path, .. }
            | Self::NotText { path, .. }
            | Self::Changed(path) => path,
        }
    }
}

fn size_in_words(size: Option<u64>, packed: bool) -> String {
    match (size, packed) {
        (Some(size), false) => format!("has {size} bytes,"),
        (Some(size), true) => format!("unpacks to {size} bytes,"),
        (None, false) => "grows while it is read, to".to_owned(),
        (None, true) => "unpacks to".to_owned(),
    }
}

pub(super) fn io_error(path: &Path, source: io::Error) -> ReadError {
    ReadError::Io {
        path: path.to_owned(),
        source,
    }
}

pub(super) fn too_large(kind: Kind, path: &Path, size: Option<u64>, limit: u64) -> ReadError {
    ReadError::TooLarge {
        path: path.to_owned(),
        kind,
        size,
        packed: false,
        limit,
    }
}
