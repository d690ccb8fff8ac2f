//! System calls, wrapped once.
//!
//! [`linux`] has those that the state of the split makes, [`next`] the functions that this library
//! stands before; here is the rest: cancellation, threads, the socket, users and groups. Everything
//! unsafe that is not one of libc's functions itself lies in these three files.
//!
//! Invariants that the blocks below name:
//! - *named-right*: a symbol of libc has the type that its manual page says;
//! - *open-fd*: descriptors are borrowed from owners that outlive the call, or are OpenSM's, which
//!   cannot be closed while `Split::agents` is locked; any number may be asked about;
//! - *one-slice*: pointer and length come from one Rust slice or value that outlives the call;
//! - *c-string*: a name comes from a `CString` or a literal.
//!
//! What is done for a packet goes by `syscall`, since libc's functions for it are cancellation
//! points and the thread may hold a lock. Registration goes by libc, past the functions of this
//! library ([`next`]).

#![allow(unsafe_code)]

pub(crate) mod linux;
pub(crate) mod next;

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use libc::{c_int, nfds_t, pollfd};

/// While it lives, this thread is not cancelled. Dropped in the thread that made it; it may be
/// nested, as each gives back the state that it found.
#[derive(Debug)]
pub(crate) struct HeldOff(c_int);

impl HeldOff {
    pub(crate) fn new() -> Self {
        let mut before = 0;
        // SAFETY: one-slice. It cannot fail with this state, and leaves errno alone.
        // WHY: std knows no cancellation.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
        Self(before)
    }
}

impl Drop for HeldOff {
    fn drop(&mut self) {
        // SAFETY: as above; the state is one that the system gave.
        // WHY: as above.
        unsafe { pthread_setcancelstate(self.0, core::ptr::null_mut()) };
    }
}

// Declared by libc for some systems only.
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// Of glibc and musl.
const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// This thread's errno.
pub(crate) fn errno() -> i32 {
    // SAFETY: the pointer is to this thread's errno.
    // WHY: OpenSM is to find it as it left it.
    unsafe { *libc::__errno_location() }
}

/// Gives OpenSM the errno that it is to find.
pub(crate) fn set_errno(errno: i32) {
    // SAFETY: as above.
    // WHY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Lends a descriptor of the read agent's for the time of a call. Only the serving thread sends it,
/// and only other threads close it.
pub(crate) fn borrowed<T>(fd: RawFd, what: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
    // SAFETY: it is open: where it is closed in between, the number is at worst another's of this
    // process, and what is sent is of no use to the daemon.
    // WHY: OpenSM's thread may close its file at any time.
    what(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Has `child` called in every child that is forked. Without it a child's calls are taken for
/// OpenSM's, which only matters where it goes on with its file.
pub(crate) fn at_fork(child: extern "C" fn()) {
    // SAFETY: named-right.
    // WHY: std knows no forks.
    unsafe { pthread_atfork(None, None, Some(child)) };
}

/// Whether a read of this file is to give EAGAIN where it would wait.
pub(crate) fn is_nonblocking(fd: RawFd) -> bool {
    // SAFETY: open-fd; no pointers.
    // WHY: std has no way to ask.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_NONBLOCK != 0
}

/// False: a preload library of the simulator's stands in for the device.
pub(crate) fn is_real(fd: RawFd) -> bool {
    // SAFETY: open-fd; no pointers.
    // WHY: it is the one question that the simulator does not answer itself.
    unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
}

/// N of the `umadN` that is open as `fd`, from its name in `/proc/self/fd`; `u32::MAX` where that
/// cannot be seen.
pub(crate) fn umad_of(fd: RawFd) -> u32 {
    let link = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok();
    let name = link.as_deref().and_then(Path::file_name);
    let number = name.and_then(|name| name.to_str()?.strip_prefix("umad")?.parse().ok());
    number.unwrap_or(u32::MAX)
}

/// What to ask of a descriptor: whether it can be read, and written if `also_write`. Of -1 nothing
/// is ever said.
pub(crate) fn asked(fd: RawFd, also_write: bool) -> pollfd {
    let write = if also_write { libc::POLLOUT } else { 0 };
    pollfd {
        fd,
        events: libc::POLLIN | write,
        revents: 0,
    }
}

/// Waits until one of them has something, or for that long. What each has is in its `revents`;
/// after a signal nothing is.
pub(crate) fn wait(fds: &mut [pollfd], timeout: Duration) {
    // Rounded up: a wait of less than a millisecond must not become a spin.
    let milliseconds = timeout.as_micros().div_ceil(1000);
    let milliseconds = c_int::try_from(milliseconds).unwrap_or(c_int::MAX);
    let count = nfds_t::try_from(fds.len()).unwrap_or(0);
    // SAFETY: one-slice.
    // WHY: std waits for one at a time.
    if unsafe { libc::poll(fds.as_mut_ptr(), count, milliseconds) } <= 0 {
        fds.iter_mut().for_each(|fd| fd.revents = 0);
    }
}

/// Runs `work` in a thread of its own that gets no signals: they are OpenSM's, whose handlers
/// expect its own threads. A thread takes over the mask of the one that makes it, so that is
/// changed for a moment. Errors: the system's.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut all = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: one-slice; the first call fills in what the second reads.
    // WHY: std knows no signals.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let thread = std::thread::Builder::new().name("sapphire-split".to_owned());
    let outcome = thread.spawn(work);
    // SAFETY: the call above has filled it in.
    // WHY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), core::ptr::null_mut()) };
    outcome.map(drop)
}

/// A socket that listens at `path`, of mode 0: nobody can connect before its mode and group are
/// right. Errors: the system's.
pub(crate) fn bind(path: &Path) -> io::Result<UnixListener> {
    let path = path.as_os_str().as_bytes();
    // SAFETY: all of it is numbers.
    // WHY: its layout differs from system to system.
    let mut address: libc::sockaddr_un = unsafe { core::mem::zeroed() };
    // The last byte stays zero.
    if path.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    address.sun_family = libc::sa_family_t::try_from(libc::AF_UNIX).unwrap_or_default();
    for (to, from) in address.sun_path.iter_mut().zip(path) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    let size = libc::socklen_t::try_from(size_of_val(&address)).unwrap_or_default();
    // SAFETY: no pointers; the descriptor that the call gave is owned by nobody else.
    // WHY: std's listener can be connected to before its mode is right.
    let socket = unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        let fd = done(libc::socket(libc::AF_UNIX, kind, 0))?;
        OwnedFd::from_raw_fd(fd)
    };
    let fd = socket.as_raw_fd();
    // SAFETY: open-fd, one-slice.
    // WHY: as above. The name is made with the mode of the socket.
    unsafe {
        done(libc::fchmod(fd, 0))?;
        done(libc::bind(fd, (&raw const address).cast(), size))?;
        done(libc::listen(fd, BACKLOG))?;
    }
    Ok(socket.into())
}

/// Connections that may wait to be accepted. One is served; the others are told that another daemon
/// is connected.
const BACKLOG: c_int = 16;

/// The user at the other end, as the kernel noted it when the connection was made. None: the system
/// does not say.
pub(crate) fn peer(stream: &UnixStream) -> Option<u32> {
    let mut found = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut size = libc::socklen_t::try_from(size_of_val(&found)).unwrap_or_default();
    // SAFETY: open-fd, one-slice.
    // WHY: std does not say who connected.
    let outcome = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut size,
        )
    };
    (outcome == 0).then_some(found.uid)
}

/// The user that OpenSM acts as.
pub(crate) fn own_user() -> u32 {
    // SAFETY: it cannot fail and has no arguments.
    // WHY: std has no way to ask.
    unsafe { libc::geteuid() }
}

/// The number of a group; none where the system knows no such name. May ask a directory service, so
/// it is called by the serving thread alone.
pub(crate) fn group_id(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    let mut buffer = vec![0; 1 << 16];
    let mut entry = core::mem::MaybeUninit::<libc::group>::uninit();
    let mut found = core::ptr::null_mut();
    // SAFETY: c-string, one-slice.
    // WHY: groups may come from elsewhere than a file.
    unsafe {
        libc::getgrnam_r(
            name.as_ptr(),
            entry.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        );
    }
    if found.is_null() {
        return None;
    }
    // SAFETY: the call has found the group and filled the entry in.
    // WHY: as above.
    Some(unsafe { entry.assume_init() }.gr_gid)
}

/// A call's result. Errors: errno, where it is negative.
fn done(result: c_int) -> io::Result<c_int> {
    match result {
        0.. => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}
