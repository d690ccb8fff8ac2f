//! Clients of other users: threads that the kernel takes for theirs.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Whom nothing belongs to.
pub(crate) const NOBODY: u32 = 65534;
/// Another one.
pub(crate) const SOMEBODY: u32 = 65533;

/// Says aloud why a test is skipped where this process cannot be another user.
pub(crate) fn is_root() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    // WHY: std does not say.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("SKIPPED: only root can be other users");
    }
    is_root
}

/// Does something as another user, on a thread of its own. Errors: its own.
pub(crate) fn as_user<T: Send>(uid: u32, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            // SAFETY: numbers alone. The system call itself, other than the library's function,
            // changes this thread and no other.
            // WHY: the kernel says of each connection which user made it.
            let done = unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) };
            ensure!(done == 0, "{}", io::Error::last_os_error());
            work()
        });
        thread.join().map_err(|_| anyhow::anyhow!("a panic"))?
    })
}

/// A connection on which nothing is said. Errors: the system's.
pub(crate) fn silent(ring: &Path) -> Result<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: plain system calls on a socket of this function, with an address that outlives them.
    // WHY: std has no sockets of packets.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, kind, 0);
        ensure!(socket >= 0, "{}", io::Error::last_os_error());
        let socket = OwnedFd::from_raw_fd(socket);
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = u16::try_from(libc::AF_UNIX)?;
        for (place, byte) in address.sun_path.iter_mut().zip(ring.as_os_str().as_bytes()) {
            *place = byte.cast_signed();
        }
        let size = u32::try_from(size_of_val(&address))?;
        let done = libc::connect(socket.as_raw_fd(), (&raw const address).cast(), size);
        ensure!(done == 0, "{}", io::Error::last_os_error());
        Ok(socket)
    }
}

/// Memory of a process that is its own. Units: bytes. Source: proc(5), `RssAnon`.
pub(crate) fn own_memory(pid: u32) -> Result<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("RssAnon")?.parse::<usize>()? << 10)
}

/// The soft limit of a process's descriptors, set where one is given. Gives what it was.
pub(crate) fn descriptors(pid: u32, limit: Option<u64>) -> Result<u64> {
    let number = libc::pid_t::try_from(pid)?;
    let mut old = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let none = std::ptr::null();
    // SAFETY: `old` is a local; no new limit is given.
    // WHY: std knows no limits.
    let done = unsafe { libc::prlimit(number, libc::RLIMIT_NOFILE, none, &raw mut old) };
    ensure!(done == 0, "{}", io::Error::last_os_error());
    if let Some(limit) = limit {
        let new = libc::rlimit {
            rlim_cur: limit,
            ..old
        };
        let none = std::ptr::null_mut();
        // SAFETY: `new` is a local; the old limit is not asked for.
        // WHY: as above.
        let done = unsafe { libc::prlimit(number, libc::RLIMIT_NOFILE, &raw const new, none) };
        ensure!(done == 0, "{}", io::Error::last_os_error());
    }
    Ok(old.rlim_cur)
}
