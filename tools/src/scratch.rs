//! Directories that a verb needs for itself, such as for the files of a fabric that it makes up.
//!
//! They go when the verb is through, and when a signal ends it in the middle (`interrupt`).

use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Those that are there. Held while one is made or removed: a signal in between would leave it.
static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A directory of its own, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Where the system has them.
    pub(crate) fn new() -> io::Result<Self> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let path = tempfile::tempdir()?.keep();
        all.push(path.clone());
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = fs::remove_dir_all(&self.0);
        all.retain(|path| *path != self.0);
    }
}

/// Removes all of them, for a process that ends now: none is made any more.
pub(crate) fn remove_all() {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    for directory in all.drain(..) {
        // The verb may put another file there meanwhile; it writes few, so a second try does.
        let _ = fs::remove_dir_all(&directory).or_else(|_| fs::remove_dir_all(&directory));
    }
    mem::forget(all);
}
