//! The shared memory, mapped.
//!
//! Invariants that the blocks below name:
//! - *mapped*: `base` is the start of a mapping of at least `size_of_ring(slots)` bytes, readable
//!   and writable, from `map` until `Drop`, the only place that unmaps it; the file behind it is
//!   sealed against shrinking, so all of it stays accessible;
//! - *atomic*: references into it are to atomics alone, which another process may change at any
//!   time, and every pattern of bytes is one of theirs.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
#[cfg(not(target_arch = "x86_64"))]
use core::sync::atomic::Ordering::Relaxed;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::layout::{Header, LATE_SIZE, SLOT_SIZE, SLOTS_OFFSET, Slot, late_offset, size_of_ring};

/// Words of a slot.
pub const SLOT_WORDS: usize = SLOT_SIZE / 8;

/// Of a MAD with one record, what is behind its first word. Units: bytes.
pub const SHORT: usize = 112;

/// A mapped ring: the memory of one client, from either side.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    /// A power of two; this side's own copy.
    slots: usize,
}

// SAFETY: mapped and atomic: what is reached through a shared reference are atomics.
// WHY: the daemon's worker and the thread that maps and unmaps both hold it.
unsafe impl Send for Memory {}
// SAFETY: as above; `slots_mut` has obligations of its own.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps the file. Shape: `slots` a power of two; the file is sealed and has
    /// `size_of_ring(slots)` bytes. Errors: the system's.
    pub fn map(file: BorrowedFd<'_>, slots: u32) -> io::Result<Self> {
        let slots = usize::try_from(slots).unwrap_or(0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // All pages at once: a page fault later would come in the middle of a batch.
        let how = libc::MAP_SHARED | libc::MAP_POPULATE;
        let size = size_of_ring(slots);
        // SAFETY: a new mapping at a place of the kernel's choice touches no other memory.
        // WHY: sharing memory with another process is what this is for.
        let base = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                size,
                access,
                how,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { base, slots }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Leaves it out of children that are forked from now on: there this value must be forgotten,
    /// not dropped. Errors: the system's.
    pub fn keep_from_children(&self) -> io::Result<()> {
        self.advise(0, libc::MADV_DONTFORK)
    }

    /// Gives the pages from `offset` on, a multiple of 4096, back to the system, whoever has them
    /// mapped besides. What is there then is zeros, and whoever touches it has it on their account.
    /// Errors: the system's.
    pub fn give_back(&self, offset: usize) -> io::Result<()> {
        self.advise(offset, libc::MADV_REMOVE)
    }

    /// Tells the kernel something about all of it from `offset` on, a multiple of 4096.
    fn advise(&self, offset: usize, advice: libc::c_int) -> io::Result<()> {
        let Some(size) = size_of_ring(self.slots).checked_sub(offset) else {
            return Ok(());
        };
        // SAFETY: mapped; `offset` is inside, and no advice that is given here takes the mapping
        // itself away from this process.
        // WHY: std knows nothing of memory.
        let done = unsafe { libc::madvise(self.base.add(offset).as_ptr().cast(), size, advice) };
        match done {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// How many slots it has.
    #[inline(always)]
    pub const fn slots(&self) -> u64 {
        self.slots as u64
    }

    /// The first page: what describes the ring, and the positions of both sides.
    #[inline(always)]
    pub const fn header(&self) -> &Header {
        // SAFETY: mapped (a header is less than a page, and pages are aligned), atomic.
        // WHY: there is no other way to memory that somebody else changes.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    /// The slot of a position, as words.
    #[inline(always)]
    pub const fn slot(&self, position: u64) -> &[AtomicU64; SLOT_WORDS] {
        // SAFETY: mapped, atomic; `index` is less than the number of slots, each of which is as
        // large as the words and aligned as they are.
        // WHY: as for `header`.
        unsafe {
            self.base
                .add(self.offset(position))
                .cast::<[AtomicU64; SLOT_WORDS]>()
                .as_ref()
        }
    }

    /// Copies what a Get of a path has behind the first word of its MAD out of a slot.
    #[inline(always)]
    pub fn copy_in(&self, position: u64, place: &mut [u8; SHORT]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: mapped; the bytes from 16 on of a slot are aligned to 16, and there are more than
        // `SHORT` of them. Volatile reads of whole registers: each byte is read once, whatever
        // another process writes meanwhile, and every pattern is one.
        // WHY: half the instructions of copying by words.
        unsafe {
            let from = self.base.add(self.offset(position) + 16).cast::<__m128i>();
            let to = place.as_mut_ptr().cast::<__m128i>();
            for nth in 0..SHORT / 16 {
                _mm_storeu_si128(to.add(nth), from.add(nth).read_volatile());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let words = self.slot(position).iter().skip(2);
            for (place, word) in place.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *place = word.load(Relaxed).to_ne_bytes();
            }
        }
    }

    /// Copies a reply of the same length into a slot, the other way round than [`Self::copy_in`].
    #[inline(always)]
    pub fn copy_out(&self, position: u64, from: &[u8; SHORT]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as for `copy_in`, with volatile writes.
        // WHY: as for `copy_in`.
        unsafe {
            let to = self.base.add(self.offset(position) + 16).cast::<__m128i>();
            let from = from.as_ptr().cast::<__m128i>();
            for nth in 0..SHORT / 16 {
                to.add(nth).write_volatile(_mm_loadu_si128(from.add(nth)));
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let words = self.slot(position).iter().skip(2);
            for (place, word) in from.as_chunks::<8>().0.iter().zip(words) {
                word.store(u64::from_ne_bytes(*place), Relaxed);
            }
        }
    }

    /// A word of the room for late replies. Units: `at` counts bytes for ever, a multiple of 8.
    pub fn late_word(&self, at: u64) -> &AtomicU64 {
        let inside = index(at) & (LATE_SIZE - 8);
        // SAFETY: mapped, atomic; `inside` is a multiple of 8 below `LATE_SIZE`, which is all there
        // is behind `late_offset`.
        // WHY: as for `header`.
        unsafe {
            self.base
                .add(late_offset(self.slots) + inside)
                .cast::<AtomicU64>()
                .as_ref()
        }
    }

    /// Asks for a slot's two first cache lines, to be written.
    #[inline(always)]
    pub fn prefetch(&self, position: u64) {
        let slot = self.base.as_ptr().wrapping_add(self.offset(position));
        #[cfg(target_arch = "x86_64")]
        // SAFETY: prefetches touch no memory as far as the program can tell.
        // WHY: 100 ns for a line that another core has just written; asked for by a plain
        // prefetch, it would have to be asked for again to be written.
        unsafe {
            core::arch::asm!(
                "prefetchw [{slot}]",
                "prefetchw [{slot} + 64]",
                slot = in(reg) slot,
                options(nostack, preserves_flags, readonly)
            );
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = slot;
    }

    /// Where the slot of a position lies; positions go round. Units: bytes.
    #[inline(always)]
    const fn offset(&self, position: u64) -> usize {
        SLOTS_OFFSET + (index(position) & (self.slots - 1)) * SLOT_SIZE
    }

    /// The slots from `from`, at most `count` and not past the end of the ring.
    ///
    /// # Safety
    /// These positions are this side's until it gives them away, and the other side keeps to that;
    /// the result is lent to nobody else.
    #[expect(clippy::mut_from_ref, reason = "each side holds its own positions")]
    pub unsafe fn slots_mut(&self, from: u64, count: u64) -> &mut [Slot] {
        let start = index(from) & (self.slots - 1);
        let run = index(count).min(self.slots - start);
        // SAFETY: mapped; `start + run` is at most the number of slots; exclusive by the caller's
        // obligation.
        // WHY: requests are written where they are sent from.
        unsafe {
            let first = self.base.add(SLOTS_OFFSET).cast::<Slot>().add(start);
            core::slice::from_raw_parts_mut(first.as_ptr(), run)
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped; nobody borrows it any more.
        // WHY: the mapping is this value's.
        unsafe { libc::munmap(self.base.as_ptr().cast(), size_of_ring(self.slots)) };
    }
}

/// A position as an index, of which only the lower bits count: more than any memory has.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower bits are what counts"
)]
const fn index(position: u64) -> usize {
    position as usize
}
