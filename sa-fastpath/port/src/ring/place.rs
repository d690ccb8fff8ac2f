//! Where a socket is made: a name in a directory that is open, so that nobody can put a link or
//! another directory in its way.
//!
//! What could go wrong otherwise: between looking at a directory and making the socket, somebody
//! replaces the directory by a link; or the name by a socket of theirs, which then gets our group
//! and mode. So the directory is opened first (`O_PATH`, no link followed), every later step goes
//! through its descriptor, and what gets the mode is checked to be the socket just made.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{
    FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown as give_to,
};
use std::path::{Path, PathBuf};

use super::socket::{RingError, own_user};

/// Others than the owner may write.
const WRITABLE: u32 = 0o022;

/// A name in an open directory.
///
/// As long as it lives the directory is held open, so a directory that is renamed or replaced
/// meanwhile does not matter.
#[derive(Debug)]
pub(super) struct Place {
    directory: File,
    name: OsString,
    /// As the operator wrote it, for messages.
    path: PathBuf,
}

/// Whether a socket may be made there. Errors: [`RingError`]; the directory is missing, is a link,
/// or is not for this user alone to write to.
pub fn check_place(path: &Path) -> Result<(), RingError> {
    Place::open(path).map(drop)
}

impl Place {
    /// Opens the directory and looks whether it is safe. Errors: as [`check_place`].
    pub(super) fn open(path: &Path) -> Result<Self, RingError> {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let name = path.file_name().map(OsStr::to_os_string);
        let place = name.and_then(|name| Some((name, open_directory(directory).ok()?)));
        let Some((name, opened)) = place else {
            return Err(no_place(directory, &explain(directory, path)));
        };
        let about = opened.metadata();
        let about = about.map_err(|error| no_place(directory, &error.to_string()))?;
        judge(&about).map_err(|problem| no_place(directory, &problem))?;
        Ok(Self {
            directory: opened,
            name,
            path: path.into(),
        })
    }

    /// Another path of the same name, which no link leads elsewhere.
    pub(super) fn entry(&self) -> PathBuf {
        by_descriptor(&self.directory).join(&self.name)
    }

    /// What has the name; a link is itself. Errors: the system's.
    pub(super) fn about(&self) -> io::Result<Metadata> {
        fs::symlink_metadata(self.entry())
    }

    /// Takes the name away.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(self.entry())
    }

    /// As the operator wrote it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the socket that was just made there, with no rights for anybody, its group and mode.
    /// Gives what identifies it. Errors: the system's; somebody has put something else there.
    pub(super) fn hand_over(&self, mode: u32, group: Option<u32>) -> io::Result<(u64, u64)> {
        // From here on, this very file, whatever has its name.
        let made = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_NOFOLLOW)
            .open(self.entry())?;
        let about = made.metadata()?;
        // The mode is still 0, so nobody has connected; one link, so it has no other name.
        let is_ours = about.file_type().is_socket()
            && about.uid() == own_user()
            && about.mode() & 0o7777 == 0
            && about.nlink() == 1;
        if !is_ours {
            let error = "somebody has put something else in its place";
            return Err(io::Error::other(error));
        }
        let made_path = by_descriptor(&made);
        // Group before mode: else the old group would have the new mode's rights for a moment.
        if group.is_some() {
            give_to(&made_path, None, group)?;
        }
        fs::set_permissions(&made_path, fs::Permissions::from_mode(mode))?;
        Ok((about.dev(), about.ino()))
    }
}

/// Without following a link: whoever could replace the link could lead us elsewhere.
fn open_directory(directory: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_NOFOLLOW | libc::O_DIRECTORY)
        .open(directory)
}

/// The kernel goes from here to the open file itself.
fn by_descriptor(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Why a directory cannot be opened, with what to do.
fn explain(directory: &Path, path: &Path) -> String {
    if path.file_name().is_none() {
        return "the path of a socket ends with its name".to_owned();
    }
    match fs::symlink_metadata(directory) {
        Err(error) => format!("{error}; make this directory"),
        Ok(about) if about.is_symlink() => {
            "is a symbolic link; give the directory that it leads to".to_owned()
        }
        Ok(about) if !about.is_dir() => "is no directory".to_owned(),
        Ok(_) => "cannot be opened".to_owned(),
    }
}

/// Whoever can write there can put a socket of theirs in the place of ours, and answer our clients.
fn judge(about: &Metadata) -> Result<(), String> {
    let own = own_user();
    let owner = about.uid();
    if owner != 0 && owner != own {
        return Err(format!(
            "belongs to user {owner}, who could put another socket there; give a directory of root \
             or of this user (uid {own})"
        ));
    }
    let mode = about.mode();
    if mode & WRITABLE != 0 {
        return Err(format!(
            "others may write to it (mode {:04o}), and could put another socket there; chmod go-w \
             it, or give another directory",
            mode & 0o7777
        ));
    }
    Ok(())
}

/// A directory that cannot be used, with what to do about it.
fn no_place(directory: &Path, problem: &str) -> RingError {
    RingError::Directory {
        directory: directory.into(),
        problem: problem.to_owned(),
    }
}
