//! A ring between two threads of this process, whose slots are answered where they lie.
//!
//! One client, one server. Three positions, each written by one side: `produced` (client),
//! `served` (server), and the client's own `consumed`; they only grow, slot = position modulo the
//! number of slots.
//!
//! Invariants:
//! * `turns`: a slot belongs to the client for positions in [served, consumed + slots) and to the
//!   server for positions in [served, produced); `produced` and `served` pass it on with
//!   `Release` stores that the other side reads with `Acquire`.
//! * `one each`: there is one [`RingClient`] and one [`RingServer`], neither `Clone`.
//!
//! The same layout of positions as between processes (`docs/ring.md`), so that benchmarks of it say
//! something about the real ring: a request costs the transfer of its cache lines from core to
//! core. What it leaves out is copying, as both sides are one program.

#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use crossbeam_utils::CachePadded;
use sa_wire::umad::{MAD_SIZE, Slot};

use crate::{BATCH, MadPort, PortError, ReplyPort, Verdict};

/// Late replies that may wait for the client.
const LATE: usize = 256;

/// What both sides and the slow lane's handle share.
///
/// Slots are cells, as both sides write to them in turn; whose turn it is, is told by the two
/// positions alone.
struct Shared {
    slots: Box<[UnsafeCell<Slot>]>,
    /// Requests that were sent; written by the client.
    produced: CachePadded<AtomicU64>,
    /// Requests that were answered or dropped; written by the server.
    served: CachePadded<AtomicU64>,
    /// Replies of the slow lane, which come out of order.
    late: ArrayQueue<Slot>,
    /// Set once, when the client is dropped.
    client_gone: AtomicBool,
}

// SAFETY: slots are touched by one side at a time, see `turns`.
unsafe impl Sync for Shared {}

impl Shared {
    /// Turns a position into the place of its slot; the ring's length is a power of two.
    fn mask(&self) -> u64 {
        self.slots.len() as u64 - 1
    }

    /// The slots from `from`, at most `count` and not past the end of the ring.
    ///
    /// # Safety
    /// The caller's side owns these positions by `turns`, and lends the result to nobody else.
    #[expect(clippy::mut_from_ref, reason = "each side holds its own positions")]
    unsafe fn slots(&self, from: u64, count: u64) -> &mut [Slot] {
        let start = index(from & self.mask());
        // Up to the end of the ring only: a lent run must be contiguous.
        let run = index(count).min(self.slots.len() - start);
        let Some(slots) = self.slots.get(start..start + run) else {
            return &mut [];
        };
        let first = UnsafeCell::raw_get(slots.as_ptr());
        // SAFETY: `slots` is in bounds; exclusive by the caller's obligation.
        // WHY: a copy of each MAD would cost more than the answer.
        unsafe { core::slice::from_raw_parts_mut(first, run) }
    }
}

/// Positions masked by the ring's length, and batch sizes: far below any address space.
fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// A ring with room for `slots` requests in flight (rounded up to a power of two).
pub fn ring(slots: usize) -> (RingClient, RingServer, RingReplies) {
    let slots = slots.next_power_of_two().max(2);
    let shared = Arc::new(Shared {
        slots: (0..slots).map(|_| UnsafeCell::new(Slot::EMPTY)).collect(),
        produced: CachePadded::default(),
        served: CachePadded::default(),
        late: ArrayQueue::new(LATE),
        client_gone: AtomicBool::new(false),
    });
    let client = RingClient {
        shared: Arc::clone(&shared),
        produced: 0,
        consumed: 0,
        seen: 0,
    };
    let replies = RingReplies {
        shared: Arc::clone(&shared),
    };
    (
        client,
        RingServer {
            shared,
            served: 0,
            lent: 0,
        },
        replies,
    )
}

/// The asking side, for one thread.
///
/// Dropping it lets the server know ([`RingServer::client_gone`]); what is in flight is answered
/// and never read.
pub struct RingClient {
    shared: Arc<Shared>,
    produced: u64,
    consumed: u64,
    /// `served` as last read.
    seen: u64,
}

impl RingClient {
    /// Free slots to write requests into, at most `wanted`; a shorter run at the end of the ring,
    /// empty when all are in flight. Send them with [`RingClient::publish`].
    #[inline]
    pub fn claim(&mut self, wanted: usize) -> &mut [Slot] {
        let free = self.shared.slots.len() as u64 - (self.produced - self.consumed);
        // SAFETY: by `turns` positions from `produced` on are the client's; `&mut self` and
        // `one each` keep them to this caller.
        unsafe { self.shared.slots(self.produced, free.min(wanted as u64)) }
    }

    /// Sends the first `count` of the slots claimed last.
    #[inline]
    pub fn publish(&mut self, count: usize) {
        self.produced += count as u64;
        self.shared.produced.store(self.produced, Ordering::Release);
    }

    /// Slots that came back, in the order of their requests; see [`reply_length`]. Give them back
    /// with [`RingClient::release`].
    #[inline]
    pub fn replies(&mut self) -> &[Slot] {
        // Looked at only when all that was seen is consumed: the line is the server's, and each
        // look moves it.
        if self.seen == self.consumed {
            self.seen = self.shared.served.load(Ordering::Acquire);
        }
        // SAFETY: by `turns` positions below `served` are the client's again.
        unsafe { self.shared.slots(self.consumed, self.seen - self.consumed) }
    }

    /// Frees the first `count` slots of the last [`RingClient::replies`].
    #[inline]
    pub fn release(&mut self, count: usize) {
        self.consumed += count as u64;
    }

    /// A reply of the slow lane, which comes apart from its slot.
    pub fn late_reply(&mut self) -> Option<Slot> {
        self.shared.late.pop()
    }

    /// Requests whose slots did not come back yet.
    pub fn in_flight(&self) -> u64 {
        self.produced - self.consumed
    }
}

impl Drop for RingClient {
    fn drop(&mut self) {
        self.shared.client_gone.store(true, Ordering::Release);
    }
}

/// MAD bytes of the reply in a slot that came back; none when there is no reply (yet).
#[inline]
pub fn reply_length(slot: &Slot) -> Option<usize> {
    match slot.header.length {
        0 => None,
        length => usize::try_from(length).ok(),
    }
}

/// The answering side, for one worker.
///
/// Never blocks and never fails: a ring in one process has no far end that could go.
pub struct RingServer {
    /// With the client and the slow lane's handle.
    shared: Arc<Shared>,
    /// As in the shared word, which nobody else writes.
    served: u64,
    /// So many slots are out with the worker.
    lent: usize,
}

impl MadPort for RingServer {
    #[inline]
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        let waiting = self.shared.produced.load(Ordering::Acquire) - self.served;
        // SAFETY: by `turns` positions in [served, produced) are the server's; `&mut self` and
        // `one each` keep them to this caller.
        let slots = unsafe { self.shared.slots(self.served, waiting.min(BATCH as u64)) };
        self.lent = slots.len();
        Ok(slots)
    }

    #[inline]
    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        // SAFETY: as in `recv`; the slots lent there are not used any more.
        let slots = unsafe { self.shared.slots(self.served, self.lent as u64) };
        for (slot, verdict) in slots.iter_mut().zip(verdicts) {
            slot.header.length = match verdict {
                Verdict::Reply(length) => u32::from(*length),
                Verdict::Silence | Verdict::Punted => 0,
            };
        }
        self.served += self.lent as u64;
        self.lent = 0;
        self.shared.served.store(self.served, Ordering::Release);
        Ok(0)
    }
}

impl RingServer {
    /// True when the client was dropped.
    pub fn client_gone(&self) -> bool {
        self.shared.client_gone.load(Ordering::Acquire)
    }
}

/// The slow lane's side.
///
/// Late replies of one MAD only; a table is refused as too long.
pub struct RingReplies {
    shared: Arc<Shared>,
}

impl ReplyPort for RingReplies {
    fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError> {
        let mut slot = *request;
        slot.mad = [0; MAD_SIZE];
        let place = slot.mad.get_mut(..reply.len()).ok_or(PortError::TooLong)?;
        place.copy_from_slice(reply);
        slot.header.length = u32::try_from(reply.len()).map_err(|_| PortError::TooLong)?;
        self.shared.late.push(slot).map_err(|_| PortError::Closed)
    }

    fn can_segment(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_back_in_order_with_their_verdicts() {
        let (mut client, mut server, _) = ring(4);
        for round in 0..10u8 {
            let claimed = client.claim(3);
            let count = claimed.len();
            assert!(count >= 1);
            for slot in claimed {
                slot.mad[0] = round;
            }
            client.publish(count);
            let lent = server.recv().unwrap();
            assert_eq!(lent.len(), count);
            lent.iter_mut()
                .for_each(|slot| slot.mad[1] = slot.mad[0] + 1);
            server.send(&vec![Verdict::Reply(120); count]).unwrap();
            let replies = client.replies();
            assert!(replies.iter().all(|slot| slot.mad[1] == round + 1));
            assert!(replies.iter().all(|slot| reply_length(slot) == Some(120)));
            let count = replies.len();
            client.release(count);
        }
        assert_eq!(client.in_flight(), 0);
    }

    #[test]
    fn a_full_ring_gives_no_slots() {
        let (mut client, mut server, _) = ring(2);
        assert_eq!(client.claim(8).len(), 2);
        client.publish(2);
        assert!(client.claim(1).is_empty());
        server.recv().unwrap();
        server.send(&[Verdict::Silence; 2]).unwrap();
        assert!(client.claim(1).is_empty(), "served is not yet consumed");
        assert_eq!(client.replies().len(), 2);
        client.release(2);
        assert_eq!(client.claim(8).len(), 2);
    }

    #[test]
    fn two_threads_lose_and_mix_nothing() {
        let (mut client, mut server, _) = ring(64);
        let total = 200_000u64;
        let serve = std::thread::spawn(move || {
            let mut served = 0;
            while served < total {
                let slots = server.recv().unwrap();
                for slot in slots.iter_mut() {
                    let value = u64::from_le_bytes(slot.mad[..8].try_into().unwrap());
                    slot.mad[8..16].copy_from_slice(&(value * 3).to_le_bytes());
                }
                let count = slots.len();
                served += count as u64;
                server.send(&[Verdict::Reply(24); BATCH][..count]).unwrap();
            }
        });
        let (mut sent, mut received) = (0u64, 0u64);
        while received < total {
            let slots = client.claim(16);
            let count = slots.len().min(usize::try_from(total - sent).unwrap());
            for slot in &mut slots[..count] {
                slot.mad[..8].copy_from_slice(&sent.to_le_bytes());
                sent += 1;
            }
            client.publish(count);
            let replies = client.replies();
            for slot in replies {
                assert_eq!(slot.mad[8..16], (received * 3).to_le_bytes());
                received += 1;
            }
            let count = replies.len();
            client.release(count);
            if count == 0 {
                std::thread::yield_now();
            }
        }
        serve.join().unwrap();
    }
}
