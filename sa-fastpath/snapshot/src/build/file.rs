//! Sections put together to a file.
//!
//! Payloads come in the order of their ids. Each begins on a cache line, so a record of 32 bytes
//! never lies across two lines, and what is between two sections is zero: memory starts zeroed and
//! only payloads are copied in. The file ends where the last padded section ends.

use zerocopy::IntoBytes;

use super::count32;
use crate::backing::Backing;
use crate::format::layout::{
    BYTE_ORDER_MARK, DIGEST_FROM, FORMAT_VERSION, Header, MAGIC, SectionEntry, SectionId, align_up,
    sections_start,
};

/// Header, section table and sections, with the digest.
pub(super) fn assemble(payloads: &[Vec<u8>]) -> Backing {
    let mut entries = Vec::with_capacity(payloads.len());
    // Offsets are settled first: the table lies before the sections that it describes.
    let mut offset = sections_start();
    for (id, payload) in SectionId::ALL.iter().zip(payloads) {
        entries.push(SectionEntry {
            id: *id as u32,
            element_size: count32(id.element_size()),
            offset: offset as u64,
            elements: (payload.len() / id.element_size()) as u64,
        });
        offset = align_up(offset + payload.len());
    }
    let length = offset;
    Backing::owned(length, |memory| {
        let header = Header {
            magic: MAGIC,
            digest: 0,
            version: FORMAT_VERSION,
            byte_order: BYTE_ORDER_MARK,
            file_len: length as u64,
            sections: count32(entries.len()),
            reserved: [0; 7],
        };
        copy(memory, 0, header.as_bytes());
        copy(memory, size_of::<Header>(), entries.as_bytes());
        for (entry, payload) in entries.iter().zip(payloads) {
            copy(
                memory,
                usize::try_from(entry.offset).unwrap_or(usize::MAX),
                payload,
            );
        }
        // The digest covers all that follows it, so it is written last.
        let digest = xxhash_rust::xxh3::xxh3_64(memory.get(DIGEST_FROM..).unwrap_or_default());
        copy(memory, MAGIC.len(), &digest.to_ne_bytes());
    })
}

/// Writes bytes where they belong; nothing where the memory ends before.
fn copy(memory: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = memory.get_mut(at..at.saturating_add(bytes.len())) {
        place.copy_from_slice(bytes);
    }
}
