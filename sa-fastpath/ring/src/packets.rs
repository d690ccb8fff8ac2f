//! Greetings over a Unix socket of packets, and the file of memory that goes with one.

use core::mem::MaybeUninit;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::SealFlags;
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
};

/// The longest path of a socket. Units: bytes; one more is the zero behind it.
const LONGEST: usize = 107;

/// Descriptors that there is room for: a stranger may send more than the one that is wanted.
const DESCRIPTORS: usize = 12;

/// A socket of packets, not connected yet; its calls do not block.
pub fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let made = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    Ok(made?)
}

/// A path as an address. Errors: it is empty, or too long for one.
pub fn address(path: &Path) -> io::Result<SocketAddrUnix> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.len() > LONGEST || bytes.contains(&0) {
        let message = format!("the path of a socket has 1 to {LONGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(SocketAddrUnix::new(path)?)
}

/// Connects. Errors: nobody listens there; no right to.
pub fn connect(socket: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    Ok(net::connect(socket, &address(path)?)?)
}

/// Ends a connection, also for those who have inherited the socket.
pub fn shut(socket: BorrowedFd<'_>) {
    // What fails has ended already.
    let _ = net::shutdown(socket, Shutdown::Both);
}

/// Sends one packet, with a descriptor or none. Errors: WouldBlock, or the other side is gone.
pub fn send(socket: BorrowedFd<'_>, packet: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = file.as_slice();
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    let parts = [IoSlice::new(packet)];
    let sent = net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL)?;
    match sent == packet.len() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::WriteZero,
            "a packet was cut off",
        )),
    }
}

/// Takes one packet, and the first descriptor that came with it; any others are closed. None: the
/// other side has closed. Errors: WouldBlock, or the system's.
pub fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, Option<OwnedFd>)>> {
    let most = buffer.len();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(buffer)];
    let got = net::recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let file = files.by_ref().flatten().next();
    Ok((got.bytes > 0).then_some((got.bytes.min(most), file)))
}

/// Waits until something can be taken, at most `timeout`. True when it can, or the other side is
/// gone.
pub fn wait(socket: BorrowedFd<'_>, timeout: Duration) -> io::Result<bool> {
    let mut one = [PollFd::from_borrowed_fd(socket, PollFlags::IN)];
    let timeout = Timespec::try_from(timeout).ok();
    match poll(&mut one, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The seals that keep the memory accessible whatever the other side does.
pub const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// The size of a file and its seals. Units: bytes. Errors: it can have none.
pub fn size_and_seals(file: impl AsFd) -> io::Result<(u64, SealFlags)> {
    let seals = rustix::fs::fcntl_get_seals(&file)?;
    let size = rustix::fs::fstat(&file)?.st_size;
    Ok((u64::try_from(size).unwrap_or(0), seals))
}
