//! A directory that is held open, so that its path is gone through once.
//!
//! All that is done in it goes by its descriptor (`openat`, `renameat`, `unlinkat`): whoever
//! renames the directory, or puts a link in the place of its path, changes nothing about where the
//! files are.
//!
//! Temporary files are told by their names, `.sapphire-` and 16 hexadecimal digits and `.tmp`, so
//! that the next start can remove what a killed process left ([`Folder::sweep`]).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{Out, Readers, WriteError, unfinished};

/// Names of files that are not in their places yet: these words around 16 random digits.
const BEFORE: &str = ".sapphire-";
const BEHIND: &str = ".tmp";

/// Names that are tried: each is 64 random bits, so the second is needed about never, and eight
/// failures mean that the directory is not what it seems.
const TRIES: usize = 8;

/// An open directory.
#[derive(Debug)]
pub struct Folder {
    /// Open for reading, which is enough to make files in it; closed with this and with the last of
    /// its files that is being written.
    directory: Arc<OwnedFd>,
    /// As it was opened: for messages, and to list it.
    path: PathBuf,
}

impl Folder {
    /// The directory that a file is in, or is to be in. Errors: [`WriteError`].
    ///
    /// A path without a directory part means the working directory.
    pub fn of(file: &Path) -> Result<Self, WriteError> {
        let parent = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        opened(parent, OFlags::empty()).map_err(|source| match source {
            Errno::NOENT => WriteError::io("write", file, no_directory(parent)),
            _ => WriteError::io("open its directory", file, source),
        })
    }

    /// A directory that is there, maybe by a link. Errors: [`WriteError`].
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        opened(path, OFlags::empty()).map_err(|source| WriteError::io("open", path, source))
    }

    /// A directory to write many files to, which is made when missing, with those above it. A link
    /// in its place is refused: whoever made it could send the files anywhere.
    /// Errors: [`WriteError`].
    pub fn make(path: &Path) -> Result<Self, WriteError> {
        // With a slash behind it the system would go through a link.
        // `a/b/` becomes `a/b`, or O_NOFOLLOW would not be about the last part.
        let bare: PathBuf = path.components().collect();
        let open = || opened(&bare, OFlags::NOFOLLOW);
        // Made first and opened then would be a race with whoever makes it too; this way what is
        // opened is what is there.
        let made = open().or_else(|error| match error {
            Errno::NOENT => {
                make_with_parents(&bare)?;
                Ok(open()?)
            }
            other => Err(io::Error::from(other)),
        });
        made.map_err(|source| match fs::symlink_metadata(&bare) {
            Ok(about) if about.is_symlink() => WriteError::odd(
                path,
                "a symbolic link",
                "name the directory that it leads to, if you trust who made it",
            ),
            Ok(about) if !about.is_dir() => {
                WriteError::odd(path, "no directory", "name another one")
            }
            _ => WriteError::io("make", path, source),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a whole file, as [`Self::write_with`]. Errors: [`WriteError`].
    pub fn write(
        &self,
        name: impl AsRef<OsStr>,
        readers: Readers,
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        self.write_with(name, readers, |out| out.write_all(bytes))
    }

    /// Puts a file into its place, once it is whole and on the disk. What was there before, were it
    /// a link, is replaced. Errors: [`WriteError`]; what was there stays then.
    pub fn write_with(
        &self,
        name: impl AsRef<OsStr>,
        readers: Readers,
        write: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let name = name.as_ref();
        let failed = |source| WriteError::io("write", &self.path.join(name), source);
        let (temporary, file) = self.temporary(readers).map_err(failed)?;
        let placed = fill(file, write).and_then(|()| {
            // Only now anybody sees the file, and it is whole.
            rustix::fs::renameat(&self.directory, &temporary, &self.directory, name)?;
            unfinished::settle(&temporary);
            Ok(())
        });
        if placed.is_err() {
            // What is left of it is useless; the first error is the one to report.
            let _ = self.unlink(&temporary);
        }
        placed.and_then(|()| self.sync()).map_err(failed)
    }

    /// Removes what writers that are dead have left. Only for a directory that nobody else writes
    /// to now. Gives how many. Errors: [`WriteError`].
    ///
    /// Removed are temporary files, and what `is_left` names. One that cannot be removed is passed
    /// over.
    pub fn sweep(&self, is_left: impl Fn(&str) -> bool) -> Result<usize, WriteError> {
        let mut removed = 0;
        for name in self.names()? {
            let Some(text) = name.to_str() else { continue };
            if (is_temporary(text) || is_left(text)) && self.unlink(&name).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// What is in it. Errors: [`WriteError`].
    pub fn names(&self) -> Result<Vec<OsString>, WriteError> {
        let failed = |source| WriteError::io("list", &self.path, source);
        let entries = fs::read_dir(&self.path).map_err(failed)?;
        entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<_>>()
            .map_err(failed)
    }

    /// Opens a file in it, never through a link.
    pub fn open_file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(&self.directory, name, flags, mode)?.into())
    }

    /// Gives a file another name.
    ///
    /// Over a file that is there; both names are in this directory.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        rustix::fs::renameat(&self.directory, from, &self.directory, to)?;
        unfinished::settle(from);
        self.sync()
    }

    /// Removes a file.
    pub fn unlink(&self, name: &OsStr) -> io::Result<()> {
        let gone = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
        // Also where it is left: the next start sweeps it, and there is nothing more to try.
        unfinished::settle(name);
        Ok(gone?)
    }

    /// A new file under a name of its own. Whoever takes it gives it its name, or removes it, by
    /// [`Self::rename`] or [`Self::unlink`]; until then it goes with [`super::unfinished::abandon`].
    ///
    /// Mode 0600, or 0666 as far as the umask leaves it.
    pub fn temporary(&self, readers: Readers) -> io::Result<(OsString, File)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        // The umask takes bits away from both, as for any program.
        let mode = match readers {
            Readers::Owner => Mode::RUSR | Mode::WUSR,
            Readers::All => Mode::from_raw_mode(0o666),
        };
        for _ in 0..TRIES {
            let name = OsString::from(format!("{BEFORE}{:016x}{BEHIND}", unforeseen()?));
            let made = unfinished::note(&self.directory, &name, || {
                rustix::fs::openat(&self.directory, &name, flags | OFlags::CLOEXEC, mode)
            });
            match made {
                Ok(file) => return Ok((name, file.into())),
                // Somebody has this very name: another one.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Makes renames and removals last.
    ///
    /// Errors but for file systems without such a thing: the rename may then not last.
    fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.directory) {
            // A file system that knows no such thing.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// Opens a directory and nothing else. `more`: whether a link in its place is gone through.
fn opened(path: &Path, more: OFlags) -> Result<Folder, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
    let directory = rustix::fs::open(path, flags, Mode::empty())?;
    Ok(Folder {
        directory: Arc::new(directory),
        path: path.to_owned(),
    })
}

/// The message that a missing directory gets; the system's "no such file" would name the file.
fn no_directory(path: &Path) -> io::Error {
    let words = format!("there is no directory {}; make it first", path.display());
    io::Error::new(io::ErrorKind::NotFound, words)
}

/// Those above may be links: only the last one is written to.
fn make_with_parents(path: &Path) -> io::Result<()> {
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        fs::create_dir_all(parent)?;
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        // Whoever was quicker has made what the next look judges.
        _ => Ok(()),
    }
}

/// Writes and syncs. `into_inner` flushes, and does not hide a failed write as dropping would.
fn fill(file: File, write: impl FnOnce(&mut Out) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

/// True for names that [`Folder::temporary`] gives.
fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(BEFORE);
    let digits = digits.and_then(|rest| rest.strip_suffix(BEHIND));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A number that nobody else can know before.
pub fn unforeseen() -> io::Result<u64> {
    let mut bytes = [0; 8];
    let got = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    match got {
        8 => Ok(u64::from_ne_bytes(bytes)),
        _ => Err(Errno::AGAIN.into()),
    }
}
