//! The name of the control socket in the file system.
//!
//! Between `bind` and `chmod` anybody could connect, and between a check and a use somebody could
//! put a link in the place. So the socket is made in a directory of this process alone, gets its
//! owner and mode there, and is then moved to its name in one step; every path is relative to a
//! directory that is held open. What a killed daemon left of that is swept at the next start.
//!
//! ```text
//!  /run/sapphire/.c8f3a60d21b4e957/      mode 0700, held open, locked
//!  /run/sapphire/.c8f3a60d21b4e957/s     bind, chown, chmod
//!  /run/sapphire/control.sock            rename: in one step, with group and mode
//! ```

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use sa_fabric::outlet::{Folder, unforeseen};

use crate::checks::control_socket::{ControlSocketError, ControlSocketProblem, check, group};
use crate::config::ControlSection;

/// The name, which goes when this does. The listener itself is the admin thread's.
#[derive(Debug)]
pub(in crate::server) struct Socket {
    path: PathBuf,
    /// Another daemon's must stay.
    /// Device and inode of what this process has put there.
    inode: (u64, u64),
}

impl Socket {
    /// Listens, with the name of a daemon that is dead if need be. Errors: [`ControlSocketError`].
    pub(in crate::server) fn bind(
        section: &ControlSection,
    ) -> Result<(UnixListener, Self), ControlSocketError> {
        check(section)?;
        let bound = || {
            // The group first: without it nothing is touched.
            let group = group(section)?;
            make_way(&section.path)?;
            Ok(place(section, group)?)
        };
        bound().map_err(|problem: ControlSocketProblem| problem.at(section))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A daemon that was started meanwhile has put its own socket there.
        if inode(&self.path).is_ok_and(|inode| inode == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the name is free, or a dead daemon's. Errors: what is in the way. The old socket is not
/// removed here: the rename replaces it.
fn make_way(path: &Path) -> Result<(), ControlSocketProblem> {
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        about => about?,
    };
    if !about.file_type().is_socket() {
        return Err(ControlSocketProblem::NoSocket);
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ControlSocketProblem::InUse),
        // Nobody does: what is left of a daemon that is dead is replaced.
        Err(_) => Ok(()),
    }
}

/// The socket gets its group and mode where nobody else comes, and only then its name.
fn place(section: &ControlSection, group: Option<u32>) -> io::Result<(UnixListener, Socket)> {
    let folder = Folder::of(&section.path).map_err(io::Error::other)?;
    sweep(&folder);
    let workshop = Workshop::new(folder)?;
    let listener = UnixListener::bind(workshop.socket())?;
    let inode = workshop.name(section, group)?;
    let path = section.path.clone();
    Ok((listener, Socket { path, inode }))
}

/// First letters of the names of workshops; digits follow.
const WORKSHOP: &str = ".c";
/// The socket's name in there.
const UNNAMED: &str = "s";

/// A directory of this process alone, which goes when this does. It is held open, and so is the one
/// that it is in: no name is gone through twice.
struct Workshop {
    folder: Folder,
    name: String,
    directory: OwnedFd,
}

impl Workshop {
    /// Makes the directory, under a name that nobody can foresee. Errors: the system's.
    fn new(folder: Folder) -> io::Result<Self> {
        let name = format!("{WORKSHOP}{:016x}", unforeseen()?);
        // Of mode 0700 from the beginning, so nobody can come in before it is opened.
        rustix::fs::mkdirat(&folder, &name, Mode::RWXU)?;
        let directory = opened(&folder, &name)?;
        // Tells those who sweep that somebody is at work.
        let _ = rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            folder,
            name,
            directory,
        })
    }

    /// By the descriptor: nobody can put another directory there, and the path is short.
    fn socket(&self) -> PathBuf {
        let directory = self.directory.as_raw_fd();
        PathBuf::from(format!("/proc/self/fd/{directory}/{UNNAMED}"))
    }

    /// Gives the socket group and mode, and then its name. Gives what is to identify it: by this
    /// the end of the daemon knows whether the name is still its own.
    fn name(&self, section: &ControlSection, group: Option<u32>) -> io::Result<(u64, u64)> {
        let unnamed = self.socket();
        if group.is_some() {
            chown(&unnamed, None, group)?;
        }
        fs::set_permissions(&unnamed, fs::Permissions::from_mode(section.mode.0))?;
        let inode = inode(&unnamed)?;
        let name = section.path.file_name().unwrap_or_default();
        rustix::fs::renameat(&self.directory, UNNAMED, &self.folder, name)?;
        Ok(inode)
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        remove(&self.folder, &self.name, self.directory.as_fd());
    }
}

/// A directory, never by a link.
fn opened(folder: &Folder, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

/// Removes socket and directory, as far as they are there.
fn remove(folder: &Folder, name: &str, directory: impl AsFd) {
    let _ = rustix::fs::unlinkat(directory, UNNAMED, AtFlags::empty());
    let _ = rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR);
}

/// Removes workshops of daemons that were killed in them.
fn sweep(folder: &Folder) {
    let own = rustix::process::geteuid().as_raw();
    for name in folder.names().unwrap_or_default() {
        let Some(name) = name.to_str().filter(|name| is_workshop(name)) else {
            continue;
        };
        let Ok(directory) = opened(folder, name) else {
            continue;
        };
        let is_ours = rustix::fs::fstat(&directory).is_ok_and(|about| about.st_uid == own);
        // Locked means that its process is at work in it.
        let tried = rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive);
        if is_ours && tried.is_ok() {
            remove(folder, name, directory);
        }
    }
}

/// Versions before had the process's number there; both forms are swept.
fn is_workshop(name: &str) -> bool {
    let digits = name.strip_prefix(WORKSHOP);
    digits.is_some_and(|digits| {
        let all = |is: fn(&u8) -> bool| digits.bytes().all(|byte| is(&byte));
        let of_now = digits.len() == 16 && all(u8::is_ascii_hexdigit);
        of_now || !digits.is_empty() && all(u8::is_ascii_digit)
    })
}

/// What identifies a socket's name: device and inode.
fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let about = fs::symlink_metadata(path)?;
    Ok((about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Mode;

    fn section(path: PathBuf) -> ControlSection {
        ControlSection {
            path,
            mode: Mode(0o640),
            group: None,
        }
    }

    #[test]
    fn the_name_is_taken_once_and_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let section = section(directory.path().join("control"));
        let (listener, socket) = Socket::bind(&section).unwrap();
        let mode = fs::metadata(&section.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let twice = Socket::bind(&section).unwrap_err().to_string();
        assert!(twice.ends_with("another daemon listens there"), "{twice}");
        drop((listener, socket));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_socket_of_a_dead_daemon_is_replaced_and_a_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let section = section(directory.path().join("control"));
        drop(UnixListener::bind(&section.path).unwrap());
        drop(Socket::bind(&section).unwrap());
        fs::write(&section.path, "precious").unwrap();
        let error = Socket::bind(&section).unwrap_err().to_string();
        assert!(error.contains("no socket"), "{error}");
        assert_eq!(fs::read_to_string(&section.path).unwrap(), "precious");
    }

    #[test]
    fn leftovers_of_a_killed_daemon_stop_no_start_and_go() {
        let directory = tempfile::tempdir().unwrap();
        // As versions before left them, with the number of this process too, and with a socket.
        for name in [format!(".c{}", std::process::id()), ".c0".to_owned()] {
            let left = directory.path().join(name);
            fs::create_dir(&left).unwrap();
            drop(UnixListener::bind(left.join("s")).unwrap());
        }
        fs::create_dir(directory.path().join(".c0123456789abcdef")).unwrap();
        fs::create_dir(directory.path().join(".cache")).unwrap();
        let section = section(directory.path().join("control"));
        let (_listener, _socket) = Socket::bind(&section).unwrap();
        let mut left: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, [".cache", "control"]);
    }

    #[test]
    fn a_link_in_the_place_of_the_socket_is_refused_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let section = section(directory.path().join("control"));
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &section.path).unwrap();
        let error = Socket::bind(&section).unwrap_err().to_string();
        assert!(error.contains("no socket"), "{error}");
        let mode = fs::metadata(&victim).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }

    #[test]
    fn a_place_that_cannot_be_is_said() {
        let nowhere = check(&section("/no/such/control".into()))
            .unwrap_err()
            .to_string();
        assert!(nowhere.contains("make this directory"), "{nowhere}");
        let long = check(&section(format!("/tmp/{}", "x".repeat(300)).into()))
            .unwrap_err()
            .to_string();
        assert!(long.contains("107 bytes"), "{long}");
        let mut section = section("/tmp/x".into());
        section.group = Some("nobody-has-this".to_owned());
        let unknown = check(&section).unwrap_err().to_string();
        assert!(unknown.contains("no group"), "{unknown}");
    }
}
