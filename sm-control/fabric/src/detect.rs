//! Loading a fabric from a path, by what the file or directory contains.
//!
//! ```text
//!  a directory              opensm-subnet.lst[.xz], else net[.xz]      Loaded::Dumps
//!  SAPHSNAP...              a snapshot: told, not read                 Loaded::Snapshot
//!  { CA / { SW / { Rt       opensm-subnet.lst                          Loaded::Fabric
//!  a line of a net file     net file or ibnetdiscover's output         Loaded::Fabric
//!  anything else            what it looks like instead, or how it starts: an error
//! ```
//!
//! Names are not asked: operators rename files, and tools write to standard output. What a file
//! seems to be decides which reader's errors are shown, so a net file with a spelling mistake is
//! told as such and not as "no fabric".
//!
//! A directory of dumps is kept open as a value ([`DumpDir`]): which of the other tables are needed
//! depends on the routing engine, which is chosen later.

use std::path::{Path, PathBuf};

use sa_snapshot::MAGIC as SNAPSHOT_MAGIC;
use sa_text::{Location, lines};
use thiserror::Error;

use super::error::ParseError;
use super::mistaken::{FileKind, Mistaken, mistaken};
use super::model::Fabric;
use super::overlay::LidOverlay;
use crate::formats::{net, subnet_lst};
use crate::intake::{self, Intake, Kind as For, ReadError};

/// What a path holds.
#[derive(Debug, Clone)]
pub enum Loaded {
    /// A fabric file.
    Fabric(Fabric),
    /// A directory of OpenSM dumps.
    Dumps(DumpDir),
    /// A snapshot; reading it is another module's work. Recognised here because people give it
    /// where a fabric stands, and some verbs can do with either.
    Snapshot(SnapshotFile),
}

/// A snapshot that was met where a fabric may stand.
#[derive(Debug, Clone)]
pub struct SnapshotFile {
    /// The file.
    pub path: PathBuf,
    /// Its content, if the file is compressed; none: it can be read where it lies.
    pub unpacked: Option<Vec<u8>>,
}

/// A directory of OpenSM dumps.
#[derive(Debug, Clone)]
pub struct DumpDir {
    /// The directory.
    pub path: PathBuf,
    /// The fabric, from `opensm-subnet.lst`, else `net`.
    pub fabric: Fabric,
    /// The file it came from.
    pub fabric_path: PathBuf,
    /// What reads the others.
    pub intake: Intake,
}

/// A file taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// Its content, decompressed.
    pub bytes: Vec<u8>,
}

/// Why a path gives no fabric.
///
/// Each names the file that is wrong, which may be another than the path that was given.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not what it seems to be. Shape: `file:line:column: problem`.
    #[error("{}:{}:{}: {}", path.display(), source.at.line, source.at.column, source.problem)]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: ParseError,
    },
    /// Another kind of file.
    #[error(transparent)]
    Mistaken(#[from] Mistaken),
    /// Nothing that is known.
    #[error("{}: not a fabric file (expected an ibsim net file, the output of ibnetdiscover, \
        opensm-subnet.lst or a snapshot); it starts with {start:?}", path.display())]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// How it starts.
        start: String,
    },
    /// A directory without a topology.
    #[error("{}: holds neither opensm-subnet.lst nor net (nor either with .xz)", path.display())]
    NoTopology {
        /// The directory.
        path: PathBuf,
    },
}

impl LoadError {
    /// The file that is wrong, and the place in it where there is one.
    pub fn location(&self) -> Location {
        match self {
            Self::Read(problem) => Location::file(problem.path()),
            Self::Parse { path, source } => Location::new(path, source.at),
            Self::Mistaken(other) => Location::file(&other.path),
            Self::Unrecognised { path, .. } | Self::NoTopology { path } => Location::file(path),
        }
    }
}

/// Loads a fabric file, a directory of dumps, or recognises a snapshot. Errors: [`LoadError`].
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    load_by(&Intake::default(), path)
}

/// The same, read by this intake. Errors: [`LoadError`].
///
/// Eight bytes are looked at before a file is read whole, as a snapshot may be larger than a fabric
/// file may be.
pub fn load_by(intake: &Intake, path: &Path) -> Result<Loaded, LoadError> {
    // Followed through links: a directory of dumps is often named by one.
    if path.is_dir() {
        return DumpDir::open_by(intake, path).map(Loaded::Dumps);
    }
    let path = path.to_owned();
    if intake::head(&path, 8)? == SNAPSHOT_MAGIC {
        return Ok(Loaded::Snapshot(SnapshotFile {
            path,
            unpacked: None,
        }));
    }
    let input = Input {
        bytes: intake.read(For::Fabric, &path)?,
        path,
    };
    // Once more, as it may have been packed.
    if input.bytes.starts_with(&SNAPSHOT_MAGIC) {
        let unpacked = Some(input.bytes);
        return Ok(Loaded::Snapshot(SnapshotFile {
            path: input.path,
            unpacked,
        }));
    }
    input.fabric().map(Loaded::Fabric)
}

/// Loads LIDs from an `opensm-subnet.lst` (option `--lids`). Errors: [`LoadError`].
pub fn load_lids(path: &Path) -> Result<LidOverlay, LoadError> {
    load_lids_by(&Intake::default(), path)
}

/// The same, read by this intake. Errors: [`LoadError`].
pub fn load_lids_by(intake: &Intake, path: &Path) -> Result<LidOverlay, LoadError> {
    let input = Input {
        path: path.to_owned(),
        bytes: intake.read(For::Fabric, path)?,
    };
    subnet_lst::lids(&input.bytes).map_err(|source| input.refused_as(FileKind::SubnetList, source))
}

impl Input {
    /// The fabric that the content describes. Errors: [`LoadError::Parse`],
    /// [`LoadError::Unrecognised`].
    ///
    /// `mistaken` is asked where no reader fits, and again where one did and failed: a policy may
    /// have a line that a net file could have.
    pub fn fabric(&self) -> Result<Fabric, LoadError> {
        let parsed = match kind(&self.bytes) {
            Some(Kind::Net) => net::parse(&self.bytes),
            Some(Kind::SubnetList) => subnet_lst::parse(&self.bytes),
            None => {
                if let Some(other) = mistaken(&self.path, &self.bytes, FileKind::Net) {
                    return Err(other.into());
                }
                let start = self
                    .bytes
                    .get(..self.bytes.len().min(40))
                    .unwrap_or_default();
                let start = String::from_utf8_lossy(start).into_owned();
                return Err(LoadError::Unrecognised {
                    path: self.path.clone(),
                    start,
                });
            }
        };
        parsed.map_err(|source| self.refused_as(FileKind::Net, source))
    }

    /// An error in this file.
    pub fn refused(&self, source: ParseError) -> LoadError {
        LoadError::Parse {
            path: self.path.clone(),
            source,
        }
    }

    /// An error in this file, or that it is another than it was to be.
    ///
    /// A file that is another kind as a whole is not refused for its first line.
    fn refused_as(&self, wanted: FileKind, source: ParseError) -> LoadError {
        let other = mistaken(&self.path, &self.bytes, wanted);
        other.map_or_else(|| self.refused(source), LoadError::Mistaken)
    }
}

impl DumpDir {
    /// Opens a directory and reads its topology. Errors: [`LoadError`].
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        Self::open_by(&Intake::default(), path)
    }

    /// The same, read by this intake. Errors: [`LoadError`].
    ///
    /// `opensm-subnet.lst` goes first: it has LIDs and states, and `net` may be older.
    pub fn open_by(intake: &Intake, path: &Path) -> Result<Self, LoadError> {
        for name in ["opensm-subnet.lst", "net"] {
            // The first that is there counts, even if it does not parse: taking the other silently
            // would hide that.
            if let Some(input) = read_in(intake, For::Fabric, path, name)? {
                let fabric = input.fabric()?;
                return Ok(Self {
                    path: path.to_owned(),
                    fabric,
                    fabric_path: input.path,
                    intake: intake.clone(),
                });
            }
        }
        Err(LoadError::NoTopology {
            path: path.to_owned(),
        })
    }

    /// Whether another file is there, plain or with `.xz`.
    ///
    /// For questions that need no content: which engine the tables call for.
    pub fn holds(&self, name: &str) -> bool {
        found_in(&self.path, name).is_some()
    }

    /// Another file of the directory, plain or with `.xz`; none when there is none.
    /// Errors: [`LoadError::Read`].
    pub fn read(&self, name: &str) -> Result<Option<Input>, LoadError> {
        read_in(&self.intake, For::Dump, &self.path, name)
    }
}

/// A file of a directory, by its name or with `.xz`; none when there is none.
fn read_in(
    intake: &Intake,
    kind: For,
    directory: &Path,
    name: &str,
) -> Result<Option<Input>, LoadError> {
    let Some(path) = found_in(directory, name) else {
        return Ok(None);
    };
    Ok(Some(Input {
        bytes: intake.read(kind, &path)?,
        path,
    }))
}

/// Whatever lies there: what cannot be read is said to be so.
fn found_in(directory: &Path, name: &str) -> Option<PathBuf> {
    let candidates = [directory.join(name), directory.join(format!("{name}.xz"))];
    candidates.into_iter().find(|path| path.exists())
}

/// What reads a fabric file.
enum Kind {
    Net,
    SubnetList,
}

/// Tells by the first lines that mean something.
///
/// Comments and blank lines are passed over. A net file may begin with lines that say little, so
/// all lines of the first MiB are looked at for one that only it has.
fn kind(bytes: &[u8]) -> Option<Kind> {
    // A chassis listing of ibnetdiscover can begin with thousands of lines that say nothing.
    const LOOKED_AT: usize = 1 << 20;
    let start = String::from_utf8_lossy(bytes.get(..LOOKED_AT).unwrap_or(bytes));
    // Comments of both formats begin in the first column.
    let meaningful = |text: &&str| !text.trim().is_empty() && !text.starts_with('#');
    let mut texts = lines(&start).map(|line| line.text).filter(meaningful);
    let first = texts.next()?;
    if subnet_lst::is_like(first) {
        Some(Kind::SubnetList)
    } else if core::iter::once(first).chain(texts).any(net::is_like) {
        Some(Kind::Net)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NET: &str = "Switch 4 \"S\"\n[1] \"H\"\n\nHca 1 \"H\"\n[1] \"S\"[1]\n";

    fn in_file(content: &[u8]) -> Result<Loaded, LoadError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, content).unwrap();
        load(&path)
    }

    #[test]
    fn content_decides() {
        assert!(matches!(in_file(NET.as_bytes()), Ok(Loaded::Fabric(_))));
        assert!(matches!(in_file(b"SAPHSNAP\x01"), Ok(Loaded::Snapshot(_))));
        assert!(matches!(
            in_file(b"hello\n"),
            Err(LoadError::Unrecognised { .. })
        ));
        assert!(matches!(in_file(b""), Err(LoadError::Mistaken(_))));
        let marked = format!("\u{feff}{NET}");
        assert!(matches!(in_file(marked.as_bytes()), Ok(Loaded::Fabric(_))));
        let misspelt = NET.replace("Switch", "Swich");
        let error = in_file(misspelt.as_bytes()).unwrap_err();
        assert!(
            error.to_string().contains("/file:1:1: expected Switch, Ca"),
            "{error}"
        );
        let error = in_file(b"{ CA Ports:01\n").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("/file:1:14: expected SystemGUID:"),
            "{error}"
        );
    }

    #[test]
    fn a_directory_needs_a_topology() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(
            load(directory.path()),
            Err(LoadError::NoTopology { .. })
        ));
        std::fs::write(directory.path().join("net"), NET).unwrap();
        std::fs::write(directory.path().join("psl"), "x").unwrap();
        let Ok(Loaded::Dumps(dumps)) = load(directory.path()) else {
            panic!()
        };
        assert_eq!(dumps.fabric_path, directory.path().join("net"));
        assert_eq!(dumps.read("psl").unwrap().unwrap().bytes, b"x");
        assert_eq!(dumps.read("slvl").unwrap(), None);
    }
}
