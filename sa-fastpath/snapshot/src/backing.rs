//! Where the bytes of a snapshot live: in our own aligned memory, or in a mapped file.
//!
//! Invariants:
//! * `stable`: once made, the bytes neither move nor change until the backing is dropped.
//! * `aligned`: the first byte lies on a 64-byte boundary.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::layout::ALIGN;

/// A cache line.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; ALIGN]);

/// Immutable bytes.
pub(crate) enum Backing {
    /// Memory of our own. Whole lines; the snapshot's length is a multiple of a line.
    Owned(Box<[Line]>),
    /// A file mapped read-only.
    #[cfg(feature = "mmap")]
    Mapped(memmap2::Mmap),
}

impl Backing {
    /// Zeroed memory of at least `len` bytes, filled by `fill`.
    pub(crate) fn owned(len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        let mut lines = vec![Line::new_zeroed(); len.div_ceil(ALIGN)];
        fill(lines.as_mut_slice().as_mut_bytes());
        Self::Owned(lines.into_boxed_slice())
    }

    /// Maps a whole file.
    ///
    /// The file must only ever be replaced by rename, never written in place: that is how
    /// snapshot files are written (see the crate's user), and what keeps the bytes stable.
    #[cfg(feature = "mmap")]
    #[allow(unsafe_code)]
    pub(crate) fn map(file: &std::fs::File) -> Result<Self, std::io::Error> {
        // SAFETY: `stable` holds because snapshot files are replaced by rename only; the map keeps
        // the old inode alive.
        // WHY: a warm start must not copy hundreds of megabytes.
        let map = unsafe { memmap2::MmapOptions::new().populate().map(file)? };
        Ok(Self::Mapped(map))
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(lines) => lines.as_bytes(),
            #[cfg(feature = "mmap")]
            Self::Mapped(map) => map,
        }
    }
}
