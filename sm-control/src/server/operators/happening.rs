//! What happened lately, for people who look at the page.
//!
//! The log has all and is kept by others; this keeps the last few in memory: snapshots in force,
//! loads that failed, sweeps that wrote something, findings that come and go. Whoever writes one
//! into the status or the log tells it here too.
//!
//! ```text
//!  loader, sa-health, sa-admin ──tell──> ring of the last 256 ──since(nth)──> page, stream
//!                                              └──watch: the newest number──> streams that wait
//! ```
//!
//! Telling takes a lock for as long as a push; the fast path tells nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sa_compiler::pipeline;
use sa_page::events::{Happened, Level};
use tokio::sync::watch;

/// How many are kept.
pub(in crate::server) const KEPT: usize = 256;

/// Longest sentence. What a load says may be long, and memory is bounded by this. Units: letters.
const LETTERS: usize = 2000;

/// The last events.
#[derive(Debug)]
pub(in crate::server) struct Happening {
    /// From the oldest on.
    ring: Mutex<VecDeque<Happened>>,
    /// Number of the newest, for who waits; 0 before the first.
    newest: watch::Sender<u64>,
}

impl Default for Happening {
    fn default() -> Self {
        Self {
            ring: Mutex::default(),
            newest: watch::Sender::new(0),
        }
    }
}

impl Happening {
    /// Something happened.
    pub(in crate::server) fn tell(&self, level: Level, words: String) {
        let mut ring = self.ring();
        let nth = ring.back().map_or(1, |last| last.nth + 1);
        if ring.len() >= KEPT {
            ring.pop_front();
        }
        ring.push_back(Happened {
            nth,
            unix: pipeline::unix_time(),
            level,
            words: words.chars().take(LETTERS).collect(),
        });
        // Under the lock, or two that tell at once could leave the smaller number.
        self.newest.send_replace(nth);
    }

    /// Those after a number. Shape: from the oldest on.
    pub(in crate::server) fn since(&self, nth: u64) -> Vec<Happened> {
        let ring = self.ring();
        ring.iter().filter(|it| it.nth > nth).cloned().collect()
    }

    /// The last few. Shape: from the oldest on.
    pub(in crate::server) fn last(&self, few: usize) -> Vec<Happened> {
        let ring = self.ring();
        ring.iter()
            .skip(ring.len().saturating_sub(few))
            .cloned()
            .collect()
    }

    /// Tells when there is a newer one.
    pub(in crate::server) fn news(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<Happened>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept_in_order_and_who_waits_is_told() {
        let happening = Happening::default();
        let news = happening.news();
        for nth in 0..KEPT + 3 {
            happening.tell(Level::Info, nth.to_string());
        }
        assert!(news.has_changed().unwrap());
        let all = happening.since(0);
        assert_eq!((all.len(), all[0].nth), (KEPT, 4));
        let last = happening.since(KEPT as u64 + 1);
        let words: Vec<_> = last.iter().map(|it| it.words.as_str()).collect();
        assert_eq!(words, ["257", "258"]);
        assert_eq!(happening.last(1), last[1..]);
        happening.tell(Level::Error, "x".repeat(LETTERS + 1));
        assert_eq!(happening.last(1)[0].words.len(), LETTERS);
    }
}
