//! The socket where sapphired connects.
//!
//! It lies at `/run/sapphire/opensm.sock` or where OpenSM's environment says
//! (`SAPPHIRE_SPLIT_SOCKET`). Who may connect may take the SA's reads from OpenSM, so it is for
//! root and OpenSM's own user, or also for a group (`SAPPHIRE_SPLIT_GROUP`), and it is never open
//! to more for a moment:
//!
//! ```text
//!  bind with mode 0 ──> look at it by O_PATH | O_NOFOLLOW ──> is it ours? ──> chown, chmod by /proc/self/fd
//! ```
//!
//! A name that another OpenSM listens to is left alone. A socket that nobody listens to is what an
//! OpenSM that was killed has left, and is replaced. Anything else under the name is reported and
//! not touched.

use core::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{
    DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown,
};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use split_protocol::{DEFAULT_SOCKET, SOCKET_VARIABLE};

use crate::sys;

/// Where the socket is to be, and for whom. Read once, when OpenSM registers.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// Name or number of a group that may connect.
    pub(crate) group: Option<String>,
}

/// The socket, as long as its name leads here. Its name is not removed at the end: one that is
/// killed cannot remove it, so whoever comes next has to clear it away anyway.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: UnixListener,
    path: PathBuf,
    /// Device and number of the socket's name, by which it is known again.
    inode: (u64, u64),
    /// Whom the mode lets in is let in.
    for_a_group: bool,
}

impl Place {
    /// As OpenSM's environment says. Empty variables count as not set.
    pub(crate) fn of_environment() -> Self {
        let path = std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty());
        let group = std::env::var(GROUP_VARIABLE).ok();
        Self {
            path: path.map_or_else(|| DEFAULT_SOCKET.into(), PathBuf::from),
            group: group.filter(|group| !group.is_empty()),
        }
    }

    /// Takes the name. Errors: why not, and what to do. Nothing is left half done under the name
    /// but a socket of mode 0, which the next attempt finds without a listener and replaces.
    pub(crate) fn listen(&self) -> Result<Listener, ListenError> {
        let path = &self.path;
        let group = self.group.as_deref().map(group_id).transpose()?;
        make_directory(path).map_err(ListenError::cannot("make its directory", path))?;
        make_way(path)?;
        // Of mode 0 until the group is right.
        let socket = sys::bind(path).map_err(ListenError::cannot("make the socket", path))?;
        let about = self.give_to(group)?;
        socket
            .set_nonblocking(true)
            .map_err(ListenError::cannot("make the socket", path))?;
        Ok(Listener {
            socket,
            path: path.clone(),
            inode: (about.dev(), about.ino()),
            for_a_group: group.is_some(),
        })
    }

    /// Gives the socket under the name its group and mode. Errors: what has the name now is not
    /// what was just bound.
    fn give_to(&self, group: Option<u32>) -> Result<Metadata, ListenError> {
        let path = &self.path;
        let look = "look at the socket";
        // The directory may be another user's, who could put a link there now: only the socket
        // itself is looked at and changed.
        let name = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_NOFOLLOW)
            .open(path)
            .map_err(ListenError::cannot(look, path))?;
        let about = name.metadata().map_err(ListenError::cannot(look, path))?;
        if !about.file_type().is_socket() || about.uid() != sys::own_user() {
            return Err(ListenError::Foreign { path: path.clone() });
        }
        let itself = format!("/proc/self/fd/{}", name.as_raw_fd());
        if group.is_some() {
            let to_group = ListenError::cannot("give the socket to its group", path);
            chown(&itself, None, group).map_err(to_group)?;
        }
        let mode = if group.is_some() { 0o660 } else { 0o600 };
        fs::set_permissions(itself, fs::Permissions::from_mode(mode))
            .map_err(ListenError::cannot("set the mode of the socket", path))?;
        Ok(about)
    }
}

/// Why there is no socket.
#[derive(Debug)]
pub(crate) enum ListenError {
    /// The group of [`GROUP_VARIABLE`] is unknown here.
    NoGroup { group: String },
    /// The system says no.
    Cannot {
        path: PathBuf,
        what: &'static str,
        error: io::Error,
    },
    /// What has the name cannot be looked at.
    Name { path: PathBuf, error: io::Error },
    /// Something else than a socket has the name.
    NoSocket { path: PathBuf },
    /// Somebody else than this user has put it there.
    Foreign { path: PathBuf },
    /// Another OpenSM has the name.
    InUse { path: PathBuf },
}

impl ListenError {
    /// The error of a step, for `map_err`.
    fn cannot(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Cannot { path, what, error }
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGroup { group } => {
                write!(f, "{GROUP_VARIABLE}={group}: there is no such group")
            }
            Self::Cannot { path, what, error } => {
                write!(f, "{}: cannot {what}: {error}", path.display())
            }
            Self::Name { path, error } => write!(f, "{}: {error}", path.display()),
            Self::NoSocket { path } => {
                write!(f, "{}: exists and is no socket; remove it", path.display())
            }
            Self::Foreign { path } => write!(f, "{}: somebody has put it there", path.display()),
            Self::InUse { path } => write!(
                f,
                "{}: another OpenSM listens there; give each its own {SOCKET_VARIABLE}",
                path.display()
            ),
        }
    }
}

/// Environment variable of OpenSM that names a group, by name or number: its members may connect.
pub(crate) const GROUP_VARIABLE: &str = "SAPPHIRE_SPLIT_GROUP";

impl Listener {
    /// Whether its name still leads here. Somebody may have cleaned up /run.
    pub(crate) fn is_there(&self) -> bool {
        let about = fs::symlink_metadata(&self.path);
        about.is_ok_and(|about| (about.dev(), about.ino()) == self.inode)
    }

    /// The next who connects, and whether it may. None: nobody waits.
    pub(crate) fn accept(&self) -> Option<(UnixStream, bool)> {
        let (stream, _) = self.socket.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        let user = sys::peer(&stream)?;
        // Whom the mode of the socket lets in is a member of the group.
        // The mode of the socket keeps others out; where the system does not honour it, this does.
        let may = user == 0 || user == sys::own_user() || self.for_a_group;
        Some((stream, may))
    }
}

/// Makes the folder of the socket where it is not there, readable for all: the socket has a mode of
/// its own.
fn make_directory(path: &Path) -> io::Result<()> {
    let Some(directory) = path.parent().filter(|directory| !directory.exists()) else {
        return Ok(());
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(directory)?;
    // Whatever OpenSM's umask is.
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))
}

/// Removes the name of a socket that nobody listens to. Errors: somebody does; it is no socket.
fn make_way(path: &Path) -> Result<(), ListenError> {
    let name = || path.to_owned();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let path = name();
            return Err(ListenError::Name { path, error });
        }
        Ok(about) if !about.file_type().is_socket() => {
            return Err(ListenError::NoSocket { path: name() });
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(ListenError::cannot("remove it", path))
        }
        _ => Err(ListenError::InUse { path: name() }),
    }
}

/// A number, or a name that the system knows.
fn group_id(group: &str) -> Result<u32, ListenError> {
    if let Ok(id) = group.parse() {
        return Ok(id);
    }
    sys::group_id(group).ok_or_else(|| ListenError::NoGroup {
        group: group.to_owned(),
    })
}
