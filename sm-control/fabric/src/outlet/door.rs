//! What is no file, but takes bytes.
//!
//! | what | is |
//! |---|---|
//! | `/dev/stdout`, `/dev/fd/3`, `/proc/17/fd/3` | opened to append: it may be a file that others write to |
//! | `/dev/null`, a terminal | written to as it is |
//! | a pipe of one's own or of root | written to as it is |
//! | a pipe of another user | refused |
//! | a directory, a socket, a block device | refused |
//! | a file, a link, nothing | not a door: a new file takes its place |
//!
//! A shell's `>(..)` is a path such as `/dev/fd/63` and should work; a FIFO that somebody laid in
//! `/tmp` under the name of our next snapshot should not.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::WriteError;

/// Opens it. None where a file is to be made. Errors: [`WriteError`].
pub(super) fn open(path: &Path) -> Result<Option<File>, WriteError> {
    // Before anything is looked at: these are links, and links are replaced otherwise.
    if is_descriptor(path) {
        return appended(path).map(Some);
    }
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        // Whoever makes the file finds out.
        Err(_) => return Ok(None),
    };
    // Without following links: a link is replaced, wherever it leads.
    let kind = about.file_type();
    if kind.is_file() || kind.is_symlink() {
        return Ok(None);
    }
    if kind.is_dir() {
        return Err(WriteError::odd(path, "a directory", "name a file"));
    }
    if kind.is_socket() || kind.is_block_device() {
        return Err(WriteError::odd(path, "no file", "name a file"));
    }
    // Who put a pipe there reads what comes through it.
    let own = rustix::process::geteuid().as_raw();
    if kind.is_fifo() && about.uid() != 0 && about.uid() != own {
        return Err(WriteError::odd(path, "another user's pipe", "name a file"));
    }
    stream(path).map(Some)
}

/// Whether there is one, or something that is refused; opens nothing.
pub(super) fn is_one(path: &Path) -> bool {
    is_descriptor(path)
        || fs::symlink_metadata(path).is_ok_and(|about| {
            let kind = about.file_type();
            !kind.is_file() && !kind.is_symlink()
        })
}

/// Such as `/dev/stdout`: a descriptor that this process was given under a name that is a link.
///
/// By the name and not by what it leads to, which may be anything.
fn is_descriptor(path: &Path) -> bool {
    let Some((parent, name)) = path.parent().zip(path.file_name().and_then(OsStr::to_str)) else {
        return false;
    };
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    match parent.to_str() {
        Some("/dev") => matches!(name, "stdout" | "stderr"),
        Some("/dev/fd" | "/proc/self/fd" | "/proc/thread-self/fd") => is_number,
        Some(parent) => is_number && is_of_a_process(parent),
        None => false,
    }
}

/// Such as `/proc/17/fd`, where a shell lets `>(..)` begin.
fn is_of_a_process(directory: &str) -> bool {
    let process = directory.strip_prefix("/proc/");
    let process = process.and_then(|rest| rest.strip_suffix("/fd"));
    process.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What others have written there stays.
fn appended(path: &Path) -> Result<File, WriteError> {
    let file = OpenOptions::new().append(true).open(path);
    file.map_err(|source| WriteError::io("open", path, source))
}

/// Opens a pipe or a character device, if it still is one. O_NOFOLLOW, as the look before was at
/// this very name.
fn stream(path: &Path) -> Result<File, WriteError> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path);
    let file = file.map_err(|source| WriteError::io("open", path, source))?;
    let kind = file.metadata().map(|about| about.file_type());
    match kind {
        Ok(kind) if kind.is_fifo() || kind.is_char_device() => Ok(file),
        // Somebody has put a file there since.
        _ => Err(WriteError::io(
            "open",
            path,
            io::Error::other("it changed meanwhile"),
        )),
    }
}
