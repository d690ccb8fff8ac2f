//! Asks the `sapphired` of this node for paths, through memory shared with it.
//!
//! A request is written into a slot, the daemon answers it there: no system call, a microsecond.
//! See docs/ring.md for what lies where, and the package `sa-client-c` for C.
//!
//! One request and its answer, over three positions that only grow (slot = position modulo slots):
//!
//! ```text
//!  claim, put     positions [produced, consumed + slots) are the client's to write
//!  publish        produced moves on; the daemon sees the requests
//!  ...            the daemon answers in place and moves `served` on
//!  replies        positions [consumed, served) are the client's to read
//!  release        consumed moves on; the slots can be claimed again
//! ```
//!
//! A reply that does not fit its slot, or takes longer, comes apart from it: the slot says
//! [`state::LATER`], and [`Client::late_reply`] gives it when it is whole.
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
//! Many paths, each with what it is to be good for, in one call that ends:
//!
//! ```no_run
//! use sa_client::query::{End, PathQuery};
//! use sa_client::resolve::{Answer, Bulk};
//! use sa_wire::ServiceId;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut client = sa_client::Client::connect("/run/sapphire/ring".as_ref())?;
//! let (source, nvme) = ("0x0002c90300001234".parse()?, ServiceId(0x0106_1144));
//! let ends: Result<Vec<End>, _> = ["17", "fe80::2:c903:0:5678"].iter().map(|end| end.parse()).collect();
//! let queries: Vec<_> = ends?
//!     .into_iter()
//!     .map(|end| PathQuery::between(source, end).service_id(nvme))
//!     .collect();
//! let (answers, summary) = client.resolve(&queries, Bulk::default())?;
//! for answer in answers {
//!     match answer {
//!         Answer::Found(path) => println!("SL {}", path.qos_class_sl.sl()),
//!         Answer::Refused(status) => println!("no path: {status}"),
//!         Answer::None => println!("not known: {:?}", summary.trouble),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The calls below that: claim slots, fill them, publish them, and take what comes back, in order.
//!
//! ```no_run
//! # fn main() -> Result<(), sa_client::Error> {
//! # let mut client = sa_client::Client::connect("/run/sapphire/ring".as_ref())?;
//! let slots = client.claim(64);
//! for (slot, dlid) in slots.iter_mut().zip(1..) {
//!     slot.put(0, &sa_client::request::path_by_lids(3, dlid));
//! }
//! let sent = slots.len();
//! client.publish(sent);
//! let mut back = 0;
//! while back < sent {
//!     let replies = client.replies();
//!     let (count, found) = (replies.len(), replies.iter().filter_map(|slot| slot.reply()).count());
//!     println!("{found} of {count} have their reply");
//!     client.release(count);
//!     back += count;
//!     if count == 0 {
//!         // Nothing tells of the daemon's end but this.
//!         client.check()?;
//!     }
//! }
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
mod home;
mod late;
mod pace;
pub mod query;
pub mod request;
pub mod resolve;

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
    /// For `reconnect`, and for messages.
    path: PathBuf,
    options: Options,
    home: Home,
    /// Kept open: its end is how the daemon learns that this client has left.
    socket: OwnedFd,
    /// Not there in children.
    memory: ManuallyDrop<Memory>,
    /// How many requests were sent.
    produced: u64,
    /// How many slots were released.
    consumed: u64,
    /// `served` as last read.
    seen: u64,
    /// Requests before this one nobody waits for any more.
    abandoned: u64,
    late: LateReader,
    /// Of the last request of a call that waits; each has its own.
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
        // What is in flight has not been released, so its slots are not free.
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
        // More than was claimed is cut off: the daemon ends a client whose positions cannot be.
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
            // Never ahead of what was sent, whatever the memory says.
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
        // No more than came back: what is in flight cannot be released.
        self.consumed += (count as u64).min(self.seen - self.consumed);
    }

    /// The next reply that came apart from its slot, whole: those of [`state::LATER`]. Never before that slot was released, so that whoever waits for it knows.
    pub fn late_reply(&mut self) -> Option<LateReply> {
        if !self.home.is_here() {
            return None;
        }
        self.late.next(&self.memory, self.consumed)
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
        // Before the socket: the daemon writes why before it closes.
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
        // For everybody who has inherited the socket: dropping it here alone would not end the
        // connection.
        packets::shut(self.socket.as_fd());
        // SAFETY: nothing uses it afterwards, here or in `drop` of the fields.
        // WHY: a child has no such mapping, and must unmap nothing in its place.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}
