//! The thread that writes to the state directory: a disk that is slow, full or gone keeps nobody
//! else waiting, and what could not be written is tried again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sa_fabric::outlet::{Folder, Readers};
use sa_snapshot::SharedBytes;
use tracing::{info, warn};

use super::mark::Mark;
use crate::server::STATE_FILE;
use crate::server::operators::board::{Board, Kept};

/// Pause before the second try; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What is to be on the disk.
pub(super) struct Job {
    pub(super) mark: Mark,
    /// None where the file is there already, or belongs elsewhere.
    pub(super) file: Option<SharedBytes>,
}

#[derive(Default)]
struct Desk {
    /// The newest; one that was not begun is worth nothing once there is a newer.
    next: Option<Job>,
    /// Epoch of the last that was tried.
    tried: u64,
    ends: bool,
}

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    bell: Condvar,
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's desk. The thread ends when this goes.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Errors: no thread.
    pub(super) fn start(
        folder: Folder,
        mark: Option<Mark>,
        kept: Kept,
        board: Arc<Board>,
    ) -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let state = Pen {
            folder,
            mark,
            board,
            kept,
        };
        let thread = std::thread::Builder::new().name("sa-state".into());
        let theirs = Arc::clone(&shared);
        let thread = thread.spawn(move || state.run(&theirs))?;
        Ok(Self { shared, thread })
    }

    /// Hands it over, and waits a moment for it to be tried.
    pub(super) fn write(&self, job: Job, patience: Duration) {
        let epoch = job.mark.epoch;
        let mut desk = self.shared.desk();
        desk.next = Some(job);
        self.shared.bell.notify_all();
        let end = Instant::now() + patience;
        while desk.tried < epoch {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.bell.wait_timeout(desk, left);
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets it finish what it is at, for so long.
    pub(super) fn stop(self, patience: Duration) {
        self.shared.desk().ends = true;
        self.shared.bell.notify_all();
        let end = Instant::now() + patience;
        while !self.thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// What the thread has.
struct Pen {
    folder: Folder,
    /// On the disk.
    mark: Option<Mark>,
    kept: Kept,
    board: Arc<Board>,
}

impl Pen {
    fn run(mut self, shared: &Shared) {
        let (mut failed, mut pause): (Option<Job>, _) = (None, FIRST_PAUSE);
        while let Some(turn) = next(shared, failed.is_some().then_some(pause)) {
            let job = match turn {
                Turn::New(job) => {
                    pause = FIRST_PAUSE;
                    job
                }
                Turn::Again => {
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    let Some(job) = failed.take() else { continue };
                    job
                }
            };
            let epoch = job.mark.epoch;
            failed = self.attempt(job);
            shared.desk().tried = epoch;
            shared.bell.notify_all();
        }
    }

    /// Gives back what is to be tried again.
    fn attempt(&mut self, job: Job) -> Option<Job> {
        let mut problems = Vec::new();
        if let Some(file) = &job.file {
            let written = self.folder.write(STATE_FILE, Readers::Owner, file.as_ref());
            match written {
                Ok(()) => self.kept.stored = Some(job.mark.epoch),
                Err(error) => problems.push(error.to_string()),
            }
        }
        if self.mark != Some(job.mark) {
            match job.mark.replace(&self.folder, self.mark.as_ref()) {
                Ok(()) => self.mark = Some(job.mark),
                Err(error) => problems.push(format!(
                    "{}: cannot note epoch {}: {error}",
                    self.folder.path().display(),
                    job.mark.epoch
                )),
            }
        }
        let problem = (!problems.is_empty()).then(|| problems.join("; "));
        self.tell(job.mark.epoch, problem.as_deref());
        let failed = problem.is_some();
        self.kept.problem = problem;
        self.kept.failures += u64::from(failed);
        self.board.keep(self.kept.clone());
        failed.then_some(job)
    }

    /// Each state once.
    fn tell(&self, epoch: u64, problem: Option<&str>) {
        match (problem, self.kept.problem.as_deref()) {
            (Some(now), before) if before != Some(now) => warn!(
                epoch,
                "{now}; a restart will have to read the sources first; tried again, up to once a \
                 minute"
            ),
            (None, Some(_)) => info!(epoch, "the state directory has what is in service again"),
            _ => {}
        }
    }
}

/// What the thread does next.
enum Turn {
    New(Job),
    /// What failed.
    Again,
}

/// Waits for it, and with something that failed for no longer than `pause`. None at the end.
fn next(shared: &Shared, pause: Option<Duration>) -> Option<Turn> {
    let end = pause.map(|pause| Instant::now() + pause);
    let mut desk = shared.desk();
    loop {
        if let Some(job) = desk.next.take() {
            return Some(Turn::New(job));
        }
        if desk.ends {
            return None;
        }
        desk = match end.map(|end| end.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => return Some(Turn::Again),
            Some(left) => {
                let waited = shared.bell.wait_timeout(desk, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => shared
                .bell
                .wait(desk)
                .unwrap_or_else(PoisonError::into_inner),
        };
    }
}
