//! Typed slices over the bytes of a snapshot.
//!
//! Invariant `beside`: a [`Section`] is only ever a private field of a `Snapshot`, beside the
//! backing it points into; it is dropped with it and never handed out by value.
//! Invariant `typed`: the range was checked for length and alignment, and every bit pattern is a
//! value of `T` (`FromBytes`), without padding or interior mutability (`IntoBytes`, `Immutable`).
//!
//! Why not borrowed slices: a snapshot owns its bytes and its slices, and Rust has no safe type for
//! a value that borrows from itself. Offsets with a check on each access cost more than the
//! look-up.

#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::layout::Range;

/// A slice of `T` that lives as long as the snapshot it is a field of.
pub(crate) struct Section<T> {
    /// The first element, inside the backing.
    start: NonNull<T>,
    /// How many elements, possibly none.
    len: usize,
    marker: PhantomData<T>,
}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout> Section<T> {
    /// The section at `range`; none when it is out of bounds, of uneven length or misaligned.
    pub(crate) fn new(bytes: &[u8], range: &Range) -> Option<Self> {
        let slice = <[T]>::ref_from_bytes(bytes.get(range.start..range.end)?).ok()?;
        Some(Self {
            start: NonNull::from(slice).cast(),
            len: slice.len(),
            marker: PhantomData,
        })
    }
}

impl<T> Deref for Section<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `typed` held at construction, `beside` and the backing's `stable` keep it so.
        // WHY: slices checked once; checking on each access costs more than the lookup.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

// SAFETY: by `typed` it is a shared slice of plain data, and `stable` says nobody writes it.
unsafe impl<T: Sync> Send for Section<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Section<T> {}
