//! The netlink socket where the kernel asks.
//!
//! It is a socket of NETLINK_RDMA (protocol 20) that has joined the group of the local service
//! (mask 4). Joining takes CAP_NET_ADMIN in the initial user namespace. Either this process opens
//! it, or a service manager did and passed it as descriptor 3 (`ListenNetlink=rdma 4`): then
//! questions wait in it while the daemon starts, instead of going to the SA.
//!
//! ```text
//!  kernel ──multicast to the group──> recv, sender nl_pid 0
//!  kernel <──unicast to nl_pid 0───── send
//! ```
//!
//! One end of a pair of Unix sockets does as well: the tests put the emulator at the other end, and
//! the daemon runs unchanged.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use sa_wire::netlink_ls::{GROUP_MASK, PROTOCOL};
use thiserror::Error;

/// What was received. Only the first is a message; the others are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// So many bytes, from this address; 0 is the kernel's.
    Datagram {
        /// How much of the buffer it fills. Units: bytes.
        length: usize,
        /// `nl_pid` of the sender. 0 for the kernel and on a socket pair, u32::MAX where it cannot
        /// be told.
        sender: u32,
    },
    /// More than the buffer holds, which no request does. It is lost: netlink cuts it off.
    TooLong,
    /// The kernel had no room to queue requests, and asked the SA for them at once. Told once,
    /// however many were lost.
    Overrun,
    /// Nothing waits.
    Nothing,
}

/// Where requests come from and replies go to: the kernel, or what stands for it in a test. Its
/// descriptor is readable while something waits.
pub trait Channel: AsFd {
    /// Takes a datagram, if one waits. Never waits itself. Errors: the channel is of no use any
    /// more.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received>;

    /// Sends to the kernel, and to nobody else: sent to the group, a reply would reach other
    /// agents, of which ibacm would take it for a question. Errors: it was not taken.
    fn send(&mut self, datagram: &[u8]) -> io::Result<()>;
}

/// Why there is no socket. Each text says what to do, since the cause lies in the host's setup.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SocketError {
    /// The kernel has no NETLINK_RDMA.
    #[error("the kernel has no NETLINK_RDMA: load ib_core (modprobe ib_core)")]
    NoRdma,
    /// Not allowed.
    #[error(
        "joining the kernel's local service group is not permitted: this takes CAP_NET_ADMIN in \
         the initial user namespace (systemd: AmbientCapabilities=CAP_NET_ADMIN, or \
         ListenNetlink=rdma 4 in a socket unit)"
    )]
    NotPermitted,
    /// The socket that the service manager passed is another one.
    #[error(
        "the socket that was passed (LISTEN_FDS) is not of NETLINK_RDMA: say ListenNetlink=rdma 4 in \
         the socket unit"
    )]
    Passed,
    /// Anything else.
    #[error("cannot {what}: {source}")]
    Os {
        /// What was attempted.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}

/// A socket where the kernel, or what stands for it, asks. Closing it is enough for the kernel to
/// go to the SA directly, unless a service manager holds it too.
#[derive(Debug)]
pub struct KernelSocket {
    fd: OwnedFd,
    /// Our own `nl_pid`; none on a socket pair.
    port_id: Option<u32>,
    /// A service manager holds it too.
    is_passed: bool,
}

/// Requests wait here while the agent is busy with others. Units: bytes. The default of Linux
/// (212,992) holds 277 requests, measured on 6.1, and a job start asks thousands at once; this
/// holds some ten thousand.
const RECEIVE_BUFFER: usize = 8 << 20;

/// First descriptor that a service manager passes, as in `sd_listen_fds(3)`.
const FIRST_PASSED: RawFd = 3;

impl KernelSocket {
    /// The first of so many descriptors that the service manager passed, else a new one in the
    /// group. One end of a pair of Unix sockets does too: who passed it stands for the kernel, as
    /// in tests. `passed` is the number from LISTEN_FDS; more than one is no error, the others are
    /// left alone. Errors: [`SocketError`].
    pub fn open(passed: usize) -> Result<Self, SocketError> {
        let passed = match passed {
            0 => None,
            _ => Some(first_passed()?),
        };
        let is_passed = passed.is_some();
        let fd = match passed {
            Some(fd) => fd,
            None => bound()?,
        };
        // As root it may exceed the system's limit; else the default has to do.
        if sockopt::set_socket_recv_buffer_size_force(&fd, RECEIVE_BUFFER).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER);
        }
        let port_id = own_address(&fd)?;
        Ok(Self {
            fd,
            port_id,
            is_passed,
        })
    }

    /// Our own `nl_pid`; none on a pair of Unix sockets.
    pub const fn port_id(&self) -> Option<u32> {
        self.port_id
    }

    /// Whether a service manager holds it too, so that requests wait while nobody reads.
    pub const fn is_passed(&self) -> bool {
        self.is_passed
    }
}

impl Channel for KernelSocket {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        // TRUNC: the length is the datagram's own, so that one that was cut off can be told from
        // one that fits.
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        let capacity = buffer.len();
        match rustix::net::recvfrom(&self.fd, buffer, flags) {
            // On a pair this is the end of whoever stood for the kernel. The kernel itself never
            // ends.
            Ok((_, 0, _)) if self.port_id.is_none() => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((_, length, _)) if length > capacity => Ok(Received::TooLong),
            Ok((length, _, sender)) => {
                let sender = sender.and_then(|sender| SocketAddrNetlink::try_from(sender).ok());
                let sender = match (self.port_id, sender) {
                    // Nobody else is at the other end.
                    (None, _) => 0,
                    (Some(_), Some(sender)) => sender.pid(),
                    // Who cannot be told is not the kernel.
                    (Some(_), None) => u32::MAX,
                };
                Ok(Received::Datagram { length, sender })
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(Errno::NOBUFS) => Ok(Received::Overrun),
            Err(errno) => Err(errno.into()),
        }
    }

    fn send(&mut self, datagram: &[u8]) -> io::Result<()> {
        // The other end of a pair may be gone; that must not end the process by a signal.
        let flags = SendFlags::NOSIGNAL;
        match self.port_id {
            Some(_) => {
                // Neither connected nor bound to a peer: the address has to say each time that no
                // group is meant.
                let kernel = SocketAddrNetlink::new(0, 0);
                rustix::net::sendto(&self.fd, datagram, flags, &kernel)?
            }
            None => rustix::net::send(&self.fd, datagram, flags)?,
        };
        Ok(())
    }
}

impl AsFd for KernelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A new socket in the group. Errors: no NETLINK_RDMA (ib_core is not loaded), not permitted.
fn bound() -> Result<OwnedFd, SocketError> {
    let protocol = u32::try_from(PROTOCOL).ok();
    let protocol = protocol.and_then(core::num::NonZeroU32::new);
    let protocol = protocol.map(rustix::net::Protocol::from_raw);
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    let fd = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, protocol).map_err(
        |errno| match errno {
            Errno::PROTONOSUPPORT => SocketError::NoRdma,
            other => failed("open a netlink socket", other),
        },
    )?;
    rustix::net::bind(&fd, &SocketAddrNetlink::new(0, GROUP_MASK)).map_err(
        |errno| match errno {
            Errno::PERM => SocketError::NotPermitted,
            other => failed("join the local service group", other),
        },
    )?;
    Ok(fd)
}

/// The descriptor that was passed, judged: a wrong socket unit is found at the start and not at the
/// first question. Errors: it is another kind of socket.
fn first_passed() -> Result<OwnedFd, SocketError> {
    // A copy of our own: descriptors by number belong to nobody.
    let this = pidfd_open(getpid(), PidfdFlags::empty());
    let this = this.map_err(|errno| failed("look at this process", errno))?;
    let copy = pidfd_getfd(&this, FIRST_PASSED, PidfdGetfdFlags::empty());
    let copy = copy.map_err(|errno| failed("take the socket of the service manager", errno))?;
    let protocol = sockopt::socket_protocol(&copy).ok().flatten();
    let protocol = protocol.map(|protocol| protocol.as_raw().get());
    let is_ours = match sockopt::socket_domain(&copy) {
        Ok(AddressFamily::NETLINK) => protocol == u32::try_from(PROTOCOL).ok(),
        // Requests must keep their boundaries.
        Ok(AddressFamily::UNIX) => sockopt::socket_type(&copy) != Ok(SocketType::STREAM),
        _ => false,
    };
    is_ours.then_some(copy).ok_or(SocketError::Passed)
}

/// The address that the kernel gave the socket; none on a pair of Unix sockets.
fn own_address(fd: &OwnedFd) -> Result<Option<u32>, SocketError> {
    let address = rustix::net::getsockname(fd);
    let address = address.map_err(|errno| failed("read the address of the socket", errno))?;
    let address = SocketAddrNetlink::try_from(address);
    Ok(address.ok().map(|address| address.pid()))
}

fn failed(what: &'static str, errno: Errno) -> SocketError {
    SocketError::Os {
        what,
        source: errno.into(),
    }
}
