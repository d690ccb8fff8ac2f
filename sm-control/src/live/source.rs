//! A fabric that is read again and again.

use std::sync::Arc;

use policy::Policy;
use sa_snapshot::Snapshot;

use super::paths::{Difference, compare_paths};
use super::probes::{Sampling, probes};
use super::{Ask, Live, LiveError, Reopening, SharedLive, Wants};
use crate::config::{Config, FabricSaSection, OnDifference};
use crate::pipeline::Parts;

/// An SA to read from, and what it told last.
pub struct LiveSource {
    ask: Box<dyn Ask>,
    last: Option<SharedLive>,
    samples: u32,
    on_difference: OnDifference,
    /// Policies that were compared last, the newest at the end: the SA may go by any of them.
    policies: Vec<Policy>,
}

/// Policies that are remembered.
const POLICIES: usize = 4;

/// What came of a reading.
#[derive(Debug, Clone)]
pub enum Reading {
    /// Everything is as it was.
    Unchanged(SharedLive),
    /// It is another fabric than before, or the first.
    Changed {
        /// The fabric now.
        live: SharedLive,
        /// What changed, one sentence each; none for the first.
        changes: Vec<String>,
    },
}

impl Reading {
    /// The fabric as it is now.
    pub const fn live(&self) -> &SharedLive {
        match self {
            Self::Unchanged(live) | Self::Changed { live, .. } => live,
        }
    }
}

impl LiveSource {
    /// Reads through `ask`, and compares as `section` has it.
    pub fn new(ask: Box<dyn Ask>, section: &FabricSaSection) -> Self {
        Self {
            ask,
            last: None,
            samples: section.samples,
            on_difference: section.on_difference,
            policies: Vec::new(),
        }
    }

    /// What a configuration with `source = "sa"` names; none for other sources. Nothing is opened
    /// yet.
    pub fn from_config(config: &Config) -> Option<Self> {
        let source = config.sa_source()?;
        let section = config.fabric.sa.clone().unwrap_or_default();
        Some(Self::new(Box::new(Reopening::new(source)), &section))
    }

    /// Reads everything and compares it with the last reading that was taken (see
    /// [`Self::accept`]). Nodes, ports and links come in one table each, forwarding and SL2VL
    /// tables switch by switch: an SA tells nobody which of them changed. Errors: as
    /// [`Live::read`].
    pub fn read(&mut self, wants: &Wants) -> Result<Reading, LiveError> {
        let live = Arc::new(Live::read(&mut *self.ask, wants)?);
        Ok(match &self.last {
            Some(last) if *last == live => Reading::Unchanged(Arc::clone(last)),
            Some(last) => Reading::Changed {
                changes: live.changes_since(last),
                live,
            },
            None => Reading::Changed {
                changes: Vec::new(),
                live,
            },
        })
    }

    /// Takes a reading as what later ones are compared with: it has been put into service.
    pub fn accept(&mut self, live: SharedLive) {
        self.last = Some(live);
    }

    /// The last reading that was taken.
    pub const fn last(&self) -> Option<&SharedLive> {
        self.last.as_ref()
    }

    /// Sampled paths that the SA answers otherwise than a snapshot of these parts. They are chosen
    /// so that the policies that were compared before are told from this one; another seed gives
    /// others. Errors: as [`compare_paths`].
    pub fn compare_paths(
        &mut self,
        parts: &Parts,
        snapshot: &Snapshot,
        seed: u64,
    ) -> Result<Vec<Difference>, LiveError> {
        let sampling = Sampling {
            pairs: self.samples,
            seed,
        };
        let others: Vec<&Policy> = self.policies.iter().collect();
        let probes = probes(parts, &others, sampling);
        if let Some(policy) = &parts.policy {
            self.policies.retain(|known| known != policy);
            self.policies.push(policy.clone());
            let excess = self.policies.len().saturating_sub(POLICIES);
            self.policies.drain(..excess);
        }
        compare_paths(&mut *self.ask, &parts.subnet, snapshot, &probes)
    }

    /// What it means if there are some.
    pub const fn on_difference(&self) -> OnDifference {
        self.on_difference
    }

    /// Who is asked, for people.
    pub fn whom(&self) -> String {
        self.ask.whom()
    }
}

impl core::fmt::Debug for LiveSource {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LiveSource")
            .field("whom", &self.ask.whom())
            .finish_non_exhaustive()
    }
}
