//! Greetings over a Unix socket of packets, and the memory that goes with one.
//!
//! Invariants that the blocks below name:
//! - *open-fd*: descriptors are borrowed from owners that outlive the call;
//! - *message*: a `msghdr` points to one buffer, one control buffer and nothing else, all of which
//!   outlive the call;
//! - *new-fd*: a descriptor that the kernel has just made is nobody else's.

#![allow(unsafe_code)]
#![allow(dead_code, reason = "each side uses a part")]

use core::mem;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// A socket of packets, not connected yet; its calls do not block.
pub(crate) fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers.
    // WHY: std has no sockets of packets that are connected.
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    owned(fd)
}

/// Takes over what a call has just made. Errors: it made none.
pub(crate) fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: new-fd.
    // WHY: so that it is closed once.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A path as an address. Errors: it is too long for one.
pub(crate) fn address(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: zeros are an address without a name.
    // WHY: the structure has no constructor.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX.try_into().unwrap_or_default();
    let bytes = path.as_os_str().as_bytes();
    // One stays zero.
    if bytes.is_empty() || bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
        let most = address.sun_path.len() - 1;
        let message = format!("the path of a socket has 1 to {most} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = byte.cast_signed();
    }
    let size = size_of::<libc::sockaddr_un>()
        .try_into()
        .unwrap_or_default();
    Ok((address, size))
}

/// Connects. Errors: nobody listens there; no right to.
pub(crate) fn connect(socket: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let (address, size) = address(path)?;
    // SAFETY: open-fd; the address is a local of the size that is said.
    // WHY: as for `socket`.
    let done = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), size) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends a connection, also for those who have inherited the socket.
pub(crate) fn shut(socket: BorrowedFd<'_>) {
    // SAFETY: open-fd; no pointers. What fails has ended already.
    // WHY: std ends only its own sockets.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
}

/// Sends one packet, with a descriptor or none. Errors: WouldBlock, or the other side is gone.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    packet: &[u8],
    file: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut part = libc::iovec {
        iov_base: packet.as_ptr().cast_mut().cast(),
        iov_len: packet.len(),
    };
    let mut control = Control::default();
    // SAFETY: zeros are a message without anything.
    // WHY: the structure has private padding on some systems.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if let Some(file) = file {
        control.put(&mut message, file);
    }
    // SAFETY: open-fd, message; nothing is written to the packet.
    // WHY: descriptors go with `sendmsg` alone.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    match usize::try_from(sent) {
        Ok(sent) if sent == packet.len() => Ok(()),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::WriteZero,
            "a packet was cut off",
        )),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Takes one packet, and the descriptor that came with it. None: the other side has closed.
/// Errors: WouldBlock, or the system's.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, Option<OwnedFd>)>> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = Control::default();
    // SAFETY: as in `send`.
    // WHY: as in `send`.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: open-fd, message.
    // WHY: as in `send`.
    let got =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let length = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    let file = control.take(&message);
    Ok((length > 0).then_some((length.min(buffer.len()), file)))
}

/// Waits until something can be taken, at most `timeout`. True when it can, or the other side is
/// gone.
pub(crate) fn wait(socket: BorrowedFd<'_>, timeout: Duration) -> io::Result<bool> {
    let mut one = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: open-fd; one element, as said.
    // WHY: std has no waiting for sockets that it did not make.
    match unsafe { libc::poll(&raw mut one, 1, milliseconds) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

/// Room for one descriptor, or for the two that a stranger may send. A union for its alignment.
#[repr(C)]
union Control {
    bytes: [u8; 64],
    _aligned: libc::cmsghdr,
}

impl Default for Control {
    fn default() -> Self {
        Self { bytes: [0; 64] }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a few bytes")]
const FD_SIZE: u32 = size_of::<RawFd>() as u32;

impl Control {
    fn put(&mut self, message: &mut libc::msghdr, file: BorrowedFd<'_>) {
        message.msg_control = (&raw mut *self).cast();
        // SAFETY: arithmetic.
        // WHY: the macros of C are functions.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(FD_SIZE) } as _;
        // SAFETY: the control buffer holds 64 bytes, aligned, more than `CMSG_SPACE(FD_SIZE)`, so
        // that there is a first header with room for a descriptor.
        // WHY: as above.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const *message);
            if let Some(first) = first.as_mut() {
                first.cmsg_level = libc::SOL_SOCKET;
                first.cmsg_type = libc::SCM_RIGHTS;
                first.cmsg_len = libc::CMSG_LEN(FD_SIZE) as _;
                let place = libc::CMSG_DATA(&raw const *first).cast::<RawFd>();
                place.write_unaligned(file.as_raw_fd());
            }
        }
    }

    /// The first descriptor; any others are closed.
    fn take(&self, message: &libc::msghdr) -> Option<OwnedFd> {
        let mut first = None;
        // SAFETY: message; the kernel has filled the control buffer and set its length, and the
        // walk stays inside it; each descriptor in it is new-fd.
        // WHY: as above.
        unsafe {
            let mut at = libc::CMSG_FIRSTHDR(&raw const *message);
            while let Some(header) = at.as_ref() {
                if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                    let data = libc::CMSG_DATA(at).cast::<RawFd>();
                    let bytes = header.cmsg_len - libc::CMSG_LEN(0) as usize;
                    for nth in 0..bytes / size_of::<RawFd>() {
                        let file = OwnedFd::from_raw_fd(data.add(nth).read_unaligned());
                        first.get_or_insert(file);
                    }
                }
                at = libc::CMSG_NXTHDR(&raw const *message, at);
            }
        }
        first
    }
}

/// The seals that keep the memory accessible whatever the other side does.
pub(crate) const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// The size of a file and its seals. Errors: it can have none.
pub(crate) fn size_and_seals(file: &OwnedFd) -> io::Result<(u64, libc::c_int)> {
    // SAFETY: open-fd; no pointers.
    // WHY: std knows no seals.
    let seals = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_GET_SEALS) };
    if seals < 0 {
        return Err(io::Error::last_os_error());
    }
    let size = std::fs::File::from(file.try_clone()?).metadata()?.len();
    Ok((size, seals))
}

/// A daemon for tests, which does as it is told.
#[cfg(test)]
pub(crate) mod fake {
    use std::ffi::CStr;
    use std::fs::File;

    use super::*;

    /// Listens at a path.
    pub(crate) fn listen(path: &Path) -> io::Result<OwnedFd> {
        let socket = socket()?;
        let (address, size) = address(path)?;
        let fd = socket.as_raw_fd();
        // SAFETY: open-fd; the address is a local of the size that is said.
        // WHY: std has no sockets of packets.
        let done =
            unsafe { libc::bind(fd, (&raw const address).cast(), size) | libc::listen(fd, 4) };
        if done == 0 {
            Ok(socket)
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The next client.
    pub(crate) fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
        wait(listener.as_fd(), Duration::from_secs(10))?;
        let none = core::ptr::null_mut();
        // SAFETY: open-fd; no address is asked for.
        // WHY: as above.
        owned(unsafe { libc::accept(listener.as_raw_fd(), none, none.cast()) })
    }

    /// A file without a name, of this size, with these seals.
    pub(crate) fn memory(size: u64, seals: libc::c_int) -> io::Result<OwnedFd> {
        const NAME: &CStr = c"fake-ring";
        // SAFETY: a C string.
        // WHY: std makes no files without names.
        let file = owned(unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_ALLOW_SEALING) })?;
        let file = File::from(file);
        file.set_len(size)?;
        // SAFETY: open-fd; no pointers.
        // WHY: std knows no seals.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
        Ok(file.into())
    }
}
