//! Bytes that wait for room in a ring, in memory of their own: what is read goes back to the system
//! at once, whatever an allocator would keep.
//!
//! Invariant that the blocks below name:
//! - *mapped*: `base` is the start of an anonymous mapping of `CHUNK` bytes of this value alone,
//!   readable and writable, all of it zeros or words, from `new` until `Drop`.
//!
//! Why not a `Vec`: what waits may be megabytes for a second and nothing for days, and an allocator
//! keeps what it was given. Chunks of 64 KiB come from the kernel and go back to it as soon as they
//! are read.

#![allow(unsafe_code)]

use core::ptr::NonNull;
use std::collections::VecDeque;
use std::io;

/// Memory that is taken and given back at once. Units: bytes.
pub(super) const CHUNK: usize = 1 << 16;
/// The same as words.
const WORDS: usize = CHUNK / 8;

/// A queue of pieces, each of which begins with a word of its own.
///
/// Words and not bytes, as the ring's memory is written word by word. A piece that is released in
/// part keeps its first chunk until all of that chunk was read.
#[derive(Debug, Default)]
pub(super) struct Spool {
    chunks: VecDeque<Chunk>,
    /// Of the first chunk. Units: words.
    read: usize,
    /// Of the last chunk. Units: words.
    written: usize,
}

impl Spool {
    /// Appends a piece. Errors: there is no memory; nothing was appended.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = if self.chunks.is_empty() {
            0
        } else {
            WORDS - self.written
        };
        // All memory is taken before anything is written, so that a failure changes nothing.
        let missing = bytes.len().div_ceil(8).saturating_sub(room);
        let fresh = (0..missing.div_ceil(WORDS)).map(|_| Chunk::new());
        let fresh: Vec<Chunk> = fresh.collect::<io::Result<_>>()?;
        let mut fresh = fresh.into_iter();
        for word in bytes.chunks(8) {
            if self.chunks.is_empty() || self.written == WORDS {
                self.chunks.extend(fresh.next());
                self.written = 0;
            }
            let place = self.chunks.back_mut().map(Chunk::words_mut);
            if let Some(place) = place.and_then(|words| words.get_mut(self.written)) {
                let mut whole = [0; 8];
                for (to, from) in whole.iter_mut().zip(word) {
                    *to = *from;
                }
                *place = u64::from_ne_bytes(whole);
            }
            self.written += 1;
        }
        Ok(())
    }

    /// All words, the first unread one first.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        let all = self.chunks.iter().flat_map(Chunk::words);
        all.skip(self.read).copied()
    }

    /// Forgets the first words of this many bytes.
    pub(super) fn release(&mut self, bytes: usize) {
        self.read += bytes.div_ceil(8);
        // Chunk by chunk: what was read goes at once, even while more waits behind it.
        while self.read >= WORDS && !self.chunks.is_empty() {
            self.chunks.pop_front();
            self.read -= WORDS;
        }
        if self.chunks.is_empty() || (self.chunks.len() == 1 && self.read == self.written) {
            *self = Self::default();
        }
    }

    /// Memory that is taken now. Units: bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK
    }
}

/// Memory of the system's.
#[derive(Debug)]
struct Chunk {
    base: NonNull<u64>,
}

// SAFETY: mapped: nobody else has it.
// WHY: the thread that makes an acceptor is not the one that runs it.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Zeros. Errors: there is no memory.
    fn new() -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a place of the kernel's choice touches no other memory.
        // WHY: what an allocator frees it may keep; this is given back.
        let base = unsafe { libc::mmap(core::ptr::null_mut(), CHUNK, access, how, -1, 0) };
        match NonNull::new(base.cast::<u64>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { base }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// All of it, to read.
    const fn words(&self) -> &[u64] {
        // SAFETY: mapped; pages are aligned, and any bytes are words.
        // WHY: as above.
        unsafe { core::slice::from_raw_parts(self.base.as_ptr(), WORDS) }
    }

    /// All of it, to write.
    const fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as for `words`; `&mut self` keeps it to this caller.
        // WHY: as above.
        unsafe { core::slice::from_raw_parts_mut(self.base.as_ptr(), WORDS) }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: mapped; nobody borrows it any more.
        // WHY: the mapping is this value's.
        unsafe { libc::munmap(self.base.as_ptr().cast(), CHUNK) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_and_its_memory_goes_back() {
        let mut spool = Spool::default();
        let pieces = [1, 8, CHUNK - 16, CHUNK, 3 * CHUNK + 5, 9, 0, 16];
        let piece = |nth: usize| vec![u8::try_from(nth + 1).unwrap(); pieces[nth]];
        for round in 0..3 {
            for nth in 0..pieces.len() {
                spool.push(&piece(nth)).unwrap();
            }
            assert!(spool.bytes() >= pieces.iter().sum(), "round {round}");
            for (nth, length) in pieces.into_iter().enumerate() {
                let words = spool.words().take(length.div_ceil(8));
                let bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).take(length).collect();
                assert_eq!(bytes, piece(nth));
                spool.release(length);
            }
            assert_eq!((spool.bytes(), spool.words().count()), (0, 0));
        }
    }

    #[test]
    fn a_long_piece_is_given_back_part_by_part() {
        let mut spool = Spool::default();
        spool.push(&vec![7; 4 * CHUNK]).unwrap();
        for left in (0..4).rev() {
            spool.release(CHUNK);
            assert_eq!(spool.bytes(), left * CHUNK);
        }
    }
}
