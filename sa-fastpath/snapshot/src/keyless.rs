//! A snapshot without the SA's key.

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
    let text = core::str::from_utf8(text).unwrap_or_default();
    let mut end = provenance.start;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let written = line.trim_end();
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
        hash.update(&vec![*with; range.len()]);
        at = range.end;
    }
    hash.update(bytes.get(at..).unwrap_or_default());
    hash.digest()
}

/// Copies a snapshot with that hidden. Shape: both of one length.
pub(crate) fn copy(bytes: &[u8], hidden: &[(Range<usize>, u8)], memory: &mut [u8]) {
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
