//! A snapshot without the SA's key.
//!
//! Who gets a copy of a snapshot may ask what it answers, but must not become a trusted requester.
//! So a copy has zeros for the SA's key. The line of provenance with the digest of `opensm.conf` is
//! blanked too: the key is one of few unknowns of that file, and whoever has the digest could try
//! keys until it fits.
//!
//! The copy is a snapshot like any other: of the same length, with a digest of its own, and without
//! a key every key is strange. That digest is known of every snapshot without making the copy, so
//! that snapshots which differ in their keys alone can be told to be the same.

use core::mem::offset_of;
use core::ops::Range;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::format::layout::{DIGEST_FROM, MAGIC, sections_start};
use crate::format::records::SubnetRecord;

/// The input that the key is in: so is what a digest over it lets others find out.
const OPTIONS: &str = "opensm.conf ";
/// Hexadecimal digits of a digest.
const DIGITS: usize = 16;

/// What is hidden, and by which byte. Shape: `provenance` is where that section lies; the ranges
/// ascend.
pub(crate) fn hidden(bytes: &[u8], provenance: Range<usize>) -> Vec<(Range<usize>, u8)> {
    // The subnet's record is the first section, provenance the second.
    let key = sections_start() + offset_of!(SubnetRecord, sa_key);
    let mut hidden = vec![(key..key + size_of::<u64>(), 0)];
    let text = bytes.get(provenance.clone()).unwrap_or_default();
    // Text that is no UTF-8 hides nothing more; `verify` refuses such a snapshot.
    let text = core::str::from_utf8(text).unwrap_or_default();
    let mut end = provenance.start;
    for line in text.split_inclusive('\n') {
        // The end of each line is counted along, as the text is looked at line by line but blanked
        // by place.
        end += line.len();
        let written = line.trim_end();
        // Only a line that ends with a digest: a name alone says nothing about the key.
        if written.starts_with(OPTIONS) && written.len() > OPTIONS.len() + DIGITS {
            let last = end - (line.len() - written.len());
            hidden.push((last - DIGITS..last, b'-'));
        }
    }
    hidden
}

/// What the digest would be with that hidden.
pub(crate) fn digest(bytes: &[u8], hidden: &[(Range<usize>, u8)]) -> u64 {
    let mut hash = Xxh3::new();
    let mut at = DIGEST_FROM;
    for (range, with) in hidden {
        hash.update(bytes.get(at..range.start).unwrap_or_default());
        // Hashed in pieces, so that the digest needs no second copy of a large snapshot.
        hash.update(&vec![*with; range.len()]);
        at = range.end;
    }
    hash.update(bytes.get(at..).unwrap_or_default());
    hash.digest()
}

/// Copies a snapshot with that hidden. Shape: both of one length.
pub(crate) fn copy(bytes: &[u8], hidden: &[(Range<usize>, u8)], memory: &mut [u8]) {
    // Unequal lengths would be a defect of the caller; what is left then is no snapshot, and is
    // refused.
    if memory.len() == bytes.len() {
        memory.copy_from_slice(bytes);
    }
    for (range, with) in hidden {
        if let Some(place) = memory.get_mut(range.clone()) {
            place.fill(*with);
        }
    }
    let digest = xxh3_64(memory.get(DIGEST_FROM..).unwrap_or_default());
    if let Some(place) = memory.get_mut(MAGIC.len()..DIGEST_FROM) {
        place.copy_from_slice(&digest.to_le_bytes());
    }
}
