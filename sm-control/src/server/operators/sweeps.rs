//! What the Subnet Manager of this process is at, for operators.
//!
//! Written by the thread that sweeps, each second of a sweep and at its end; read by the admin
//! thread. Each fact stands alone, so two of them may be of two moments.
//!
//! ```text
//!  Waiting ──> Finding ──> Writing ──> Waiting        `up_unix`, `findings`: of the last sweep that came to its end
//!     ^           └───────────┴── failed ──> Waiting  the reason is that of the load (`last_failure`)
//! ```

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use sa_compiler::pipeline;
use sa_page::events::Level;
use sa_sm::executor::Counts;
use sa_wire::Guid;
use sm_plan::Waited;
use sm_port::Told;

use super::happening::Happening;

/// What a sweep does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Phase {
    /// For the next sweep.
    Waiting,
    /// Nodes are found and read.
    Finding,
    /// What differs is written.
    Writing,
}

/// All of it. Counts are since the start of the process.
#[derive(Debug, Default)]
pub(in crate::server) struct Sweeps {
    /// As a number of [`Phase`].
    phase: AtomicU8,
    /// Of the sweep at hand, else of the last one.
    pub(in crate::server) nodes: AtomicU64,
    /// Requests without an outcome.
    pub(in crate::server) open: AtomicU64,
    /// Over the last second of a sweep.
    pub(in crate::server) smps_per_second: AtomicU64,
    /// Sweeps that came to their end.
    pub(in crate::server) ended: AtomicU64,
    /// Sweeps that did not: the port failed, or what was found cannot be planned.
    pub(in crate::server) failed: AtomicU64,
    /// Of all sweeps.
    pub(in crate::server) smps: AtomicU64,
    /// Of these.
    pub(in crate::server) sets: AtomicU64,
    /// Of all, those that were sent again because no answer came.
    pub(in crate::server) repeated: AtomicU64,
    /// Traps of devices that were answered.
    pub(in crate::server) traps: AtomicU64,
    /// Of these, those that subscribers were to be told and were not, as too many waited.
    pub(in crate::server) traps_dropped: AtomicU64,
    /// Answers to Gets that read back what nodes were written.
    pub(in crate::server) audit_reads: AtomicU64,
    /// Of these, those that were other than it, and led to a sweep.
    pub(in crate::server) audit_differing: AtomicU64,
    /// How long the last one took. Units: ms.
    pub(in crate::server) last_ms: AtomicU64,
    /// When the last one ended. Units: seconds since 1970; 0 before.
    pub(in crate::server) up_unix: AtomicU64,
    /// Those that stand, in words.
    findings: ArcSwap<BTreeSet<String>>,
    /// As of the last sweep or order.
    drained: ArcSwap<Vec<Drain>>,
    /// Of the last sweep that had any.
    waited: ArcSwap<Vec<Waited>>,
    /// Sets up to the last sweep that was told as an event.
    told_sets: AtomicU64,
    /// Where events are told; nowhere before the daemon has said where.
    happening: OnceLock<Arc<Happening>>,
}

/// A part that is drained: a switch, or a cable by one of its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Part {
    /// Node GUID of the switch.
    pub(in crate::server) guid: Guid,
    /// None: the whole switch.
    pub(in crate::server) port: Option<u8>,
    /// What the switch called itself.
    pub(in crate::server) name: String,
    /// Seconds since 1970.
    pub(in crate::server) since: u64,
    /// Its hosts have no path either: routes are as if it had failed.
    pub(in crate::server) severed: bool,
}

/// A drained part: it is in the subnet; routes have left what is drained, and the switches have
/// acknowledged that.
pub(in crate::server) type Drain = (Part, bool, bool);

impl Sweeps {
    /// Events are told there from now on.
    pub(in crate::server) fn told_to(&self, happening: Arc<Happening>) {
        let _ = self.happening.set(happening);
    }

    /// An event, if anybody is told of any.
    fn tell(&self, level: Level, words: String) {
        if let Some(happening) = self.happening.get() {
            happening.tell(level, words);
        }
    }

    /// A sweep begins.
    pub(in crate::server) fn begin(&self) {
        self.enter(Phase::Finding);
    }

    /// A sweep is as far as this.
    pub(in crate::server) fn go_on(&self, told: &Told) {
        let progress = &told.progress;
        self.enter(match progress.is_writing {
            true => Phase::Writing,
            false => Phase::Finding,
        });
        self.nodes.store(progress.nodes as u64, Ordering::Relaxed);
        self.open.store(progress.open as u64, Ordering::Relaxed);
        // More than any port sends is no rate; less than 0 neither.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate of SMPs"
        )]
        let rate = told.per_second.round() as u64;
        self.smps_per_second.store(rate, Ordering::Relaxed);
    }

    /// What was sent, whatever came of it.
    pub(in crate::server) fn sent(&self, counts: Counts) {
        let Counts {
            sent,
            sets,
            repeated,
            ..
        } = counts;
        for (all, more) in [
            (&self.smps, sent),
            (&self.sets, sets),
            (&self.repeated, repeated),
        ] {
            all.fetch_add(more, Ordering::Relaxed);
        }
        self.open.store(0, Ordering::Relaxed);
        self.smps_per_second.store(0, Ordering::Relaxed);
    }

    /// A round of reading back is over.
    pub(in crate::server) fn read_back(&self, read: u64, differing: usize) {
        self.audit_reads.fetch_add(read, Ordering::Relaxed);
        self.audit_differing
            .fetch_add(differing as u64, Ordering::Relaxed);
    }

    /// A sweep came to its end.
    pub(in crate::server) fn end(&self, nodes: usize, took: Duration) {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.nodes.store(nodes as u64, Ordering::Relaxed);
        // A sweep that finds all as it was is no event: there is one every few seconds.
        let sets = self.sets.load(Ordering::Relaxed);
        let written = sets - self.told_sets.swap(sets, Ordering::Relaxed).min(sets);
        if written > 0 || self.ended.load(Ordering::Relaxed) == 0 {
            let words =
                format!("a sweep found {nodes} nodes and wrote {written} attributes in {ms} ms");
            self.tell(Level::Info, words);
        }
        self.last_ms.store(ms, Ordering::Relaxed);
        self.up_unix.store(pipeline::unix_time(), Ordering::Relaxed);
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.enter(Phase::Waiting);
    }

    /// A sweep ended before it planned: another SM is the master.
    pub(in crate::server) fn wait(&self) {
        self.enter(Phase::Waiting);
    }

    /// A sweep failed: what is known of the one before stays.
    pub(in crate::server) fn fail(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.enter(Phase::Waiting);
    }

    /// What stands now, one sentence each.
    pub(in crate::server) fn find(&self, findings: BTreeSet<String>) {
        let before = self.findings.load_full();
        if *before == findings {
            return;
        }
        for new in findings.difference(&before) {
            self.tell(Level::Warning, new.clone());
        }
        for gone in before.difference(&findings) {
            self.tell(Level::Info, format!("no more: {gone}"));
        }
        self.findings.store(Arc::new(findings));
    }

    /// What a person should know of the subnet, as of the last sweep.
    pub(in crate::server) fn findings(&self) -> Arc<BTreeSet<String>> {
        self.findings.load_full()
    }

    /// What is drained now.
    pub(in crate::server) fn drain(&self, parts: Vec<Drain>) {
        self.drained.store(Arc::new(parts));
    }

    /// What is drained, as of the last sweep or order.
    pub(in crate::server) fn drained(&self) -> Arc<Vec<Drain>> {
        self.drained.load_full()
    }

    /// Who was without a path while routes changed.
    pub(in crate::server) fn waited(&self, waited: Vec<Waited>) {
        self.waited.store(Arc::new(waited));
    }

    /// The same, as of the last sweep that left anybody so.
    pub(in crate::server) fn last_waited(&self) -> Arc<Vec<Waited>> {
        self.waited.load_full()
    }

    /// What it does now.
    pub(in crate::server) fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Relaxed);
        let all = [Phase::Waiting, Phase::Finding, Phase::Writing];
        let is_it = |it: &Phase| *it as u8 == phase;
        all.into_iter().find(is_it).unwrap_or(Phase::Waiting)
    }

    /// From now on this is what is done.
    fn enter(&self, phase: Phase) {
        // Relaxed, as all here: nothing else is read through it.
        self.phase.store(phase as u8, Ordering::Relaxed);
    }
}

impl Phase {
    /// In words of one place.
    pub(in crate::server) const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Finding => "finding",
            Self::Writing => "writing",
        }
    }
}
