//! Replies that come apart from their slots, in parts.
//!
//! Parts of a reply follow each other and do not mix with those of another: so one buffer is
//! enough, and the last part is the one that ends at `total`. Each part that was read is given back
//! at once, which lets the daemon go on writing a reply that is larger than the room.
//!
//! The daemon may write one before it says that the slot of its request has come back, and who takes slots and then late replies may look at the
//! first just before both are there. Nobody would know that such a reply is waited for, so it is held until the slot was released.

use core::mem;
use core::sync::atomic::Ordering;

use sa_ring::Memory;
use sa_ring::layout::{LATE_HEADER, LatePart};

/// A reply that came apart from its slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateReply {
    /// Of its request, as [`super::Client::publish`] gave it.
    pub position: u64,
    /// Shape: 56 header bytes and all records, or a whole MAD; empty when there will be none.
    pub mad: Vec<u8>,
}

/// How far they were read.
#[derive(Debug, Default)]
pub(crate) struct LateReader {
    /// What was read since the connection began. Units: bytes.
    read: u64,
    /// What there is of the next one.
    begun: Vec<u8>,
    /// One that is whole, and whose slot was not released yet.
    held: Option<LateReply>,
}

impl LateReader {
    /// The next reply that is whole; none while its last part is missing, or the slot of its request is none of those before
    /// `released`.
    pub(crate) fn next(&mut self, memory: &Memory, released: u64) -> Option<LateReply> {
        let next = self.held.take().or_else(|| self.whole(memory))?;
        if next.position >= released {
            self.held = Some(next);
            return None;
        }
        Some(next)
    }

    fn whole(&mut self, memory: &Memory) -> Option<LateReply> {
        let header = memory.header();
        // Pairs with the daemon's `Release` store: this side sees the parts.
        let written = header.late_written.0.load(Ordering::Acquire);
        // The daemon is trusted: its headers are not checked against the room.
        while self.read != written {
            let part = LatePart::of_words(core::array::from_fn(|nth| {
                word(memory, self.read + 8 * nth as u64)
            }));
            self.take(memory, part);
            self.read += part.room() as u64;
            // Pairs with the daemon's `Acquire` load: it may write there again.
            header.late_read.0.store(self.read, Ordering::Release);
            // An empty reply has one part of length 0, and is told by its empty MAD.
            if part.offset + part.length == part.total {
                return Some(LateReply {
                    position: part.position,
                    mad: mem::take(&mut self.begun),
                });
            }
        }
        None
    }

    /// Adds a part's bytes to what there is of its reply. Room for all of it is made by its first
    /// part.
    fn take(&mut self, memory: &Memory, part: LatePart) {
        // A new reply: what there may be of another is not continued.
        if part.offset == 0 {
            self.begun.clear();
            self.begun.reserve(usize::try_from(part.total).unwrap_or(0));
        }
        let first = self.read + LATE_HEADER as u64;
        let mut left = usize::try_from(part.length).unwrap_or(0);
        for nth in 0.. {
            if left == 0 {
                break;
            }
            let bytes = word(memory, first + 8 * nth).to_ne_bytes();
            let some = bytes.get(..left).unwrap_or(&bytes);
            self.begun.extend_from_slice(some);
            left -= some.len();
        }
    }
}

/// A word of the room for late replies. Units: `at` counts bytes since the beginning.
fn word(memory: &Memory, at: u64) -> u64 {
    memory.late_word(at).load(Ordering::Relaxed)
}
