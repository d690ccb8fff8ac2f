//! Where the bytes of a snapshot live: always in memory of our own.
//!
//! Invariants:
//! * `stable`: once made, the bytes neither move nor change until the backing is dropped. No file
//!   is behind them, so nobody else can change them or take them away.
//! * `aligned`: the first byte lies on a 64-byte boundary.
//!
//! Three kinds, by length and by who fills them:
//!
//! | kind | for | pages |
//! |---|---|---|
//! | `Owned` | built or copied, below 4 MiB; also where pages cannot be had | the allocator's |
//! | `Paged` | built or copied, from 4 MiB on | its own, large where there are |
//! | `Sealed` | read from a file | its own, and read-only once filled |
//!
//! Mapping the file itself was given up (ADR 1): whoever may write it could change answers after
//! they were verified, and cutting it off ended the daemon with SIGBUS. Only the feature `mmap`
//! takes pages; without it all is `Owned`.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::format::layout::ALIGN;

/// A cache line, so that an allocation of these is aligned as sections must be.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; ALIGN]);

/// Immutable bytes, by where they were taken from.
///
/// One for each snapshot, shared with copies of its bytes that outlive it (`SharedBytes`), and
/// freed by whoever drops the last reference: never a worker, see ADR 8.
pub(crate) enum Backing {
    /// Of the allocator. Whole lines; the snapshot's length is a multiple of a line.
    Owned(Box<[Line]>),
    /// The same in pages of their own.
    #[cfg(feature = "mmap")]
    Paged(memmap2::MmapMut),
    /// Pages of our own that the kernel lets nobody write any more.
    #[cfg(feature = "mmap")]
    Sealed(memmap2::Mmap),
}

/// From here on memory is taken in pages of its own, large ones where the system has them: a
/// look-up in a table of hundreds of megabytes would else look for its page, too. Units: bytes.
#[cfg(feature = "mmap")]
const LARGE: usize = 4 << 20;

/// Zeroed pages of their own, large ones where the system has them: elsewhere small ones serve.
#[cfg(feature = "mmap")]
fn pages(len: usize) -> std::io::Result<memmap2::MmapMut> {
    let map = memmap2::MmapMut::map_anon(len)?;
    // A wish: kernels without large pages, or told `never`, give small ones.
    let _ = map.advise(memmap2::Advice::HugePage);
    Ok(map)
}

impl Backing {
    /// Zeroed memory of at least `len` bytes, filled by `fill`.
    ///
    /// Cost: one pass of the kernel that clears pages, and whatever `fill` does. Never fails: where
    /// pages of its own cannot be had, the allocator gives the memory.
    pub(crate) fn owned(len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        #[cfg(feature = "mmap")]
        // No pages, no failure: the allocator's memory serves as well.
        if let Some(mut map) = (len >= LARGE).then(|| pages(len).ok()).flatten() {
            fill(&mut map);
            return Self::Paged(map);
        }
        let mut lines = vec![Line::new_zeroed(); len.div_ceil(ALIGN)];
        fill(lines.as_mut_slice().as_mut_bytes());
        Self::Owned(lines.into_boxed_slice())
    }

    /// `len` bytes in pages of their own, large ones where the system has them, filled by `fill`
    /// and read-only from then on. Errors: there is no such memory, or what `fill` says.
    #[cfg(feature = "mmap")]
    pub(crate) fn sealed(
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> std::io::Result<()>,
    ) -> std::io::Result<Self> {
        let mut map = pages(len)?;
        fill(&mut map)?;
        // Not even this process writes it from here on; a stray write would end it and not change
        // an answer.
        map.make_read_only().map(Self::Sealed)
    }

    /// All bytes, up to the end of the last line.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(lines) => lines.as_bytes(),
            #[cfg(feature = "mmap")]
            Self::Paged(map) => map,
            #[cfg(feature = "mmap")]
            Self::Sealed(map) => map,
        }
    }
}

#[cfg(all(test, feature = "mmap"))]
mod tests {
    use super::*;

    #[test]
    fn large_memory_is_pages_that_hold_what_was_filled_in() {
        for (len, is_paged) in [(LARGE - ALIGN, false), (LARGE, true), (LARGE + ALIGN, true)] {
            let last = len - 1;
            let backing = Backing::owned(len, |memory| {
                assert!(memory.iter().all(|byte| *byte == 0));
                memory[last] = 7;
            });
            assert_eq!(matches!(backing, Backing::Paged(_)), is_paged);
            let bytes = backing.bytes();
            assert_eq!((bytes.len(), bytes[last]), (len, 7));
            assert_eq!(bytes.as_ptr().align_offset(ALIGN), 0);
        }
    }
}
