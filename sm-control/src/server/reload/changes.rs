//! What is done when the fabric changes.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, never};
use sa_source::When;

use super::sources::Fingerprint;
use crate::config::{OpenSmSection, Source};
use crate::server::opensm::Change;
use crate::server::operators::board::Standing;
use crate::server::{HEARTBEAT, Server};

/// A fabric that never lies still is read after so many times of what it should have done.
const LONGEST_SETTLE: u32 = 20;

/// How often watched files are looked at.
const WATCH: Duration = Duration::from_millis(20);

/// Pause after a reading that failed; twice as long after each that fails too.
const RETRY: Duration = Duration::from_millis(250);

/// The pause grows so often: to 4 s.
const MOST_DOUBLINGS: u32 = 4;

/// A reading of the sources that is to come.
#[derive(Debug)]
pub(in crate::server) struct Due {
    /// When.
    at: Instant,
    /// At the latest.
    latest: Instant,
    /// Why.
    cause: String,
    /// Also when the sources look as they did.
    anyway: bool,
}

impl Server<'_> {
    /// Where changes are told.
    pub(in crate::server) fn changes(&self) -> Receiver<Change> {
        let beside = self.beside.as_ref().map(|beside| &beside.changes);
        let changes = beside.or(self.vigil.as_ref());
        changes.map_or_else(never, Receiver::clone)
    }

    /// How long the main thread may wait for something to happen.
    pub(in crate::server) fn patience(&self) -> Duration {
        let left = |due: &Due| due.at.saturating_duration_since(Instant::now());
        let look = if self.config.fabric.watch {
            WATCH
        } else {
            HEARTBEAT
        };
        // What waits for OpenSM is not worth a look before the next one.
        let due = self.due.as_ref().filter(|_| self.can_load());
        due.map_or(look, |due| left(due).min(look))
    }

    /// The sources are to be read soon.
    pub(in crate::server) fn note(&mut self, change: &Change) {
        let settle = match change {
            Change::Invalid(_) | Change::Differs | Change::Agrees => Duration::ZERO,
            Change::Trap(_) | Change::Programmed | Change::Returned => self.settle_time(),
        };
        let now = Instant::now();
        let latest = match &self.due {
            Some(due) => due.latest,
            None => now + settle * LONGEST_SETTLE,
        };
        let was_anyway = self.due.as_ref().is_some_and(|due| due.anyway);
        self.due = Some(Due {
            at: (now + settle).min(latest),
            latest,
            cause: change.to_string(),
            anyway: was_anyway || matches!(change, Change::Invalid(_)),
        });
    }

    fn settle_time(&self) -> Duration {
        let section = self.config.opensm.as_ref();
        section.map_or(Duration::ZERO, OpenSmSection::settle)
    }

    /// Reads the sources when that is due, and when they have not been looked at for long.
    pub(in crate::server) fn follow_changes(&mut self) {
        if !self.can_load() {
            // What is due waits for OpenSM.
            return;
        }
        let Some((cause, anyway)) = self.occasion() else {
            return;
        };
        self.looked = Instant::now();
        // What an operator has gone back to stays, unless it can be of another fabric.
        let is_to_stay = self.is_held() || self.loaded && self.files_lie_still();
        if is_to_stay && !anyway {
            return;
        }
        let failure = self.last_failure.clone();
        if self.load_when(When::Changed, &cause) {
            self.retries = 0;
            return;
        }
        if self.last_failure != failure {
            crate::server::say("reload failed");
        }
        if self.due.is_none() && self.live.is_some() && !self.differs {
            // OpenSM may have been in the middle of it, or be away. Where it answers otherwise, the
            // vigil says when it does not any more.
            if cause != crate::server::RETRY {
                self.retries = 0;
            }
            let at = Instant::now() + RETRY * (1 << self.retries.min(MOST_DOUBLINGS));
            self.retries += 1;
            self.due = Some(Due {
                at,
                latest: at,
                cause: crate::server::RETRY.to_owned(),
                anyway,
            });
        }
    }

    /// Why to read the sources now, and whether to do so even if they look as they did.
    fn occasion(&mut self) -> Option<(String, bool)> {
        if let Some(due) = self.due.take_if(|due| due.at <= Instant::now()) {
            return Some((due.cause, due.anyway));
        }
        if self.config.fabric.watch && self.loaded && !self.files_lie_still() {
            return Some(("files of the fabric changed".to_owned(), false));
        }
        // What is due is late on purpose where the one before failed.
        let is_stale = self.due.is_none() && self.looked.elapsed() >= self.config.poll()?;
        (is_stale && self.loaded).then(|| (crate::server::REGULAR.to_owned(), false))
    }

    /// Files that look as when they were read last hold nothing new.
    fn files_lie_still(&self) -> bool {
        matches!(self.config.fabric.source, Source::Files | Source::Snapshot)
            && self.tried == Some(Fingerprint::of(self.config))
    }

    /// Whether files that a compilation of a running SA's fabric reads are others than at the last
    /// attempt. They are looked at whether they are watched or not: nothing of them is published that
    /// the SA does not agree with.
    pub(in crate::server) fn files_beside_changed(&self) -> bool {
        self.live.is_some() && self.tried != Some(Fingerprint::of(self.config))
    }

    /// What operators see of the OpenSM beside.
    pub(in crate::server) fn write_up(&self) {
        self.doubts.hold(self.is_held());
        let Some(beside) = &self.beside else {
            return;
        };
        let passive = (!beside.is_serving()).then(|| "OpenSM has the read methods".to_owned());
        self.board.stand(Standing {
            passive,
            facts: beside.facts(),
        });
    }
}
