//! System calls, wrapped once.
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

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use libc::{c_int, c_long, c_uint, c_ulong, c_void, nfds_t, pollfd, size_t, ssize_t};

use crate::registration::{ENABLE_PKEY, Registration, UNREGISTER};
use crate::split::Kernel;

/// The functions that this library stands before.
pub(crate) mod next {
    use super::*;

    pub(crate) type Ioctl = unsafe extern "C" fn(c_int, c_ulong, *mut c_void) -> c_int;
    pub(crate) type Read = unsafe extern "C" fn(c_int, *mut c_void, size_t) -> ssize_t;
    pub(crate) type Write = unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t;
    pub(crate) type Poll = unsafe extern "C" fn(*mut pollfd, nfds_t, c_int) -> c_int;
    pub(crate) type Close = unsafe extern "C" fn(c_int) -> c_int;
    pub(crate) type Dup = unsafe extern "C" fn(c_int) -> c_int;
    pub(crate) type Dup2 = unsafe extern "C" fn(c_int, c_int) -> c_int;
    pub(crate) type Dup3 = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
    pub(crate) type CloseRange = unsafe extern "C" fn(c_uint, c_uint, c_int) -> c_int;
    pub(crate) type Fcntl = unsafe extern "C" fn(c_int, c_int, *mut c_void) -> c_int;

    macro_rules! next {
        ($($function:ident $name:literal $type:ident)*) => { $(
            /// None: libc has no such function.
            pub(crate) fn $function() -> Option<$type> {
                static FOUND: AtomicUsize = AtomicUsize::new(0);
                let found = find(&FOUND, $name);
                // SAFETY: named-right; a null pointer is None.
                // WHY: this is how a preloaded library reaches what it replaces.
                unsafe { core::mem::transmute::<*mut c_void, Option<$type>>(found) }
            }
        )* };
    }

    next! {
        ioctl c"ioctl" Ioctl
        read c"read" Read
        write c"write" Write
        poll c"poll" Poll
        close c"close" Close
        dup c"dup" Dup
        dup2 c"dup2" Dup2
        dup3 c"dup3" Dup3
        close_range c"close_range" CloseRange
        fcntl c"fcntl" Fcntl
        fcntl64 c"fcntl64" Fcntl
    }

    fn find(known: &AtomicUsize, name: &CStr) -> *mut c_void {
        let found = known.load(Ordering::Relaxed);
        if found != 0 {
            return core::ptr::with_exposed_provenance_mut(found);
        }
        // SAFETY: c-string.
        // WHY: as above.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        known.store(found.expose_provenance(), Ordering::Relaxed);
        found
    }
}

/// Linux.
#[derive(Debug)]
pub(crate) struct Linux;

impl Kernel for Linux {
    fn open_again(&self, fd: RawFd) -> Result<RawFd, i32> {
        let path = CString::new(format!("/proc/self/fd/{fd}")).map_err(|_| libc::EINVAL)?;
        let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // SAFETY: c-string.
        // WHY: std's files would be closed by the call that is hooked here.
        let again = unsafe { libc::open(path.as_ptr(), flags) };
        if again < 0 {
            return Err(errno());
        }
        // SAFETY: open-fd; this request takes no argument.
        // WHY: umad has no other interface.
        let outcome = unsafe { ioctl(again, ENABLE_PKEY, core::ptr::null_mut()) };
        outcome.map(|()| again).inspect_err(|_| self.close(again))
    }

    fn are_of_one_device(&self, fd: RawFd, other: RawFd) -> bool {
        let device = |fd: RawFd| {
            let about = std::fs::metadata(format!("/proc/self/fd/{fd}")).ok()?;
            Some((about.dev(), about.ino(), about.rdev()))
        };
        device(fd).is_some() && device(fd).map(|it| it.2) == device(other).map(|it| it.2)
    }

    fn close(&self, fd: RawFd) {
        // SAFETY: open-fd; the caller has it closed once.
        // WHY: as for `ring`.
        unsafe { libc::syscall(libc::SYS_close, c_long::from(fd)) };
    }

    fn register(&self, fd: RawFd, registration: &Registration) -> Result<u32, i32> {
        let mut registration = *registration;
        let argument = registration.bytes.as_mut_ptr().cast();
        // SAFETY: open-fd, one-slice: of at least as many bytes as the request's number states.
        // WHY: umad has no other interface.
        unsafe { ioctl(fd, registration.request, argument)? };
        Ok(registration.agent())
    }

    fn unregister(&self, fd: RawFd, agent: u32) -> Result<(), i32> {
        let mut agent = agent;
        // SAFETY: open-fd, one-slice.
        // WHY: as above.
        unsafe { ioctl(fd, UNREGISTER, (&raw mut agent).cast()) }
    }

    fn gate(&self) -> Result<RawFd, i32> {
        // SAFETY: no pointers.
        // WHY: std has none.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            fd @ 0.. => Ok(fd),
            _ => Err(errno()),
        }
    }

    fn let_through(&self, gate: RawFd, fd: RawFd, lets: bool) {
        let mut event = libc::epoll_event {
            events: u32::try_from(libc::EPOLLIN).unwrap_or_default(),
            u64: 0,
        };
        let what = if lets {
            libc::EPOLL_CTL_ADD
        } else {
            libc::EPOLL_CTL_DEL
        };
        // SAFETY: open-fd, one-slice. What is so already is refused, and stays.
        // WHY: as above. Who waits in poll for the gate sees at once what is let through.
        unsafe { libc::epoll_ctl(gate, what, fd, &raw mut event) };
    }

    fn bell(&self) -> Result<RawFd, i32> {
        // SAFETY: no pointers.
        // WHY: std has none.
        match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } {
            fd @ 0.. => Ok(fd),
            _ => Err(errno()),
        }
    }

    fn ring(&self, bell: RawFd) {
        let one = 1u64;
        // SAFETY: open-fd, one-slice; what is written to a bell has 8 bytes.
        // WHY: `write` is a cancellation point; a thread of OpenSM's must not end with a lock held.
        unsafe { libc::syscall(libc::SYS_write, c_long::from(bell), &raw const one, 8usize) };
    }

    fn silence(&self, bell: RawFd) {
        let mut rung = 0u64;
        // SAFETY: as above; it never blocks.
        // WHY: as above.
        unsafe { libc::syscall(libc::SYS_read, c_long::from(bell), &raw mut rung, 8usize) };
    }

    fn now(&self) -> Duration {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: one-slice.
        // WHY: std's `Instant` has no beginning to count from.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or_default();
        Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanoseconds))
    }

    fn say(&self, what: &str) {
        static SAID: Mutex<(u32, Duration)> = Mutex::new((0, Duration::ZERO));
        let now = self.now();
        let Ok(mut said) = SAID.lock() else { return };
        if now.saturating_sub(said.1) > WINDOW {
            *said = (0, now);
        }
        said.0 = said.0.saturating_add(1);
        if said.0 > LINES {
            return;
        }
        let line = format!("sapphire: {what}\n");
        // SAFETY: one-slice.
        // WHY: as for `ring`.
        unsafe { libc::syscall(libc::SYS_write, 2 as c_long, line.as_ptr(), line.len()) };
    }
}

/// In a [`WINDOW`] so many [`LINES`] are said at most.
const WINDOW: Duration = Duration::from_secs(60);
const LINES: u32 = 10;

/// # Safety
/// `argument` must be what this request wants.
unsafe fn ioctl(fd: RawFd, request: c_ulong, argument: *mut c_void) -> Result<(), i32> {
    let real = next::ioctl().ok_or(libc::ENOSYS)?;
    // SAFETY: named-right; the rest is the caller's.
    // WHY: ours is not to be called for what it does itself.
    match unsafe { real(fd, request, argument) } {
        0.. => Ok(()),
        _ => Err(errno()),
    }
}

/// While it lives, this thread is not cancelled.
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

pub(crate) fn errno() -> i32 {
    // SAFETY: the pointer is to this thread's errno.
    // WHY: OpenSM is to find it as it left it.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(errno: i32) {
    // SAFETY: as above.
    // WHY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Lends a descriptor of the read agent's for the time of a call.
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

/// N of the `umadN` that is open as `fd`; `u32::MAX` where that cannot be seen.
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

/// Waits until one of them has something, or for that long.
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

/// Runs `work` in a thread of its own that gets no signals: they are OpenSM's. Errors: the system's.
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

/// A socket that listens at `path`, of mode 0. Errors: the system's.
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

/// That may wait to be accepted.
const BACKLOG: c_int = 16;

/// The user at the other end.
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

/// The number of a group.
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

fn done(result: c_int) -> io::Result<c_int> {
    match result {
        0.. => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}
