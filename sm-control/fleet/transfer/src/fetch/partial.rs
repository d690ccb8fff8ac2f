//! What has come of a blob so far.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, Write};

use sa_fabric::outlet::WriteError;

use crate::packed::Expected;
use crate::shelf::{Item, Shelf, ShelfError};

/// Bytes that come for a shelf, maybe from several upstreams one after the other. In a file without
/// a name: it is gone with the process.
///
/// Nothing in it is believed before [`Self::put`].
#[derive(Debug)]
pub struct Partial {
    pub(super) item: Item,
    pub(super) came: u64,
    file: File,
}

impl Partial {
    /// Nothing yet. Errors: no room on the disk of the shelf.
    pub fn new(shelf: &Shelf, item: Item) -> io::Result<Self> {
        Ok(Self {
            item,
            came: 0,
            file: shelf.nameless()?,
        })
    }

    /// What it is of.
    pub const fn item(&self) -> Item {
        self.item
    }

    /// Bytes that have come.
    pub const fn came(&self) -> u64 {
        self.came
    }

    /// Makes the blob of it and puts that on the shelf, if it is the right one. `base`: the blob
    /// that a patch is from. Errors: [`ShelfError`].
    pub fn put(
        &mut self,
        shelf: &Shelf,
        base: Option<&[u8]>,
        expected: Expected,
    ) -> Result<(), ShelfError> {
        let digest = expected.digest;
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(|why| ShelfError::Read { digest, why })?;
        let bytes = BufReader::new(&self.file);
        match self.item {
            Item::Blob(_) => shelf.put_plain(bytes, expected),
            Item::Packed(_) | Item::Patch { .. } => shelf.put_unpacked(bytes, base, expected),
        }
    }

    /// Puts what came on the shelf as it is, for who asks here. Only after [`Self::put`] has found it
    /// to be right. Errors: of the disk.
    pub fn keep(&mut self, shelf: &Shelf) -> Result<(), WriteError> {
        // Where that fails the reading that follows has too few bytes, which a digest finds.
        let _ = self.file.seek(SeekFrom::Start(0));
        shelf.put_from(self.item, &self.file)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.came += bytes.len() as u64;
        Ok(())
    }

    /// Forgets what came.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.came = 0;
        Ok(())
    }
}
