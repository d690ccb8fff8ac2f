//! One daemon for a directory.
//!
//! The lock is the kernel's, on the open directory itself: it goes with the process however that
//! ends, and needs no file that could be left. A second daemon waits a second, as one that is
//! restarted may meet the end of the one before.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use sa_fabric::outlet::Folder;

/// How long the daemon before may take to end: the second in which it has to, by its own rules.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Why a directory is not locked.
pub(super) enum Problem {
    /// Another process has it.
    Taken(Option<u32>),
    /// The file system cannot.
    Unable(Errno),
}

/// Locks the directory for as long as it is open. Nothing is written to it, so this works where it
/// is read-only, and nothing can be left. Errors: [`Problem`].
pub(super) fn take(folder: &Folder) -> Result<(), Problem> {
    let end = Instant::now() + PATIENCE;
    loop {
        match rustix::fs::flock(folder.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < end => std::thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => return Err(Problem::Taken(owner(folder))),
            // A signal came: at once again.
            Err(Errno::INTR) => {}
            Err(error) => return Err(Problem::Unable(error)),
        }
    }
}

/// The process that has it, where the kernel shows that, in `/proc/locks`: `1: FLOCK  ADVISORY
/// WRITE 4242 08:02:1234 0 EOF`.
pub(super) fn owner(folder: &Folder) -> Option<u32> {
    let about = std::fs::metadata(folder.path()).ok()?;
    let (major, minor) = (
        rustix::fs::major(about.dev()),
        rustix::fs::minor(about.dev()),
    );
    let place = format!("{major:02x}:{minor:02x}:{}", about.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // By device and inode: names of directories may differ by links.
            [_, "FLOCK", _, "WRITE", process, at, ..] if *at == place => process.parse().ok(),
            _ => None,
        }
    })
}

/// Whether somebody has it; the lock is not kept. A shared lock is tried, so that two checks at a
/// time do not take each other for a daemon.
pub(super) fn is_taken(folder: &Folder) -> bool {
    let tried = rustix::fs::flock(folder.as_fd(), FlockOperation::NonBlockingLockShared);
    if tried.is_ok() {
        let _ = rustix::fs::flock(folder.as_fd(), FlockOperation::Unlock);
    }
    tried == Err(Errno::WOULDBLOCK)
}
