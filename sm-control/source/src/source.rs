//! A fabric that is read again and again, and what was seen in earlier rounds.
//!
//! An SA has no number that says "as before", and OpenSM sends no trap when forwarding tables,
//! SL2VL tables or partitions change (only for links, nodes and groups). So each round asks for
//! everything, and [`SaFabric`]'s equality of records decides whether it is a change. That costs
//! the SA a few replies per switch every poll, and the daemon no compilation.
//!
//! Where the SM can be overheard ([`Written`]), it is read once. What changes from then on is taken from
//! what was heard, and the SA is asked for nothing but the tables of switches that were not heard whole.
//! Each reading that finds nothing new asks for the tables of a few switches all the same
//! ([`Look`]): one that differs means that something was not heard, and everything is read again.
//!
//! The reader also remembers the last few policies. The SM reads its policy file when it sweeps,
//! not when an operator saves it, so it may go by any recent one; questions that tell these from
//! the new one ([`probes`]) find that out where pairs at random would miss a rule for two hosts.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use policy::Policy;
use sa_compiler::heard_sls::HeardSls;
use sa_compiler::state::FabricState;
use sa_fabric::sa_records::SaFabric;
use sa_snapshot::Snapshot;
use sa_text::Remark;

use super::look::Look;
use super::paths::{Difference, compare_in_time, compare_paths};
use super::probes::{Sampling, probes};
use super::query::Querier;
use super::written::{Missing, Written, lock};
use super::{Ask, OnDifference, SaReadError, Wants, When, records, sls};

/// An SA to read from, and what it told last.
pub struct SaReader {
    /// The way to the SA, which looks after itself.
    ask: Box<dyn Ask>,
    /// What the snapshot in service was compiled from; none before the first. Shared with the state
    /// of that snapshot, as records of a large fabric take hundreds of megabytes.
    last: Option<Arc<SaFabric>>,
    /// What was put together last of what was overheard, for the next to be made from, mostly the same value;
    /// and the number by which [`Written::made`] names it.
    heard: Option<(Arc<SaFabric>, u64)>,
    /// Random pairs for each comparison; 0: nothing is compared.
    samples: u32,
    /// Pairs of LIDs whose SLs may be asked for; 0: those of policy and partitions are taken.
    sl_pairs: u32,
    on_difference: OnDifference,
    /// Policies that were compared last, the newest at the end: the SA may go by any of them.
    policies: Vec<Policy>,
    /// What was asked for when the SA was last read whole, and what is overheard was begun with that.
    begun: Option<Wants>,
    /// The last reading was taken from what was overheard.
    is_heard: bool,
    /// The state of what was overheard that was no whole fabric, and how often it was found so.
    refused: Option<(u64, u32)>,
    look: Look,
}

/// Policies that are remembered. An operator who tries some in a row is back at one of these; each
/// makes a comparison longer by its own requests.
const POLICIES: usize = 4;

/// Pairs of LIDs whose SLs are asked for one by one where nobody says otherwise: none. An SL that differs from
/// the policy's may be an engine's, or that of another policy, and only the operator knows which.
pub const SL_PAIRS: u32 = 0;

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
            heard: None,
            samples,
            sl_pairs: SL_PAIRS,
            on_difference,
            policies: Vec::new(),
            begun: None,
            is_heard: false,
            refused: None,
            look: Look::default(),
        }
    }

    /// The same, but for how many pairs of LIDs may be asked for where the SA's engine chooses SLs.
    #[must_use]
    pub fn with_sl_pairs(self, sl_pairs: u32) -> Self {
        Self { sl_pairs, ..self }
    }

    /// The SLs that the SA gives to pairs of ports where its engine chooses them, found out by asking
    /// for paths; none where they are those of the snapshot, which has the policy's and the
    /// partitions'. Errors: nobody answers.
    pub(crate) fn heard_sls(
        &mut self,
        parts: &FabricState,
        snapshot: &Snapshot,
    ) -> Result<Option<HeardSls>, SaReadError> {
        match self.sl_pairs {
            0 => Ok(None),
            // Tables that were made here have the SLs of who made them.
            _ if !parts.has_tables_without_sls() => Ok(None),
            most => sls::read(&mut *self.ask, parts, snapshot, most.into()),
        }
    }

    /// Takes the fabric from what was overheard, or reads everything, and compares it with the last
    /// reading that was taken (see [`Self::accept`]). Where it is read, nodes, ports and links come in
    /// one table each, forwarding and SL2VL tables switch by switch: an SA tells nobody which of them
    /// changed. Errors: as [`super::read`].
    pub fn read(&mut self, wants: &Wants) -> Result<Reading, SaReadError> {
        self.is_heard = false;
        let from_sa = match self.ask.overheard() {
            Some(written) => self.overheard(&written, wants)?,
            None => Arc::new(super::read(&mut *self.ask, wants)?),
        };
        Ok(match &self.last {
            // By content: all records in their order, counters and keys left out when they were
            // read.
            Some(last) if *last == from_sa => {
                // One value in memory, and not two.
                let heard = self.heard.take();
                self.heard = heard.map(|(_, made)| (Arc::clone(last), made));
                Reading::Unchanged(Arc::clone(last))
            }
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

    /// The next reading is of the SA itself, whatever was overheard: it answers otherwise than what was
    /// read, or an operator asks for it.
    pub const fn distrust(&mut self) {
        self.begun = None;
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
    /// others. Where `when` says that only the fabric is another, and its change was heard, as many as the SM
    /// answers at once: one that writes tables or computes routes lets everybody wait for seconds. Errors: as
    /// [`compare_paths`].
    pub fn compare_paths(
        &mut self,
        parts: &FabricState,
        snapshot: &Snapshot,
        seed: u64,
        when: When,
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
        let compare = match self.is_heard && when == When::Changed {
            true => compare_in_time,
            false => compare_paths,
        };
        let differences = compare(&mut *self.ask, &parts.subnet, snapshot, &probes)?;
        if !differences.is_empty() {
            self.distrust();
        }
        Ok(differences)
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

/// What was overheard.
impl SaReader {
    /// The fabric as it was heard; as the SA tells it where that is in doubt. Errors: as
    /// [`super::read`]; what was heard is no whole fabric, as in the middle of a sweep.
    fn overheard(
        &mut self,
        written: &Mutex<Written>,
        wants: &Wants,
    ) -> Result<Arc<SaFabric>, SaReadError> {
        if self.begun != Some(*wants) {
            return self.begin(written, wants).map(Arc::new);
        }
        self.fill(written)?;
        let (records, made, version) = {
            let mut written = lock(written);
            let records = match self.heard.take() {
                Some((before, made)) => written.records_after(before.records(), made),
                None => written.records(),
            };
            (records, written.made(), written.version())
        };
        let Some(records) = records else {
            return self.begin(written, wants).map(Arc::new);
        };
        let fabric = match SaFabric::from_records(records, self.ask.whom()) {
            Ok(fabric) => Arc::new(fabric),
            Err(incomplete) => {
                if self.is_at_rest(version, SILENT_READINGS) {
                    return self.begin(written, wants).map(Arc::new);
                }
                return Err(incomplete.into());
            }
        };
        self.heard = Some((Arc::clone(&fabric), made));
        let is_news = self.last.as_ref().is_none_or(|last| *last != fabric);
        if is_news || self.look.agrees(&mut *self.ask, written)? {
            lock(written).counted(|counts| counts.taken += 1);
            self.is_heard = true;
            return Ok(fabric);
        }
        lock(written).counted(|counts| counts.differences += 1);
        let text = "the SA tells another forwarding table than was heard to be written; everything is \
                    read again";
        let note = Remark::warning("heard-otherwise", text.to_owned());
        let fabric = self.begin(written, wants)?.with_notes(vec![note]);
        Ok(Arc::new(fabric))
    }

    /// Whether nothing was heard for so many readings of what is no whole fabric: then no sweep is under way
    /// that would make it whole.
    fn is_at_rest(&mut self, version: u64, readings: u32) -> bool {
        let before = self.refused.filter(|(known, _)| *known == version);
        let times = before.map_or(0, |(_, times)| times) + 1;
        self.refused = Some((version, times));
        times > readings
    }

    /// Reads everything from the SA, and goes on from there with what is heard. Errors: as
    /// [`super::read`].
    fn begin(&mut self, written: &Mutex<Written>, wants: &Wants) -> Result<SaFabric, SaReadError> {
        (self.begun, self.heard) = (None, None);
        lock(written).begin_reading();
        let read = super::read(&mut *self.ask, wants);
        let mut written = lock(written);
        written.counted(|counts| counts.asked += 1);
        let fabric = match read {
            Ok(fabric) => fabric,
            Err(error) => {
                written.doubt("the SA could not be read");
                return Err(error);
            }
        };
        let records = fabric.records();
        written.adopt(records, wants.qos.unwrap_or(records.qos));
        self.begun = Some(*wants);
        Ok(fabric)
    }

    /// Reads what single nodes lack, as sparingly as everything, once nothing more is heard. Errors: as
    /// [`super::read`].
    fn fill(&mut self, written: &Mutex<Written>) -> Result<(), SaReadError> {
        let (missing, version) = {
            let written = lock(written);
            (written.missing(), written.version())
        };
        if missing.is_empty() {
            return Ok(());
        }
        if !self.is_at_rest(version, SILENT_LOOKS) {
            let ends: BTreeSet<u16> = missing.iter().map(|it| it.lid()).collect();
            return Err(SaReadError::UnderWay { ends: ends.len() });
        }
        let mut querier = Querier::sparing(&mut *self.ask);
        for what in missing {
            match what {
                Missing::Lft(lid) => {
                    let blocks = records::lft(&mut querier, lid)?;
                    lock(written).fill_lft(lid, &blocks);
                }
                Missing::SlToVl(lid) => {
                    let tables = records::sl2vl(&mut querier, lid)?;
                    lock(written).fill_sl2vl(lid, &tables);
                }
                // The key is asked for where everything is read.
                Missing::PKeys(_) => {
                    lock(written).doubt("an end port is new, and its P_Keys were not heard");
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Readings of a fabric that is not whole, and of which nothing more is heard, before the SA is asked. The
/// daemon makes so many in some four seconds, in which an SM that computes routes is silent.
const SILENT_READINGS: u32 = 4;

/// The same before the SA is asked for what single nodes lack.
const SILENT_LOOKS: u32 = 1;

impl core::fmt::Debug for SaReader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SaReader")
            .field("whom", &self.ask.whom())
            .finish_non_exhaustive()
    }
}
