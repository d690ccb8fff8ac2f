//! Waking the agent's thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// A bell that several may ring and one hears.
#[derive(Debug, Clone)]
pub struct Wake(Arc<OwnedFd>);

impl Wake {
    /// A silent one. Errors: no descriptor.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self(Arc::new(fd)))
    }

    /// Rings.
    pub fn up(&self) {
        // Full means that it rings.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Silences it.
    pub fn heard(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.0, &mut count);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
