//! The fabric as a running SA tells it: read by queries, put together, kept apart from what it was
//! before.
//!
//! [`Live::read`] asks for all records and gives a [`Live`] only when they describe a whole fabric
//! that did not change meanwhile. [`LiveSource`] does so again and again, and says what changed.
//! The pipeline takes a [`Live`] in place of files; [`compare_paths`] then asks the SA for sampled
//! paths ([`probes`] chooses them) and compares them with the snapshot.
//!
//! What an SA does not tell (policy, names and SLs of partitions, options of the SM) comes from the
//! files that the SM uses itself.

mod ask;
mod assemble;
mod change;
mod files;
mod partitions;
mod paths;
mod probes;
mod query;
mod records;
mod source;
mod tables;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use sa_wire::mad::Status;
use sa_wire::records::{PortInfoRecord, SwitchInfoRecord};
use sa_wire::sa::AttributeId;
use sa_wire::{Guid, Lmc, SubnetPrefix};
use thiserror::Error;

use self::assemble::{Assembled, assemble};
use self::query::Querier;
use sa_fabric::Fabric;

pub use ask::{Ask, AskError, PortAsk, Reopening};
pub use files::{FilesError, write};
pub use partitions::given_partitions;
pub(crate) use partitions::{disagreement, has_both};
pub use paths::{Difference, agrees, compare_paths};
pub use probes::{Probe, Sampling, probes, telling};
pub(crate) use query::next_transaction;
pub use records::Records;
pub use source::{LiveSource, Reading};

/// A fabric that an SA told.
#[derive(Debug, Clone)]
pub struct Live {
    records: Records,
    assembled: Assembled,
    notes: Vec<String>,
    whom: String,
}

/// What reading needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// The SA's key, without which it shows no P_Key tables.
    pub sa_key: u64,
    /// Whether to read SL2VL tables; by default if the SA says that the SM uses QoS.
    pub qos: Option<bool>,
}

impl Default for Wants {
    /// OpenSM's default key.
    fn default() -> Self {
        Self {
            sa_key: 1,
            qos: None,
        }
    }
}

/// Why there is no fabric.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LiveError {
    /// Nobody answers.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The SA will not tell.
    #[error("{attribute}: the SA refuses with status 0x{status:04x}{}", in_words(*status))]
    Refused {
        /// What was asked for.
        attribute: AttributeId,
        /// Its status.
        status: u16,
    },
    /// What came is no reply to the request.
    #[error("{0}: what came back is no reply to the request")]
    NoReply(AttributeId),
    /// The table ends within a record.
    #[error("{0}: the reply is cut off; does the transport put long replies together?")]
    CutOff(AttributeId),
    /// The records are those of a part of a fabric.
    #[error(
        "the records do not describe a whole fabric: {0}; is the SM at work, or does this port \
         share no partition with some of it?"
    )]
    Incomplete(String),
    /// Every reading found a fabric on the move.
    #[error("the fabric did not lie still in {attempts} readings; the last time: {last}")]
    Unsettled {
        /// How often it was read.
        attempts: u32,
        /// What was wrong with the last.
        last: String,
    },
}

fn in_words(status: u16) -> String {
    let words = Status(status).words();
    words.map_or_else(String::new, |words| format!(" ({words})"))
}

impl Live {
    /// Asks for everything, until it is whole and lay still while it was read.
    ///
    /// Errors: nobody answers; the SA refuses what cannot be done without; the fabric was on the
    /// move in each of a few readings.
    pub fn read(ask: &mut dyn Ask, wants: &Wants) -> Result<Self, LiveError> {
        let mut querier = Querier::new(ask);
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            match Self::read_once(&mut querier, wants) {
                Ok(Some(live)) => return Ok(live),
                Ok(None) => "nodes, links or switches changed".clone_into(&mut last),
                Err(LiveError::Incomplete(what)) => last = what,
                Err(other) => return Err(other),
            }
        }
        let attempts = ATTEMPTS;
        Err(LiveError::Unsettled { attempts, last })
    }

    /// None where the fabric changed while it was read.
    fn read_once(querier: &mut Querier<'_>, wants: &Wants) -> Result<Option<Self>, LiveError> {
        let mut notes = Vec::new();
        let records = Records::read(querier, wants, &mut notes)?;
        if !records.still_hold(querier)? {
            return Ok(None);
        }
        let live = Self::from_records(records, querier.whom())?;
        notes.extend(live.notes);
        Ok(Some(Self { notes, ..live }))
    }

    /// A fabric out of records of the SA `whom`. Errors: [`LiveError::Incomplete`].
    pub fn from_records(records: Records, whom: String) -> Result<Self, LiveError> {
        let mut assembled = assemble(&records)?;
        let notes = core::mem::take(&mut assembled.notes);
        Ok(Self {
            records,
            assembled,
            notes,
            whom,
        })
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
    pub const fn qos(&self) -> bool {
        self.records.qos
    }

    /// The GID prefix of the SM's port.
    pub fn prefix(&self) -> Option<SubnetPrefix> {
        let lid = self
            .fabric()
            .sm()
            .and_then(|at| self.fabric().port(at).lid)?;
        let mut ports = self.records.ports.iter();
        let port = ports.find(|port| port.base_lid.get() == lid.get())?;
        Some(SubnetPrefix(port.gid_prefix.get()))
    }

    /// What the SA says of a port. Shape: the first LID of the port, of a switch's that of port 0.
    pub(crate) fn port_info(&self, lid: u16, port: u8) -> Option<&PortInfoRecord> {
        let ports = &self.records.ports;
        let place = ports.binary_search_by_key(&(lid, port), |it| (it.lid.get(), it.port_num));
        ports.get(place.ok()?)
    }

    /// What the SA says of a switch.
    pub(crate) fn switch_info(&self, lid: u16) -> Option<&SwitchInfoRecord> {
        let switches = &self.records.switches;
        let place = switches.binary_search_by_key(&lid, |it| it.lid.get());
        switches.get(place.ok()?)
    }

    /// The P_Key table of an end port, each key in its place. None where the SA does not show it.
    pub(crate) fn pkey_table(&self, lid: u16, port: u8) -> Option<Vec<u16>> {
        let blocks = self.records.pkeys.as_ref()?.iter();
        let own = blocks.filter(|block| (block.lid.get(), block.port) == (lid, port));
        let mut table = Vec::new();
        for block in own {
            let first = usize::from(block.block.get()) * block.pkeys.len();
            table.resize(first.max(table.len()), 0);
            table.extend(block.pkeys.iter().map(|key| key.get()));
        }
        (!table.is_empty()).then_some(table)
    }

    /// What an operator should know.
    pub fn notes(&self) -> &[String] {
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
            let own = usize::from(block.block == 0);
            let guids = block.guids.iter().skip(own);
            let guids = guids.filter_map(|guid| Guid::new(guid.get()).ok());
            aliases.extend(guids.map(|alias| (alias, *owner)));
        }
        aliases.sort_unstable();
        aliases
    }

    /// What the fabric was compiled from, for a snapshot's list of inputs.
    pub fn provenance(&self) -> String {
        format!("fabric SA xxh3:{:016x}", self.records.digest())
    }

    /// What changed since `before`, one sentence each; none where nothing did.
    pub fn changes_since(&self, before: &Self) -> Vec<String> {
        change::in_words(before, self)
    }
}

impl PartialEq for Live {
    /// Equal records are an unchanged fabric.
    fn eq(&self, other: &Self) -> bool {
        self.records == other.records
    }
}

/// A fabric to share.
pub type SharedLive = Arc<Live>;

/// How often a fabric on the move is read.
const ATTEMPTS: u32 = 5;
