//! Reading files that somebody named. A path may lead anywhere: only regular files are opened, and
//! none is waited for; what is too large is refused before it is taken in.

mod limits;
mod xz;

use std::collections::BTreeMap;
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

pub use limits::{Kind, SizeLimits};

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

/// Digests of what was read. Shape: by path.
pub type Seen = BTreeMap<PathBuf, u64>;

/// Reads files within limits, and notes what it read. A clone notes in the same place.
#[derive(Debug, Clone, Default)]
pub struct Intake {
    limits: SizeLimits,
    seen: Arc<Mutex<Seen>>,
    expected: Option<Arc<Seen>>,
}

impl Intake {
    /// One with these limits.
    pub fn new(limits: SizeLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// One that reads nothing else than what another has read: for what was tried before.
    #[must_use]
    pub fn expecting(self, seen: Seen) -> Self {
        Self {
            expected: Some(Arc::new(seen)),
            ..self
        }
    }

    /// The content of a file, decompressed if it is xz (told by its first bytes, not by its name).
    /// Errors: [`ReadError`].
    pub fn read(&self, kind: Kind, path: &Path) -> Result<Vec<u8>, ReadError> {
        self.read_open(kind, path, open(path)?)
    }

    /// The same as text. Errors: [`ReadError`].
    pub fn read_text(&self, kind: Kind, path: &Path) -> Result<String, ReadError> {
        let content = self.read(kind, path)?;
        String::from_utf8(content).map_err(|error| ReadError::NotText {
            path: path.to_owned(),
            at: error.utf8_error().valid_up_to(),
        })
    }

    /// The same of a file that [`open`] has opened. Errors: [`ReadError`].
    pub fn read_open(
        &self,
        kind: Kind,
        path: &Path,
        (file, about): (File, Metadata),
    ) -> Result<Vec<u8>, ReadError> {
        let limit = self.limits.of(kind);
        let content = whole(kind, path, (file, about.len()), limit)?;
        let content = match xz::is_packed(&content) {
            true => unpacked(kind, path, &content, limit)?,
            false => content,
        };
        self.note(path, &content)?;
        Ok(content)
    }

    /// The digest of a file's content, decompressed. Errors: [`ReadError`].
    pub fn digest(&self, kind: Kind, path: &Path) -> Result<u64, ReadError> {
        if let Some(digest) = self.known(path) {
            return Ok(digest);
        }
        self.read(kind, path).map(|content| xxh3_64(&content))
    }

    /// Everything read up to now.
    pub fn seen(&self) -> Seen {
        self.with_seen(|seen| seen.clone())
    }

    fn known(&self, path: &Path) -> Option<u64> {
        self.with_seen(|seen| seen.get(path).copied())
    }

    /// Errors: it is not what was expected.
    fn note(&self, path: &Path, content: &[u8]) -> Result<(), ReadError> {
        let digest = xxh3_64(content);
        let is_other = |expected: &Arc<Seen>| match expected.get(path) {
            Some(expected) => *expected != digest,
            // One that was not there then.
            None => content.len() > HARMLESS,
        };
        if self.expected.as_ref().is_some_and(is_other) {
            return Err(ReadError::Changed(path.to_owned()));
        }
        self.with_seen(|seen| seen.insert(path.to_owned(), digest));
        Ok(())
    }

    fn with_seen<T>(&self, turn: impl FnOnce(&mut Seen) -> T) -> T {
        turn(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// As [`Intake::read`], within the default limits. Errors: [`ReadError`].
pub fn read(kind: Kind, path: &Path) -> Result<Vec<u8>, ReadError> {
    Intake::default().read(kind, path)
}

/// The same as text. Errors: [`ReadError`].
pub fn read_text(kind: Kind, path: &Path) -> Result<String, ReadError> {
    Intake::default().read_text(kind, path)
}

/// As [`read`], where a program may also be the source: `<(..)`, `/dev/stdin`. Waits for it.
/// Errors: [`ReadError`].
pub fn read_or_pipe(kind: Kind, path: &Path) -> Result<Vec<u8>, ReadError> {
    let source = |source| io_error(path, source);
    let about = fs::metadata(path).map_err(source)?.file_type();
    if !about.is_fifo() && !about.is_char_device() {
        return read(kind, path);
    }
    let limit = SizeLimits::default().of(kind);
    let pipe = File::open(path).map_err(source)?;
    let content = take(pipe, 0, limit).map_err(source)?;
    content.ok_or_else(|| too_large(kind, path, None, limit))
}

/// The first bytes of a file as it lies, at most `count`. Errors: [`ReadError`].
pub fn head(path: &Path, count: u64) -> Result<Vec<u8>, ReadError> {
    let (file, _) = open(path)?;
    let mut start = Vec::new();
    file.take(count)
        .read_to_end(&mut start)
        .map_err(|source| io_error(path, source))?;
    Ok(start)
}

/// What a file holds, decompressed; 0 where it cannot be read: reading it says why. Units: bytes.
pub fn size(path: &Path) -> u64 {
    let Ok((file, about)) = open(path) else {
        return 0;
    };
    let limit = SizeLimits::default().of(Kind::Dump);
    if !head(path, 6).is_ok_and(|start| xz::is_packed(&start)) || about.len() > limit {
        return about.len();
    }
    let packed = take(file, about.len(), limit).ok().flatten();
    packed
        .and_then(|packed| xz::unpacked_size(&packed))
        .unwrap_or(0)
}

/// Opens a regular file to be read, without waiting. Errors: [`ReadError::Io`],
/// [`ReadError::NotAFile`].
pub fn open(path: &Path) -> Result<(File, Metadata), ReadError> {
    let source = |source| io_error(path, source);
    // A device may do something when it is opened, so what is there is asked first.
    let before = fs::metadata(path).map_err(source)?;
    regular(path, before.file_type())?;
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(WITHOUT_WAITING);
    let file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => ReadError::NotAFile {
            path: path.to_owned(),
            what: "leased by another program",
            remedy: "try again when that is done with it",
        },
        _ => source(error),
    })?;
    let about = file.metadata().map_err(source)?;
    regular(path, about.file_type())?;
    Ok((file, about))
}

/// A file so small takes next to nothing, whatever it holds. Units: bytes.
const HARMLESS: usize = 64 << 10;

/// The descriptor is not handed to other programs, which is Rust's default.
const WITHOUT_WAITING: i32 = libc::O_NONBLOCK | libc::O_NOCTTY;

/// Errors: it is anything but a regular file.
fn regular(path: &Path, kind: FileType) -> Result<(), ReadError> {
    let (what, remedy) = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => ("a directory", "name a file"),
        kind if kind.is_fifo() => (
            "a pipe",
            "its content is needed more than once: write it to a file and name that",
        ),
        kind if kind.is_socket() => ("a socket", "name a file"),
        _ => ("a device", "name a file"),
    };
    Err(ReadError::NotAFile {
        path: path.to_owned(),
        what,
        remedy,
    })
}

/// The content of a regular file as it lies, of which the size is judged first. Errors:
/// [`ReadError`].
fn whole(
    kind: Kind,
    path: &Path,
    (file, size): (File, u64),
    limit: u64,
) -> Result<Vec<u8>, ReadError> {
    if size > limit {
        return Err(too_large(kind, path, Some(size), limit));
    }
    let content = take(file, size, limit).map_err(|source| io_error(path, source))?;
    content.ok_or_else(|| too_large(kind, path, None, limit))
}

fn unpacked(kind: Kind, path: &Path, packed: &[u8], limit: u64) -> Result<Vec<u8>, ReadError> {
    xz::unpack(packed, limit).map_err(|problem| match problem {
        xz::Problem::TooLarge(size) => ReadError::TooLarge {
            path: path.to_owned(),
            kind,
            size: Some(size),
            packed: true,
            limit,
        },
        xz::Problem::LargeDictionary => ReadError::LargeDictionary {
            path: path.to_owned(),
        },
        xz::Problem::Corrupt(source) => ReadError::Corrupt {
            path: path.to_owned(),
            source,
        },
    })
}

/// The whole of a source, none when it is over the limit. `size`: what it is expected to have.
fn take(source: impl Read, size: u64, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    content.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX))?;
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    let within = u64::try_from(content.len()).is_ok_and(|length| length <= limit);
    Ok(within.then_some(content))
}

fn io_error(path: &Path, source: io::Error) -> ReadError {
    ReadError::Io {
        path: path.to_owned(),
        source,
    }
}

fn too_large(kind: Kind, path: &Path, size: Option<u64>, limit: u64) -> ReadError {
    ReadError::TooLarge {
        path: path.to_owned(),
        kind,
        size,
        packed: false,
        limit,
    }
}

#[cfg(test)]
mod tests;
