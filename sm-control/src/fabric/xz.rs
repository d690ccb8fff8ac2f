//! Reading files that may be xz-compressed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;
use thiserror::Error;

/// The largest file taken in, decompressed. Units: bytes.
pub const SIZE_LIMIT: u64 = 2 << 30;
/// What a compressed file may ask for to be decompressed. Units: KiB.
const MEMORY_LIMIT_KIB: u32 = 256 << 10;
const MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];

/// Why a file cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system says no.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Damaged, cut off, or in need of too much memory.
    #[error("{}: the xz data is damaged or cut off ({source}); copy the file again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What the decoder says.
        source: io::Error,
    },
    /// Over [`SIZE_LIMIT`].
    #[error("{}: larger than {} MiB decompressed, which no fabric file is", path.display(), limit >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Units: bytes.
        limit: u64,
    },
}

/// The content of a file, decompressed if it is xz (told by its first bytes, not by its name).
/// Errors: [`ReadError`].
pub fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    read_within(path, SIZE_LIMIT)
}

/// The first bytes of a file as it lies, at most `count`. Errors: [`ReadError::Io`].
pub(super) fn head(path: &Path, count: u64) -> Result<Vec<u8>, ReadError> {
    let io = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let mut start = Vec::new();
    File::open(path)
        .map_err(io)?
        .take(count)
        .read_to_end(&mut start)
        .map_err(io)?;
    Ok(start)
}

fn read_within(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let io = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.is_dir() {
        return Err(io(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let content = take(file, limit)
        .map_err(io)?
        .ok_or_else(|| too_large(path, limit))?;
    if !content.starts_with(&MAGIC) {
        return Ok(content);
    }
    let unpacked = unpack(&content, limit).map_err(|source| ReadError::Corrupt {
        path: path.to_owned(),
        source,
    })?;
    unpacked.ok_or_else(|| too_large(path, limit))
}

fn too_large(path: &Path, limit: u64) -> ReadError {
    ReadError::TooLarge {
        path: path.to_owned(),
        limit,
    }
}

/// The whole of a source, none when it is over the limit.
fn take(source: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    let within = u64::try_from(content.len()).is_ok_and(|length| length <= limit);
    Ok(within.then_some(content))
}

fn unpack(content: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
    take(
        XzReader::new_mem_limit(content, true, MEMORY_LIMIT_KIB),
        limit,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'hello\n' | xz -9`
    const HELLO: [u8; 64] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21,
        0x01, 0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0x01, 0x00, 0x05, 0x68, 0x65, 0x6c,
        0x6c, 0x6f, 0x0a, 0x00, 0x00, 0x00, 0xa5, 0x60, 0x97, 0xf1, 0x94, 0xf6, 0xfd, 0xe0, 0x00,
        0x01, 0x1e, 0x06, 0xc1, 0x2f, 0xa4, 0x1d, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00,
        0x00, 0x04, 0x59, 0x5a,
    ];

    #[test]
    fn xz_is_told_by_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, HELLO).unwrap();
        assert_eq!(read(&path).unwrap(), b"hello\n");
        std::fs::write(&path, b"plain").unwrap();
        assert_eq!(read(&path).unwrap(), b"plain");
    }

    #[test]
    fn damage_size_and_absence_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.xz");
        std::fs::write(&path, &HELLO[..40]).unwrap();
        assert!(matches!(read(&path), Err(ReadError::Corrupt { .. })));
        let mut broken = HELLO;
        broken[30] ^= 0x55;
        std::fs::write(&path, broken).unwrap();
        assert!(matches!(read(&path), Err(ReadError::Corrupt { .. })));
        std::fs::write(&path, HELLO).unwrap();
        assert!(read_within(&path, 64).is_ok());
        assert!(matches!(
            read_within(&path, 63),
            Err(ReadError::TooLarge { .. })
        ));
        assert!(matches!(unpack(&HELLO, 5), Ok(None)));
        let absent = read(&directory.path().join("none"))
            .unwrap_err()
            .to_string();
        assert!(absent.contains("none: cannot be read"), "{absent}");
        assert!(matches!(read(directory.path()), Err(ReadError::Io { .. })));
    }
}
