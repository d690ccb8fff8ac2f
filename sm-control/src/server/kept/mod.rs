//! What outlives a restart: the `[state]` directory. It belongs to one daemon, which locks it.
//!
//! * `current.snap`: the snapshot in service, for a warm start.
//! * `served.EPOCH.DIGEST`: what was served last, also where there was no room for the snapshot.
//! * `sa.journal`: what clients have set (`sa_db/journal.rs`).
//!
//! The order is snapshot, mark, publication: wherever a crash falls in between, a restart counts on
//! from the newest epoch, and knows whether the snapshot on the disk is what was served last.

mod lock;
mod mark;
mod writer;

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use sa_snapshot::{SharedBytes, Snapshot};
use tracing::{info, warn};

use super::{JOURNAL_FILE, STATE_FILE, ServerError};
use crate::checks::copy::trusted;
use crate::config::Config;
use crate::server::operators::board::{Board, Kept};
use sa_fabric::outlet::Folder;
use sa_fabric::store::{self, StoreError};

use lock::Problem;
pub(super) use mark::Mark;
use writer::{Job, Writer};

/// How long a publication waits for the disk, and an end for what is being written.
const PATIENCE: Duration = Duration::from_millis(500);

/// What an earlier run has left.
#[derive(Default)]
pub(super) struct Earlier {
    /// What was served last.
    pub(super) snapshot: Option<Snapshot>,
    /// A rollback had put it into service.
    pub(super) held: bool,
    /// Why what is stored is not served.
    pub(super) problem: Option<String>,
    /// The largest epoch that is known; 0 for none.
    epoch: u64,
    stored: Option<u64>,
    mark: Option<Mark>,
    folder: Option<Folder>,
}

impl Earlier {
    /// Takes the directory for this daemon and looks what is in it. One that cannot be read is a
    /// warning: everything is in memory then. Errors: [`ServerError::State`], another daemon has it.
    pub(super) fn open(config: &Config) -> Result<Self, ServerError> {
        let Some(path) = config.state.directory.as_deref() else {
            return Ok(Self::default());
        };
        let folder = match Folder::open(path) {
            Ok(folder) => folder,
            Err(error) => {
                let problem = format!("[state] {error}; nothing outlives a restart");
                warn!("{problem}");
                return Ok(Self {
                    problem: Some(problem),
                    ..Self::default()
                });
            }
        };
        match lock::take(&folder) {
            Ok(()) => {}
            Err(Problem::Taken(process)) => return Err(ServerError::State(taken(path, process))),
            Err(Problem::Unable(error)) => warn!(
                "[state] {}: cannot be locked: {error}; see to it that no other daemon uses it",
                path.display()
            ),
        }
        tidy(&folder);
        Ok(Self::look(folder))
    }

    fn look(folder: Folder) -> Self {
        let mark = Mark::read(&folder);
        let mut earlier = Self {
            mark,
            epoch: mark.map_or(0, |mark| mark.epoch),
            ..Self::default()
        };
        match stored(&folder) {
            Ok(Some(snapshot)) => earlier.judge(snapshot, &folder),
            Ok(None) => {}
            Err(error) => {
                warn!("{error}; starting without it");
                earlier.problem = Some(error);
            }
        }
        earlier.folder = Some(folder);
        earlier
    }

    /// Whether the snapshot on the disk is what was served last.
    fn judge(&mut self, snapshot: Snapshot, folder: &Folder) {
        let epoch = snapshot.epoch();
        self.stored = Some(epoch);
        self.epoch = self.epoch.max(epoch);
        match self.mark {
            Some(mark) if mark.digest != snapshot.digest() && mark.epoch >= epoch => {
                let path = folder.path().join(STATE_FILE);
                let problem = format!(
                    "{}: is of epoch {epoch}, but another snapshot was served later, as epoch {}, \
                     and could not be stored; the older one is not served",
                    path.display(),
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

    /// Counts on where the run before has stopped.
    pub(super) fn first_epoch(&self) -> core::num::NonZeroU64 {
        core::num::NonZeroU64::MIN.saturating_add(self.epoch)
    }

    /// What writes from now on; none without a directory. Errors: no thread.
    pub(super) fn keep(&mut self, board: &Arc<Board>) -> std::io::Result<Option<Shelf>> {
        let kept = Kept {
            stored: self.stored,
            problem: self.problem.clone(),
            failures: 0,
        };
        board.keep(kept.clone());
        let Some(folder) = self.folder.take() else {
            return Ok(None);
        };
        let writer = Writer::start(folder, self.mark, kept, Arc::clone(board))?;
        Ok(Some(Shelf { writer }))
    }
}

/// Where what is in service is kept.
pub(super) struct Shelf {
    writer: Writer,
}

impl Shelf {
    /// Has it written that this is to be served, and with `file` what it is. Waits a moment for
    /// the disk; a failure is on the board, and tried again.
    pub(super) fn put(&self, mark: Mark, file: Option<SharedBytes>) {
        self.writer.write(Job { mark, file }, PATIENCE);
    }

    pub(super) fn close(self) {
        self.writer.stop(PATIENCE);
    }
}

/// Removes what a daemon that was killed has left, and lets nobody else read the rest.
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

/// The snapshot in the directory. Errors: in words, why it is not to be trusted.
fn stored(folder: &Folder) -> Result<Option<Snapshot>, String> {
    let path = folder.path().join(STATE_FILE);
    let at = |problem: &dyn core::fmt::Display| format!("{}: {problem}", path.display());
    let mut file = match folder.open_file(OsStr::new(STATE_FILE), OFlags::RDONLY) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(&error)),
    };
    let length = about_file(&file).map_err(|problem| at(&problem))?;
    let snapshot = store::read(&path, &mut file, length);
    snapshot
        .map(Some)
        .map_err(|error: StoreError| error.to_string())
}

/// The length of a file that this user or root has written. Errors: in words, why it is none.
fn about_file(file: &File) -> Result<u64, String> {
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("is no file".to_owned());
    }
    trusted(&about)?;
    Ok(about.len())
}

fn taken(path: &Path, process: Option<u32>) -> String {
    let who = process.map_or_else(String::new, |process| format!(" (process {process})"));
    format!(
        "[state] {}: in use by another sapphired{who}; stop that, or give this one a directory of \
         its own",
        path.display()
    )
}

/// Who has the directory, and who else may write there: what an operator should know of it. Does
/// not disturb a daemon that has it. Errors: in words, it is no directory.
pub(super) fn check(path: &Path) -> Result<Vec<String>, String> {
    let folder = Folder::open(path).map_err(|error| format!("[state] {error}; make it"))?;
    let mut remarks = Vec::new();
    if lock::is_taken(&folder) {
        let now = taken(path, lock::owner(&folder));
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
