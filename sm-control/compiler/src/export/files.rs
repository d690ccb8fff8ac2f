//! Files that get their names together, when all of them are whole.
//!
//! A directory of dumps is read as one state. So each file is written under a temporary name beside
//! its place, and only when all are whole they get their names, one after the other, the topology
//! last: a directory without it is none of dumps. What a plain file replaces may lie there packed,
//! and a packed one plain; the other form is removed, as a reader would take whichever it finds
//! first.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use lzma_rust2::{XzOptions, XzWriter};
use sa_fabric::outlet::{Folder, Readers, WriteError, unfinished};

use super::{ExportError, Packing};

/// What a table is written to.
pub(super) type Out<'a> = dyn Write + 'a;

/// Files without names yet. What has none when this goes is removed.
#[derive(Debug)]
pub(super) struct Staged {
    folder: Folder,
    /// It was made for them.
    is_new: bool,
    files: Vec<Unnamed>,
}

/// A file that is whole and synced, or being written.
#[derive(Debug)]
struct Unnamed {
    /// What it is called so far.
    at: OsString,
    /// What it is to be called.
    name: OsString,
    /// The same packed otherwise, which would be read in its place.
    rival: OsString,
}

impl Staged {
    /// Errors: the directory cannot be made, or is a link.
    ///
    /// A directory that is made here is removed again if nothing comes of it.
    pub(super) fn in_directory(directory: &Path) -> Result<Self, ExportError> {
        let is_new = !directory.exists();
        let folder = Folder::make(directory)?;
        if is_new {
            unfinished::note_directory(folder.path());
        }
        Ok(Self {
            folder,
            is_new,
            files: Vec::new(),
        })
    }

    /// Writes one more. Errors: the file is named by what it is to be called.
    ///
    /// `told` gets how many bytes are written so far, often.
    /// A file that fails half way is known as well, so that it is removed with the others.
    pub(super) fn add(
        &mut self,
        name: &str,
        packing: Packing,
        told: &dyn Fn(u64),
        write: impl FnOnce(&mut Writing<'_>) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        let names = [name.to_owned(), format!("{name}.xz")].map(OsString::from);
        let [name, rival] = match (packing, names) {
            (Packing::Plain, names) => names,
            (Packing::Xz, [plain, packed]) => [packed, plain],
        };
        let made = self.folder.temporary(Readers::All);
        let (at, file) = made.map_err(|source| self.about(&name, source))?;
        let mut file = BufWriter::new(Told {
            file,
            bytes: 0,
            told,
        });
        let written = packed(&mut file, packing, write)
            .and_then(|()| file.flush())
            // Before the rename, or a power cut could leave a name without content.
            .and_then(|()| file.get_ref().file.sync_all());
        let written = written.map_err(|source| self.about(&name, source));
        self.files.push(Unnamed { at, name, rival });
        written
    }

    /// Errors: a file cannot get its name.
    ///
    /// Some files may have theirs by then; the topology, which comes last, does not.
    pub(super) fn name_all(mut self) -> Result<(), ExportError> {
        unfinished::together(|| self.name_each())?;
        // Nothing is left to be removed by `drop`.
        self.files.clear();
        if self.is_new {
            unfinished::settle_directory(self.folder.path());
        }
        self.is_new = false;
        Ok(())
    }

    fn name_each(&self) -> Result<(), ExportError> {
        for file in &self.files {
            let named = self.folder.rename(&file.at, &file.name);
            named.map_err(|source| self.about(&file.name, source))?;
            // What is left of an earlier run.
            let _ = self.folder.unlink(&file.rival);
        }
        Ok(())
    }

    fn about(&self, name: &OsStr, source: io::Error) -> ExportError {
        WriteError::io("write", &self.folder.path().join(name), source).into()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = self.folder.unlink(&file.at);
        }
        if self.is_new {
            // Only what is empty goes.
            let _ = std::fs::remove_dir(self.folder.path());
            unfinished::settle_directory(self.folder.path());
        }
    }
}

/// A file, and who is told how much is in it. Below the buffer, so that this is not said for every
/// number.
struct Told<'a> {
    file: File,
    bytes: u64,
    told: &'a dyn Fn(u64),
}

impl Write for Told<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        (self.told)(self.bytes);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What [`packed`] gives to write to.
pub(super) enum Writing<'a> {
    /// As it comes.
    Plain(&'a mut Out<'a>),
    Xz(Box<XzWriter<&'a mut Out<'a>>>),
}

impl Write for Writing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Xz(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Xz(out) => out.flush(),
        }
    }
}

/// Writes through a packer, if there is to be one. Errors: those of `out`.
pub(super) fn packed<'a>(
    out: &'a mut Out<'a>,
    packing: Packing,
    write: impl FnOnce(&mut Writing<'a>) -> io::Result<()>,
) -> io::Result<()> {
    match packing {
        Packing::Plain => write(&mut Writing::Plain(out)),
        Packing::Xz => {
            let packer = XzWriter::new(out, XzOptions::with_preset(PRESET))?;
            let mut writing = Writing::Xz(Box::new(packer));
            write(&mut writing)?;
            match writing {
                Writing::Xz(packer) => packer.finish().map(drop),
                Writing::Plain(_) => Ok(()),
            }
        }
    }
}

/// Quick; what is written repeats itself, so that more effort gains little.
const PRESET: u32 = 1;
