//! How far each follower is with the generation that is measured.
//!
//! ```text
//!  begin(7) ── knows(place, 7) ── has(place, 7) ── answers(place, 7) ──> all_through
//!              each of them once: what comes again (a beat) or late (of 6) changes nothing
//! ```
//!
//! Written by thousands of threads and read when all are through, so all of it is atomics without
//! order among each other; only that a generation begins is told in order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use fleet_transfer::clocks;
use tokio::sync::Notify;

use crate::Failure;

/// No generation takes as long on any machine that is worth a figure.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Places from 0 on: first real followers, then connections. A real one is through when it answers,
/// a connection when it has the bytes.
#[derive(Debug)]
pub(crate) struct Progress {
    daemons: usize,
    /// The number of the generation that is measured.
    wanted: AtomicU64,
    /// By place, when it heard of it. Units: ns of CLOCK_BOOTTIME; 0: not yet.
    knew: Vec<AtomicU64>,
    /// The same, when it had its bytes.
    had: Vec<AtomicU64>,
    /// Of real ones alone, when they would answer from it.
    answered: Vec<AtomicU64>,
    /// How many are through.
    through: AtomicUsize,
    /// All are.
    changed: Notify,
    /// Connections that broke.
    failed: AtomicUsize,
    /// The first reason.
    why: OnceLock<String>,
}

impl Progress {
    /// Nobody knows anything yet, and the first generation is wanted. `followers`: with the real
    /// ones, of which there are `daemons`.
    pub(crate) fn new(followers: usize, daemons: usize, first: u64) -> Self {
        let times = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
        Self {
            daemons,
            wanted: AtomicU64::new(first),
            knew: times(followers),
            had: times(followers),
            answered: times(daemons),
            through: AtomicUsize::new(0),
            changed: Notify::new(),
            failed: AtomicUsize::new(0),
            why: OnceLock::new(),
        }
    }

    /// From now on this generation counts, and no other. Called when all are through with the one
    /// before, so nobody writes meanwhile.
    pub(crate) fn begin(&self, seq: u64) {
        let all = [&self.knew, &self.had, &self.answered];
        all.into_iter()
            .flatten()
            .for_each(|at| at.store(0, Ordering::Relaxed));
        self.through.store(0, Ordering::Relaxed);
        // Last: what is written of this generation is not wiped out.
        self.wanted.store(seq, Ordering::Release);
    }

    /// This follower has heard of a generation.
    pub(crate) fn knows(&self, place: usize, seq: u64) {
        self.note(&self.knew, place, seq);
    }

    /// It has its file.
    pub(crate) fn has(&self, place: usize, seq: u64) {
        if self.note(&self.had, place, seq) && place >= self.daemons {
            self.is_through();
        }
    }

    /// It answers from that file.
    pub(crate) fn answers(&self, place: usize, seq: u64) {
        if self.note(&self.answered, place, seq) {
            self.is_through();
        }
    }

    /// A connection broke: the run will fail by it.
    pub(crate) fn broke(&self, why: String) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        // The first says why.
        let _ = self.why.set(why);
    }

    /// True the first time of a generation that is wanted.
    fn note(&self, times: &[AtomicU64], place: usize, seq: u64) -> bool {
        let Some(at) = times
            .get(place)
            .filter(|_| self.wanted.load(Ordering::Acquire) == seq)
        else {
            return false;
        };
        let now = clocks::now().0;
        at.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    fn is_through(&self) {
        if self.through.fetch_add(1, Ordering::Relaxed) + 1 >= self.knew.len() {
            self.changed.notify_waiters();
        }
    }

    /// Ready when all are through. Errors: not in that time, with the first reason that a
    /// connection broke.
    pub(crate) async fn all_through(&self, within: Duration) -> Result<(), Failure> {
        let all = self.knew.len();
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if self.through.load(Ordering::Relaxed) >= all {
                    return;
                }
                changed.await;
            }
        };
        if tokio::time::timeout(within, wait).await.is_ok() {
            return Ok(());
        }
        let (seq, came) = (&self.wanted, self.through.load(Ordering::Relaxed));
        let broke = self.failed.load(Ordering::Relaxed);
        let why = self.why.get().map_or("", String::as_str);
        let seq = seq.load(Ordering::Relaxed);
        let words = format!(
            "generation {seq}: {came} of {all} followers, {broke} connections broke: {why}"
        );
        Err(words.into())
    }

    /// When they knew, from a moment on.
    pub(crate) fn knew(&self, from: u64) -> Share {
        Share::of(&self.knew, from)
    }

    /// When they had it.
    pub(crate) fn had(&self, from: u64) -> Share {
        Share::of(&self.had, from)
    }

    /// When real ones had it.
    pub(crate) fn real_had(&self, from: u64) -> Share {
        Share::of(self.had.get(..self.daemons).unwrap_or_default(), from)
    }

    /// When real ones answered from it.
    pub(crate) fn answered(&self, from: u64) -> Share {
        Share::of(&self.answered, from)
    }
}

/// Times of many. Units: ns, sorted.
#[derive(Debug)]
pub(crate) struct Share {
    from: u64,
    at: Vec<u64>,
}

impl Share {
    fn of(times: &[AtomicU64], from: u64) -> Self {
        let mut at: Vec<u64> = times.iter().map(|at| at.load(Ordering::Relaxed)).collect();
        at.sort_unstable();
        Self { from, at }
    }

    /// When that many of a hundred were through. Units: ms.
    pub(crate) fn of_hundred(&self, percent: usize) -> f64 {
        let place = (self.at.len() * percent).div_ceil(100).max(1) - 1;
        milliseconds(self.from, self.at.get(place).copied().unwrap_or_default())
    }
}

/// From one moment to another; nothing where it is an earlier one.
pub(crate) fn milliseconds(from: u64, to: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "minutes in nanoseconds")]
    let milliseconds = to.saturating_sub(from) as f64 / 1e6;
    milliseconds
}
