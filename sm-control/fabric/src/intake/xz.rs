//! Files that are xz-compressed. What they unpack to is read from their index first, so a small
//! file that unpacks to a large one costs nothing, and one whose index lies no more than it says.
//!
//! ```text
//!  stream = header 12 | blocks ... | index | footer 12        streams may follow each other,
//! padded
//!  footer = crc 4 | size of the index in words - 1, 4 | flags 2 | "YZ"
//!  index  = 00 | number of blocks | (unpadded size, unpacked size) each | padding | crc 4
//! ```
//!
//! Numbers in the index have seven bits a byte. Going from the last footer back, all sizes are
//! known before anything is unpacked. Source: the .xz file format.
//!
//! A damaged index gives an error and never a wrong size: the decoder may give no more than the
//! index says, and checks every sum itself.

use std::io::{self, ErrorKind};

use lzma_rust2::XzReader;

/// What a decoder may take: `xz -9` asks for 65 MiB. Units: KiB.
pub(super) const DECODER_KIB: u32 = 128 << 10;

const MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const FOOTER_MAGIC: [u8; 2] = *b"YZ";
/// Of a stream's header, and of its footer. Units: bytes.
const FRAME: usize = 12;

/// Why there is no content.
#[derive(Debug)]
pub(super) enum Problem {
    /// What it unpacks to. Units: bytes.
    TooLarge(u64),
    /// Its decoder wants more than [`DECODER_KIB`].
    LargeDictionary,
    /// Not as the format has it, or cut off.
    Corrupt(io::Error),
}

/// By the first six bytes; the name is not asked.
pub(super) fn is_packed(content: &[u8]) -> bool {
    content.starts_with(&MAGIC)
}

/// The content of all streams of a file. `limit`: units: bytes. Errors: [`Problem`].
pub(super) fn unpack(packed: &[u8], limit: u64) -> Result<Vec<u8>, Problem> {
    let size = unpacked_size(packed).ok_or_else(|| corrupt("no index at its end"))?;
    if size > limit {
        return Err(Problem::TooLarge(size));
    }
    // Streams that follow each other are one file, as for xz itself.
    let reader = XzReader::new_mem_limit(packed, true, DECODER_KIB);
    // At most what the index says: a block that gives more is refused one byte behind it.
    let content = super::take(reader, size, size).map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => Problem::LargeDictionary,
        _ => Problem::Corrupt(error),
    })?;
    content.ok_or_else(|| corrupt("more data than its index says"))
}

fn corrupt(what: &'static str) -> Problem {
    Problem::Corrupt(io::Error::new(ErrorKind::InvalidData, what))
}

/// What the indexes of all streams say, from the last to the first. None: they are damaged.
///
/// Cost: the index only, a few bytes for each block.
pub(super) fn unpacked_size(mut packed: &[u8]) -> Option<u64> {
    let mut size = 0_u64;
    while !packed.is_empty() {
        // Streams may be padded with words of zeros.
        if let Some((rest, [0, 0, 0, 0])) = packed.split_last_chunk() {
            packed = rest;
            continue;
        }
        let (before, index) = split_index(packed)?;
        let (blocks, unpacked) = sums(index)?;
        // Sums of numbers from a file: too large is damaged.
        size = size.checked_add(unpacked)?;
        // What lies before the index: the blocks, each padded to four bytes, and the header.
        let stream = usize::try_from(blocks).ok()?.checked_add(FRAME)?;
        packed = before.get(..before.len().checked_sub(stream)?)?;
    }
    Some(size)
}

/// What lies before the last index, and the index.
fn split_index(packed: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, footer) = packed.split_last_chunk::<FRAME>()?;
    let [_, _, _, _, size @ .., _, _, y, z] = *footer;
    if [y, z] != FOOTER_MAGIC {
        return None;
    }
    let words = usize::try_from(u32::from_le_bytes(size)).ok()?;
    let bytes = words.checked_add(1)?.checked_mul(4)?;
    rest.split_at_checked(rest.len().checked_sub(bytes)?)
}

/// What the blocks of an index take in the file, and what they unpack to. Units: bytes.
///
/// The trailing padding and sum of the index are left to the decoder.
fn sums(index: &[u8]) -> Option<(u64, u64)> {
    let mut rest = index.strip_prefix(&[0])?;
    let (mut blocks, mut unpacked) = (0_u64, 0_u64);
    // No allocation by a number of the file: a false one ends with the bytes.
    for _ in 0..number(&mut rest)? {
        let block = number(&mut rest)?.checked_next_multiple_of(4)?;
        blocks = blocks.checked_add(block)?;
        unpacked = unpacked.checked_add(number(&mut rest)?)?;
    }
    Some((blocks, unpacked))
}

/// Seven bits a byte, the lowest first.
///
/// Nine bytes at most, 63 bits, as the format has it.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
