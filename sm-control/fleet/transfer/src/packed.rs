//! Blobs made small for the way: zstd, with an older blob as what comes before it where there is
//! one.
//!
//! A patch is a zstd frame whose window begins with the blob that the receiver has (`zstd
//! --patch-from` makes and takes the same). Two snapshots of one fabric are alike but for what
//! changed, so most of a patch is "as before": some hundred bytes for a failed link.
//!
//! Where numbers of ports and the like are others now, as after a switch has failed, that is said
//! in front (`ahead`), and the window begins with a copy of the old snapshot in which they are
//! moved.
//!
//! Whoever unpacks knows beforehand how many bytes come out and what their digest is. More bytes
//! than that are never kept, and the window that a frame may ask for is bounded by the sizes of
//! both blobs, so no patch can take more memory than the blob that it stands for; a moved copy is
//! no longer than both blobs together.

use std::io::{self, Read, Write};

use thiserror::Error;
use zstd::stream::raw::{CParameter, DParameter};
use zstd::stream::{read, write};

use sa_fleet::identity::Digest;

/// What the receiver has not yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

/// Bytes are not what they were said to be.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// Too many, too few, no frame, damaged, or a patch against another blob.
    #[error("it does not unpack: {0}")]
    Damaged(io::Error),
    /// They unpack, and to more than was announced.
    #[error("it unpacks to more than the {0} bytes that were announced")]
    TooLong(u64),
    /// They unpack, and to less.
    #[error("it unpacks to {came} bytes, and {announced} were announced")]
    TooShort {
        /// Bytes that came.
        came: u64,
        /// Bytes that were announced.
        announced: u64,
    },
    /// They unpack to something else.
    #[error("its digest is {came}, and {announced} was announced")]
    Other {
        /// Of what came.
        came: Digest,
        /// What it should have been.
        announced: Digest,
    },
    /// Nothing wrong with them: they cannot be written.
    #[error("it cannot be written: {0}")]
    Write(io::Error),
}

mod ahead;

/// A patch is made at this level at least: those below forget most of what lies a megabyte back.
const PATCH_LEVEL: i32 = 4;
/// So far back that level finds what is alike by itself. Units: bytes.
const REMEMBERED: usize = 4 << 20;

/// The name of a blob: BLAKE3 of its bytes. About a millisecond for a megabyte.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest(*blake3::hash(bytes).as_bytes())
}

/// Packs for somebody who has `base`, or nothing.
///
/// `level`: zstd's, 1 to 19; 3 where somebody waits for it. Errors: zstd has no memory.
pub fn pack(blob: &[u8], base: Option<&[u8]>, level: i32) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    match base.and_then(|base| ahead::moved(base, blob)) {
        Some((moves, base)) => {
            ahead::put(&mut packed, &moves, level)?;
            // Hardly anything differs, and a long match finder starts late after each of the few bytes that do; it is needed where others forget.
            put_frame(&mut packed, blob, &base, level, base.len() > REMEMBERED)?;
        }
        None => put_frame(&mut packed, blob, base.unwrap_or_default(), level, true)?,
    }
    Ok(packed)
}

fn put_frame(
    out: &mut Vec<u8>,
    blob: &[u8],
    base: &[u8],
    level: i32,
    is_long: bool,
) -> io::Result<()> {
    let is_patch = !base.is_empty();
    let level = if is_patch {
        level.max(PATCH_LEVEL)
    } else {
        level
    };
    let mut encoder = write::Encoder::with_ref_prefix(out, level, base)?;
    // Long distance matching finds what is alike over the whole window, which has to have room for both.
    encoder.set_parameter(CParameter::WindowLog(window_log(blob.len(), base.len())))?;
    encoder.set_parameter(CParameter::EnableLongDistanceMatching(is_patch && is_long))?;
    encoder.set_pledged_src_size(Some(blob.len() as u64))?;
    encoder.write_all(blob)?;
    encoder.finish()?;
    Ok(())
}

/// Unpacks into `out` what [`pack`] has made, and compares it as it goes. `base`: as there.
///
/// What was written is worth nothing before `Ok`. Errors: [`UnpackError`].
pub fn unpack(
    packed: impl Read,
    base: Option<&[u8]>,
    expected: Expected,
    out: &mut impl Write,
) -> Result<(), UnpackError> {
    let base = base.unwrap_or_default();
    let size = usize::try_from(expected.size).map_err(|_| UnpackError::TooLong(expected.size))?;
    let mut buffered = io::BufReader::new(packed);
    let moved = ahead::take(&mut buffered, base, size).map_err(UnpackError::Damaged)?;
    let base = moved.as_deref().unwrap_or(base);
    let mut decoder =
        read::Decoder::with_ref_prefix(buffered, base).map_err(UnpackError::Damaged)?;
    decoder
        .set_parameter(DParameter::WindowLogMax(window_log(size, base.len())))
        .map_err(UnpackError::Damaged)?;
    copy_checked(decoder.single_frame(), expected, out)
}

/// Copies what has to be exactly that blob. Errors: [`UnpackError`].
pub fn copy_checked(
    mut from: impl Read,
    expected: Expected,
    out: &mut impl Write,
) -> Result<(), UnpackError> {
    let mut hasher = blake3::Hasher::new();
    let mut came = 0;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(UnpackError::Damaged(error)),
        };
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
            break;
        };
        came += part.len() as u64;
        if came > expected.size {
            return Err(UnpackError::TooLong(expected.size));
        }
        hasher.update(part);
        out.write_all(part).map_err(UnpackError::Write)?;
    }
    if came < expected.size {
        return Err(UnpackError::TooShort {
            came,
            announced: expected.size,
        });
    }
    let came = Digest(*hasher.finalize().as_bytes());
    match came == expected.digest {
        true => Ok(()),
        false => Err(UnpackError::Other {
            came,
            announced: expected.digest,
        }),
    }
}

/// The smallest window, as a power of two, in which both fit: zstd takes 10 to 31.
fn window_log(blob: usize, base: usize) -> u32 {
    let both = blob.saturating_add(base).max(1);
    // `ilog2` rounds down, and the window must not be smaller.
    (both.ilog2() + 1).clamp(10, 31)
}

#[cfg(test)]
mod tests;
