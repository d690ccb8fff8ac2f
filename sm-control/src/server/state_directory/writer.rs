//! The thread that writes to the state directory: a disk that is slow, full or gone keeps nobody
//! else waiting, and what could not be written is tried again.
//!
//! A publication hands over what is to be stored and waits half a second for it; on a sound disk it
//! is stored by then, and a crash at any later moment finds it. Only the newest job counts: one
//! that was not begun when the next came is worth nothing any more. After a failure the pause
//! doubles from one second to a minute, and each state of things is logged once.
//!
//! ```text
//!  write(17) ─> next ─> attempt ─ ok ──────────────> tried = 17, the loader goes on
//!  write(18) ─> next ─> attempt ─ no space ────────> failed = 18, tried = 18: the loader goes on
//!                         1 s later: again ─ fails ─> 2 s, 4 s .. 60 s
//!  write(19) ─> next ─> 18 is forgotten, 19 is tried at once
//! ```

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sa_fabric::outlet::{Folder, Readers};
use sa_snapshot::{EpochId, SharedBytes};
use tracing::{info, warn};

use super::mark::Mark;
use crate::server::STATE_FILE;
use crate::server::operators::status::{StateOnDisk, Status};

/// Pause before the second try; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// A disk that is full is looked at once a minute.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What is to be on the disk: the mark, and mostly a snapshot before it.
pub(super) struct Job {
    pub(super) mark: Mark,
    /// None where the file is there already, or belongs elsewhere.
    pub(super) file: Option<SharedBytes>,
}

/// Between the loader and the thread.
#[derive(Default)]
struct Queue {
    /// The newest; one that was not begun is worth nothing once there is a newer.
    next: Option<Job>,
    /// Epoch of the last that was tried.
    tried: Option<EpochId>,
    /// No more jobs come.
    ends: bool,
}

/// The queue and its bell.
#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    /// The queue under its lock; no thread panics with it.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's queue, and the thread `sa-state`. It is not waited for on drop, only by
/// [`Self::stop`]: a disk may hang for ever.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Errors: no thread.
    pub(super) fn start(
        folder: Folder,
        mark: Option<Mark>,
        kept: StateOnDisk,
        status: Arc<Status>,
    ) -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let state = StateWriter {
            folder,
            mark,
            status,
            kept,
        };
        let thread = std::thread::Builder::new().name("sa-state".into());
        let theirs = Arc::clone(&shared);
        let thread = thread.spawn(move || state.run(&theirs))?;
        Ok(Self { shared, thread })
    }

    /// Hands it over, and waits a moment for it to be tried. The loader waits here so that on a
    /// sound disk the snapshot is stored before anybody is answered from it.
    pub(super) fn write(&self, job: Job, patience: Duration) {
        let epoch = job.mark.epoch;
        let mut queue = self.shared.queue();
        // In place of one that was not begun: only the newest is worth a write.
        queue.next = Some(job);
        self.shared.changed.notify_all();
        let end = Instant::now() + patience;
        while queue.tried < Some(epoch) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.changed.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets it finish what it is at, for so long.
    pub(super) fn stop(self, patience: Duration) {
        self.shared.queue().ends = true;
        self.shared.changed.notify_all();
        let end = Instant::now() + patience;
        while !self.thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// What the thread has, and what it knows to be on the disk.
struct StateWriter {
    folder: Folder,
    /// On the disk.
    mark: Option<Mark>,
    kept: StateOnDisk,
    status: Arc<Status>,
}

impl StateWriter {
    /// Takes jobs, and what failed again, until the end.
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
            shared.queue().tried = Some(epoch);
            shared.changed.notify_all();
        }
    }

    /// Writes one job, the snapshot first: after a crash between both the file is newer than the
    /// mark, and served. Gives back what is to be tried again.
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
        // Each failed try counts, also those that the log does not repeat.
        self.kept.failures += u64::from(failed);
        self.status.keep(self.kept.clone());
        failed.then_some(job)
    }

    /// Each state once.
    fn tell(&self, epoch: EpochId, problem: Option<&str>) {
        match (problem, self.kept.problem.as_deref()) {
            (Some(now), before) if before != Some(now) => warn!(
                epoch = epoch.get(),
                "{now}; a restart will have to read the sources first; tried again, up to once a \
                 minute"
            ),
            (None, Some(_)) => info!(
                epoch = epoch.get(),
                "the state directory has what is in service again"
            ),
            _ => {}
        }
    }
}

/// What the thread does next: something new always comes before something that failed.
enum Turn {
    New(Job),
    /// What failed.
    Again,
}

/// Waits for it, and with something that failed for no longer than `pause`. None at the end, when
/// nothing new waits any more.
fn next(shared: &Shared, pause: Option<Duration>) -> Option<Turn> {
    let end = pause.map(|pause| Instant::now() + pause);
    let mut queue = shared.queue();
    loop {
        // Before the end is looked at: the last snapshot of a run is still written.
        if let Some(job) = queue.next.take() {
            return Some(Turn::New(job));
        }
        if queue.ends {
            return None;
        }
        queue = match end.map(|end| end.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => return Some(Turn::Again),
            Some(left) => {
                let waited = shared.changed.wait_timeout(queue, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => shared
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner),
        };
    }
}
