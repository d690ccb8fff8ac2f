//! Files that are read to a bound and no further.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// An open file that is one. Links are followed: containers mount files as links.
///
/// Errors: it cannot be opened; it is no file, of kind [`io::ErrorKind::InvalidInput`]. A pipe is
/// not waited for.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok((file, about)),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Fills a buffer as far as the file goes. Gives how much that was; a full buffer may be a part of
/// the file.
pub(crate) fn fill(mut file: File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest @ [_, ..]) = buffer.get_mut(filled..) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// All of a file; none where it has more than `most` bytes. Errors: as [`open`].
pub(crate) fn read(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    let (file, _) = open(path)?;
    let mut bytes = vec![0; most + 1];
    let length = fill(file, &mut bytes)?;
    bytes.truncate(length);
    Ok((length <= most).then_some(bytes))
}
