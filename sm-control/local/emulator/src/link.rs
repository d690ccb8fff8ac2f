//! The emulated kernel on one end of a socket pair, an agent on the other.
//!
//! Datagrams of a UNIX SEQPACKET pair keep their bounds as netlink's do, and have no sender's
//! address: all that arrives at the agent's end counts as the kernel's.
//!
//! A receive buffer that is full is told on the next read, as netlink tells it by ENOBUFS. A Unix
//! socket has no such memory, so the two ends share a flag. An agent in another process sees no
//! flag: it just gets no request, which the kernel sent to the SA.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use sa_local::socket::{Channel, Received};

use super::{Delivery, Kernel, Listener, Sender};

/// The kernel's end, a [`Listener`]: what is delivered here arrives at the agent.
#[derive(Debug)]
pub struct KernelEnd {
    fd: OwnedFd,
    /// A request found no room since the agent's last read.
    lost: Arc<AtomicBool>,
}

/// The agent's end, a [`Channel`]. As a descriptor it can be passed to a daemon instead of the
/// kernel's socket.
#[derive(Debug)]
pub struct AgentEnd {
    fd: OwnedFd,
    lost: Arc<AtomicBool>,
}

/// Two ends of a pair. It lives as long as both: the agent sees the end of the kernel as an error
/// of its channel. Errors: the system has none to give.
pub fn pair() -> io::Result<(KernelEnd, AgentEnd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let (kernel, agent) = rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?;
    let lost = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&lost);
    Ok((
        KernelEnd { fd: kernel, lost },
        AgentEnd {
            fd: agent,
            lost: other,
        },
    ))
}

impl KernelEnd {
    /// A reply, if one waits. Errors: the agent is gone.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        match rustix::net::recv(&self.fd, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Err(Errno::CONNRESET.into()),
            Ok((length, _)) => Ok(buffer.get(..length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Listener for KernelEnd {
    fn deliver(&mut self, datagram: &[u8]) -> Delivery {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match rustix::net::send(&self.fd, datagram, flags) {
            Ok(_) => Delivery::Delivered,
            Err(Errno::AGAIN | Errno::NOBUFS) => {
                self.lost.store(true, Ordering::Relaxed);
                Delivery::NoRoom
            }
            Err(_) => Delivery::Nobody,
        }
    }
}

impl AsFd for KernelEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Channel for AgentEnd {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        // The load is for the many reads without a loss: a swap writes the cache line that both
        // ends share.
        if self.lost.load(Ordering::Relaxed) && self.lost.swap(false, Ordering::Relaxed) {
            return Ok(Received::Overrun);
        }
        let capacity = buffer.len();
        match rustix::net::recv(&self.fd, buffer, RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
            Ok((_, 0)) => Err(Errno::CONNRESET.into()),
            Ok((_, length)) if length > capacity => Ok(Received::TooLong),
            Ok((_, length)) => Ok(Received::Datagram { length, sender: 0 }),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(errno) => Err(errno.into()),
        }
    }

    fn send(&mut self, datagram: &[u8]) -> io::Result<()> {
        rustix::net::send(&self.fd, datagram, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

impl From<AgentEnd> for OwnedFd {
    /// To be passed to another process, as a service manager does.
    fn from(end: AgentEnd) -> Self {
        end.fd
    }
}

impl AsFd for AgentEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Kernel<KernelEnd> {
    /// Takes every reply that waits; gives the number of datagrams. Errors: the agent is gone.
    pub fn drain(&mut self, now: impl Fn() -> Instant) -> io::Result<usize> {
        let (mut buffer, mut count) = ([0; BUFFER], 0);
        loop {
            let Some(datagram) = self.listener.receive(&mut buffer)? else {
                return Ok(count);
            };
            count += 1;
            self.receive(datagram, Sender::Privileged, now());
        }
    }
}

/// Room for a datagram with many replies. Units: bytes. The service sends 4,096 at most.
const BUFFER: usize = 16 << 10;
