//! The system calls of the state, on Linux.
//!
//! None of them may go through this library's own symbols, or a call of ours would be taken for one
//! of OpenSM's. ioctl goes by [`next`]; what must be no cancellation point goes by `syscall`.
//!
//! Invariants: as in `sys`.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use std::time::Duration;

use libc::{c_long, c_ulong, c_void};

use super::{HeldOff, errno, next};
use crate::registration::{ENABLE_PKEY, Registration, UNREGISTER};
use crate::split::Kernel;

/// Linux. There is one kernel, so a value of this type has nothing in it.
#[derive(Debug)]
pub(crate) struct Linux;

impl Kernel for Linux {
    fn open_again(&self, fd: RawFd) -> Result<RawFd, i32> {
        // By the open file and not by its name: a device that was removed and returned may have
        // another number.
        let path = CString::new(format!("/proc/self/fd/{fd}")).map_err(|_| libc::EINVAL)?;
        // Nonblocking: OpenSM's read must not wait on this file while its own has packets.
        let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // `open` is a cancellation point, and the caller holds the lock of the agents.
        let _held_off = HeldOff::new();
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
        // A daemon may send any file: the device's number decides, not a name.
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

/// In a [`WINDOW`] so many [`LINES`] are said at most: a socket that cannot be made is tried every
/// second for months.
const WINDOW: Duration = Duration::from_secs(60);
/// Lines in a window; what is beyond is lost.
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
