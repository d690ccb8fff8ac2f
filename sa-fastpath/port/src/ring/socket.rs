//! The socket where clients get their rings, and the system calls of this side.
//!
//! Order of the steps, each of which closes a gap: the socket is made with mode 0, gets its name in
//! an open directory, then group, then mode, and only then listens. A socket that was left by a
//! dead daemon is told from a live one by connecting to it.

use core::fmt;
use std::fs::Metadata;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::place::Place;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::unistd::Group;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode};
use rustix::io::Errno;
use rustix::net::{self, SocketFlags};
use sa_ring::Memory;
use sa_ring::layout::size_of_ring;
use sa_ring::packets;

/// A socket that cannot be served.
///
/// Told to the operator when the daemon starts; each names the path and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum RingError {
    /// Another process serves this socket.
    InUse(PathBuf),
    /// Something else has its name.
    NoSocket(PathBuf),
    /// The directory is not there, or not safe.
    Directory {
        /// The directory, as it was given.
        directory: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The system refuses a call.
    Os {
        /// The socket, as it was given.
        path: PathBuf,
        /// What was attempted, in words for a log.
        what: &'static str,
        /// Why not, as the system says it.
        source: io::Error,
    },
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(path) => write!(
                f,
                "{}: another process serves this socket; stop it, or give another path",
                path.display()
            ),
            Self::NoSocket(path) => write!(
                f,
                "{}: exists and is no socket; remove it, or give another path",
                path.display()
            ),
            Self::Directory { directory, problem } => {
                write!(f, "{}: {problem}", directory.display())
            }
            Self::Os { path, what, source } => {
                write!(f, "{}: cannot {what}: {source}", path.display())
            }
        }
    }
}

impl core::error::Error for RingError {}

/// Where clients connect; its name goes when this does.
///
/// The name is removed only if it is still the file that this listener made.
#[derive(Debug)]
pub(super) struct Listener {
    /// Non-blocking.
    socket: OwnedFd,
    /// Its directory and name, kept open, so that a directory that is renamed does not matter.
    place: Place,
    /// Of the name in the file system: another daemon's must stay.
    inode: (u64, u64),
}

/// Who is at the other end, as the kernel says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Credentials {
    /// 0 for a process of a PID namespace that is not seen from here.
    pub(super) pid: i32,
    /// Effective, when it connected.
    pub(super) uid: u32,
}

impl Listener {
    /// Takes the name, from a daemon that is dead if need be. Errors: [`RingError`].
    pub(super) fn bind(path: &Path, mode: u32, group: Option<u32>) -> Result<Self, RingError> {
        let failed = |what| move |source| os(path, what, source);
        // Clients have to use the whole path.
        packets::address(path).map_err(failed("make the socket"))?;
        let place = Place::open(path)?;
        make_way(&place)?;
        let socket = packets::socket().map_err(failed("make a socket"))?;
        // Nobody may connect before the group and the mode are right.
        chmod(&socket, 0).map_err(failed("make a socket"))?;
        bind(&socket, &place.entry()).map_err(failed("make the socket"))?;
        let named = place.hand_over(mode, group);
        if named.is_err() {
            // Only this user and root can have put anything there.
            let _ = place.remove();
        }
        let inode = named.map_err(failed("set group and mode of the socket"))?;
        // From here on, a failure removes the name again.
        let listener = Self {
            socket,
            place,
            inode,
        };
        let listening = net::listen(&listener.socket, BACKLOG);
        listening.map_err(|error| failed("listen")(error.into()))?;
        Ok(listener)
    }

    /// The next client, if any. Errors: WouldBlock, or the system's.
    pub(super) fn accept(&self) -> io::Result<(OwnedFd, Credentials)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let client = net::accept_with(&self.socket, flags)?;
        let credentials = credentials(&client)?;
        Ok((client, credentials))
    }

    /// What to wait on for connections.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    /// Somebody else's socket of that name stays.
    fn drop(&mut self) {
        let is_ours = |about: Metadata| (about.dev(), about.ino()) == self.inode;
        if self.place.about().is_ok_and(is_ours) {
            let _ = self.place.remove();
        }
    }
}

/// A refused call, with the socket and what was attempted.
fn os(path: &Path, what: &'static str, source: io::Error) -> RingError {
    RingError::Os {
        path: path.into(),
        what,
        source,
    }
}

/// Removes the name of a socket that nobody listens to. Errors: somebody does; it is no socket.
///
/// Told by connecting: only the kernel knows whether somebody listens.
fn make_way(place: &Place) -> Result<(), RingError> {
    let failed = |what, source| os(place.path(), what, source);
    match place.about() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("look at the socket", error)),
        Ok(about) if !about.file_type().is_socket() => {
            return Err(RingError::NoSocket(place.path().into()));
        }
        Ok(_) => {}
    }
    // A file stays when its daemon is killed, so that it says nothing.
    let probe = packets::socket().map_err(|error| failed("make a socket", error))?;
    match packets::connect(probe.as_fd(), &place.entry()) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => place
            .remove()
            .map_err(|error| failed("remove the socket of a dead daemon", error)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(failed("see whether somebody serves the socket", error))
        }
        // Whoever it is, even if it wants no packets or has no room now.
        Ok(()) | Err(_) => Err(RingError::InUse(place.path().into())),
    }
}

/// Gives the socket its name.
///
/// Through the open directory, so that no link leads it elsewhere.
fn bind(socket: &OwnedFd, path: &Path) -> io::Result<()> {
    Ok(net::bind(socket, &packets::address(path)?)?)
}

/// Clients that may wait to be accepted.
const BACKLOG: i32 = 128;

/// The name is made with the mode of the socket, so that there is no moment before.
fn chmod(socket: &OwnedFd, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(socket, Mode::from_raw_mode(mode))?)
}

/// By nix: rustix takes a process number of 0, which the kernel gives for clients in a PID namespace
/// that is not seen from here, for impossible.
fn credentials(client: &OwnedFd) -> io::Result<Credentials> {
    let found = getsockopt(client, PeerCredentials)?;
    Ok(Credentials {
        pid: found.pid(),
        uid: found.uid(),
    })
}

/// The user that this process acts as.
pub(super) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The number of a group, wherever the system has its groups from. Errors: in words.
pub fn group_id(name: &str) -> Result<u32, String> {
    match Group::from_name(name) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        Ok(None) => Err(format!("there is no group {name:?} on this system")),
        Err(error) => {
            let error = io::Error::from(error);
            Err(format!("cannot look up the group {name:?}: {error}"))
        }
    }
}

/// New memory for a ring: this side's view of it, and the file to send. Errors: the system's.
///
/// Sealed before anybody else has it: it can neither shrink nor grow.
pub(super) fn new_memory(slots: u32) -> io::Result<(Memory, OwnedFd)> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("sapphire-ring", flags)?;
    let size = size_of_ring(usize::try_from(slots).unwrap_or(0));
    rustix::fs::ftruncate(&file, size as u64)?;
    // A client that cut the file off would make this process fail with SIGBUS.
    rustix::fs::fcntl_add_seals(&file, packets::SEALS)?;
    let memory = Memory::map(file.as_fd(), slots)?;
    memory.header().describe(slots);
    Ok((memory, file))
}

/// Waits until one of the sockets has something. Gives of each whether it has. Errors: the system's.
///
/// Shape: by place; one that is none has nothing. A signal ends it early with nothing.
pub(super) fn wait(sockets: &[Option<BorrowedFd<'_>>], timeout: Duration) -> io::Result<Vec<bool>> {
    let (places, some): (Vec<usize>, Vec<_>) = (0..)
        .zip(sockets)
        .filter_map(|(place, socket)| Some((place, (*socket)?)))
        .unzip();
    let watch = |socket| PollFd::from_borrowed_fd(socket, PollFlags::IN);
    let mut all: Vec<PollFd<'_>> = some.into_iter().map(watch).collect();
    let mut has = vec![false; sockets.len()];
    match poll(&mut all, Timespec::try_from(timeout).ok().as_ref()) {
        // The caller looks at its flag and comes back.
        Err(Errno::INTR) => return Ok(has),
        done => done?,
    };
    for (place, one) in places.into_iter().zip(&all) {
        if let Some(has) = has.get_mut(place) {
            *has = !one.revents().is_empty();
        }
    }
    Ok(has)
}
