//! One client's ring: what waits in it, and requests and replies copied out of it and into it.
//!
//! What a request costs here: two cache lines are read, as a Get and its answer have 120 bytes, and
//! the word before them. Anything else is copied word by word, out of line.
//!
//! The client may change every byte while it is read. So all accesses are atomic and relaxed, a
//! length is judged after it was loaded once, and what was copied is not looked up again.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use sa_ring::layout::{MIN_REQUEST, state};
use sa_ring::{Memory, SHORT, SLOT_WORDS};
use sa_wire::umad::{MAD_SIZE, Slot};

use crate::Verdict;

/// One client's ring as its worker sees it.
///
/// Owned by the worker from `Attach` to `Returned`. Nothing in it is the client's but what `memory`
/// shows, and that is believed only within bounds.
#[derive(Debug)]
pub(super) struct ClientRing {
    /// Number of the client, never given twice.
    pub(super) id: u32,
    /// Its place among the clients, which another may have after it.
    pub(super) place: u16,
    /// Shared with the client; unmapped when worker and acceptor have both let go of it.
    pub(super) memory: Arc<Memory>,
    /// May say which LID asks.
    pub(super) names_lids: bool,
    /// Requests that were answered or dropped so far.
    pub(super) served: u64,
    /// Slots before this position were prefetched.
    fetched: u64,
}

impl ClientRing {
    /// A ring that nothing was asked through yet.
    pub(super) const fn new(id: u32, place: u16, memory: Arc<Memory>, names_lids: bool) -> Self {
        Self {
            id,
            place,
            memory,
            names_lids,
            served: 0,
            fetched: 0,
        }
    }

    /// How many requests wait. None when the client wrote a position that is out of range.
    #[inline(always)]
    pub(super) fn waiting(&self) -> Option<u64> {
        // Pairs with the client's `Release` store: the requests are there.
        let produced = self.memory.header().produced.0.load(Ordering::Acquire);
        // Wrapping, so that a position behind `served` is a huge number and out of range.
        let waiting = produced.wrapping_sub(self.served);
        (waiting <= self.memory.slots()).then_some(waiting)
    }

    /// Prefetches the slots up to a position, each once.
    #[inline(always)]
    pub(super) fn fetch(&mut self, until: u64) {
        for position in self.fetched..until {
            self.memory.prefetch(position);
        }
        self.fetched = until.max(self.fetched);
    }
}

/// A MAD with one record: what all but a few requests have. Units: bytes.
const COMMON: usize = 8 + SHORT;

/// Copies a request, with zeros behind it. Returns its length and the LID that it names; the length
/// is 0 where the client wrote one that no request has.
#[inline(always)]
pub(super) fn copy_in(memory: &Memory, position: u64, mad: &mut [u8; MAD_SIZE]) -> (u16, u16) {
    let words = memory.slot(position);
    // Loaded once: length and LID are of one moment, whatever the client writes meanwhile.
    let [low, high, lid_low, lid_high, ..] = words[0].load(Ordering::Relaxed).to_ne_bytes();
    let length = u16::from_ne_bytes([low, high]);
    let lid = u16::from_ne_bytes([lid_low, lid_high]);
    if usize::from(length) == COMMON
        && let Some((first, rest)) = mad.split_first_chunk_mut::<8>()
        && let Some((short, rest)) = rest.split_first_chunk_mut::<SHORT>()
    {
        *first = words[1].load(Ordering::Relaxed).to_ne_bytes();
        memory.copy_in(position, short);
        // The copy is used again and again: what was behind an earlier request must not be seen.
        rest.fill(0);
        return (length, lid);
    }
    let (places, _) = mad.as_chunks_mut::<8>();
    (copy_in_any(words, places, length), lid)
}

/// The same for any length.
#[cold]
#[inline(never)]
fn copy_in_any(words: &[AtomicU64; SLOT_WORDS], places: &mut [[u8; 8]], length: u16) -> u16 {
    let bytes = usize::from(length);
    let is_one = (MIN_REQUEST..=MAD_SIZE).contains(&bytes);
    let bytes = if is_one { bytes } else { 0 };
    let words = words.iter().skip(1);
    for (nth, (place, word)) in places.iter_mut().zip(words).enumerate() {
        *place = match bytes.saturating_sub(8 * nth) {
            0 => [0; 8],
            left => {
                let mut word = word.load(Ordering::Relaxed).to_ne_bytes();
                word.iter_mut().skip(left).for_each(|byte| *byte = 0);
                word
            }
        };
    }
    if is_one { length } else { 0 }
}

/// Copies a reply back, and says what became of the request.
#[inline(always)]
pub(super) fn copy_out(copy: &Slot, verdict: Verdict, memory: &Memory, position: u64) {
    let words = memory.slot(position);
    let (length, state) = match verdict {
        Verdict::Reply(length) => (length, state::REPLY),
        Verdict::Silence => (0, state::NONE),
        Verdict::Punted => (0, state::LATER),
    };
    if usize::from(length) == COMMON
        && let Some((first, rest)) = copy.mad.split_first_chunk::<8>()
        && let Some(short) = rest.first_chunk::<SHORT>()
    {
        words[1].store(u64::from_ne_bytes(*first), Ordering::Relaxed);
        memory.copy_out(position, short);
    } else {
        copy_out_any(words, copy.mad.as_chunks::<8>().0, length);
    }
    // Last, but without an order of its own: `served` is stored with `Release` behind it.
    let [low, high] = length.to_ne_bytes();
    let [lid_low, lid_high] = copy.header.lid.get().to_ne_bytes();
    let about = [low, high, lid_low, lid_high, state, 0, 0, 0];
    words[0].store(u64::from_ne_bytes(about), Ordering::Relaxed);
}

/// As many words as the reply has. Out of line: nearly all replies have one record.
#[cold]
#[inline(never)]
fn copy_out_any(words: &[AtomicU64; SLOT_WORDS], places: &[[u8; 8]], length: u16) {
    let count = usize::from(length).div_ceil(8);
    for (place, word) in places.iter().take(count).zip(words.iter().skip(1)) {
        word.store(u64::from_ne_bytes(*place), Ordering::Relaxed);
    }
}
