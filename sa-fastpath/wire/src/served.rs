//! ServedSnapshot: which snapshot an SA of ours answers from, for those who keep a copy of it or of
//! its answers.
//!
//! An attribute of our own, Get alone, in the range that is left to vendors; other SAs refuse it
//! with "method/attribute combination not supported".
//!
//! Whoever keeps a copy asks for it now and then: an equal digest means that nothing has changed.
//! The epoch tells which of two of one daemon is the newer.

use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What tells one snapshot from any other, 24 bytes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct ServedSnapshot {
    /// Over all bytes of the snapshot's file but the SA's key.
    pub digest: U64,
    /// Number that its compiler gave it.
    pub epoch: U64,
    /// When it was compiled. Units: seconds since 1970.
    pub built_unix: U64,
}

const _: () = assert!(size_of::<ServedSnapshot>() == 24);
