//! The directory of blobs: each under its digest, and what was made of it for the way.
//!
//! | file | content |
//! |---|---|
//! | `DIGEST.blob` | the snapshot itself, as it is mapped |
//! | `DIGEST.zst` | the same packed |
//! | `DIGEST.from.DIGEST.patch` | what makes the first of the second |
//!
//! A blob gets its name when it is whole, compared and on the disk, so a file that is there can be
//! handed out. Before it is *used* it is read through once more ([`Shelf::verified`]): a disk may
//! have lost what it said it had.
//!
//! Files go when nobody needs them any more ([`Shelf::keep_only`]); one that is mapped stays
//! readable for who has it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::OFlags;
use sa_fabric::outlet::{Folder, Out, Readers, WriteError};

use crate::packed::{self, Expected, UnpackError};
use sa_fleet::identity::Digest;

/// One directory, of one process.
#[derive(Debug)]
pub struct Shelf {
    folder: Folder,
}

/// What stands on a shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// A snapshot.
    Blob(Digest),
    /// The same packed.
    Packed(Digest),
    /// What makes a blob of another.
    Patch {
        /// The blob that it makes.
        to: Digest,
        /// The blob that it needs.
        from: Digest,
    },
}

/// Why there is no blob where one was to be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShelfError {
    /// The directory does not take it.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The bytes are not those that were announced.
    #[error("blob {digest}: {why}")]
    Unsound {
        /// Of which blob.
        digest: Digest,
        /// What is wrong.
        why: UnpackError,
    },
    /// It cannot be read.
    #[error("blob {digest}: cannot be read: {why}")]
    Read {
        /// Of which blob.
        digest: Digest,
        /// Why not.
        why: io::Error,
    },
}

impl Item {
    fn name(self) -> String {
        match self {
            Self::Blob(digest) => format!("{digest}.blob"),
            Self::Packed(digest) => format!("{digest}.zst"),
            Self::Patch { to, from } => format!("{to}.from.{from}.patch"),
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        if let Some(digest) = name.strip_suffix(".blob") {
            return digest.parse().ok().map(Self::Blob);
        }
        if let Some(digest) = name.strip_suffix(".zst") {
            return digest.parse().ok().map(Self::Packed);
        }
        let (to, from) = name.strip_suffix(".patch")?.split_once(".from.")?;
        Some(Self::Patch {
            to: to.parse().ok()?,
            from: from.parse().ok()?,
        })
    }

    /// Its name for who asks over HTTP: that of the file, and of a blob the digest alone.
    pub(crate) fn path_name(self) -> String {
        match self {
            Self::Blob(digest) => digest.to_string(),
            packed => packed.name(),
        }
    }

    /// The other way round. None: no such name.
    pub(crate) fn of_path(name: &str) -> Option<Self> {
        match name.parse() {
            Ok(digest) => Some(Self::Blob(digest)),
            Err(_) => Self::of_name(name).filter(|item| !matches!(item, Self::Blob(_))),
        }
    }

    /// The blob that it is or makes.
    pub(crate) const fn makes(self) -> Digest {
        match self {
            Self::Blob(digest) | Self::Packed(digest) | Self::Patch { to: digest, .. } => digest,
        }
    }

    /// The blobs that it is about: where one of them is not needed, neither is this.
    fn blobs(self) -> [Digest; 2] {
        match self {
            Self::Blob(digest) | Self::Packed(digest) => [digest; 2],
            Self::Patch { to, from } => [to, from],
        }
    }
}

impl Shelf {
    /// Opens the directory, or makes it; what a killed process has left half done is removed.
    /// Errors: [`WriteError`].
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        let folder = Folder::make(path)?;
        folder.sweep(|_| false)?;
        Ok(Self { folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether it is there.
    pub fn has(&self, item: Item) -> bool {
        self.open_item(item).is_ok()
    }

    /// Opens it for reading, with its size. Errors: it is not there, is no regular file, or cannot
    /// be opened.
    pub fn open_item(&self, item: Item) -> io::Result<(File, u64)> {
        let file = self
            .folder
            .open_file(item.name().as_ref(), OFlags::RDONLY)?;
        let about = file.metadata()?;
        match about.is_file() {
            true => Ok((file, about.len())),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no regular file",
            )),
        }
    }

    /// All bytes of it, of at most that many. Errors: as of [`Self::open_item`]; there are more.
    pub fn read(&self, item: Item, most: u64) -> io::Result<Vec<u8>> {
        let (file, size) = self.open_item(item)?;
        if size > most {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "larger than announced",
            ));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Puts bytes that this process has made itself. Errors: [`WriteError`].
    pub fn put(&self, item: Item, bytes: &[u8]) -> Result<(), WriteError> {
        self.folder.write(item.name(), Readers::Owner, bytes)
    }

    /// The same of what is read, as it is.
    pub fn put_from(&self, item: Item, mut from: impl Read) -> Result<(), WriteError> {
        self.folder.write_with(item.name(), Readers::Owner, |out| {
            io::copy(&mut from, out).map(drop)
        })
    }

    /// Puts a blob that came packed, from `base` where it is a patch. Nothing is there under its
    /// name unless the bytes are right. Errors: [`ShelfError`].
    pub fn put_unpacked(
        &self,
        from: impl Read,
        base: Option<&[u8]>,
        expected: Expected,
    ) -> Result<(), ShelfError> {
        self.put_checked(expected, |out| packed::unpack(from, base, expected, out))
    }

    /// The same of one that came as it is.
    pub fn put_plain(&self, from: impl Read, expected: Expected) -> Result<(), ShelfError> {
        self.put_checked(expected, |out| packed::copy_checked(from, expected, out))
    }

    fn put_checked(
        &self,
        expected: Expected,
        write: impl FnOnce(&mut Out) -> Result<(), UnpackError>,
    ) -> Result<(), ShelfError> {
        let digest = expected.digest;
        let mut unsound = None;
        let put = self
            .folder
            .write_with(Item::Blob(digest).name(), Readers::Owner, |out| {
                write(out).map_err(|why| match why {
                    UnpackError::Write(error) => error,
                    why => {
                        unsound = Some(why);
                        io::Error::from(io::ErrorKind::InvalidData)
                    }
                })
            });
        match unsound {
            Some(why) => Err(ShelfError::Unsound { digest, why }),
            None => put.map_err(ShelfError::Write),
        }
    }

    /// Opens a blob to be used, after it was read through and its digest compared. One that is not
    /// what its name says is removed. Errors: [`ShelfError`].
    pub fn verified(&self, expected: Expected) -> Result<File, ShelfError> {
        let digest = expected.digest;
        let read = |why| ShelfError::Read { digest, why };
        let (mut file, _) = self.open_item(Item::Blob(digest)).map_err(read)?;
        if let Err(why) = packed::copy_checked(&mut file, expected, &mut io::sink()) {
            // It would be wrong the next time too.
            let _ = self.folder.unlink(Item::Blob(digest).name().as_ref());
            return Err(ShelfError::Unsound { digest, why });
        }
        io::Seek::rewind(&mut file).map_err(read)?;
        Ok(file)
    }

    /// Removes all that is about other blobs than these. Gives how many files went; one that cannot
    /// be removed is passed over, and tried again by the next call. Errors: the directory cannot be
    /// listed.
    pub fn keep_only(&self, blobs: &BTreeSet<Digest>) -> Result<usize, WriteError> {
        let mut removed = 0;
        for item in self.items()? {
            let is_needed = item.blobs().iter().all(|blob| blobs.contains(blob));
            if !is_needed && self.folder.unlink(item.name().as_ref()).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// What is there. Files of other names are somebody else's. Errors: the directory cannot be
    /// listed.
    pub fn items(&self) -> Result<Vec<Item>, WriteError> {
        let names = self.folder.names()?;
        let items = names
            .iter()
            .filter_map(|name| Item::of_name(name.to_str()?));
        Ok(items.collect())
    }

    /// A file without a name, for bytes on their way: it goes with the process. Errors: no room, or
    /// no such file system.
    pub fn nameless(&self) -> io::Result<File> {
        tempfile::tempfile_in(self.path())
    }
}

/// Makes of a new blob all that followers may ask for: the blob, the blob packed, and a patch from
/// each of `olds` that is there.
///
/// A patch that is not smaller than the packed blob is not kept. Gives the patches with their
/// sizes, in the order of `olds`. Errors: [`WriteError`], and what was put until then stays.
pub fn put_new(
    shelf: &Shelf,
    blob: &[u8],
    olds: &[Expected],
    level: i32,
) -> Result<Vec<(Digest, u64)>, WriteError> {
    let to = packed::digest(blob);
    shelf.put(Item::Blob(to), blob)?;
    let failed = |source| WriteError::io("pack", shelf.path(), source);
    let whole = packed::pack(blob, None, level).map_err(failed)?;
    shelf.put(Item::Packed(to), &whole)?;
    let mut patches = Vec::new();
    for old in olds.iter().filter(|old| old.digest != to) {
        let from = old.digest;
        let Ok(base) = shelf.read(Item::Blob(from), old.size) else {
            continue;
        };
        let patch = packed::pack(blob, Some(&base), level).map_err(failed)?;
        if patch.len() < whole.len() {
            shelf.put(Item::Patch { to, from }, &patch)?;
            patches.push((from, patch.len() as u64));
        }
    }
    Ok(patches)
}

#[cfg(test)]
mod tests;
