//! Asks the `sapphired` of this node for paths, through memory shared with it.
//!
//! A request is written into a slot, the daemon answers it there: no system call, a microsecond.
//! See docs/ring.md for what lies where, and `include/sapphire_sa.h` for C.
//!
//! ```no_run
//! # fn main() -> Result<(), sa_client::Error> {
//! let mut client = sa_client::Client::connect("/run/sapphire/ring".as_ref())?;
//! let path = client.path_record_by_lid(3, 17)?;
//! println!("SL {}", path.qos_class_sl.sl());
//! # Ok(())
//! # }
//! ```
//!
//! The daemon is trusted, as its answers are; it does not trust its clients.
//!
//! A client belongs to the process that connected. In a child that was forked its calls fail with
//! [`Error::Forked`], those that cannot fail give nothing, and dropping it there does nothing to the
//! parent's; [`Client::reconnect`] gets the child a ring of its own.

#![deny(unsafe_code)]

mod ask;
mod connect;
mod error;
mod ffi;
mod home;
mod late;
pub mod request;

use core::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use core::sync::atomic::Ordering;

pub use connect::Options;
pub use error::{Error, WhyClosed};
pub use late::LateReply;
pub use sa_ring::layout::{Slot, state};

use home::Home;
use late::LateReader;
use sa_ring::layout::closed;
use sa_ring::{Memory, packets};

/// A ring of one's own at the daemon. Dropping it leaves.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    options: Options,
    home: Home,
    socket: OwnedFd,
    /// Not there in children.
    memory: ManuallyDrop<Memory>,
    produced: u64,
    consumed: u64,
    /// `served` as last read.
    seen: u64,
    /// Requests before this one nobody waits for any more.
    abandoned: u64,
    late: LateReader,
    transaction: u64,
}

impl Client {
    /// How many slots the ring has.
    pub fn slots(&self) -> u64 {
        self.memory.slots()
    }

    /// Free slots to write requests into (see [`Slot::put`]), at most `wanted`; a shorter run at
    /// the end of the ring, empty when all are in flight. Send them with [`Self::publish`].
    #[inline]
    #[allow(unsafe_code)]
    pub fn claim(&mut self, wanted: usize) -> &mut [Slot] {
        if !self.home.is_here() {
            return &mut [];
        }
        let free = self.slots() - self.in_flight();
        // SAFETY: positions in [produced, consumed + slots) are the client's, and `&mut self`
        // keeps them to this caller; the daemon is trusted to leave them alone.
        // WHY: requests are written where they are sent from.
        unsafe {
            self.memory
                .slots_mut(self.produced, free.min(wanted as u64))
        }
    }

    /// Sends the first `count` of the slots claimed last. Gives the position of the first of them:
    /// how many were sent before it.
    ///
    /// Shape: `count` at most what was claimed; more counts as all that are free.
    #[inline]
    pub fn publish(&mut self, count: usize) -> u64 {
        let first = self.produced;
        if !self.home.is_here() {
            return first;
        }
        let free = self.slots() - self.in_flight();
        self.produced += free.min(count as u64);
        // Pairs with the daemon's `Acquire` load: it sees the requests.
        let produced = &self.memory.header().produced.0;
        produced.store(self.produced, Ordering::Release);
        first
    }

    /// Slots that came back, in the order of their requests. Give them back with
    /// [`Self::release`].
    #[inline]
    #[allow(unsafe_code)]
    pub fn replies(&mut self) -> &[Slot] {
        if !self.home.is_here() {
            return &[];
        }
        if self.seen == self.consumed {
            // Pairs with the daemon's `Release` store: this side sees the replies.
            let served = self.memory.header().served.0.load(Ordering::Acquire);
            self.seen = served.min(self.produced);
        }
        // SAFETY: positions below `served` are the client's again; the daemon is trusted to leave
        // them alone.
        // WHY: replies are read where they were written.
        unsafe {
            self.memory
                .slots_mut(self.consumed, self.seen - self.consumed)
        }
    }

    /// Position of the first of [`Self::replies`].
    pub const fn first_reply(&self) -> u64 {
        self.consumed
    }

    /// Frees the first `count` slots of the last [`Self::replies`].
    #[inline]
    pub fn release(&mut self, count: usize) {
        self.consumed += (count as u64).min(self.seen - self.consumed);
    }

    /// The next reply that came apart from its slot, whole: those of [`state::LATER`].
    pub fn late_reply(&mut self) -> Option<LateReply> {
        if !self.home.is_here() {
            return None;
        }
        self.late.next(&self.memory)
    }

    /// Requests whose slots were not released yet.
    #[inline]
    pub const fn in_flight(&self) -> u64 {
        self.produced - self.consumed
    }

    /// Errors: the daemon is gone, or done with this client; this is a child that was forked. A system call: ask now and then, when
    /// nothing comes back.
    pub fn check(&self) -> Result<(), Error> {
        if !self.home.is_here() {
            return Err(Error::Forked);
        }
        match self.memory.header().closed.0.load(Ordering::Acquire) {
            closed::OPEN => {}
            why => return Err(Error::Closed(WhyClosed::from(why))),
        }
        // After its greeting the daemon never says anything.
        match packets::wait(self.socket.as_fd(), Duration::ZERO) {
            Ok(false) => Ok(()),
            Ok(true) | Err(_) => Err(Error::Closed(WhyClosed::Gone)),
        }
    }
}

impl Drop for Client {
    /// The parent's ring is left alone by its children; its own end ends it, whoever else has
    /// inherited the socket.
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if !self.home.is_here() {
            return;
        }
        packets::shut(self.socket.as_fd());
        // SAFETY: nothing uses it afterwards, here or in `drop` of the fields.
        // WHY: a child has no such mapping, and must unmap nothing in its place.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}
