//! A fabric that is read again and again, and what was seen in earlier rounds.
//!
//! An SA has no number that says "as before", and OpenSM sends no trap when forwarding tables,
//! SL2VL tables or partitions change (only for links, nodes and groups). So each round asks for
//! everything, and [`SaFabric`]'s equality of records decides whether it is a change. That costs
//! the SA a few replies per switch every poll, and the daemon no compilation.
//!
//! The reader also remembers the last few policies. The SM reads its policy file when it sweeps,
//! not when an operator saves it, so it may go by any recent one; questions that tell these from
//! the new one ([`probes`]) find that out where pairs at random would miss a rule for two hosts.

use std::sync::Arc;

use policy::Policy;
use sa_compiler::state::FabricState;
use sa_fabric::sa_records::SaFabric;
use sa_snapshot::Snapshot;

use super::paths::{Difference, compare_paths};
use super::probes::{Sampling, probes};
use super::{Ask, OnDifference, SaReadError, Wants};

/// An SA to read from, and what it told last.
pub struct SaReader {
    /// The way to the SA, which looks after itself.
    ask: Box<dyn Ask>,
    /// What the snapshot in service was compiled from; none before the first. Shared with the state
    /// of that snapshot, as records of a large fabric take hundreds of megabytes.
    last: Option<Arc<SaFabric>>,
    /// Random pairs for each comparison; 0: nothing is compared.
    samples: u32,
    on_difference: OnDifference,
    /// Policies that were compared last, the newest at the end: the SA may go by any of them.
    policies: Vec<Policy>,
}

/// Policies that are remembered. An operator who tries some in a row is back at one of these; each
/// makes a comparison longer by its own requests.
const POLICIES: usize = 4;

/// What came of a reading.
///
/// Not an `Option`, as an unchanged fabric is needed too: a newer policy is compiled for it.
#[derive(Debug, Clone)]
pub enum Reading {
    /// Everything is as it was: the very value that was accepted, whose memory the new reading then
    /// gives back.
    Unchanged(Arc<SaFabric>),
    /// It is another fabric than before, or the first.
    Changed {
        /// The fabric now.
        from_sa: Arc<SaFabric>,
        /// What changed, one sentence each; none for the first.
        changes: Vec<String>,
    },
}

impl Reading {
    /// The fabric as it is now.
    pub const fn from_sa(&self) -> &Arc<SaFabric> {
        match self {
            Self::Unchanged(from_sa) | Self::Changed { from_sa, .. } => from_sa,
        }
    }
}

impl SaReader {
    /// Reads through `ask`, and compares so many sampled pairs with each new snapshot.
    pub fn new(ask: Box<dyn Ask>, samples: u32, on_difference: OnDifference) -> Self {
        Self {
            ask,
            last: None,
            samples,
            on_difference,
            policies: Vec::new(),
        }
    }

    /// Reads everything and compares it with the last reading that was taken (see
    /// [`Self::accept`]). Nodes, ports and links come in one table each, forwarding and SL2VL
    /// tables switch by switch: an SA tells nobody which of them changed. Errors: as
    /// [`super::read`].
    pub fn read(&mut self, wants: &Wants) -> Result<Reading, SaReadError> {
        let from_sa = Arc::new(super::read(&mut *self.ask, wants)?);
        Ok(match &self.last {
            // By content: all records in their order, counters and keys left out when they were
            // read.
            Some(last) if *last == from_sa => Reading::Unchanged(Arc::clone(last)),
            Some(last) => Reading::Changed {
                changes: from_sa.changes_since(last),
                from_sa,
            },
            None => Reading::Changed {
                changes: Vec::new(),
                from_sa,
            },
        })
    }

    /// Takes a reading as what later ones are compared with: it has been put into service. Not
    /// called by [`Self::read`], so that a fabric that was refused counts as changed again.
    pub fn accept(&mut self, from_sa: Arc<SaFabric>) {
        self.last = Some(from_sa);
    }

    /// The last reading that was taken.
    pub const fn last(&self) -> Option<&Arc<SaFabric>> {
        self.last.as_ref()
    }

    /// Sampled paths that the SA answers otherwise than a snapshot of these parts. They are chosen
    /// so that the policies that were compared before are told from this one; another seed gives
    /// others. Errors: as [`compare_paths`].
    pub fn compare_paths(
        &mut self,
        parts: &FabricState,
        snapshot: &Snapshot,
        seed: u64,
    ) -> Result<Vec<Difference>, SaReadError> {
        let sampling = Sampling {
            pairs: self.samples,
            seed,
        };
        // Chosen before the new one is remembered: a policy tells nothing from itself.
        let others: Vec<&Policy> = self.policies.iter().collect();
        let probes = probes(parts, &others, sampling);
        if let Some(policy) = &parts.policy {
            // One that comes back moves to the end, so that the oldest goes first.
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

impl core::fmt::Debug for SaReader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SaReader")
            .field("whom", &self.ask.whom())
            .finish_non_exhaustive()
    }
}
