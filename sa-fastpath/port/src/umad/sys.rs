//! The system calls of the umad port, wrapped once.
//!
//! Invariants that the blocks below name:
//! - *open-fd*: a [`RawFile`] owns its descriptor from `open` (or from an owned one) until `Drop`,
//!   the only place that closes it;
//! - *one-slice*: pointer and length handed to the kernel come from one Rust slice or value that
//!   outlives the call; the kernel (or a preload library in its place) keeps neither;
//! - *c-string*: a path comes from a `CStr`.
//!
//! Every call goes through libc's plain symbols. The simulator's preload library replaces exactly
//! `open`, `close`, `read`, `write`, `ioctl` and `poll`, and its descriptors are numbers that the
//! kernel does not know; std's files (`open64`) and io_uring would pass it by.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::time::Duration;

use libc::{c_int, c_void};

/// An open umad, issm or sysfs file.
#[derive(Debug)]
pub(crate) struct RawFile {
    /// A number that libc's calls know; under the simulator the kernel does not.
    fd: RawFd,
}

/// What a read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// So many bytes were read.
    Bytes(usize),
    /// Nothing waits, or a signal came first.
    Nothing,
    /// A packet waits that needs a larger buffer; its beginning was copied (ENOSPC).
    TooSmall,
    /// The file is of no more use. Holds the errno.
    Failed(i32),
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// A sysfs attribute: to be read once.
    ReadOnly,
    /// A device: reads and writes that never block.
    NonBlocking,
}

/// The kernel's `struct ib_user_mad_reg_req`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct RegisterAgent {
    /// Out: the agent's number.
    pub(crate) id: u32,
    /// Bit n for method n; all zero for an agent that only asks.
    pub(crate) method_mask: [u8; 16],
    /// 1 for general services, 0 for subnet management.
    pub(crate) qpn: u8,
    /// The class whose MADs come here.
    pub(crate) mgmt_class: u8,
    /// Its version, which the kernel compares.
    pub(crate) class_version: u8,
    /// Zero: only vendors' classes have one.
    pub(crate) oui: [u8; 3],
    /// 1 if the kernel shall segment and put together, else 0.
    pub(crate) rmpp_version: u8,
}

impl RawFile {
    /// Errors: the errno of `open`.
    pub(crate) fn open(path: &CStr, access: Access) -> Result<Self, i32> {
        let flags = match access {
            Access::ReadOnly => libc::O_RDONLY | libc::O_CLOEXEC,
            Access::NonBlocking => libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC,
        };
        // SAFETY: c-string.
        // WHY: std opens with `open64`, which the simulator does not see.
        let fd = unsafe { libc::open(path.as_ptr(), flags) };
        if fd < 0 {
            Err(errno())
        } else {
            Ok(Self { fd })
        }
    }

    /// True when the kernel does not know the descriptor: a preload library stands in for the
    /// device.
    pub(crate) fn is_simulated(&self) -> bool {
        // SAFETY: F_GETFD takes no pointer.
        // WHY: it is the one question that the simulator does not answer itself.
        unsafe { libc::fcntl(self.fd, libc::F_GETFD) < 0 }
    }

    /// Reads one packet, without waiting.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Read {
        // SAFETY: open-fd, one-slice.
        // WHY: the simulator's descriptors are known to libc's `read` alone.
        let got =
            unsafe { libc::read(self.fd, buffer.as_mut_ptr().cast::<c_void>(), buffer.len()) };
        match usize::try_from(got) {
            // A buffer's length is never exceeded, whatever a preload library returns.
            Ok(bytes) => Read::Bytes(bytes.min(buffer.len())),
            // The simulator returns -EAGAIN itself and leaves errno alone.
            Err(_) if got != -1 => Read::Nothing,
            Err(_) => match errno() {
                libc::EAGAIN | libc::EINTR => Read::Nothing,
                libc::ENOSPC => Read::TooSmall,
                other => Read::Failed(other),
            },
        }
    }

    /// Errors: the errno of `write`.
    pub(crate) fn write(&self, packet: &[u8]) -> Result<(), i32> {
        // SAFETY: open-fd, one-slice.
        // WHY: as for `read`.
        let sent = unsafe { libc::write(self.fd, packet.as_ptr().cast::<c_void>(), packet.len()) };
        if sent < 0 { Err(errno()) } else { Ok(()) }
    }

    /// Makes the header 64 bytes, with P_Key index. Errors: the errno.
    pub(crate) fn enable_pkey(&self) -> Result<(), i32> {
        // SAFETY: open-fd; this request takes no argument.
        // WHY: umad has no other interface.
        let outcome = unsafe { libc::ioctl(self.fd, ENABLE_PKEY, core::ptr::null_mut::<c_void>()) };
        if outcome < 0 { Err(errno()) } else { Ok(()) }
    }

    /// Registers an agent; its number is written back into the request. Errors: the errno.
    pub(crate) fn register(&self, request: &mut RegisterAgent) -> Result<(), i32> {
        let argument = core::ptr::from_mut(request);
        // SAFETY: open-fd, one-slice: the request number states the 28 bytes of the argument.
        // WHY: as above.
        let outcome = unsafe { libc::ioctl(self.fd, REGISTER_AGENT, argument) };
        if outcome < 0 { Err(errno()) } else { Ok(()) }
    }

    /// Gives an agent's methods back. Errors: the errno.
    pub(crate) fn unregister(&self, agent: u32) -> Result<(), i32> {
        let mut number = agent;
        let argument = core::ptr::from_mut(&mut number);
        // SAFETY: open-fd, one-slice: the request number states the 4 bytes of the argument.
        // WHY: as above.
        let outcome = unsafe { libc::ioctl(self.fd, UNREGISTER_AGENT, argument) };
        if outcome < 0 { Err(errno()) } else { Ok(()) }
    }

    /// A second descriptor of the same open file. Errors: the errno.
    #[cfg(feature = "uring")]
    pub(crate) fn duplicate(&self) -> Result<Self, i32> {
        // SAFETY: open-fd; F_DUPFD_CLOEXEC takes a number.
        // WHY: std's duplicate wants a std file, which this is not.
        let fd = unsafe { libc::fcntl(self.fd, libc::F_DUPFD_CLOEXEC, 0) };
        if fd < 0 {
            Err(errno())
        } else {
            Ok(Self { fd })
        }
    }

    /// From now on no call on this descriptor blocks. Errors: the errno.
    pub(crate) fn set_nonblocking(&self) -> Result<(), i32> {
        // SAFETY: open-fd; both requests take numbers.
        // WHY: std offers this for its own sockets only.
        let outcome = unsafe {
            let flags = libc::fcntl(self.fd, libc::F_GETFL);
            libc::fcntl(self.fd, libc::F_SETFL, flags.max(0) | libc::O_NONBLOCK)
        };
        if outcome < 0 { Err(errno()) } else { Ok(()) }
    }
}

impl From<OwnedFd> for RawFile {
    fn from(fd: OwnedFd) -> Self {
        Self {
            fd: fd.into_raw_fd(),
        }
    }
}

impl AsRawFd for RawFile {
    fn as_raw_fd(&self) -> RawFd {
        self.fd
    }
}

impl Drop for RawFile {
    fn drop(&mut self) {
        // SAFETY: open-fd.
        // WHY: std's owned descriptors may only hold numbers that the kernel knows.
        unsafe { libc::close(self.fd) };
    }
}

/// A connected pair of sockets that keep packets whole. Errors: the errno.
pub(crate) fn packet_pair() -> Result<(OwnedFd, OwnedFd), i32> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: one-slice, of the two numbers that the call writes.
    // WHY: std makes stream and datagram pairs only.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } < 0 {
        return Err(errno());
    }
    let [near, far] = ends;
    // SAFETY: the call gave two new descriptors, owned by nobody else.
    // WHY: this is where ownership starts.
    Ok(unsafe { (OwnedFd::from_raw_fd(near), OwnedFd::from_raw_fd(far)) })
}

/// Waits until `fd` can be read, at most `timeout`. False when the time was up (or a signal came).
/// Errors: the errno of `poll`.
pub(crate) fn poll_readable(fd: RawFd, timeout: Duration) -> Result<bool, i32> {
    poll(fd, libc::POLLIN, timeout)
}

/// As [`poll_readable`], for room to write.
pub(crate) fn poll_writable(fd: RawFd, timeout: Duration) -> Result<bool, i32> {
    poll(fd, libc::POLLOUT, timeout)
}

/// Waits for some events of one descriptor. Errors: the errno of `poll`, or that the device is
/// gone.
fn poll(fd: RawFd, events: libc::c_short, timeout: Duration) -> Result<bool, i32> {
    // Rounded up: a wait of less than a millisecond must not become a spin.
    let millis = timeout.as_micros().div_ceil(1000);
    let millis = c_int::try_from(millis).unwrap_or(c_int::MAX);
    let mut entry = libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    // SAFETY: one-slice, of one entry; any number may be asked about.
    // WHY: umad is waited on by `poll` alone under the simulator.
    let ready = unsafe { libc::poll(&raw mut entry, 1, millis) };
    // A removed device has nothing to read any more, and says so at once for ever.
    let is_dead = entry.revents & events == 0
        && entry.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0;
    match ready {
        0 => Ok(false),
        1.. if is_dead => Err(libc::ENODEV),
        1.. => Ok(true),
        // The simulator's condition variable may wake with nothing to show.
        _ => match errno() {
            libc::EINTR | libc::EAGAIN | 0 => Ok(false),
            other => Err(other),
        },
    }
}

/// The errno of the last call on this thread.
fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// `_IOWR(0x1b, 1, 28 bytes)`. Source: Linux `include/uapi/rdma/rdma_user_ioctl.h`.
const REGISTER_AGENT: libc::Ioctl = 0xC01C_1B01;
/// `_IOW(0x1b, 2, 4 bytes)`.
const UNREGISTER_AGENT: libc::Ioctl = 0x4004_1B02;
/// `_IO(0x1b, 3)`: headers of 64 bytes, with P_Key index.
const ENABLE_PKEY: libc::Ioctl = 0x0000_1B03;

const _: () = assert!(size_of::<RegisterAgent>() == 28);
