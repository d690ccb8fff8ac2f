//! Joins and leaves, on their way into switches.
//!
//! They come in bursts, as whole jobs start at once, and one writing serves them all. So the first
//! one sets a time, and those that follow change nothing: nobody waits for longer than that and
//! what the writing takes. While a sweep runs they wait for its end, which writes them too.
//!
//! ```text
//!  a join at 0 ms, others until 50 ms ──> written at 50 ms
//!  a switch did not answer            ──> again after 250, 500, .. 4000 ms
//! ```
//!
//! # Who waits for whom
//!
//! Clients wait for nobody here: a join is answered once it is in the journal, as at OpenSM, and
//! packets to the group may be lost until switches have it. The thread that loads does one thing at
//! a time, so a sweep and a writing never meet, and both send by the same port. An operator's order
//! waits for a writing, which takes as long as a switch takes to answer, or not to.
//!
//! # What is not told twice
//!
//! The slow lane tells that members changed, not how. Whoever follows looks at all of them and
//! finds what to write by what switches hold; a word that comes while that goes on is followed once
//! more, and costs no Set where nothing is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use tracing::error;

use super::Loader;
use super::caught::{Panicked, caught};
use crate::server::state::SetByClients;

/// How long joins are collected.
const COLLECTED: Duration = Duration::from_millis(50);

/// Pause before the second try; twice as long before each further one.
const RETRY: Duration = Duration::from_millis(250);

/// The pause grows so often: to 4 s.
const MOST_DOUBLINGS: u32 = 4;

/// What there is to be followed, and when.
pub(super) struct GroupChanges {
    /// Kept, as it has the sender: with the last one gone the channel would be ready for ever, and
    /// whoever waits for it never does anything else.
    members: Arc<SetByClients>,
    due: Option<Instant>,
    /// In vain, in a row.
    tries: u32,
}

impl GroupChanges {
    /// `members`: where the slow lane says that they are others, if it does in this role.
    pub(super) const fn new(members: Arc<SetByClients>) -> Self {
        Self {
            members,
            due: None,
            tries: 0,
        }
    }

    /// Where changes are told.
    pub(super) fn changes(&self) -> Receiver<()> {
        self.members.changes()
    }

    /// Members are others.
    pub(super) fn note(&mut self) {
        let at = Instant::now() + COLLECTED;
        // A try that waits for a switch is brought forward: it would write this too.
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// The time until there is something to do; `most` without any.
    pub(super) fn patience(&self, most: Duration) -> Duration {
        let left = self
            .due
            .map(|due| due.saturating_duration_since(Instant::now()));
        left.map_or(most, |left| left.min(most))
    }

    /// True once where it is time.
    fn take(&mut self) -> bool {
        self.due.take_if(|due| *due <= Instant::now()).is_some()
    }

    /// What was due is done, or wants another try.
    fn done(&mut self, again: bool) {
        if !again {
            // What is told meanwhile has its own time already.
            self.tries = 0;
            return;
        }
        // As long as a load that failed waits.
        let pause = RETRY * (1 << self.tries.min(MOST_DOUBLINGS));
        self.tries = self.tries.saturating_add(1);
        self.due.get_or_insert_with(|| Instant::now() + pause);
    }
}

impl Loader<'_> {
    /// Has switches programmed for groups that changed, if it is time.
    pub(super) fn follow_groups(&mut self) {
        if !self.groups.take() {
            return;
        }
        // Where a plan was refused, the fabric of the last one that was not is still what routes.
        let followed = match (self.sources.manager(), self.compiler.accepted()) {
            (Some(manager), Some(parts)) => caught(|| manager.follow_groups(parts)),
            // The first sweep will.
            _ => Ok(false),
        };
        if let Err(Panicked(words)) = &followed {
            error!(
                "a defect of sapphired: it panicked as it followed groups ({words}); the next sweep begins anew"
            );
            self.sources.begin_anew();
        }
        self.groups.done(followed.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a role in which nobody keeps groups: whoever waits for changes goes on to do other
    /// things.
    #[test]
    fn nobody_who_tells_is_no_change() {
        let changes = GroupChanges::new(Arc::default());
        let told = changes.changes();
        let waited = told.recv_timeout(Duration::from_millis(1));
        assert_eq!(waited, Err(crossbeam_channel::RecvTimeoutError::Timeout));
    }

    #[test]
    fn a_burst_is_one_writing_and_what_is_in_vain_is_tried_ever_later() {
        let mut changes = GroupChanges::new(Arc::default());
        let long = Duration::from_secs(60);
        assert_eq!(changes.patience(long), long);
        changes.note();
        let first = changes.due;
        changes.note();
        assert_eq!(changes.due, first, "those that follow change nothing");
        assert!(changes.patience(long) <= COLLECTED && !changes.take());
        changes.due = Some(Instant::now());
        assert!(changes.take() && !changes.take());
        let mut pauses = Vec::new();
        for _ in 0..6 {
            changes.done(true);
            let pause = changes.due.take().unwrap().duration_since(Instant::now());
            // In steps of the first, up: some of it has gone by.
            pauses.push(pause.as_millis().div_ceil(RETRY.as_millis()));
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 16]);
        changes.done(true);
        changes.note();
        assert!(changes.patience(long) <= COLLECTED, "brought forward");
    }
}
