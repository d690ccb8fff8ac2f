//! Files that are being written, so that a program that is told to end can remove them.
//!
//! Whoever writes a file removes it when writing fails. A program that ends at a signal never gets
//! there: its thread may be in the middle of a write that takes minutes. So every file without its
//! name is noted here, and [`abandon`] removes them all, from another thread.
//!
//! ```text
//!  writer   make and note ──> write, sync ──> rename ──> settle
//!  signal   abandon: unlink what is noted; note and settle wait from then on
//! ```
//!
//! A rename that comes first leaves nothing to unlink; one that comes later finds no file. Either way
//! the place has the file of before or the new one, whole. Files that belong together are named within
//! [`together`], which [`abandon`] waits for: all of them, or none.
//!
//! It is one list for the process, because a signal is for the process.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::AtFlags;

/// What is to be removed if the process ends now.
static UNFINISHED: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());

/// Held while files that belong together get their names.
static NAMING: Mutex<()> = Mutex::new(());

enum Unfinished {
    /// By the directory that is held open, as its path may lead elsewhere by now. Names are 64
    /// random bits, so that they tell files of all directories apart.
    File(Arc<OwnedFd>, OsString),
    /// Made for files that are not there yet; goes only while it is empty.
    Directory(PathBuf),
}

/// What [`abandon`] gives. While it lives no file is made and none is settled: it is held to the end
/// of the process.
#[must_use = "files are made again once this is dropped"]
pub struct Abandoned {
    /// How many files were removed.
    pub removed: usize,
    _unfinished: MutexGuard<'static, Vec<Unfinished>>,
    _naming: MutexGuard<'static, ()>,
}

/// Makes a file and notes it, at once: [`abandon`] in between would miss it.
pub(super) fn note<T, E>(
    directory: &Arc<OwnedFd>,
    name: &OsStr,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let mut unfinished = lock(&UNFINISHED);
    let made = make()?;
    unfinished.push(Unfinished::File(Arc::clone(directory), name.to_owned()));
    Ok(made)
}

/// The file has its name, or is gone.
pub(super) fn settle(name: &OsStr) {
    lock(&UNFINISHED).retain(|entry| !matches!(entry, Unfinished::File(_, noted) if noted == name));
}

/// Notes a directory that was made for files which are to get their names together.
pub fn note_directory(path: &Path) {
    lock(&UNFINISHED).push(Unfinished::Directory(path.to_owned()));
}

/// The directory has its files, or is gone.
pub fn settle_directory(path: &Path) {
    lock(&UNFINISHED)
        .retain(|entry| !matches!(entry, Unfinished::Directory(noted) if noted == path));
}

/// Gives files that belong together their names, without [`abandon`] in between.
pub fn together<T>(name_all: impl FnOnce() -> T) -> T {
    let _naming = lock(&NAMING);
    name_all()
}

/// Removes all files that have no name yet, for a process that ends now.
///
/// Blocks while [`together`] is at work: some renames, no writing.
pub fn abandon() -> Abandoned {
    let naming = lock(&NAMING);
    let mut unfinished = lock(&UNFINISHED);
    let mut removed = 0;
    // The last first: a directory was noted before its files.
    while let Some(entry) = unfinished.pop() {
        match entry {
            Unfinished::File(directory, name) => {
                let gone = rustix::fs::unlinkat(directory, &name, AtFlags::empty());
                removed += usize::from(gone.is_ok());
            }
            // Somebody else may have put something there.
            Unfinished::Directory(path) => {
                let _ = std::fs::remove_dir(path);
            }
        }
    }
    Abandoned {
        removed,
        _unfinished: unfinished,
        _naming: naming,
    }
}

/// A list that a panic has left is as good as any: each change to it is one push or one removal.
fn lock<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
