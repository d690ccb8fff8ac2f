//! What a patch says in front of its frame: which numbers moved.
//!
//! | at | length | what |
//! |---|---|---|
//! | 0 | 8 | `SAPHMOVE` |
//! | 8 | 4 | length of the moves |
//! | 12 | | the moves ([`sa_snapshot::moved`]), a zstd frame |
//! | | | the patch, a zstd frame, against the moved copy |
//!
//! Both sides have to make the same copy: who changes how it is made, without a new format of
//! snapshots, changes the magic.
//!
//! A frame begins with another number, so a patch without moves is told from one with them by its
//! first byte.

use std::io::{self, BufRead, Read, Write};

use sa_snapshot::moved::{self, Moves};
use zstd::stream::{read, write};

const MAGIC: [u8; 8] = *b"SAPHMOVE";

/// What moved between two snapshots, as bytes, and the old one moved. None: nothing did, or they
/// are no snapshots of this format.
pub(super) fn moved(old: &[u8], new: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let moves = moved::moves(old, new)?;
    let copy = moved::moved(old, &moves)?;
    let packed = moves.pack();
    (packed.len() <= new.len()).then_some((packed, copy))
}

/// Errors: zstd has no memory.
pub(super) fn put(out: &mut Vec<u8>, moves: &[u8], level: i32) -> io::Result<()> {
    let mut encoder = write::Encoder::new(Vec::new(), level)?;
    encoder.set_pledged_src_size(Some(moves.len() as u64))?;
    encoder.write_all(moves)?;
    let packed = encoder.finish()?;
    out.extend_from_slice(&MAGIC);
    let length = u32::try_from(packed.len()).map_err(|_| odd("it says too much"))?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&packed);
    Ok(())
}

/// The moved copy of `old`, where the patch begins with moves; what is read next is the frame.
/// `size`: of the new snapshot in bytes. None: it does not. Errors: they are none, or of other
/// snapshots.
pub(super) fn take(
    patch: &mut impl BufRead,
    old: &[u8],
    size: usize,
) -> io::Result<Option<Vec<u8>>> {
    if patch.fill_buf()?.first() != MAGIC.first() {
        return Ok(None);
    }
    let (mut magic, mut length) = ([0; 8], [0; 4]);
    patch.read_exact(&mut magic)?;
    patch.read_exact(&mut length)?;
    if magic != MAGIC {
        return Err(odd("neither moves nor a frame"));
    }
    let moves = read(patch.take(u64::from(u32::from_le_bytes(length))), size)?;
    let moves = Moves::unpack(moves, old.len(), size).ok_or_else(|| odd("moves of what?"))?;
    let copy = moved::moved(old, &moves);
    copy.ok_or_else(|| odd("moves of another snapshot"))
        .map(Some)
}

/// One frame and nothing behind it. Whoever says more of a snapshot than it has bytes is not
/// listened to.
fn read(mut packed: io::Take<&mut impl BufRead>, size: usize) -> io::Result<Vec<u8>> {
    let mut moves = Vec::new();
    let decoder = read::Decoder::with_buffer(&mut packed)?.single_frame();
    decoder.take(size as u64).read_to_end(&mut moves)?;
    match packed.limit() {
        0 => Ok(moves),
        _ => Err(odd("moves are longer than they say")),
    }
}

fn odd(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
