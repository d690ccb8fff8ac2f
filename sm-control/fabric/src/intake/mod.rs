//! Reading files that somebody named. A path may lead anywhere: only regular files are opened, and
//! none is waited for; what is too large is refused before it is taken in.
//!
//! ```text
//!  fs::metadata -> regular? -> open O_NONBLOCK -> fstat: still regular? -> size <= limit?
//!    -> read at most limit + 1 bytes -> xz? index says how large -> <= limit? -> unpack -> digest
//! ```
//!
//! What each step is against: a pipe or device that never ends or does something when it is opened;
//! a name that becomes a pipe between two looks; a lease that would make open wait; a file that is
//! too large, or grows while it is read; a small file that unpacks to a large one; a file that is
//! another one now than when it was tried.
//!
//! An [`Intake`] also notes the digest of all that it has read. That list stands in a snapshot's
//! provenance. And where another process has tried a load first (ADR 15), the daemon reads by an
//! intake that expects just these digests, so that what was tried is what is loaded.
//!
//! Limits are by what a file is read for ([`Kind`]) and not by its name; an operator can raise them
//! in `[limits]`.
//!
//! What it does not do: parse, or keep content. Whoever reads a file twice gets it twice.

mod error;
mod limits;
mod xz;

use std::collections::BTreeMap;
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use self::error::{io_error, too_large};

pub use error::ReadError;
pub use limits::{Kind, SizeLimits};

/// Digests of what was read. Shape: by path.
pub type Seen = BTreeMap<PathBuf, u64>;

/// Reads files within limits, and notes what it read. A clone notes in the same place.
///
/// Cheap to clone; a compilation takes one, its clones are in dumps and sources.
#[derive(Debug, Clone, Default)]
pub struct Intake {
    /// Of each kind of file.
    limits: SizeLimits,
    /// Shared with clones. The lock is held for a look-up, never while a file is read.
    seen: Arc<Mutex<Seen>>,
    /// None: anything may be read.
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
    ///
    /// Memory: the content, and for a packed file both forms at once.
    pub fn read(&self, kind: Kind, path: &Path) -> Result<Vec<u8>, ReadError> {
        self.read_open(kind, path, open(path)?)
    }

    /// The same as text. Errors: [`ReadError`].
    ///
    /// A byte that is not UTF-8 is an error here; readers of OpenSM's files decode bytes
    /// themselves, with a note.
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
        // Told by content, so that a renamed file is read all the same.
        let content = match xz::is_packed(&content) {
            true => unpacked(kind, path, &content, limit)?,
            false => content,
        };
        // Of the content unpacked: a file that was only packed anew is the same input.
        self.note(path, &content)?;
        Ok(content)
    }

    /// The digest of a file's content, decompressed. Errors: [`ReadError`].
    ///
    /// A file that was read already is not read again, so that the digest is that of what was used.
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
    ///
    /// A file that was not there when it was tried is harmless while it is small: what it can take
    /// is bounded by its size.
    fn note(&self, path: &Path, content: &[u8]) -> Result<(), ReadError> {
        let digest = xxh3_64(content);
        let is_other = |expected: &Arc<Seen>| match expected.get(path) {
            // Sizes and times say nothing: a file can change within a second and keep both.
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
        // A thread that ended with the lock held has left a map that is still whole.
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
///
/// For verbs of the tool that read one file once: `sapphire query <(make-requests)`. Sizes are
/// judged while it comes.
pub fn read_or_pipe(kind: Kind, path: &Path) -> Result<Vec<u8>, ReadError> {
    let source = |source| io_error(path, source);
    let about = fs::metadata(path).map_err(source)?.file_type();
    if !about.is_fifo() && !about.is_char_device() {
        return read(kind, path);
    }
    let limit = SizeLimits::default().of(kind);
    let pipe = File::open(path).map_err(source)?;
    // A pipe says no size.
    let content = take(pipe, 0, limit).map_err(source)?;
    content.ok_or_else(|| too_large(kind, path, None, limit))
}

/// The first bytes of a file as it lies, at most `count`. Errors: [`ReadError`].
///
/// Enough to tell a snapshot from a text before the whole is taken in.
pub fn head(path: &Path, count: u64) -> Result<Vec<u8>, ReadError> {
    let (file, _) = open(path)?;
    let mut start = Vec::new();
    file.take(count)
        .read_to_end(&mut start)
        .map_err(|source| io_error(path, source))?;
    Ok(start)
}

/// What a file holds, decompressed; 0 where it cannot be read: reading it says why. Units: bytes.
///
/// For estimates of what a load may take; of a packed file by its index, without unpacking.
pub fn size(path: &Path) -> u64 {
    let Ok((file, about)) = open(path) else {
        return 0;
    };
    let limit = SizeLimits::default().of(Kind::Dump);
    // Six bytes are the magic of xz.
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
///
/// Links are followed. What was opened is looked at once more, as the name may lead elsewhere by
/// then.
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
    // What has its name now may not be what had it before.
    regular(path, about.file_type())?;
    Ok((file, about))
}

/// A file so small takes next to nothing, whatever it holds: at 128 bytes a byte, the most that
/// parsers take, 8 MiB. Units: bytes.
const HARMLESS: usize = 64 << 10;

/// Without O_NONBLOCK an open waits for a lease to be given back, or for a pipe's writer. That the
/// descriptor is not handed to other programs is Rust's default.
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
///
/// A file that grows meanwhile ends at the limit, with another message.
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

/// The content of a packed file. Errors: [`ReadError`], by what the decoder found.
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
    // An allocation that fails is an error here, where growing would end the process.
    content.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX))?;
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    let within = u64::try_from(content.len()).is_ok_and(|length| length <= limit);
    Ok(within.then_some(content))
}

#[cfg(test)]
mod tests;
