//! Where the bytes of a snapshot live: always in memory of our own.
//!
//! Invariants:
//! * `stable`: once made, the bytes neither move nor change until the backing is dropped. No file is
//!   behind them, so nobody else can change them or take them away.
//! * `aligned`: the first byte lies on a 64-byte boundary.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::layout::ALIGN;

/// A cache line.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; ALIGN]);

/// Immutable bytes.
pub(crate) enum Backing {
    /// Of the allocator. Whole lines; the snapshot's length is a multiple of a line.
    Owned(Box<[Line]>),
    /// Pages of our own that the kernel lets nobody write any more.
    #[cfg(feature = "mmap")]
    Sealed(memmap2::Mmap),
}

impl Backing {
    /// Zeroed memory of at least `len` bytes, filled by `fill`.
    pub(crate) fn owned(len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
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
        let mut map = memmap2::MmapMut::map_anon(len)?;
        // A system without large pages serves from small ones.
        let _ = map.advise(memmap2::Advice::HugePage);
        fill(&mut map)?;
        map.make_read_only().map(Self::Sealed)
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(lines) => lines.as_bytes(),
            #[cfg(feature = "mmap")]
            Self::Sealed(map) => map,
        }
    }
}
