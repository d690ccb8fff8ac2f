//! What a node says of itself, for operators: written by the thread that follows or leads, read by
//! whoever asks.

use std::sync::{Arc, Mutex, PoisonError};

use sa_fleet::identity::{Digest, Position};
use sa_fleet::refusal::Refusal;
use sa_fleet::time::Boot;
use sa_fleet::verdict::Verdict;

/// What is so at the moment.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The newest announcement that was seen or made.
    pub position: Position,
    /// Of the root file that is held.
    pub root_version: u32,
    /// Of a follower: whether it answers. None before its first look.
    pub verdict: Option<Verdict>,
    /// Of a leader: its term while it leads.
    pub term: Option<u64>,
    /// Of a leader: until when what it hands out is good.
    pub until: Option<Boot>,
    /// The file that is answered from, or was published.
    pub blob: Option<Digest>,
    /// Announcements that were refused, by reason. Shape: those that happened.
    pub refused: Vec<(Refusal, u64)>,
    /// Announcements that were believed though the wall clock is far from the leader's.
    pub odd_clocks: u64,
    /// What was fetched, loaded and stored.
    pub counts: Counts,
    /// What a person was told last, and since when.
    pub alert: Option<(Boot, String)>,
}

/// Since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Polls that brought an announcement.
    pub news: u64,
    /// Polls that were answered with nothing new.
    pub quiet: u64,
    /// Polls without an answer.
    pub unanswered: u64,
    /// Patches that made the right file.
    pub patches: u64,
    /// Whole files that came.
    pub wholes: u64,
    /// Fetches that failed, or brought other bytes.
    pub failed_fetches: u64,
    /// Files that were loaded.
    pub loads: u64,
    /// Files that could not be.
    pub failed_loads: u64,
    /// Snapshots that went into service.
    pub swaps: u64,
    /// Records that are on the disk.
    pub stores: u64,
    /// Records that could not be written.
    pub failed_stores: u64,
    /// Generations that were published.
    pub publications: u64,
}

/// The place where it is said.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Said>>);

impl Board {
    /// As it is now.
    pub fn read(&self) -> Said {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes it. Nobody holds it for longer than a copy takes.
    pub(crate) fn write(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
