//! Root files: the one that a host is installed with, and those that followed it.
//!
//! The installed file is never written over: it is the operator's. What follows it is kept in the
//! fleet's directory, as `root` with its signatures packed, and counts at the next start if it
//! still follows the installed one.

use std::io::Read;
use std::path::Path;

use fleet_keys::{RootFileProblem, RootFiles};
use fleet_transfer::roots::{MAX_PACKED, RootFile};
use rustix::fs::OFlags;
use sa_fabric::outlet::{Folder, Readers, WriteError};
use sa_fleet::root::{Root, RootRefusal};

/// The file's name in the directory of the fleet.
const NAME: &str = "root";

/// A root file that is believed, and as it is handed on.
#[derive(Debug, Clone)]
pub struct Held {
    /// What it says.
    pub root: Root,
    /// As it came.
    pub file: RootFile,
}

/// Why there is no root file to go by.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The installed one cannot be read, or is not believed.
    #[error(transparent)]
    Installed(#[from] RootFileProblem),
    /// What follows it cannot be kept.
    #[error(transparent)]
    Folder(#[from] WriteError),
}

/// What a file says, if enough of its own keys have signed it. Errors: [`RootRefusal`].
pub fn installed(file: RootFile) -> Result<Held, RootRefusal> {
    let signatures: Vec<&str> = file.signatures.iter().map(String::as_str).collect();
    let root = Root::installed(&file.text, &signatures)?;
    Ok(Held { root, file })
}

impl Held {
    /// The installed root file, or the one in `directory` that followed it. Errors: [`RootError`]
    /// of the installed one; what lies in the directory and is not believed is passed over, with
    /// why.
    pub fn open(path: &Path, directory: &Path) -> Result<(Self, Option<RootRefusal>), RootError> {
        let files = RootFiles::read(path)?;
        let root = files.installed()?;
        let RootFiles {
            text, signatures, ..
        } = files;
        let file = RootFile { text, signatures };
        let held = Self { root, file };
        let folder = Folder::make(directory)?;
        let Some(later) = kept(&folder) else {
            return Ok((held, None));
        };
        match held.succeeded_by(later) {
            Ok(later) => Ok((later, None)),
            // It is the installed one by now, or older.
            Err(RootRefusal::OldVersion) => Ok((held, None)),
            Err(why) => Ok((held, Some(why))),
        }
    }

    /// A newer one in place of this. Errors: the first reason against it.
    pub fn succeeded_by(&self, file: RootFile) -> Result<Self, RootRefusal> {
        let signatures: Vec<&str> = file.signatures.iter().map(String::as_str).collect();
        let root = self.root.succeeded_by(&file.text, &signatures)?;
        Ok(Self { root, file })
    }

    /// Keeps it for the next start. Errors: it is asked for again then.
    pub fn keep(&self, directory: &Path) -> Result<(), WriteError> {
        let folder = Folder::make(directory)?;
        folder.write(NAME, Readers::All, &self.file.pack())
    }
}

/// What was kept; none where there is none, or nothing that can be read.
fn kept(folder: &Folder) -> Option<RootFile> {
    let file = folder.open_file(NAME.as_ref(), OFlags::RDONLY).ok()?;
    let mut packed = Vec::new();
    let read = file.take(MAX_PACKED as u64 + 1).read_to_end(&mut packed);
    read.ok()?;
    RootFile::unpack(&packed)
}
