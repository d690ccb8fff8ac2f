//! What outlives a restart: the `[state]` directory. It belongs to one daemon, which locks it.
//!
//! * `current.snap`: the snapshot in service, for a warm start.
//! * `served.EPOCH.DIGEST`: what was served last, also where there was no room for the snapshot.
//! * `sa.journal`: what clients have set (`sa_db/journal.rs`).
//!
//! The order is snapshot, mark, publication: wherever a crash falls in between, a restart counts on
//! from the newest epoch, and knows whether the snapshot on the disk is what was served last.
//!
//! ```text
//!  found at a start                               served first
//!  mark 17 = snapshot 17                          snapshot 17, at once
//!  mark 17, no snapshot or a damaged one          nothing; epochs go on from 18
//!  mark 18 (digest B), snapshot 17 (digest A)     nothing: 18 could not be stored, and 17 may be wrong
//!  no mark, snapshot 17                           snapshot 17 (a directory of an older version, or a copy)
//! ```

mod lock;
mod mark;
mod writer;

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use sa_snapshot::{EpochId, SharedBytes, Snapshot};
use thiserror::Error;
use tracing::{info, warn};

use super::{JOURNAL_FILE, STATE_FILE, ServerError};
use crate::checks::copy::{Untrusted, trusted};
use crate::config::Config;
use crate::server::operators::status::{StateOnDisk, Status};
use sa_fabric::outlet::{Folder, WriteError};
use sa_fabric::store::{self, StoreError};

use lock::Problem;
pub(super) use mark::Mark;
use writer::{Job, Writer};

/// How long a publication waits for the disk, and an end for what is being written. A disk that
/// takes longer delays no answer: the snapshot is published without it.
const PATIENCE: Duration = Duration::from_millis(500);

/// What an earlier run has left, read once at the start. It holds the lock of the directory until
/// [`Self::keep`] hands that to the writer.
#[derive(Default)]
pub(super) struct EarlierRun {
    /// What was served last.
    pub(super) snapshot: Option<Snapshot>,
    /// A rollback had put it into service.
    pub(super) held: bool,
    /// Why what is stored is not served.
    pub(super) problem: Option<String>,
    /// The largest epoch that is known, from mark or snapshot; none in an empty directory.
    epoch: Option<EpochId>,
    /// Of the snapshot on the disk.
    /// Epoch of the snapshot on the disk, trusted or not to be served.
    stored: Option<EpochId>,
    /// The newest mark in the directory.
    mark: Option<Mark>,
    /// Held open, and so locked, until it is handed to the writer.
    folder: Option<Folder>,
}

impl EarlierRun {
    /// Takes the directory for this daemon and looks what is in it. One that cannot be read is a
    /// warning: everything is in memory then. Errors: another daemon has it.
    pub(super) fn open(config: &Config) -> Result<Self, ServerError> {
        let Some(path) = config.state.directory.as_deref() else {
            return Ok(Self::default());
        };
        let folder = match Folder::open(path) {
            Ok(folder) => folder,
            Err(error) => {
                // A warning: an SA without a warm start is better than no SA.
                let problem = format!("[state] {error}; nothing outlives a restart");
                warn!("{problem}");
                return Ok(Self {
                    problem: Some(problem),
                    ..Self::default()
                });
            }
        };
        // Before anything is read: the daemon that has it may be writing.
        match lock::take(&folder) {
            Ok(()) => {}
            Err(Problem::Taken(process)) => {
                let path = path.to_owned();
                return Err(DirectoryTaken { path, process }.into());
            }
            Err(Problem::Unable(error)) => warn!(
                "[state] {}: cannot be locked: {error}; see to it that no other daemon uses it",
                path.display()
            ),
        }
        tidy(&folder);
        Ok(Self::look(folder))
    }

    /// Reads mark and snapshot.
    fn look(folder: Folder) -> Self {
        let mark = Mark::read(&folder);
        let mut earlier = Self {
            mark,
            epoch: mark.map(|mark| mark.epoch),
            ..Self::default()
        };
        match stored(&folder) {
            Ok(Some(snapshot)) => earlier.judge(snapshot, &folder),
            Ok(None) => {}
            Err(error) => {
                warn!("{error}; starting without it");
                earlier.problem = Some(error.to_string());
            }
        }
        earlier.folder = Some(folder);
        earlier
    }

    /// Whether the snapshot on the disk is what was served last. A mark of a later epoch with
    /// another digest means that the later snapshot could not be stored: the older one may be of a
    /// fabric that is gone.
    fn judge(&mut self, snapshot: Snapshot, folder: &Folder) {
        let epoch = snapshot.epoch();
        self.stored = epoch;
        self.epoch = self.epoch.max(epoch);
        match self.mark {
            Some(mark) if mark.digest != snapshot.digest() && Some(mark.epoch) >= epoch => {
                let path = folder.path().join(STATE_FILE);
                let problem = format!(
                    "{}: is of epoch {}, but another snapshot was served later, as epoch {}, \
                     and could not be stored; the older one is not served",
                    path.display(),
                    EpochId::raw(epoch),
                    mark.epoch
                );
                warn!("{problem}; the sources are read first");
                self.problem = Some(problem);
            }
            mark => {
                self.held = mark.is_some_and(|mark| mark.held);
                self.snapshot = Some(snapshot);
            }
        }
    }

    /// Counts on where the run before has stopped: readers tell snapshots apart by epochs, and so
    /// do operators' logs.
    pub(super) fn first_epoch(&self) -> EpochId {
        self.epoch.map_or(EpochId::FIRST, EpochId::next)
    }

    /// What writes from now on; none without a directory. Errors: no thread.
    pub(super) fn keep(&mut self, status: &Arc<Status>) -> io::Result<Option<StateDirectory>> {
        let kept = StateOnDisk {
            stored: self.stored,
            problem: self.problem.clone(),
            failures: 0,
        };
        status.keep(kept.clone());
        let Some(folder) = self.folder.take() else {
            return Ok(None);
        };
        let writer = Writer::start(folder, self.mark, kept, Arc::clone(status))?;
        Ok(Some(StateDirectory { writer }))
    }
}

/// Where what is in service is kept, as the loader sees it.
pub(super) struct StateDirectory {
    writer: Writer,
}

impl StateDirectory {
    /// Has it written that this is to be served, and with `file` what it is. Waits a moment for
    /// the disk; a failure is in the status, and tried again.
    pub(super) fn put(&self, mark: Mark, file: Option<SharedBytes>) {
        self.writer.write(Job { mark, file }, PATIENCE);
    }

    /// Waits for what is being written, for [`PATIENCE`] at most.
    pub(super) fn close(self) {
        self.writer.stop(PATIENCE);
    }
}

/// Removes what a daemon that was killed has left, and lets nobody else read the rest: the SA's key
/// is in the snapshot, keys of services are in the journal.
fn tidy(folder: &Folder) {
    match folder.sweep(is_of_before) {
        Ok(0) => {}
        Ok(count) => info!(
            count,
            "removed unfinished files of a daemon that was killed"
        ),
        Err(error) => warn!("{error}"),
    }
    for name in [STATE_FILE, JOURNAL_FILE] {
        let file = folder.open_file(OsStr::new(name), OFlags::RDONLY);
        if let Ok(file) = file
            && about_file(&file).is_ok()
        {
            // Where the file system knows no permissions nobody expects any.
            let _ = file.set_permissions(Permissions::from_mode(0o600));
        }
    }
}

/// Unfinished files of versions before: `NAME.PROCESS.tmp`.
fn is_of_before(name: &str) -> bool {
    let digits = [STATE_FILE, JOURNAL_FILE].iter().find_map(|file| {
        let rest = name.strip_prefix(file)?.strip_prefix('.')?;
        rest.strip_suffix(".tmp")
    });
    digits.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// A snapshot in the directory that is not to be trusted.
#[derive(Debug, Error)]
enum NotTrusted {
    #[error("{}: {problem}", path.display())]
    File { path: PathBuf, problem: FileProblem },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is wrong with a file before it is read.
#[derive(Debug, Error)]
enum FileProblem {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("is no file")]
    NoFile,
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
}

/// The snapshot in the directory. Errors: why it is not to be trusted.
fn stored(folder: &Folder) -> Result<Option<Snapshot>, NotTrusted> {
    let path = folder.path().join(STATE_FILE);
    let (mut file, length) = match opened(folder) {
        Ok(opened) => opened,
        Err(FileProblem::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(NotTrusted::File { path, problem }),
    };
    Ok(store::read(&path, &mut file, length).map(Some)?)
}

/// The file and its length, if it can be trusted before it is read.
fn opened(folder: &Folder) -> Result<(File, u64), FileProblem> {
    let file = folder.open_file(OsStr::new(STATE_FILE), OFlags::RDONLY)?;
    let length = about_file(&file)?;
    Ok((file, length))
}

/// The length of a file that this user or root has written. Errors: why it is none.
fn about_file(file: &File) -> Result<u64, FileProblem> {
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(FileProblem::NoFile);
    }
    trusted(&about)?;
    Ok(about.len())
}

/// Another daemon has the state directory.
#[derive(Debug, Error)]
#[error(
    "[state] {}: in use by another sapphired{}; stop that, or give this one a directory of its own",
    path.display(),
    process.map_or_else(String::new, |process| format!(" (process {process})"))
)]
pub struct DirectoryTaken {
    /// Which.
    pub path: PathBuf,
    /// Who, where the kernel shows that.
    pub process: Option<u32>,
}

/// Who has the directory, and who else may write there: what an operator should know of it. Takes
/// the lock for a moment at most, so a daemon that has it, or starts meanwhile, is not disturbed.
/// Errors: it is no directory.
pub(super) fn check(path: &Path) -> Result<Vec<String>, WriteError> {
    let folder = Folder::open(path)?;
    let mut remarks = Vec::new();
    if lock::is_taken(&folder) {
        let now = DirectoryTaken {
            path: path.to_owned(),
            process: lock::owner(&folder),
        };
        remarks.push(format!(
            "{now} (if it is the one of this file, all is well)"
        ));
    }
    let about = std::fs::metadata(path);
    if about.is_ok_and(|about| about.mode() & 0o022 != 0) {
        remarks.push(format!(
            "[state] {}: others may write there, and so choose what a start serves; chmod go-w it",
            path.display()
        ));
    }
    Ok(remarks)
}
