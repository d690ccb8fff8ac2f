//! What `sapphire compile --keep-tables` keeps beside a snapshot, so that the snapshot can stand in
//! for the fabric.
//!
//! A snapshot says which path a pair gets, and not which way packets take, what ports are called,
//! or which rule of a policy gave the level. All that follows from the files that it was compiled
//! from and from the forwarding tables; both lie in the sidecar `FILE.snap.tables`. Its layout is
//! in `docs/snapshot-format.md`.
//!
//! ```text
//! keep    Compiled, what was read ──> FILE.snap.tables
//! open    FILE.snap + its sidecar ──> Sources (the files, read again by the same readers)
//!                                 └─> tables of the switches on one path ──> FabricState   no engine, no proof
//! ```
//!
//! Nothing of a sidecar is taken on trust: it names the digest of its snapshot, its head and each
//! file have digests, and so has the table of each switch, so that an explanation reads and
//! verifies some tables of many thousands.

mod files;
mod head;
mod keep;
mod state;
mod tables;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sa_compiler::pipeline::Inputs;
use sa_fabric::intake::{self, ReadError};
use sa_snapshot::Snapshot;
use thiserror::Error;

use self::head::Head;
pub(crate) use self::keep::keep;
use crate::failure::{Failure, Outcome};
use crate::scratch::Scratch;

/// A snapshot with what was kept beside it.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) snapshot: Snapshot,
    /// What it was compiled from: paths lead to the files that were kept.
    pub(crate) inputs: Inputs,
    /// The policy file as it was called then.
    pub(crate) policy: Option<PathBuf>,
    /// Of the sidecar, for errors.
    path: PathBuf,
    file: File,
    head: Head,
    /// The files lie here, for as long as the value lives.
    _unpacked: Scratch,
}

/// Why a sidecar is not taken.
#[derive(Debug, Error)]
enum Problem {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is no file of `sapphire compile --keep-tables`, or one of another version")]
    Other,
    #[error("belongs to another snapshot, {0:016x}")]
    Stranger(u64),
    #[error("is damaged or cut off: {0}")]
    Damaged(&'static str),
}

/// Where the sidecar of a snapshot lies.
fn beside(snapshot: &Path) -> PathBuf {
    let mut name = OsString::from(snapshot);
    name.push(".tables");
    name.into()
}

impl Kept {
    /// Opens what was kept beside a snapshot, of which `options` says what the words mean.
    /// Errors: it is damaged; nothing was kept, or of another snapshot.
    pub(crate) fn open(
        opened: Snapshot,
        snapshot: &Path,
        options: impl Fn(&[String]) -> Option<Inputs>,
    ) -> Outcome<Self> {
        let path = beside(snapshot);
        Self::of(opened, &path, options).map_err(|problem| refused(&path, &problem))
    }

    fn of(
        snapshot: Snapshot,
        path: &Path,
        options: impl Fn(&[String]) -> Option<Inputs>,
    ) -> Result<Self, Problem> {
        let (file, about) = intake::open(path)?;
        let head = Head::read(&file, about.len())?;
        if head.snapshot != snapshot.digest() {
            return Err(Problem::Stranger(head.snapshot));
        }
        let unpacked = Scratch::new()?;
        let mut inputs = options(&head.text.options).ok_or(Problem::Damaged("its options"))?;
        let policy = inputs.policy.clone();
        files::unpack(&file, &head, unpacked.path(), &mut inputs)?;
        Ok(Self {
            snapshot,
            inputs,
            policy,
            path: path.to_owned(),
            file,
            head,
            _unpacked: unpacked,
        })
    }
}

/// An error that names the file and what to do.
fn refused(path: &Path, problem: &Problem) -> Failure {
    let what = match problem {
        // It names its file itself.
        Problem::Read(error) => {
            let remedy = "it is written by `sapphire compile --keep-tables`";
            return Failure::failed(format!("{error}; {remedy}"));
        }
        other => other.to_string(),
    };
    let remedy = "compile the snapshot again, with --keep-tables";
    Failure::failed_in(path, format!("{what}; {remedy}"))
}
