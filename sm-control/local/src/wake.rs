//! Waking the agent's thread.
//!
//! The thread rests in poll on its netlink socket, so what wakes it must be a descriptor too. An
//! eventfd is a counter that is readable while it is not 0: rings before the thread listens are not
//! lost, and many rings are one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// A bell that several may ring and one hears. Clones share the descriptor, which is closed with
/// the last.
#[derive(Debug, Clone)]
pub struct Wake(Arc<OwnedFd>);

impl Wake {
    /// A silent one. Errors: no descriptor.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self(Arc::new(fd)))
    }

    /// Rings. Never waits.
    pub fn up(&self) {
        // Full means that it rings.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Silences it. Must come before what was rung for is looked at, or a ring in between would be
    /// lost.
    pub fn heard(&self) {
        // A read of an eventfd takes the whole count. Nothing to read means that it was silent.
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.0, &mut count);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
