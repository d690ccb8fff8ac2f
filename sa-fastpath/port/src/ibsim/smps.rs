//! SMPs that come to the client that serves the SA, on their way to the Subnet Manager of the same process.
//!
//! The simulator tells queue pairs 0 and 1 of a node not apart: what others send to either comes to one client, its manager.
//!
//! ```text
//!  Get(SMInfo), traps ──> IbsimPort ── SmpRelay ──(some datagrams)──> SmpInbox ──> the SM, which answers by an IbsimReply
//!  SA requests        ──> IbsimPort ──> worker
//! ```
//!
//! Bounded by the socket between the two, about ten SMPs: what finds no room is lost, and who sent it asks again.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use sa_wire::smp::{MGMT_CLASS_DIRECTED, MGMT_CLASS_LID};
use sa_wire::umad::Slot;
use zerocopy::IntoBytes;

use crate::PortError;
use crate::umad::sys;

/// The end that gets SMPs from whoever serves the SA. Clones are the same end.
#[derive(Debug, Clone)]
pub struct SmpRelay(Arc<UnixDatagram>);

/// The Subnet Manager's end.
#[derive(Debug)]
pub struct SmpInbox(UnixDatagram);

/// Two ends that are joined. Errors: descriptors ran out.
pub fn smp_relay() -> io::Result<(SmpRelay, SmpInbox)> {
    let (relay, inbox) = UnixDatagram::pair()?;
    // Each end by itself: they are two descriptions of the kernel's.
    relay.set_nonblocking(true)?;
    inbox.set_nonblocking(true)?;
    Ok((SmpRelay(Arc::new(relay)), SmpInbox(inbox)))
}

impl SmpRelay {
    /// Hands on what is an SMP, without waiting. False for what is none, or finds no room.
    pub(super) fn hand_on(&self, slot: &Slot) -> bool {
        // Who hands on has requests to answer, so this neither waits nor tries again.
        let [_, class, ..] = slot.mad;
        [MGMT_CLASS_LID, MGMT_CLASS_DIRECTED].contains(&class)
            && self.0.send(slot.as_bytes()).is_ok()
    }
}

impl SmpInbox {
    /// The next SMP, with its sender's address. False when none waits. Errors: the system refuses.
    pub fn receive(&self, slot: &mut Slot) -> Result<bool, PortError> {
        loop {
            match self.0.recv(slot.as_mut_bytes()) {
                Ok(got) if got == size_of::<Slot>() => return Ok(true),
                // All that is sent here is of that size.
                Ok(_) => {}
                Err(cause) => match cause.kind() {
                    // The other end went with its port: another may come, nothing is lost here.
                    ErrorKind::WouldBlock | ErrorKind::ConnectionReset => return Ok(false),
                    ErrorKind::Interrupted => {}
                    _ => return Err(failed(cause.raw_os_error())),
                },
            }
        }
    }

    /// Waits until something can be received, at most `timeout`. Errors: the system refuses.
    pub fn wait(&self, timeout: Duration) -> Result<bool, PortError> {
        sys::poll_readable(self.0.as_raw_fd(), timeout).map_err(|errno| failed(Some(errno)))
    }
}

fn failed(errno: Option<i32>) -> PortError {
    PortError::of("receiving SMPs of the SA's client", errno.unwrap_or(0))
}
