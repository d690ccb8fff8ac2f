//! The two handles of a transport: where a worker's requests come from and its replies go to, and
//! where the slow lane's replies go to.
//!
//! Why slots are lent and not copied: touching the cache lines of a MAD costs a tenth of an answer,
//! copying it a third (ADR 3). So a port owns a row of slots, `recv` lends its beginning, the
//! answer is written over the request, and `send` says what to do with each.
//!
//! Why two handles: a worker must never wait for a port, and a reply of several MADs does. What the
//! slow lane answers goes out by a handle of its own, which may block.

use std::sync::Arc;
use std::time::Duration;

use sa_wire::umad::Slot;

use crate::{PortError, PortStats};

/// How many requests a worker takes at once.
///
/// As many as the answers are made for together; the worker asserts that both numbers agree. A ring
/// lends 32 at most.
pub const BATCH: usize = 64;

/// How many it takes at most when it reads far ahead.
///
/// A port with room for so many keeps 320 KiB of slots.
pub const BACKLOG: usize = 1024;

/// What to do with a lent slot.
///
/// Copied into the port's hands by position: verdict n is for slot n of the last `recv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The slot now holds a reply of this many MAD bytes (24 to 256); send it to where the
    /// request came from.
    Reply(u16),
    /// No reply: the slot is free again.
    Silence,
    /// Somebody else answers later through a [`ReplyPort`]; the slot was copied.
    Punted,
}

/// A source of requests and a sink of single-MAD replies, owned by one worker.
///
/// A turn is `recv`, answering in place, `send`. Neither call blocks, allocates, locks or logs.
pub trait MadPort {
    /// Lends the requests that wait, at most [`BATCH`]; an empty slice when none does.
    ///
    /// Shape: slots are contiguous, in order of arrival. Errors: [`PortError`] when the transport
    /// is gone; passing trouble is counted by the port and hidden.
    fn recv(&mut self) -> Result<&mut [Slot], PortError>;

    /// As `recv`, but far ahead: at most [`BACKLOG`] requests where the port has room for so many,
    /// else as `recv`. For requests that may have waited for too long.
    fn recv_backlog(&mut self) -> Result<&mut [Slot], PortError> {
        self.recv()
    }

    /// The most that [`Self::recv_backlog`] lends.
    fn backlog(&self) -> usize {
        BATCH
    }

    /// True when requests may wait for any time before `recv` finds them: nothing else bounds how
    /// many wait.
    fn piles_up(&self) -> bool {
        false
    }

    /// Waits in the kernel until a request may be there, at most `most`; where the transport has no
    /// descriptor to wait on, only gives the core to others for a moment. For idle workers that
    /// are told to, never on the busy path. Errors: [`PortError`] when the transport is gone.
    fn wait(&mut self, most: Duration) -> Result<(), PortError> {
        let _ = most;
        std::thread::yield_now();
        Ok(())
    }

    /// What the port hides, counted; none where it hides nothing.
    fn stats(&self) -> Option<Arc<PortStats>> {
        None
    }

    /// Carries out one verdict per slot of the last `recv` and takes the slots back. Returns how
    /// many replies could not be sent (counted drops).
    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError>;
}

/// The slow lane's way to answer a punted request, on a handle of its own.
///
/// One for each port, owned by the slow lane's thread. Its calls may block, allocate and make
/// system calls.
pub trait ReplyPort: Send {
    /// Sends `reply` to where `request` came from.
    ///
    /// Shape: 56 header bytes (or a whole MAD for plain errors), then any number of data bytes.
    /// More than 256 bytes need a transport that segments (see [`ReplyPort::can_segment`]).
    fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError>;

    /// False where nobody waits for the answer any more: the request need not be looked at.
    fn is_wanted(&self, request: &Slot) -> bool {
        let _ = request;
        true
    }

    /// True when replies of more than 256 bytes can be sent.
    fn can_segment(&self) -> bool;

    /// Sends a Report of this SA, a whole MAD, to the address in its header. The response comes to
    /// the workers as requests do.
    ///
    /// The header's `timeout_ms` and `retries` are for transports that repeat by themselves (see
    /// [`ReplyPort::repeats`]); the upper half of the transaction is the transport's.
    fn report(&mut self, report: &Slot) -> Result<(), PortError> {
        self.reply(report, &report.mad)
    }

    /// True when the transport itself sends a Report again until it is answered or given up.
    fn repeats(&self) -> bool {
        false
    }

    /// What this handle hides, counted; none where it hides nothing.
    fn stats(&self) -> Option<Arc<PortStats>> {
        None
    }
}
