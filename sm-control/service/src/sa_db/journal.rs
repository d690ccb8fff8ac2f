//! What outlives a restart: a file of lines, each a change, each with a checksum.
//!
//! ```text
//! sapphire-sa-journal 1
//! (16 digits) put group ff12401bffff000000000000ffffffff ff12401bffff...
//! (16 digits) del member ff12401bffff000000000000ffffffff0002c90300000001
//! ```
//!
//! `put KIND KEY VALUE` and `del KIND KEY` behind the XXH3 digest of the rest of the line, all in
//! hexadecimal but the words. A change counts once its line is on the disk. The last line of a file
//! may be torn by a crash, in which case nobody has been told of it; it is cut off. Any other bad
//! line refuses the file: what is lost cannot be known.
//!
//! The live entries are also kept in memory. When the file has over twice as many lines as there
//! are entries, and 4,096 more, it is written anew beside itself and renamed, so its length is
//! bounded by what is alive and not by how long the daemon runs.
//!
//! It knows nothing of what it keeps: keys and values are bytes of the parts, a [`Kind`] says
//! whose.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sa_fabric::outlet::{Folder, Readers, WriteError};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

/// First line of the file.
const TITLE: &str = "sapphire-sa-journal 1\n";
/// Lines beyond twice the live entries that a file may have before it is written anew. It keeps a
/// small database from being rewritten again and again.
const SLACK: usize = 4096;

/// What an entry is about. The order is that of a file that is written anew: groups before their
/// members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A multicast group.
    Group,
    /// A member of one.
    Member,
    /// A service.
    Service,
    /// A subscription.
    Subscription,
    /// An alias GUID.
    Alias,
}

impl Kind {
    /// The words of the file.
    const ALL: [(Self, &'static str); 5] = [
        (Self::Group, "group"),
        (Self::Member, "member"),
        (Self::Service, "service"),
        (Self::Subscription, "subscription"),
        (Self::Alias, "alias"),
    ];

    fn word(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(kind, _)| *kind == self)
            .map_or("", |(_, word)| word)
    }
}

/// A journal that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file system refuses.
    #[error("{}: cannot {what}: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It cannot be written anew.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It is not what was written.
    #[error(
        "{}:{line}:1: {found}; expected a journal of this program: restore the file, or move it \
         away to begin with no members, services and subscriptions", path.display()
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        found: &'static str,
    },
}

/// Key of an entry.
type Key = (Kind, Vec<u8>);

/// The live entries, and the file that has them. Entries change at once; the file follows at
/// [`Self::commit`], so between both the memory is ahead.
#[derive(Debug)]
pub struct Journal {
    /// What a replay of the file and the pending lines would give.
    live: BTreeMap<Key, Vec<u8>>,
    /// None for one that ends with the process.
    disk: Option<Disk>,
    /// Lines that are not on the disk yet.
    pending: String,
    /// Of entries since it was opened; only its difference means something.
    changes: u64,
}

/// The open file.
#[derive(Debug)]
struct Disk {
    path: PathBuf,
    folder: Folder,
    file: File,
    /// Whole lines, the title among them.
    lines: usize,
    /// Where the last whole line ends. Units: bytes.
    end: u64,
}

impl Journal {
    /// One that ends with the process.
    pub const fn in_memory() -> Self {
        Self {
            live: BTreeMap::new(),
            disk: None,
            pending: String::new(),
            changes: 0,
        }
    }

    /// Reads the file, or makes an empty one; cuts off a torn last line. Errors: [`JournalError`].
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let mut journal = Self::in_memory();
        let folder = Folder::of(path)?;
        let text = match content(&folder, path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                folder.write(name(path), Readers::Owner, TITLE.as_bytes())?;
                TITLE.into()
            }
            Err(source) => return Err(failed("read", path, source)),
        };
        let (lines, end) = journal.replay(path, &text)?;
        let file = appending(&folder, path)?;
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        file.set_len(end)
            .map_err(|source| failed("cut", path, source))?;
        journal.disk = Some(Disk {
            path: path.into(),
            folder,
            file,
            lines,
            end,
        });
        Ok(journal)
    }

    /// Does what the lines say. Returns the whole lines, and where they end: what is behind is
    /// torn.
    fn replay(&mut self, path: &Path, text: &[u8]) -> Result<(usize, usize), JournalError> {
        let damaged = |line, found| JournalError::Damaged {
            path: path.into(),
            line,
            found,
        };
        let Some(mut rest) = text.strip_prefix(TITLE.as_bytes()) else {
            return Err(damaged(1, "not the first line of a journal"));
        };
        let mut lines = 1;
        while let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(length);
            let behind = behind.get(1..).unwrap_or_default();
            lines += 1;
            match parse(line) {
                Some((key, Some(value))) => {
                    self.live.insert(key, value);
                }
                Some((key, None)) => {
                    self.live.remove(&key);
                }
                None => return Err(damaged(lines, "a line that does not fit its checksum")),
            }
            rest = behind;
        }
        Ok((lines, text.len() - rest.len()))
    }

    /// Sets an entry. The same value again is no change and writes nothing, so a subscription that
    /// is renewed as it was costs no disk.
    pub fn put(&mut self, kind: Kind, key: &[u8], value: &[u8]) {
        let old = self.live.insert((kind, key.to_vec()), value.to_vec());
        // The lines of a file are what a replay needs, so an equal value is none.
        if old.as_deref() != Some(value) {
            let body = format!("put {} {} {}", kind.word(), Hex(key), Hex(value));
            self.append(&body);
        }
    }

    /// Removes an entry, if it is there.
    pub fn delete(&mut self, kind: Kind, key: &[u8]) {
        if self.live.remove(&(kind, key.to_vec())).is_some() {
            let body = format!("del {} {}", kind.word(), Hex(key));
            self.append(&body);
        }
    }

    /// The entries of `other` in the place of all; only what differs is written.
    pub fn replace(&mut self, other: &Self) {
        let gone = self
            .live
            .keys()
            .filter(|key| !other.live.contains_key(*key));
        for (kind, key) in gone.cloned().collect::<Vec<_>>() {
            self.delete(kind, &key);
        }
        for ((kind, key), value) in &other.live {
            self.put(*kind, key, value);
        }
    }

    /// The value of an entry.
    pub fn get(&self, kind: Kind, key: &[u8]) -> Option<&[u8]> {
        self.live.get(&(kind, key.to_vec())).map(Vec::as_slice)
    }

    /// All entries of a kind, by key, ascending.
    pub fn entries(&self, kind: Kind) -> impl Iterator<Item = (&[u8], &[u8])> {
        let all = self.live.range((kind, Vec::new())..);
        let these = all.take_while(move |((of, _), _)| *of == kind);
        these.map(|((_, key), value)| (key.as_slice(), value.as_slice()))
    }

    /// Nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// How often something changed since it was opened.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes a line; it is on the disk after the next commit.
    fn append(&mut self, body: &str) {
        self.changes += 1;
        if self.disk.is_some() {
            // Writing to a String does not fail.
            let _ = writeln!(self.pending, "{:016x} {body}", xxh3_64(body.as_bytes()));
        }
    }

    /// Brings all changes to the disk, and waits until they are there. One sync for all changes
    /// since the last. Errors: [`JournalError`]; they stay pending then, and the next commit tries
    /// again.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        if self.pending.is_empty() {
            return Ok(());
        }
        disk.append(&self.pending)?;
        self.pending.clear();
        if disk.lines > 2 * self.live.len() + SLACK {
            self.rewrite()?;
        }
        Ok(())
    }

    /// Writes the live entries alone, under the same name. Until the rename the old file is whole.
    fn rewrite(&mut self) -> Result<(), JournalError> {
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        let mut text = TITLE.to_owned();
        for ((kind, key), value) in &self.live {
            let body = format!("put {} {} {}", kind.word(), Hex(key), Hex(value));
            let _ = writeln!(text, "{:016x} {body}", xxh3_64(body.as_bytes()));
        }
        let name = name(&disk.path);
        disk.folder.write(name, Readers::Owner, text.as_bytes())?;
        disk.file = appending(&disk.folder, &disk.path)?;
        disk.lines = self.live.len() + 1;
        disk.end = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(())
    }
}

impl Disk {
    /// All of it, or nothing: what a failure has left is cut off again, so that the file always
    /// ends with a whole line.
    fn append(&mut self, lines: &str) -> Result<(), JournalError> {
        let written = self
            .file
            .write_all(lines.as_bytes())
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // If this fails too, the next start cuts a torn line, and refuses what is worse.
            let _ = self.file.set_len(self.end);
            return Err(failed("write", &self.path, source));
        }
        self.end += u64::try_from(lines.len()).unwrap_or(0);
        self.lines += lines.matches('\n').count();
        Ok(())
    }
}

fn name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

fn content(folder: &Folder, path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut file = folder.open_file(name(path), OFlags::RDONLY)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    file.read_to_end(&mut text)?;
    Ok(text)
}

/// What clients set is nobody else's business: keys of services are among it.
fn appending(folder: &Folder, path: &Path) -> Result<File, JournalError> {
    let file = folder.open_file(name(path), OFlags::WRONLY | OFlags::APPEND);
    let file = file.map_err(|source| failed("open", path, source))?;
    // Of a file system that knows no permissions nobody expects any.
    let _ = file.set_permissions(Permissions::from_mode(0o600));
    Ok(file)
}

/// One line without its end: a key with its value, or without one when it is removed. None where
/// anything does not fit: the digest is looked at first.
fn parse(line: &[u8]) -> Option<(Key, Option<Vec<u8>>)> {
    let line = core::str::from_utf8(line).ok()?;
    let (sum, body) = line.split_once(' ')?;
    if u64::from_str_radix(sum, 16).ok()? != xxh3_64(body.as_bytes()) {
        return None;
    }
    let mut words = body.split(' ');
    let verb = words.next()?;
    let kind = words.next()?;
    let (kind, _) = Kind::ALL.into_iter().find(|(_, word)| *word == kind)?;
    let key = (kind, unhex(words.next()?)?);
    let value = match verb {
        "put" => Some(unhex(words.next()?)?),
        "del" => None,
        _ => return None,
    };
    words.next().is_none().then_some((key, value))
}

/// Bytes as text.
struct Hex<'a>(&'a [u8]);

impl core::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Bytes of pairs of digits; none for anything else.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
    text.len()
        .is_multiple_of(2)
        .then(|| pairs.map(byte).collect())?
}

fn failed(what: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::Io {
        what,
        path: path.into(),
        source,
    }
}

#[cfg(test)]
mod tests;
