//! A fabric as the records of an SA tell it: the one format that is no file.
//!
//! [`SaFabric::from_records`] puts [`Records`] together when they describe a whole fabric, free of
//! contradictions as any [`Fabric`]. What the compiler and the records of a slow lane need to know
//! beyond that (forwarding tables, SL2VL tables, P_Keys, aliases) is read off the same records.
//!
//! What it does not do: ask an SA. Whoever does hands the records in.
//!
//! ```text
//!  NodeRecord ───┐
//!  PortInfo ─────┤ assemble      Fabric, LMC
//!  SwitchInfo ───┤ ───────────>
//!  LinkRecord ───┘               tables:     forwarding and SL2VL tables by switch of a topology
//!  LFT, SL2VL, P_Key, GUIDInfo   partitions: who is in which, as a partitions.conf
//!                                files:      all of it as OpenSM's dumps
//!                                change:     what is other than in an earlier reading, in words
//! ```
//!
//! Why it is a format and not a part of whoever asks: the compiler takes it in place of files, the
//! slow lane answers records of devices from it, and the tool writes it down. None of them asks an
//! SA.
//!
//! Records are kept as they came, in wire layout, and everything is read off them when asked for.
//! Forwarding tables of a large fabric are 200 MB, and a second form of them would be as much
//! again.

mod assemble;
mod change;
mod files;
mod multicast;
mod partitions;
mod records;
mod tables;

use sa_text::Remark;

use sa_wire::{Guid, Lmc, SubnetPrefix};
use thiserror::Error;

use self::assemble::{Assembled, assemble};
use crate::Fabric;

pub use files::{FilesError, size, write};
pub use multicast::MulticastTables;
pub use partitions::{disagreement, given_partitions, has_both};
pub use records::Records;

/// Records that are those of a part of a fabric. What is missing, in words. Two causes look alike:
/// a sweep was under way while they were read, or the SA hides what shares no partition with the
/// port that asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the records do not describe a whole fabric: {0}; is the SM at work, or does this port share \
     no partition with some of it?"
)]
pub struct Incomplete(pub String);

/// A fabric that an SA told.
///
/// Shared by `Arc` between the reader, the compiler's state and the slow lane; it never changes.
#[derive(Debug, Clone)]
pub struct SaFabric {
    /// Sorted, see [`Records::sort`]; look-ups rely on it.
    records: Records,
    assembled: Assembled,
    /// Of the reader, then of the assembly.
    notes: Vec<Remark>,
    /// The SA, for messages.
    whom: String,
}

impl SaFabric {
    /// A fabric out of records of the SA `whom`. Errors: [`Incomplete`].
    ///
    /// `records` are sorted by whoever read them.
    pub fn from_records(records: Records, whom: String) -> Result<Self, Incomplete> {
        Self::assembled(records, whom, true)
    }

    /// A fabric of which the forwarding tables are still to be made: what an SM found, with the LIDs that it gives.
    /// Errors: [`Incomplete`], but for tables.
    pub fn without_tables(records: Records, whom: String) -> Result<Self, Incomplete> {
        Self::assembled(records, whom, false)
    }

    fn assembled(records: Records, whom: String, has_tables: bool) -> Result<Self, Incomplete> {
        let mut assembled = assemble(&records, has_tables)?;
        let notes = core::mem::take(&mut assembled.notes);
        Ok(Self {
            records,
            assembled,
            notes,
            whom,
        })
    }

    /// The same with notes of whoever read it, before its own.
    #[must_use]
    pub fn with_notes(self, mut notes: Vec<Remark>) -> Self {
        notes.extend(self.notes);
        Self { notes, ..self }
    }

    /// The records themselves.
    pub const fn records(&self) -> &Records {
        &self.records
    }

    /// Nodes, ports, cables, LIDs.
    pub const fn fabric(&self) -> &Fabric {
        &self.assembled.fabric
    }

    /// LMC of CA and router ports.
    pub const fn lmc(&self) -> Lmc {
        self.assembled.lmc
    }

    /// Enhanced ports 0 have the LMC too.
    pub const fn lmc_esp0(&self) -> bool {
        self.assembled.lmc_esp0
    }

    /// Whether the SM uses QoS.
    ///
    /// As ClassPortInfo says; it makes no difference between an SM without QoS and one whose SA
    /// does not tell.
    pub const fn qos(&self) -> bool {
        self.records.qos
    }

    /// The GID prefix of the SM's port.
    ///
    /// None where the SA has no PortInfoRecord for it, which assembling would have refused.
    pub fn prefix(&self) -> Option<SubnetPrefix> {
        let lid = self
            .fabric()
            .sm()
            .and_then(|at| self.fabric().port(at).lid)?;
        let mut ports = self.records.ports.iter();
        // The SM's own port: its prefix is the one that the SM gives to all.
        let port = ports.find(|port| port.base_lid.get() == lid.get())?;
        Some(SubnetPrefix(port.gid_prefix.get()))
    }

    /// How many MLIDs every switch has room for: the least MulticastFDBCap, of those that forward multicast at all.
    pub fn multicast_cap(&self) -> Option<u16> {
        let switches = self.records.switches.iter();
        let caps = switches.map(|switch| switch.multicast_cap.get());
        caps.filter(|cap| *cap > 0).min()
    }

    /// What an operator should know.
    pub fn notes(&self) -> &[Remark] {
        &self.notes
    }

    /// Who told it.
    pub fn whom(&self) -> &str {
        &self.whom
    }

    /// Alias GUIDs, each with the GUID of its port. Shape: ascending.
    pub fn aliases(&self) -> Vec<(Guid, Guid)> {
        let ports = self.fabric().nodes().iter().flat_map(|node| &node.ports);
        let owners: std::collections::HashMap<u16, Guid> = ports
            .filter_map(|port| Some((port.lid?.get(), port.guid?)))
            .collect();
        let mut aliases = Vec::new();
        for block in &self.records.guids {
            let Some(owner) = owners.get(&block.lid.get()) else {
                continue;
            };
            // The first place of block 0 is the port's own GUID.
            let own = usize::from(block.block == 0);
            let guids = block.guids.iter().skip(own);
            let guids = guids.filter_map(|guid| Guid::new(guid.get()).ok());
            aliases.extend(guids.map(|alias| (alias, *owner)));
        }
        aliases.sort_unstable();
        aliases
    }

    /// What the fabric was compiled from, for a snapshot's list of inputs.
    ///
    /// A digest of all records stands for the digests of files.
    pub fn provenance(&self) -> String {
        format!("fabric SA xxh3:{:016x}", self.records.digest())
    }

    /// What changed since `before`, one sentence each; none where nothing did.
    pub fn changes_since(&self, before: &Self) -> Vec<String> {
        change::in_words(before, self)
    }
}

impl PartialEq for SaFabric {
    /// Equal records are an unchanged fabric.
    ///
    /// Who told it and what was noted make no difference.
    fn eq(&self, other: &Self) -> bool {
        self.records == other.records
    }
}
