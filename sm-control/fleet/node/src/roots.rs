//! Root files: the one that a host is installed with, and those that followed it.
//!
//! The installed file is never written over: it is the operator's. What follows it is kept in the fleet's directory, as `root` with its
//! signatures packed, and counts at the next start if it still follows the installed one.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fleet_transfer::roots::{MAX_PACKED, RootFile};
use rustix::fs::OFlags;
use sa_fabric::outlet::{Folder, Readers, WriteError};
use sa_fleet::root::{MAX_KEYS, MAX_ROOT_SIZE, MAX_SIGNATURE_SIZE, Root, RootRefusal};

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
    /// It cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why not.
        why: io::Error,
    },
    /// It is longer than any root file or signature.
    #[error("{}: longer than {most} bytes, so it is no root file and no signature of one", path.display())]
    Long {
        /// Which file.
        path: PathBuf,
        /// The longest.
        most: usize,
    },
    /// It is not believed.
    #[error("{}: {why}; its signatures are expected beside it as {}.NAME.minisig", path.display(), path.display())]
    Refused {
        /// Which file.
        path: PathBuf,
        /// Why not.
        why: RootRefusal,
    },
    /// What follows it cannot be kept.
    #[error(transparent)]
    Folder(#[from] WriteError),
}

/// Reads `path` and all `path.NAME.minisig` beside it. Errors: [`RootError`].
pub fn read(path: &Path) -> Result<RootFile, RootError> {
    let text = bounded(path, MAX_ROOT_SIZE)?;
    let mut signatures = Vec::new();
    for beside in beside(path)? {
        let bytes = bounded(&beside, MAX_SIGNATURE_SIZE)?;
        // What is no text is no signature, and does not count.
        signatures.extend(String::from_utf8(bytes));
    }
    Ok(RootFile { text, signatures })
}

/// The signatures of a root file, by name; more than a root file may have keys are left out.
fn beside(path: &Path) -> Result<Vec<PathBuf>, RootError> {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    let parent = parent.unwrap_or_else(|| Path::new("."));
    let failed = |why| RootError::Read {
        path: parent.to_owned(),
        why,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let begins = format!("{name}.");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(parent).map_err(failed)? {
        let file = entry.map_err(failed)?.file_name();
        let file = file.to_string_lossy();
        if file.starts_with(&begins) && file.ends_with(".minisig") {
            found.push(parent.join(&*file));
        }
    }
    found.sort();
    found.truncate(MAX_KEYS);
    Ok(found)
}

fn bounded(path: &Path, most: usize) -> Result<Vec<u8>, RootError> {
    let failed = |why| RootError::Read {
        path: path.to_owned(),
        why,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() > most {
        let path = path.to_owned();
        return Err(RootError::Long { path, most });
    }
    Ok(bytes)
}

/// What a file says, if enough of its own keys have signed it. Errors: [`RootRefusal`].
pub fn installed(file: RootFile) -> Result<Held, RootRefusal> {
    let signatures: Vec<&str> = file.signatures.iter().map(String::as_str).collect();
    let root = Root::installed(&file.text, &signatures)?;
    Ok(Held { root, file })
}

impl Held {
    /// The installed root file, or the one in `directory` that followed it. Errors: [`RootError`] of the installed one; what lies in the
    /// directory and is not believed is passed over, with why.
    pub fn open(path: &Path, directory: &Path) -> Result<(Self, Option<RootRefusal>), RootError> {
        let held = installed(read(path)?).map_err(|why| RootError::Refused {
            path: path.to_owned(),
            why,
        })?;
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
