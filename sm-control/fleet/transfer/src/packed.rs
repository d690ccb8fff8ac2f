//! Blobs made small for the way: zstd, with an older blob as what comes before it where there is one.
//!
//! A patch is a zstd frame whose window begins with the blob that the receiver has (`zstd --patch-from` makes and takes the same). Two
//! snapshots of one fabric are alike but for what changed, so most of a patch is "as before": some hundred bytes for a failed link.
//!
//! Whoever unpacks knows beforehand how many bytes come out and what their digest is. More bytes than that are never kept, and the window
//! that a frame may ask for is bounded by the sizes of both blobs, so no patch can take more memory than the blob that it stands for.

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

/// The name of a blob: BLAKE3 of its bytes. About a millisecond for a megabyte.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest(*blake3::hash(bytes).as_bytes())
}

/// Packs for somebody who has `base`, or nothing.
///
/// `level`: zstd's, 1 to 19; 3 where somebody waits for it. Errors: zstd has no memory.
pub fn pack(blob: &[u8], base: Option<&[u8]>, level: i32) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    let base = base.unwrap_or_default();
    let mut encoder = write::Encoder::with_ref_prefix(&mut packed, level, base)?;
    // Long distance matching finds what is alike over the whole window, which has to have room for both.
    encoder.set_parameter(CParameter::WindowLog(window_log(blob.len(), base.len())))?;
    encoder.set_parameter(CParameter::EnableLongDistanceMatching(!base.is_empty()))?;
    encoder.set_pledged_src_size(Some(blob.len() as u64))?;
    encoder.write_all(blob)?;
    encoder.finish()?;
    Ok(packed)
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
    let buffered = io::BufReader::new(packed);
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
