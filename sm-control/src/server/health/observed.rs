//! What the threads around the health of links share.
//!
//! ```text
//!  the loader: what a sweep found ──> Observed ──> sa-health: asks, counts, judges ──> Observed ──> operators
//! ```
//!
//! | fact | written by | when |
//! |---|---|---|
//! | links of the subnet | the loader | after a sweep that was not skipped; taken away when another SM is the master |
//! | how many sweeps there were | the loader | after each, so that a port that failed is opened again with the next |
//! | readings and findings | `sa-health` | at each turn, under the lock |
//! | faults in words, why nobody can be asked | `sa-health` | when they change |
//!
//! Nobody waits for a sweep or a device here. The lock around what is known is held for as long as
//! one turn of the thread takes: sending what is due and taking what has come, some milliseconds,
//! and a fraction of a second after a sweep of a very large subnet.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use sa_page::events::Level;
use sa_sm::model::Subnet;
use sm_health::{Clear, Health, Options, Report, Seen};

use crate::config::{ClearRule, HealthSection};
use crate::server::operators::happening::Happening;

/// Shared by the loader, the thread `sa-health` and operators.
#[derive(Debug)]
pub(in crate::server) struct Observed {
    /// What the last sweep found; none where another SM manages the subnet, or nothing is known
    /// yet.
    seen: ArcSwapOption<Seen>,
    /// Sweeps that have looked at the subnet, whether they found something new or not.
    sweeps: AtomicU64,
    health: Mutex<Health>,
    /// Each port once in this time; none: no port is asked.
    period: Option<Duration>,
    /// Why no port can be asked; none: it can, or there was no need yet.
    problem: ArcSwapOption<String>,
    /// Faults that stand, in the words in which they were told.
    standing: ArcSwap<BTreeSet<String>>,
    /// Where events are told; nowhere before the daemon has said where.
    happening: OnceLock<Arc<Happening>>,
}

impl Observed {
    /// Events are told there from now on.
    pub(in crate::server) fn told_to(&self, happening: Arc<Happening>) {
        let _ = self.happening.set(happening);
    }

    /// Nobody has looked yet.
    pub(in crate::server) fn new(section: HealthSection) -> Self {
        let period = Some(section.period_s).filter(|seconds| *seconds > 0);
        let period = period.map(|seconds| Duration::from_secs(seconds.into()));
        let options = Options {
            period,
            per_second: section.requests_per_second,
            clear: match section.clear {
                ClearRule::Never => Clear::Never,
                ClearRule::Full => Clear::Full,
            },
        };
        // Answers to a process of before are none to this one.
        // The kernel numbers agents by itself, and the simulator does not.
        let transaction = std::process::id() << 12;
        Self {
            seen: ArcSwapOption::empty(),
            sweeps: AtomicU64::new(0),
            health: Mutex::new(Health::new(options, transaction)),
            period,
            problem: ArcSwapOption::empty(),
            standing: ArcSwap::default(),
            happening: OnceLock::new(),
        }
    }

    /// A sweep has found this.
    pub(in crate::server) fn swept(&self, found: &Subnet) {
        // On the loader's thread, as the model is its own: a copy of the links alone.
        self.seen.store(Some(Arc::new(Seen::of(found))));
        self.looked();
    }

    /// A sweep has found what the one before left.
    pub(in crate::server) fn looked(&self) {
        // Relaxed: nothing else is read through it.
        self.sweeps.fetch_add(1, Ordering::Relaxed);
    }

    /// Another SM manages the subnet.
    pub(in crate::server) fn rest(&self) {
        self.seen.store(None);
    }

    /// The subnet as the last sweep saw it; none before.
    pub(super) fn seen(&self) -> Option<Arc<Seen>> {
        self.seen.load_full()
    }

    /// How many sweeps have told something.
    pub(super) fn sweeps(&self) -> u64 {
        self.sweeps.load(Ordering::Relaxed)
    }

    pub(in crate::server) fn health(&self) -> MutexGuard<'_, Health> {
        // A value that is wrong after a panic is told as it is; the thread that panicked has ended.
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known now.
    pub(in crate::server) fn report(&self) -> Report {
        self.health().report(sm_port::now())
    }

    /// In which each port is asked once; none: none is.
    pub(in crate::server) const fn period(&self) -> Option<Duration> {
        self.period
    }

    /// Why no port is asked now; none: they are.
    pub(in crate::server) fn problem(&self) -> Option<Arc<String>> {
        self.problem.load_full()
    }

    /// From now on this keeps ports from being asked; none: nothing does.
    pub(super) fn fail(&self, problem: Option<String>) {
        self.problem.store(problem.map(Arc::new));
    }

    /// Faults that stand, a sentence each.
    pub(in crate::server) fn standing(&self) -> Arc<BTreeSet<String>> {
        self.standing.load_full()
    }

    /// Faults that stand now, in words.
    pub(super) fn stand(&self, words: BTreeSet<String>) {
        let before = self.standing.load_full();
        if let Some(happening) = self.happening.get() {
            for new in words.difference(&before) {
                happening.tell(Level::Warning, new.clone());
            }
            for gone in before.difference(&words) {
                happening.tell(Level::Info, format!("no more: {gone}"));
            }
        }
        self.standing.store(Arc::new(words));
    }
}
