//! The files that a kernel shows itself in.
//!
//! Everything is read anew each time: the doctor runs once, and a fact that is read twice is a few
//! microseconds. What cannot be read is none or empty and never an error: absence is what most
//! findings are about.
//!
//! It is no abstraction of a kernel: paths stand in the rooms that read them, beside the reason
//! why.

use std::fs;
use std::path::{Path, PathBuf};

/// A machine by its root directory.
/// `/` in life; a directory with the same files below it in tests.
pub(crate) struct Machine {
    root: PathBuf,
}

impl Machine {
    /// The machine whose files begin there; `/` for this one.
    pub(crate) fn under(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Shape: `path` begins with a slash.
    /// The slash is taken off, as joining an absolute path would leave the root.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A file's text without its last line end; none when it cannot be read.
    /// Bytes that are no UTF-8 are replaced: names of devices and programs may hold any.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.at(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// True also for a link that leads nowhere.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.at(path).symlink_metadata().is_ok()
    }

    /// Names in a directory, in order; none where it is not there.
    /// Sorted, so that findings come in the same order every time.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    /// Where a link leads.
    /// As it is written: in `/sys` that is a relative path.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.at(path)).ok()?;
        target.into_os_string().into_string().ok()
    }

    /// Ids of processes, ascending.
    /// A snapshot of it: each may be gone when it is looked at.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let names = self.names("/proc");
        let mut all: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        all.sort_unstable();
        all
    }

    /// What a process is called.
    /// At most 15 letters, as the kernel keeps it; `sapphired` and `opensm` fit.
    pub(crate) fn command(&self, process: u32) -> Option<String> {
        self.text(&format!("/proc/{process}/comm"))
    }
}
