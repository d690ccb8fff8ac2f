//! Where things lie in the bytes of an announcement. `docs/fleet.md` has the table for everybody
//! else.

use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first eight bytes.
pub(super) const MAGIC: [u8; 8] = *b"SAPFLEET";
/// Of the layout.
pub(super) const VERSION: u16 = 1;
/// What is signed stands behind these bytes, so that no other thing that a key signs is an
/// announcement.
pub(super) const DOMAIN: &[u8] = b"sapphire announcement v1";
/// Units: bytes.
pub(super) const SIGNATURE_SIZE: usize = 64;

/// Stop; what follows is not there yet.
pub(super) const WITHDRAWN: u16 = 1;
/// A rehearsal.
pub(super) const DRILL: u16 = 2;

/// The first 160 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: [u8; 8],
    pub(super) version: U16,
    pub(super) flags: U16,
    pub(super) blobs: u8,
    pub(super) deltas: u8,
    pub(super) zero: U16,
    pub(super) fleet: [u8; 16],
    /// As in a GID.
    pub(super) subnet: [u8; 8],
    pub(super) era: U32,
    pub(super) root_version: U32,
    pub(super) term: U64,
    pub(super) seq: U64,
    pub(super) beat: U64,
    /// Units: ms since 1970.
    pub(super) issued: U64,
    /// Units: ms.
    pub(super) ttl: U32,
    pub(super) zero_too: U32,
    pub(super) key: [u8; 8],
    pub(super) paths: [u8; 32],
    pub(super) policy: [u8; 32],
}

/// One file for one format of snapshots. In the order of formats, each once.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct BlobEntry {
    pub(super) digest: [u8; 32],
    pub(super) size: U64,
    pub(super) format: U32,
    pub(super) zero: U32,
}

/// One patch. In the order of what it makes, then of what it is made from, each once.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct DeltaEntry {
    pub(super) from: [u8; 32],
    pub(super) patch: [u8; 32],
    pub(super) size: U32,
    /// Index of the blob that it makes.
    pub(super) to: u8,
    pub(super) zero: [u8; 3],
}

/// Length of all with so many blobs and deltas. Units: bytes.
pub(super) const fn length(blobs: usize, deltas: usize) -> usize {
    size_of::<Header>()
        + blobs * size_of::<BlobEntry>()
        + deltas * size_of::<DeltaEntry>()
        + SIGNATURE_SIZE
}
