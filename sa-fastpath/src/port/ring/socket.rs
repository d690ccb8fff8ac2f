//! The socket where clients get their rings, and the system calls of this side.
//!
//! Invariants that the blocks below name:
//! - *open-fd*: descriptors are borrowed from owners that outlive the call;
//! - *local*: what the kernel writes to is a local variable of the size that is said;
//! - *c-string*: a name comes from a `CString`.

#![allow(unsafe_code)]

use core::fmt;
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::layout::size_of_ring;
use super::memory::Memory;
use super::packets;
use super::place::Place;

/// A socket that cannot be served.
#[derive(Debug)]
#[non_exhaustive]
pub enum RingError {
    /// Somebody serves it.
    InUse(PathBuf),
    /// Something else has its name.
    NoSocket(PathBuf),
    /// The directory is not there, or not safe.
    Directory {
        /// Which.
        directory: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The system refuses.
    Os {
        /// The socket.
        path: PathBuf,
        /// What was attempted.
        what: &'static str,
        /// Why not.
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
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    place: Place,
    /// Of the name in the file system: another daemon's must stay.
    inode: (u64, u64),
}

/// Who is at the other end, as the kernel says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) pid: i32,
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
        chmod(socket.as_fd(), 0).map_err(failed("make a socket"))?;
        bind(socket.as_fd(), &place.entry()).map_err(failed("make the socket"))?;
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
        listen(listener.socket.as_fd()).map_err(failed("listen"))?;
        Ok(listener)
    }

    /// The next client, if any. Errors: WouldBlock, or the system's.
    pub(super) fn accept(&self) -> io::Result<(OwnedFd, Credentials)> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let none = core::ptr::null_mut();
        // SAFETY: open-fd; no address is asked for.
        // WHY: std has no sockets of packets that are connected.
        let fd = unsafe { libc::accept4(self.socket.as_raw_fd(), none, none.cast(), flags) };
        let client = packets::owned(fd)?;
        let credentials = credentials(client.as_fd())?;
        Ok((client, credentials))
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let is_ours = |about: Metadata| (about.dev(), about.ino()) == self.inode;
        if self.place.about().is_ok_and(is_ours) {
            let _ = self.place.remove();
        }
    }
}

fn os(path: &Path, what: &'static str, source: io::Error) -> RingError {
    RingError::Os {
        path: path.into(),
        what,
        source,
    }
}

/// Removes the name of a socket that nobody listens to. Errors: somebody does; it is no socket.
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

fn bind(socket: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let (address, size) = packets::address(path)?;
    // SAFETY: open-fd; the address is a local of the size that is said.
    // WHY: std binds only its own sockets.
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) })
}

fn listen(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: open-fd; no pointers.
    // WHY: as for `bind`.
    done(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })
}

/// Clients that may wait to be accepted.
const BACKLOG: libc::c_int = 128;

fn chmod(socket: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    // SAFETY: open-fd; no pointers.
    // WHY: the name is made with the mode of the socket, so that there is no moment before.
    done(unsafe { libc::fchmod(socket.as_raw_fd(), mode) })
}

fn credentials(client: BorrowedFd<'_>) -> io::Result<Credentials> {
    let mut found = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut size = libc::socklen_t::try_from(size_of::<libc::ucred>()).unwrap_or(0);
    // SAFETY: open-fd, local.
    // WHY: std does not say who connected.
    done(unsafe {
        libc::getsockopt(
            client.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut size,
        )
    })?;
    Ok(Credentials {
        pid: found.pid,
        uid: found.uid,
    })
}

/// The user that this process acts as.
pub(super) fn own_user() -> u32 {
    // SAFETY: it cannot fail and has no arguments.
    // WHY: std has no way to ask.
    unsafe { libc::geteuid() }
}

/// The number of a group. Errors: in words.
pub fn group_id(name: &str) -> Result<u32, String> {
    let unknown = || format!("there is no group {name:?} on this system");
    let name_c = CString::new(name).map_err(|_| unknown())?;
    let mut buffer = vec![0; 1 << 16];
    let mut entry = core::mem::MaybeUninit::<libc::group>::uninit();
    let mut found = core::ptr::null_mut();
    // SAFETY: c-string, local; the buffer has the length that is said.
    // WHY: groups may come from elsewhere than a file.
    let error = unsafe {
        libc::getgrnam_r(
            name_c.as_ptr(),
            entry.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        )
    };
    if error != 0 {
        let error = io::Error::from_raw_os_error(error);
        return Err(format!("cannot look up the group {name:?}: {error}"));
    }
    if found.is_null() {
        return Err(unknown());
    }
    // SAFETY: the call has found the group and filled the entry in.
    // WHY: as above.
    Ok(unsafe { entry.assume_init() }.gr_gid)
}

/// New memory for a ring: this side's view of it, and the file to send. Errors: the system's.
pub(super) fn new_memory(slots: u32) -> io::Result<(Memory, OwnedFd)> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: c-string.
    // WHY: std makes no files without names.
    let file = packets::owned(unsafe { libc::memfd_create(c"sapphire-ring".as_ptr(), flags) })?;
    let file = File::from(file);
    file.set_len(size_of_ring(usize::try_from(slots).unwrap_or(0)) as u64)?;
    // SAFETY: open-fd; no pointers.
    // WHY: a client that cut the file off would make this process fail with SIGBUS.
    done(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, packets::SEALS) })?;
    let memory = Memory::map(file.as_fd(), slots)?;
    memory.header().describe(slots);
    Ok((memory, file.into()))
}

/// Waits until one of the sockets has something. Gives of each whether it has. Errors: the system's.
pub(super) fn wait(sockets: &[Option<BorrowedFd<'_>>], timeout: Duration) -> io::Result<Vec<bool>> {
    let mut all: Vec<libc::pollfd> = sockets
        .iter()
        .map(|socket| libc::pollfd {
            // Of -1 nothing is ever said.
            fd: socket.map_or(-1, |socket| socket.as_raw_fd()),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let count = libc::nfds_t::try_from(all.len()).unwrap_or(0);
    let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: open-fd; as many elements as are said.
    // WHY: std waits for one at a time.
    let found = unsafe { libc::poll(all.as_mut_ptr(), count, milliseconds) };
    if found < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        all.iter_mut().for_each(|one| one.revents = 0);
    }
    Ok(all.iter().map(|one| one.revents != 0).collect())
}

fn done(result: libc::c_int) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
